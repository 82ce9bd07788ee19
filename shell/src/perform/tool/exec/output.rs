//! Output of a command: kept in bounded memory while it comes, shown in a bounded text afterwards.

use std::collections::VecDeque;

/// What is kept of the beginning and of the end of a stream, in bytes each.
const KEPT: usize = 256 << 10;

/// One stream: its head and tail, and how much there was in all.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    /// Characters of the whole stream, counted by their first bytes.
    characters: u64,
}

/// A stream as the model sees it.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) truncated: bool,
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.characters += bytes.iter().filter(|&&byte| starts(byte)).count() as u64;
        let room = (KEPT - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(KEPT)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(KEPT);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// The kept text in two pieces; the second is empty when nothing between them is missing.
    fn pieces(&self) -> (String, String) {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let whole: Vec<u8> = [self.head.as_slice(), &tail].concat();
        if whole.len() as u64 == self.bytes {
            return (String::from_utf8_lossy(&whole).into_owned(), String::new());
        }
        // Characters that the cut went through are left out on both sides.
        let end = self.head.iter().rposition(|&byte| starts(byte)).unwrap_or(0);
        let complete = std::str::from_utf8(&self.head[end..]).is_ok();
        let head = if complete { &self.head[..] } else { &self.head[..end] };
        let start = tail.iter().position(|&byte| starts(byte)).unwrap_or(tail.len());
        (String::from_utf8_lossy(head).into_owned(), String::from_utf8_lossy(&tail[start..]).into_owned())
    }

    /// Length in characters of JSON, as far as it is kept.
    fn cost(&self) -> usize {
        let (head, tail) = self.pieces();
        head.chars().chain(tail.chars()).map(escaped).sum()
    }

    /// At most `budget` characters of JSON, head and tail around a marker that counts what is missing.
    fn show(&self, budget: usize) -> Shown {
        let (head, tail) = self.pieces();
        let cost: usize = head.chars().chain(tail.chars()).map(escaped).sum();
        if tail.is_empty() && cost <= budget {
            return Shown { text: head, truncated: false };
        }
        let room = budget.saturating_sub(MARKER);
        let first = end_within(&head, room / 2);
        let last_of = if tail.is_empty() { &head[first..] } else { &tail[..] };
        let last = start_within(last_of, room - room / 2);
        let (first, last) = (&head[..first], &last_of[last..]);
        let shown = (first.chars().count() + last.chars().count()) as u64;
        let missing = self.characters.saturating_sub(shown);
        Shown { text: format!("{first}… [{missing} characters left out] …{last}"), truncated: true }
    }
}

/// Room for the marker.
const MARKER: usize = 52;

/// Both streams within one budget: each may use what the other leaves, and half of it in any case.
pub(super) fn share(stdout: &Capture, stderr: &Capture, budget: usize) -> (Shown, Shown) {
    let half = budget / 2;
    let (for_out, for_err) = (budget - stderr.cost().min(half), budget - stdout.cost().min(half));
    (stdout.show(for_out), stderr.show(for_err))
}

/// Whether a byte begins a character of UTF-8.
fn starts(byte: u8) -> bool {
    byte & 0xC0 != 0x80
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
    use super::*;

    fn capture(pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        pieces.iter().for_each(|piece| capture.push(piece));
        capture
    }

    #[test]
    fn short_output_passes_whole() {
        let shown = capture(&[b"a\xC3", b"\xA4b"]).show(100);
        assert_eq!((shown.text.as_str(), shown.truncated), ("aäb", false));
        assert_eq!(capture(&[b"\xFF\xFEx"]).show(100).text, "\u{FFFD}\u{FFFD}x");
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        let text = "ä".repeat(1_000);
        let shown = capture(&[text.as_bytes()]).show(152);
        assert!(shown.truncated && shown.text.starts_with("ää") && shown.text.ends_with("ää"));
        assert!(shown.text.contains("… [900 characters left out] …"), "{}", shown.text);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut capture = Capture::default();
        let line = "€uro ".repeat(1_000);
        for _ in 0..1_000 {
            capture.push(line.as_bytes());
        }
        capture.push(b"END");
        assert!(capture.head.len() == KEPT && capture.tail.len() == KEPT);
        let shown = capture.show(1_000);
        assert!(shown.text.ends_with("END") && !shown.text.contains('\u{FFFD}'));
        assert!(shown.text.len() < 2_000);
        let whole = capture.show(usize::MAX);
        assert!(whole.truncated && !whole.text.contains('\u{FFFD}'));
    }

    #[test]
    fn escapes_count_and_both_streams_share() {
        let (quotes, plain) = (capture(&["\"".repeat(5_000).as_bytes()]), capture(&[b"short"]));
        let (out, err) = share(&quotes, &plain, 1_000);
        let length = serde_json::to_string(&out.text).unwrap().chars().count();
        assert!((800..=1_000).contains(&length), "{length}");
        assert_eq!((err.text.as_str(), err.truncated), ("short", false));
        let both = share(&quotes, &quotes, 1_000);
        assert!(both.0.truncated && both.1.truncated);
    }
}
