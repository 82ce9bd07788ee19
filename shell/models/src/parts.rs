//! Parts of a prompt, and of an answer, as one text.

use holon_facts::Text;
use holon_facts::content::clip_middle;
use holon_facts::frame::Part;
use holon_facts::model::AnswerBlock;
use holon_text::{TextError, Texts};

/// Excerpts of so many characters keep their lines.
const OF_LINES: u32 = 1_000;
/// Characters that the marker in such an excerpt takes, at most.
const MARKER: u32 = 60;

/// The parts of a text, one after the other.
pub fn joined(texts: &Texts, parts: &[Part]) -> Result<String, TextError> {
    let mut joined = String::new();
    for part in parts {
        match part {
            Part::Rendered(text) => joined.push_str(text),
            Part::Given(text) => joined.push_str(&texts.resolve(text)?),
            Part::Image(shown) => joined.push_str(&format!("\n[image {}]\n", shown.image.line())),
            Part::Excerpt { text, chars } => joined.push_str(&excerpt(&texts.resolve(text)?, *chars)),
            Part::Quoted { tag, parts: quoted } => {
                begin_line(&mut joined);
                joined.push_str(&tag.open());
                joined.push_str(&self::joined(texts, quoted)?);
                begin_line(&mut joined);
                joined.push_str(&tag.close());
            }
        }
    }
    Ok(joined)
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The beginning and the end of what is longer than `chars` characters: on one line, unless many are shown.
fn excerpt(text: &str, chars: u32) -> String {
    const GAP: &str = " … ";
    if chars >= OF_LINES {
        let long = text.chars().count() > chars as usize;
        return if long { clip_middle(text, (chars - MARKER) as usize) } else { text.to_owned() };
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let (chars, long) = (chars as usize, line.chars().count());
    if long <= chars {
        return line;
    }
    let kept = chars.saturating_sub(GAP.chars().count());
    let (head, tail) = (kept - kept / 3, kept / 3);
    let start: String = line.chars().take(head).collect();
    let end: String = line.chars().skip(long - tail).collect();
    format!("{start}{GAP}{end}")
}

/// An answer that was cut off and what continues it, as one text; a call says that the answer comes later.
pub(crate) fn joined_answer(texts: &Texts, before: &[Text], blocks: &[AnswerBlock]) -> Option<Text> {
    if before.is_empty() {
        return None;
    }
    let mut whole = String::new();
    for text in before {
        whole.push_str(&texts.resolve(text).ok()?);
    }
    for block in blocks {
        match block {
            AnswerBlock::Text { text } => whole.push_str(&texts.resolve(text).ok()?),
            AnswerBlock::Reasoning { .. } => {}
            AnswerBlock::ToolCall(_) => return None,
        }
    }
    Some(texts.take(&whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_keeps_both_ends_on_one_line() {
        assert_eq!(excerpt("a\n  b\tc", 10), "a b c");
        let text = format!("begin {} end", "ä".repeat(500));
        let short = excerpt(&text, 33);
        assert_eq!(short.chars().count(), 33);
        assert!(short.starts_with("begin ä") && short.ends_with("ä end") && short.contains(" … "));
        assert_eq!(excerpt("abcdef", 2).chars().count(), 3);
    }

    #[test]
    fn a_long_excerpt_keeps_its_lines_and_counts_what_is_left_out() {
        let text = "- name: a\n  value: 1\n".repeat(200);
        assert_eq!(excerpt(&text, 8_000), text);
        let shown = excerpt(&text, 1_000);
        assert!(shown.chars().count() <= 1_000 && shown.starts_with("- name: a\n  value: 1\n"), "{shown}");
        assert!(shown.contains("characters left out"), "{shown}");
    }
}
