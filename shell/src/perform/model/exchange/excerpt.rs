//! What of a body is quoted in a failure: one line, bounded, without secrets.

use holon_core::content::clip;

use super::Said;
use crate::text::Texts;

/// How much is quoted, in bytes.
const EXCERPT: usize = 400;

/// What the server says in words, otherwise the beginning of the body.
pub(super) fn excerpt(texts: &Texts, said: &Said, body: &[u8]) -> String {
    let beginning = || String::from_utf8_lossy(&body[..body.len().min(4_096)]).into_owned();
    let text = said.message.clone().unwrap_or_else(beginning);
    let words = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let words: Vec<&str> = words.split_whitespace().collect();
    clip(&texts.redact(&words.join(" ")), EXCERPT)
}
