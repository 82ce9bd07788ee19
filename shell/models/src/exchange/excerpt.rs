//! What of a body is quoted in a failure: one line, bounded, without secrets.

use holon_facts::content::clip;
use holon_text::Texts;

use super::ReportedError;

/// How much is quoted, in bytes.
const EXCERPT: usize = 400;
/// How much of a body is looked at for it.
const BEGINNING: usize = 4_096;

/// What the server says in words, otherwise the beginning of the body.
pub(super) fn excerpt(texts: &Texts, said: &ReportedError, body: &[u8]) -> String {
    let beginning = || String::from_utf8_lossy(&body[..body.len().min(BEGINNING)]).into_owned();
    let text = said.message.clone().unwrap_or_else(beginning);
    // Before its lines are joined, since a secret may have several; and without what may be a secret's
    // beginning at its end.
    let mut pieces = texts.pieces();
    let mut text = pieces.push(&text);
    if said.message.is_some() || body.len() <= BEGINNING {
        text.push_str(&pieces.finish());
    }
    let words = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let words: Vec<&str> = words.split_whitespace().collect();
    clip(&texts.redact(&words.join(" ")), EXCERPT)
}

#[cfg(test)]
mod tests {
    use holon_text::Secrets;

    use super::*;

    #[test]
    fn neither_cutting_nor_joining_lines_shows_a_secret() {
        let secret = "first-canary-line\nsecond-canary-line";
        let texts = Texts::new(Secrets::new([("PEM".into(), secret.into())]), Box::new(|_| Ok(None)));
        let said = ReportedError::default();
        let body = format!("<b>\n\n{secret}\t</b>");
        assert_eq!(excerpt(&texts, &said, body.as_bytes()), "<b> [redacted:PEM] </b>");
        let body = format!("<b>{}{secret}", " ".repeat(BEGINNING - 13));
        assert_eq!(excerpt(&texts, &said, body.as_bytes()), "<b>");
        assert!(excerpt(&texts, &said, "ä".repeat(5_000).as_bytes()).len() <= EXCERPT);
    }
}
