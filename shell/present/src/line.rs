//! Texts of others in one line.

/// The longest line, in characters.
const WIDTH: usize = 100;

/// A text in one line, cut at its end where it is long.
pub fn one_line(text: &str) -> String {
    let text = whole_line(text);
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The end of a text in one line.
pub fn one_line_from_end(text: &str) -> String {
    let text = whole_line(text);
    match text.char_indices().rev().nth(WIDTH / 2 - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &text[at..]),
        Some(_) | None => text,
    }
}

/// A text in one line, however long: for what has a bound already.
pub fn whole_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first few files of a list, and how many more there are.
pub fn files(files: &[String]) -> String {
    const SHOWN: usize = 4;
    let named = one_line(&files[..files.len().min(SHOWN)].join(", "));
    match files.len().saturating_sub(SHOWN) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_ends_of_texts() {
        let names: Vec<String> = (1..=6).map(|number| format!("f{number}")).collect();
        assert_eq!(files(&names), "f1, f2, f3, f4 and 2 more");
        assert_eq!(one_line_from_end("short\ntext"), "short text");
        let long = one_line_from_end(&"word ".repeat(100));
        assert!(long.starts_with('…') && long.ends_with("word") && long.chars().count() == 51, "{long}");
    }
}
