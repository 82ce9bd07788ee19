//! Text of models, commands and servers, made safe to show: nothing in it moves the cursor, changes the
//! terminal, or reads in another order than it is written.

use unicode_width::UnicodeWidthStr;

/// Whether a character would do something to a terminal, or to the order of what is read.
fn acts(c: char) -> bool {
    let keeps_order =
        !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t') || !keeps_order
}

/// The text with a mark in place of each character that would act; line ends become plain ones.
pub fn harmless(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if !text.contains(acts) {
        return text;
    }
    text.chars().map(|c| if acts(c) { '\u{fffd}' } else { c }).collect()
}

/// As much of a line as fits into so many columns.
pub fn within(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    // What belongs together is measured together: a selector behind a character may make it wider.
    let ends: Vec<usize> = line.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fitting = ends.partition_point(|end| line[..*end].width() < columns);
    let kept = &line[..fitting.checked_sub(1).map_or(0, |last| ends[last])];
    if columns == 0 { kept.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(harmless("plain\ttext\nä 漢"), "plain\ttext\nä 漢");
        assert_eq!(harmless("a\r\nb"), "a\nb");
        assert_eq!(harmless("over\rwritten"), "over\u{fffd}written");
        assert_eq!(harmless("\x1b]0;title\x07"), "\u{fffd}]0;title\u{fffd}");
        assert_eq!(harmless("\u{9b}2J\u{7f}"), "\u{fffd}2J\u{fffd}");
        assert_eq!(harmless("a\u{202e}b"), "a\u{fffd}b");
    }

    #[test]
    fn a_line_keeps_to_its_columns() {
        assert_eq!(within("abcdef", 6), "abcdef");
        assert_eq!(within("abcdefg", 6), "abcde…");
        assert_eq!(within("漢漢漢", 6), "漢漢漢");
        assert_eq!(within("漢漢漢漢", 6), "漢漢…");
        assert_eq!(within("Привет, αβγ – мир", 17), "Привет, αβγ – мир");
        assert_eq!(within("Привет, αβγ – мир", 8), "Привет,…");
        assert_eq!(within("\u{26a0}\u{fe0f}\u{26a0}\u{fe0f}abc", 6), "\u{26a0}\u{fe0f}\u{26a0}\u{fe0f}a…");
        assert_eq!(within("abc", 1), "…");
        assert_eq!(within("abc", 0), "");
    }
}
