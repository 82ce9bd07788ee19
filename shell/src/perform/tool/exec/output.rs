//! Output of a command, shown in a bounded text.

use holon_supervise::Kept;

use super::super::fitting::{fitting, in_json};
use super::plan::CHARACTERS_PER_TOKEN;

/// A stream as the model sees it.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) truncated: bool,
}

/// Length in characters of JSON, as far as it is kept.
fn cost(kept: &Kept) -> usize {
    kept.head.chars().chain(kept.tail.chars()).map(escaped).sum()
}

/// At most `budget` characters of JSON, head and tail around a marker that counts what is missing.
fn show(kept: &Kept, budget: usize) -> Shown {
    let Kept { head, tail, characters, .. } = kept;
    if tail.is_empty() && cost(kept) <= budget {
        return Shown { text: head.clone(), truncated: false };
    }
    let room = budget.saturating_sub(MARKER);
    let first = end_within(head, room / 2);
    let last_of = if tail.is_empty() { &head[first..] } else { &tail[..] };
    let last = start_within(last_of, room - room / 2);
    let (first, last) = (&head[..first], &last_of[last..]);
    let shown = (first.chars().count() + last.chars().count()) as u64;
    let missing = characters.saturating_sub(shown);
    Shown { text: format!("{first}… [{missing} characters left out] …{last}"), truncated: true }
}

/// Room for the marker.
const MARKER: usize = 52;

/// Both streams within one budget, in characters of prose: each may use what the other leaves, and half of it in any case. Of
/// listings, numbers and many scripts a token is fewer characters than of prose: as many fewer are shown.
pub(super) fn share(stdout: &Kept, stderr: &Kept, budget: usize) -> (Shown, Shown) {
    let (out, err) = (cost(stdout), cost(stderr));
    let shown = |budget: usize| {
        let half = budget / 2;
        (show(stdout, budget - err.min(half)), show(stderr, budget - out.min(half)))
    };
    let tokens_of = |(out, err): &(Shown, Shown)| in_json(&out.text).saturating_add(in_json(&err.text));
    fitting(budget as u64 / CHARACTERS_PER_TOKEN, budget, shown, tokens_of)
}

/// Characters that a character takes inside a JSON string.
fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        control if control < ' ' => 6,
        _ => 1,
    }
}

fn end_within(text: &str, room: usize) -> usize {
    let mut used = 0;
    let over = text.char_indices().find(|(_, character)| {
        used += escaped(*character);
        used > room
    });
    over.map_or(text.len(), |(at, _)| at)
}

fn start_within(text: &str, room: usize) -> usize {
    let mut used = 0;
    let over = text.char_indices().rev().find(|(_, character)| {
        used += escaped(*character);
        used > room
    });
    over.map_or(0, |(at, character)| at + character.len_utf8())
}

#[cfg(test)]
mod tests {
    use holon_facts::tokens;

    use super::*;

    #[test]
    fn digits_get_fewer_characters_than_words() {
        let (words, digits) = (kept(&"several words ".repeat(500)), kept(&"0123456789abcdef".repeat(500)));
        let shown = |kept: &Kept| tokens::estimate(&share(kept, &self::kept(""), 2_000).0.text);
        assert!((100..=520).contains(&shown(&words)), "{}", shown(&words));
        assert!((400..=520).contains(&shown(&digits)), "{}", shown(&digits));
    }

    fn kept(text: &str) -> Kept {
        Kept {
            bytes: text.len() as u64,
            characters: text.chars().count() as u64,
            digest: 0,
            head: text.into(),
            tail: String::new(),
        }
    }

    #[test]
    fn short_output_passes_whole() {
        let shown = show(&kept("aäb"), 100);
        assert_eq!((shown.text.as_str(), shown.truncated), ("aäb", false));
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        let shown = show(&kept(&"ä".repeat(1_000)), 152);
        assert!(shown.truncated && shown.text.starts_with("ää") && shown.text.ends_with("ää"));
        assert!(shown.text.contains("… [900 characters left out] …"), "{}", shown.text);
        let cut = Kept { bytes: 9_000, characters: 9_000, tail: "END".into(), ..kept("BEGIN") };
        let shown = show(&cut, usize::MAX);
        assert_eq!(shown.text, "BEGIN… [8992 characters left out] …END");
    }

    #[test]
    fn escapes_count_and_both_streams_share() {
        let (quotes, plain) = (kept(&"they wrote \"yes\" and went on ".repeat(200)), kept("short"));
        let (out, err) = share(&quotes, &plain, 1_000);
        let length = serde_json::to_string(&out.text).unwrap().chars().count();
        assert!((800..=1_000).contains(&length), "{length}");
        assert_eq!((err.text.as_str(), err.truncated), ("short", false));
        let both = share(&quotes, &quotes, 1_000);
        let length = |shown: &Shown| serde_json::to_string(&shown.text).unwrap().chars().count();
        assert!(length(&both.0) + length(&both.1) <= 1_010);
    }
}
