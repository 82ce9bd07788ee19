//! Output of a command in bounded memory: its head, its tail, and how much there was in all.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::digest::Digest;

/// One stream while it comes.
pub(super) struct Capture {
    /// What is kept of the beginning and of the end, in bytes each.
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    /// Characters of the whole stream, counted by their first bytes.
    characters: u64,
    digest: Digest,
    lines: Lines,
}

/// Whether the ends of lines are those of a terminal, which are returned to what was written.
enum Lines {
    AsTheyAre,
    OfTerminal {
        /// A carriage return that may belong to a line feed.
        held: bool,
    },
}

/// One stream afterwards, as text: bytes that are none are replaced, no character is split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub bytes: u64,
    pub characters: u64,
    /// Tells streams apart; it means nothing beyond that.
    pub digest: u64,
    /// All of it, or its beginning.
    pub head: String,
    /// Its end, when something between is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

impl Capture {
    pub(super) fn new(keep: usize, terminal: bool) -> Self {
        let lines = if terminal { Lines::OfTerminal { held: false } } else { Lines::AsTheyAre };
        let (head, tail, digest) = (Vec::new(), VecDeque::new(), Digest::new());
        Self { keep, head, tail, bytes: 0, characters: 0, digest, lines }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match &mut self.lines {
            Lines::AsTheyAre => self.add(bytes),
            Lines::OfTerminal { held } => {
                let (plain, holds) = unreturned(bytes, *held);
                *held = holds;
                self.add(&plain);
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.push(bytes);
        self.characters += characters(bytes);
        let room = (self.keep - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn finish(mut self) -> Kept {
        if matches!(self.lines, Lines::OfTerminal { held: true }) {
            self.add(b"\r");
        }
        let (bytes, characters, digest) = (self.bytes, self.characters, self.digest.finish());
        let (head, tail) = pieces(self.head, self.tail.into(), bytes);
        Kept { bytes, characters, digest, head, tail }
    }
}

/// The kept text in two pieces; the second is empty when nothing between them is missing.
fn pieces(mut head: Vec<u8>, mut tail: Vec<u8>, bytes: u64) -> (String, String) {
    if (head.len() + tail.len()) as u64 == bytes {
        head.append(&mut tail);
        return (text(head), String::new());
    }
    // Characters that the cut went through are left out on both sides.
    let end = head.iter().rposition(|&byte| starts(byte)).unwrap_or(0);
    if std::str::from_utf8(&head[end..]).is_err() {
        head.truncate(end);
    }
    let start = tail.iter().position(|&byte| starts(byte)).unwrap_or(tail.len());
    tail.drain(..start);
    (text(head), text(tail))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned())
}

/// Without the carriage returns that a terminal puts before line feeds; says whether one is held back.
fn unreturned(bytes: &[u8], held: bool) -> (Vec<u8>, bool) {
    if bytes.is_empty() {
        return (Vec::new(), held);
    }
    let mut plain = Vec::with_capacity(bytes.len() + 1);
    let mut after_return = held;
    let mut pieces = bytes.split(|&byte| byte == b'\r').peekable();
    while let Some(piece) = pieces.next() {
        // What follows an empty piece is another return, or unknown yet.
        let follows = piece.first().map_or(pieces.peek().is_some(), |&byte| byte != b'\n');
        if after_return && follows {
            plain.push(b'\r');
        }
        plain.extend_from_slice(piece);
        after_return = true;
    }
    (plain, bytes.ends_with(b"\r"))
}

/// How many characters begin in these bytes. Counted in bytes that can't overflow: so the processor takes many of
/// them at once.
fn characters(bytes: &[u8]) -> u64 {
    let counted = bytes.chunks(usize::from(u8::MAX));
    counted.map(|some| u64::from(some.iter().map(|&byte| u8::from(starts(byte))).sum::<u8>())).sum()
}

/// Whether a byte begins a character of UTF-8.
fn starts(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: usize, terminal: bool, pieces: &[&[u8]]) -> Kept {
        let mut capture = Capture::new(keep, terminal);
        pieces.iter().for_each(|piece| capture.push(piece));
        capture.finish()
    }

    #[test]
    fn short_output_is_kept_whole() {
        let text = kept(100, false, &[b"a\xC3", b"\xA4b"]);
        assert_eq!((text.head.as_str(), text.tail.as_str(), text.characters), ("aäb", "", 3));
        assert_eq!(kept(100, false, &[b"\xFF\xFEx"]).head, "\u{FFFD}\u{FFFD}x");
    }

    #[test]
    fn characters_are_counted_however_many_there_are() {
        for count in [0, 1, 254, 255, 256, 1_000] {
            assert_eq!(characters("x".repeat(count).as_bytes()), count as u64);
            assert_eq!(characters("€".repeat(count).as_bytes()), count as u64);
        }
    }

    #[test]
    fn memory_is_bounded_and_no_character_is_split() {
        let mut capture = Capture::new(1_000, false);
        let line = "€uro ".repeat(100);
        for _ in 0..1_000 {
            capture.push(line.as_bytes());
        }
        capture.push(b"END");
        assert!(capture.head.len() == 1_000 && capture.tail.len() == 1_000);
        let kept = capture.finish();
        assert_eq!((kept.bytes, kept.characters), (700_003, 500_003));
        assert!(kept.tail.ends_with("END") && !format!("{}{}", kept.head, kept.tail).contains('\u{FFFD}'));
    }

    #[test]
    fn the_line_ends_of_a_terminal_are_undone() {
        assert_eq!(kept(100, true, &[b"a\r", b"\nb\rc\r\n\r"]).head, "a\nb\rc\n\r");
        assert_eq!(kept(100, false, &[b"a\r\n"]).head, "a\r\n");
        assert_eq!(kept(100, true, &[b"a\r\r\n\r\r", b"", b"\rb\r", b"\r\n"]).head, "a\r\n\r\r\rb\r\n");
    }
}
