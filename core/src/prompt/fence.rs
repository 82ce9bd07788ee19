//! Fences: text that is not the runtime's own stands between two lines that carry a tag (contract: context.md, Provider
//! lowering). Whoever wrote the text can't know the tag, so nothing in it can close the fence and go on as the runtime.
//! How tags are derived says [`crate::fence`].

use alloc::string::String;
use alloc::vec::Vec;

use super::frame::Part;
use crate::fence::{Fence, Place, Tag};

/// What lines of a fence begin with, before the tag.
const OPEN: &str = "<quoted-";
const CLOSE: &str = "</quoted-";
/// Characters that both lines of a fence take.
pub(crate) const CHARS: u64 = (OPEN.len() + CLOSE.len() + 2 * 18) as u64;

impl Fence {
    /// Text that is not the runtime's own, at one place.
    pub(crate) fn quoted(self, place: Place, parts: Vec<Part>) -> Part {
        Part::Quoted { tag: self.tag(place), parts }
    }
}

impl Tag {
    /// The line that begins the quoted text.
    pub fn open(self) -> String {
        alloc::format!("{OPEN}{self}>\n")
    }

    /// The line that ends it.
    pub fn close(self) -> String {
        alloc::format!("{CLOSE}{self}>\n")
    }
}

/// What of a prompt stands outside of all fences, the runtime's own words and an operator's, and what stands in them.
pub fn split(parts: &[Part]) -> (Vec<&Part>, Vec<(Tag, &[Part])>) {
    let (mut outside, mut quoted) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Rendered(_) | Part::Given(_) | Part::Excerpt { .. } => outside.push(part),
            Part::Quoted { tag, parts } => quoted.push((*tag, &**parts)),
        }
    }
    (outside, quoted)
}

/// A name that others gave, on one line and no longer than so many bytes.
pub(crate) fn line(text: &str, bytes: usize) -> String {
    let text: String = text.chars().map(|char| if breaks(char) { ' ' } else { char }).collect();
    crate::content::clip(text.trim(), bytes)
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
