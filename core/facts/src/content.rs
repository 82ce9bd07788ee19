//! Text at the border. Up to 256 bytes travel inline; longer text stays with the shell, which stores it by
//! its hash in the same transaction as the record that names it. Replaying decisions never reads content.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tokens;

/// The longest text that a record carries itself, in bytes.
pub const INLINE_BYTES: usize = 256;

/// SHA-256 of the bytes after redaction; written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 32]);

/// A text that the shell stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    pub id: ContentId,
    pub bytes: u64,
    /// Estimated by classes of characters; builds before did so at four characters a token.
    pub est_tokens: u64,
    /// The beginning, at most 256 bytes.
    pub preview: String,
}

/// A text of any length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Text {
    Inline(String),
    Stored(Content),
}

impl Text {
    /// A short text of the runtime's own; what does not fit is cut off with an ellipsis.
    pub fn short(text: impl AsRef<str>) -> Self {
        Self::Inline(clip(text.as_ref(), INLINE_BYTES))
    }

    /// What somebody said in a field that has a bound of its own, a few KiB at most: it stands in records as it is.
    pub fn whole(text: String) -> Self {
        Self::Inline(text)
    }

    /// The text itself when it is short, otherwise its beginning.
    pub fn preview(&self) -> &str {
        match self {
            Self::Inline(text) => text,
            Self::Stored(content) => &content.preview,
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Stored(content) => content.bytes,
        }
    }

    pub fn est_tokens(&self) -> u64 {
        match self {
            Self::Inline(text) => tokens::estimate(text),
            Self::Stored(content) => content.est_tokens,
        }
    }

    /// Of so many of its characters: of a stored text, its beginning shows how many bytes these have.
    pub fn est_tokens_of(&self, chars: u64) -> u64 {
        let shown = self.preview();
        let bytes = chars.saturating_mul(shown.len() as u64) / shown.chars().count().max(1) as u64;
        let all = self.est_tokens();
        match self.bytes() {
            total if bytes < total => all.saturating_mul(bytes).div_ceil(total),
            _ => all,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Inline(_) => None,
            Self::Stored(content) => Some(content),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::Inline(String::new())
    }
}

/// The longest beginning of `text` of at most `bytes` bytes, with an ellipsis where something is missing.
pub fn clip(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_string();
    }
    let room = bytes.saturating_sub('…'.len_utf8());
    let end = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let mut clipped = text[..end].to_string();
    clipped.push('…');
    clipped
}

/// Beginning and end of a text of more than `chars` characters, around a marker that says what is left out.
pub fn clip_middle(text: &str, chars: usize) -> String {
    let all = text.chars().count();
    if all <= chars {
        return text.to_string();
    }
    let half = chars / 2;
    let (head, tail): (String, String) =
        (text.chars().take(half).collect(), text.chars().skip(all - half).collect());
    alloc::format!("{head}\n[… {} characters left out …]\n{tail}", all - 2 * half)
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected 64 hex digits"))
    }
}

impl JsonSchema for ContentId {
    fn schema_name() -> Cow<'static, str> {
        "ContentId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

impl ContentId {
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0_u8; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (index, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_never_splits_a_character() {
        assert_eq!(clip("äöü", 6), "äöü");
        assert_eq!(clip("äöüß", 7), "äö…");
        assert_eq!(clip("abc", 2), "…");
        assert!(Text::short("x".repeat(1_000)).bytes() <= INLINE_BYTES as u64);
    }

    #[test]
    fn a_clipped_middle_is_counted() {
        assert_eq!(clip_middle("äöüß", 4), "äöüß");
        assert_eq!(clip_middle("äöüßabc", 4), "äö\n[… 3 characters left out …]\nbc");
    }

    #[test]
    fn ids_read_back_what_they_write() {
        let id = ContentId([0xa7; 32]);
        assert_eq!(ContentId::parse(&id.to_string()), Some(id));
        assert_eq!(ContentId::parse("zz"), None);
    }
}
