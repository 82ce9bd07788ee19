//! Fences: text that is not the runtime's own stands between two lines that carry a tag (contract: context.md, Provider
//! lowering). Whoever wrote the text can't know the tag, so nothing in it can close the fence and go on as the runtime.
//! How tags are derived says [`holon_facts::fence`].

use alloc::string::String;

/// A name that others gave, on one line and no longer than so many bytes.
pub(crate) fn line(text: &str, bytes: usize) -> String {
    let text: String = text.chars().map(|char| if breaks(char) { ' ' } else { char }).collect();
    holon_facts::content::clip(text.trim(), bytes)
}

/// Whether a character begins another line, or changes how its neighbours are read.
fn breaks(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_bounded_line_that_reads_as_it_is_written() {
        assert_eq!(line(" a\r\nb\tc\u{2028}d\u{202e}e\u{0} ", 100), "a  b c d e");
        assert_eq!(line("äöü", 5), "ä…");
    }
}
