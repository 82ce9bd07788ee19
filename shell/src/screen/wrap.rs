//! Prose in lines of a terminal's width.

use unicode_width::UnicodeWidthStr;

/// What stands before each line after the first one.
const INDENT: &str = "  ";
/// Narrower than this, nothing is gained.
const NARROWEST: usize = 20;

/// The text with line ends where it would pass the last column. A command in backticks stays in one line, so that it
/// can be copied; what is longer than a line is left to the terminal.
pub fn wrapped(text: &str, columns: usize) -> String {
    if columns < NARROWEST {
        return text.to_owned();
    }
    let lines: Vec<String> = text.lines().map(|line| one(line, columns, INDENT, INDENT.len())).collect();
    lines.join("\n")
}

/// The text in a column of its own: lines of at most so many columns, the first one excepted behind so many blanks.
pub fn wrapped_by(text: &str, columns: usize, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    if columns < NARROWEST {
        return text.replace('\n', &format!("\n{blanks}"));
    }
    let lines: Vec<String> = text.lines().map(|line| one(line, columns, &blanks, 0)).collect();
    lines.join(&format!("\n{blanks}"))
}

/// One line as several, of which those after the first begin with `indent`, which takes so many of the columns.
fn one(line: &str, columns: usize, indent: &str, taken: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let (mut whole, mut used) = (String::new(), 0);
    for word in words(line) {
        let width = word.width();
        if used > 0 && used + 1 + width > columns {
            whole.push('\n');
            whole.push_str(indent);
            used = taken;
        } else if used > 0 {
            whole.push(' ');
            used += 1;
        }
        whole.push_str(word);
        used += width;
    }
    whole
}

/// What stands between blanks that are not within backticks; blanks at the beginning belong to the first word.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut from, mut quoted) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices() {
        if c == '`' {
            quoted = !quoted && line[at + 1..].contains('`');
        }
        if c == ' ' && !quoted && !line[from..at].trim().is_empty() {
            words.push(&line[from..at]);
            from = at + 1;
        }
    }
    words.push(&line[from..]);
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words_and_commands_are_not() {
        assert_eq!(wrapped("short", 20), "short");
        assert_eq!(wrapped("one two three four five six", 20), "one two three four\n  five six");
        assert_eq!(wrapped("  keeps its own beginning here", 20), "  keeps its own\n  beginning here");
        let command = "start the server (`ollama serve now`), or another one";
        assert_eq!(wrapped(command, 24), "start the server\n  (`ollama serve now`),\n  or another one");
        assert_eq!(wrapped("an odd ` tick among many words", 20), "an odd ` tick among\n  many words");
        assert_eq!(wrapped(&"x".repeat(50), 20), "x".repeat(50));
        assert_eq!(wrapped("one two three four five", 10), "one two three four five");
    }
}
