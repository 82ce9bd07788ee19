//! Text in columns: what the terminal shows of it, and where its lines break.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Most bytes of one text on the screen; `holon transcript` has the rest.
const SHOWN: usize = 16 << 10;
/// Columns between tab stops.
const TAB: &str = "    ";

/// Content as it may be shown: nothing in it acts on the terminal, and it has a limit.
pub(crate) fn clean(text: &str) -> String {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= SHOWN).last();
    let kept = &text[..end.unwrap_or_default()];
    let mut clean = drawn(kept);
    if kept.len() < text.len() {
        clean.push_str("\n… (the rest is in the transcript)");
    }
    clean
}

/// The same of any length, character by character.
pub(crate) fn drawn(text: &str) -> String {
    holon_present::harmless(text).replace('\t', TAB)
}

/// Lines of at most so many columns, broken at blanks where there are any. A line of nothing stays.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.split('\n').flat_map(|line| broken(line, columns)).collect()
}

fn broken(line: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut rest) = (Vec::new(), line);
    while rest.width() > columns {
        let end = fitting(rest, columns);
        let blank = rest[..end].rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
        let at = if rest[end..].starts_with(' ') { end } else { blank.unwrap_or(end) };
        lines.push(rest[..at].to_owned());
        rest = rest[at..].strip_prefix(' ').unwrap_or(&rest[at..]);
    }
    lines.push(rest.to_owned());
    lines
}

/// Bytes of the beginning that fit; one character at least.
pub(crate) fn fitting(line: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, c) in line.char_indices() {
        used += c.width().unwrap_or_default();
        if used > columns && at > 0 {
            return at;
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_inside_of_long_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("漢字漢字漢字", 5), ["漢字", "漢字", "漢字"]);
        assert_eq!(wrapped("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn what_is_too_long_ends_with_a_note() {
        let long = "ä".repeat(SHOWN);
        let clean = clean(&long);
        assert!(clean.len() < SHOWN + 100 && clean.ends_with("transcript)"), "{}", clean.len());
    }
}
