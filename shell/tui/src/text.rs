//! Text in columns: what the terminal shows of it, and where its lines break.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

/// Most bytes of one text on the screen; the transcript has the rest.
const SHOWN: usize = 16 << 10;
/// Most bytes of one text in the transcript and other lists.
const WHOLE: usize = 256 << 10;
/// Columns between tab stops.
const TAB: &str = "    ";

/// Content as it may be shown: nothing in it acts on the terminal, and it has a limit.
pub(crate) fn clean(text: &str) -> String {
    cut(text, SHOWN, "the transcript")
}

/// The same with a limit that few texts reach, for lists that show all of something.
pub(crate) fn clean_whole(text: &str) -> String {
    cut(text, WHOLE, "the output of the command line, with --json")
}

fn cut(text: &str, most: usize, elsewhere: &str) -> String {
    let kept = &text[..text.floor_char_boundary(most)];
    let mut clean = drawn(kept);
    if kept.len() < text.len() {
        clean.push_str(&format!("\n… (the rest is in {elsewhere})"));
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
    loop {
        let end = fitting(rest, columns);
        if end == rest.len() {
            lines.push(rest.to_owned());
            return lines;
        }
        let blank = rest[..end].rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
        let at = if rest[end..].starts_with(' ') { end } else { blank.unwrap_or(end) };
        lines.push(rest[..at].to_owned());
        rest = rest[at..].strip_prefix(' ').unwrap_or(&rest[at..]);
    }
}

/// Bytes of the beginning that fit; one character at least.
pub(crate) fn fitting(line: &str, columns: usize) -> usize {
    match beginning(line, columns) {
        0 => Span::raw(line).styled_graphemes(Style::new()).next().map_or(line.len(), |first| {
            let at = line.find(first.symbol).unwrap_or_default();
            at + first.symbol.len()
        }),
        end => end,
    }
}

/// Bytes of the beginning that fit, none where the first character is too wide. What is drawn as one character is
/// measured as one.
pub(crate) fn beginning(line: &str, columns: usize) -> usize {
    // Most lines are plain; a byte of ASCII behind them ends the last character.
    let bytes = line.as_bytes();
    if bytes[..bytes.len().min(columns.saturating_add(1))].is_ascii() {
        return bytes.len().min(columns);
    }
    let (mut used, mut end) = (0, 0);
    for drawn in Span::raw(line).styled_graphemes(Style::new()) {
        used += drawn.symbol.width();
        if used > columns {
            return end;
        }
        // What is not drawn is skipped there, so the place is looked for.
        end += line[end..].find(drawn.symbol).unwrap_or_default() + drawn.symbol.len();
    }
    line.len()
}

/// Columns of a text as it is drawn.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    Span::raw(text).styled_graphemes(Style::new()).map(|drawn| drawn.symbol.width()).sum()
}

/// The end of a name, in so many columns.
pub(crate) fn end_of(name: &str, columns: usize) -> String {
    let all = width(name);
    if all <= columns {
        return name.to_owned();
    }
    // A column is for the mark.
    let before = all.saturating_sub(columns.saturating_sub(1));
    let mut at = fitting(name, before);
    if width(&name[..at]) < before {
        at += fitting(&name[at..], 1);
    }
    format!("…{}", &name[at..])
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
    fn what_is_drawn_as_one_character_is_measured_as_one() {
        let warning = "\u{26a0}\u{fe0f}";
        assert_eq!(width(warning), 2);
        assert_eq!(
            wrapped(&warning.repeat(5), 4),
            [warning.repeat(2), warning.repeat(2), warning.to_owned()]
        );
        assert_eq!(fitting(warning, 1), warning.len());
        assert_eq!((beginning(warning, 1), beginning("漢a", 1), beginning("ab", 1)), (0, 0, 1));
        assert_eq!(end_of(&format!("{warning}{warning}ab"), 4), "…ab");
        assert_eq!(end_of("folder/漢字.json", 9), "…字.json");
        assert_eq!(end_of("short", 9), "short");
        for line in wrapped(&format!("{warning} word ").repeat(30), 20) {
            assert!(width(&line) <= 20, "{line:?}");
        }
    }

    #[test]
    fn what_is_too_long_ends_with_a_note() {
        let long = "ä".repeat(SHOWN);
        let clean = clean(&long);
        assert!(clean.len() < SHOWN + 100 && clean.ends_with("transcript)"), "{}", clean.len());
    }
}
