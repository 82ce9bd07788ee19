//! Whether an answer is one document or a stream. Servers that don't know streaming ignore that it was asked
//! for, and some stream unasked; what they say of their type is right less often than what they send.

use http::header::CONTENT_TYPE;

use super::super::http::Received;
use crate::answer::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Document,
    Events,
}

/// Blank bytes before an answer that are looked at for its beginning.
const BLANK: usize = 4_096;

/// Reads as much as it takes to know, and gives that back.
pub(super) async fn form(received: &mut Received) -> Result<(Form, Vec<u8>), Failure> {
    let declared = received.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let declared = declared.is_some_and(|value| value.trim_start().starts_with("text/event-stream"));
    let mut head = Vec::new();
    loop {
        if let Some(form) = guess(&head, declared) {
            return Ok((form, head));
        }
        match received.chunk().await? {
            Some(chunk) => head.extend_from_slice(&chunk),
            None => return Ok((if declared { Form::Events } else { Form::Document }, head)),
        }
    }
}

/// None while more must be seen.
fn guess(head: &[u8], declared: bool) -> Option<Form> {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match text.first() {
        // Not even a field name of a stream begins with these.
        Some(b'{' | b'[' | b'<' | b'"') => Some(Form::Document),
        Some(_) if declared => Some(Form::Events),
        Some(_) if FIELDS.iter().any(|field| text.starts_with(field)) => Some(Form::Events),
        Some(_) if FIELDS.iter().any(|field| field.starts_with(text)) => None,
        Some(_) => Some(Form::Document),
        None if head.len() > BLANK => Some(if declared { Form::Events } else { Form::Document }),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_says_what_it_is() {
        for (head, declared, expected) in [
            ("", true, None),
            ("\n\n ", false, None),
            ("dat", false, None),
            ("\u{feff}data", false, None),
            ("data: {}", false, Some(Form::Events)),
            (": ping", false, Some(Form::Events)),
            ("event: x", false, Some(Form::Events)),
            ("x", true, Some(Form::Events)),
            ("\r\n{\"a\":1}", true, Some(Form::Document)),
            ("<html>", true, Some(Form::Document)),
            ("internal error", false, Some(Form::Document)),
            ("null", false, Some(Form::Document)),
        ] {
            assert_eq!(guess(head.as_bytes(), declared), expected, "{head:?}");
        }
        assert_eq!(guess(&[b'\n'; 5_000], true), Some(Form::Events));
    }
}
