//! JSON as servers send it.

use serde_json::Value;

/// Reads a document. Some servers cut a text within a character: what is left of it, an escape of half a surrogate pair, is
/// no JSON, and becomes U+FFFD.
pub(super) fn parse(text: &[u8]) -> serde_json::Result<Value> {
    holon_facts::json::read(text).or_else(|problem| match with_whole_pairs(text) {
        Some(text) => holon_facts::json::read(&text),
        None => Err(problem),
    })
}

/// The text with U+FFFD for each escape that is half a surrogate pair; none where there is no such escape.
fn with_whole_pairs(text: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(text.len());
    let (mut left, mut changed) = (text, false);
    while let Some(byte) = left.first() {
        let length = match unit(left) {
            Some(0xD800..=0xDBFF) if matches!(unit(&left[6..]), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                whole.extend_from_slice(br"\uFFFD");
                (left, changed) = (&left[6..], true);
                continue;
            }
            // What follows a backslash begins no escape, also if it is another backslash.
            Some(_) | None if *byte == b'\\' => 2,
            Some(_) | None => 1,
        };
        let (kept, rest) = left.split_at(length.min(left.len()));
        whole.extend_from_slice(kept);
        left = rest;
    }
    changed.then_some(whole)
}

/// The number of the escape that a text begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_replaced_and_all_else_is_as_it_is() {
        for (text, read) in [
            (r#""a\ud83d""#, "a\u{FFFD}"),
            (r#""\ud83d\ud83d\ude00 \uDE00x""#, "\u{FFFD}\u{1F600} \u{FFFD}x"),
            (r#""\ud83d\n\u00e4""#, "\u{FFFD}\n\u{e4}"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{FFFD}"),
            (r#""\\ud83d \ud83d\ude00""#, "\\ud83d \u{1F600}"),
        ] {
            assert_eq!(parse(text.as_bytes()).ok(), Some(Value::from(read)), "{text}");
        }
        for text in ["", r#""\ud83d"#, r#""\ud8"#, r#""\u+83d""#, r#"{"a":"\ud83d",}"#, "\\"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
