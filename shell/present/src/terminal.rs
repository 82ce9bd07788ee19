//! What a command prints, in lines as a terminal would have them: for surfaces that show it while it runs.

use anstream::adapter::strip_str;

use super::harmless::harmless;

/// Lines of a command in the foreground that are shown.
const LINES: usize = 8;
/// Characters of each: its end, where what is new stands.
const CHARACTERS: usize = 200;

/// A line as a terminal would have it: without what sets colours, and what was written over.
pub fn terminal_line(line: &str) -> String {
    let plain = strip_str(line).to_string();
    let plain = plain.trim_end_matches('\r');
    plain.rsplit('\r').next().unwrap_or_default().to_owned()
}

/// The last lines of what a command has printed so far; nothing in them acts on a terminal.
pub fn last_lines(output: &str) -> String {
    let lines: Vec<String> = output.trim_end().lines().map(terminal_line).collect();
    let newest = &lines[lines.len().saturating_sub(LINES)..];
    let shown: Vec<String> = newest.iter().map(|line| harmless(end_of(line))).collect();
    shown.join("\n")
}

fn end_of(line: &str) -> &str {
    line.char_indices().rev().nth(CHARACTERS - 1).map_or(line, |(at, _)| &line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_those_of_a_terminal() {
        assert_eq!(last_lines("one\r\n\x1b[31mred\x1b[0m\n10 %\r50 %\r90 %"), "one\nred\n90 %");
        assert_eq!(last_lines("a\u{202e}b\u{7}\n\n"), "a\u{fffd}b");
        let many: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        assert!(last_lines(&many).starts_with("line 93\n") && last_lines(&many).ends_with("line 100"));
        assert_eq!(last_lines(&"漢".repeat(1_000)).chars().count(), CHARACTERS);
        assert_eq!(last_lines(""), "");
    }
}
