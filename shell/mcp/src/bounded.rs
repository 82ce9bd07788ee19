//! Lines of a server, none of them longer than can be kept: a line without end is an error at once, not a wait. Escapes of half
//! a character, which no reader of JSON takes, are replaced: programs write them that cut a text in the middle of one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Most bytes of one message.
pub(crate) const MESSAGE_BYTES: usize = 8 << 20;
/// Read at once.
const CHUNK: usize = 8 << 10;
/// An escape: `\uD83D`.
const ESCAPE: usize = 6;

/// Passes on what is read until a line is too long.
pub(crate) struct BoundedLines<R> {
    source: R,
    most: usize,
    /// Bytes of the line that is being read.
    line: usize,
    exceeded: Arc<AtomicBool>,
    /// What was read and not passed on yet: a chunk at most, and the beginning of an escape.
    held: Vec<u8>,
    /// So much of it can be passed on.
    ready: usize,
    ended: bool,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(source: R, most: usize) -> Self {
        Self { source, most, line: 0, exceeded: Arc::default(), held: Vec::new(), ready: 0, ended: false }
    }

    /// Becomes true once a line was too long.
    pub(crate) fn exceeded(&self) -> Arc<AtomicBool> {
        self.exceeded.clone()
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line += piece.len();
            if self.line > self.most {
                self.exceeded.store(true, Ordering::Relaxed);
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            }
            if piece.ends_with(b"\n") {
                self.line = 0;
            }
        }
        self.ended = bytes.is_empty();
        self.held.extend_from_slice(bytes);
        self.ready = if self.ended { self.held.len() } else { mend(&mut self.held) };
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.ready == 0 && !self.ended {
            let mut chunk = [0; CHUNK];
            let mut read = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut self.source).poll_read(cx, &mut read))?;
            self.take(read.filled())?;
        }
        let passed = self.ready.min(buffer.remaining());
        buffer.put_slice(&self.held[..passed]);
        self.held.drain(..passed);
        self.ready -= passed;
        Poll::Ready(Ok(()))
    }
}

/// What stands at the beginning of some bytes.
enum Unit {
    /// That shows with more of them.
    Open,
    Escape(u16),
    Other,
}

impl Unit {
    fn of(bytes: &[u8]) -> Self {
        let escape = &bytes[..bytes.len().min(ESCAPE)];
        let begins = escape.iter().zip(br"\u").all(|(byte, expected)| byte == expected);
        if !begins || !escape.iter().skip(2).all(u8::is_ascii_hexdigit) {
            return Self::Other;
        }
        if escape.len() < ESCAPE {
            return Self::Open;
        }
        let digits = std::str::from_utf8(&escape[2..]).unwrap_or_default();
        u16::from_str_radix(digits, 16).map_or(Self::Other, Self::Escape)
    }
}

/// Replaces the escapes of half a character by that of the character for what can't be shown, which is as long. How many of the
/// bytes stay as they are then; the others are given again with more.
fn mend(bytes: &mut [u8]) -> usize {
    const FIRST: std::ops::RangeInclusive<u16> = 0xd800..=0xdbff;
    const SECOND: std::ops::RangeInclusive<u16> = 0xdc00..=0xdfff;
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let long = match Unit::of(&bytes[at..]) {
            Unit::Open => return at,
            // Of another escape, a backslash for example.
            Unit::Other => 2,
            Unit::Escape(unit) if !FIRST.contains(&unit) && !SECOND.contains(&unit) => ESCAPE,
            Unit::Escape(unit) => match Unit::of(&bytes[at + ESCAPE..]) {
                Unit::Open if FIRST.contains(&unit) => return at,
                Unit::Escape(second) if FIRST.contains(&unit) && SECOND.contains(&second) => 2 * ESCAPE,
                Unit::Open | Unit::Escape(_) | Unit::Other => {
                    bytes[at + 2..at + ESCAPE].copy_from_slice(b"fffd");
                    ESCAPE
                }
            },
        };
        at = (at + long).min(bytes.len());
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(text: &str) -> (io::Result<usize>, bool) {
        let mut lines = BoundedLines::new(text.as_bytes(), 8);
        let exceeded = lines.exceeded();
        let mut all = String::new();
        (lines.read_to_string(&mut all).await, exceeded.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_line_has_a_bound_and_their_number_has_none() {
        let (read_all, exceeded) = read("1234567\n1234567\n\n1234567\n").await;
        assert_eq!((read_all.unwrap(), exceeded), (25, false));
        let (failed, exceeded) = read("123\n12345678\n").await;
        assert_eq!((failed.unwrap_err().kind(), exceeded), (io::ErrorKind::InvalidData, true));
    }

    /// What comes out of what a program writes in two pieces, wherever it is cut.
    async fn mended(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for cut in 0..=text.len() {
            let (first, second) = text.as_bytes().split_at(cut);
            let mut lines = BoundedLines::new(first.chain(second), MESSAGE_BYTES);
            let mut read = String::new();
            lines.read_to_string(&mut read).await.unwrap();
            all.push(read);
        }
        all.dedup();
        all
    }

    #[tokio::test]
    async fn half_a_character_becomes_one_that_can_be_read_wherever_it_is_cut() {
        for (text, expected) in [
            (r#"["cut \ud83d"]"#, r#"["cut \ufffd"]"#),
            (r#"["\uD83D\uDE00 \ud83d\ude00"]"#, r#"["\uD83D\uDE00 \ud83d\ude00"]"#),
            (
                r#"["\ude00", "\ud83d\ud83d\ude00", "\ud83d\n"]"#,
                r#"["\ufffd", "\ufffd\ud83d\ude00", "\ufffd\n"]"#,
            ),
            (
                r#"["\\ud83d \\\ud83d \\\\", "\u00e4\ud83dx"]"#,
                r#"["\\ud83d \\\ufffd \\\\", "\u00e4\ufffdx"]"#,
            ),
            (r#"["\ud8", "\u", "\"#, r#"["\ud8", "\u", "\"#),
        ] {
            assert_eq!(mended(text).await, [expected]);
        }
        serde_json::from_str::<serde_json::Value>(&mended(r#"["\ud83d", "\udead"]"#).await[0]).unwrap();
        let long = format!("\"{}\\ud83d\"", "x".repeat(3 * CHUNK));
        let mut read = String::new();
        BoundedLines::new(long.as_bytes(), MESSAGE_BYTES).read_to_string(&mut read).await.unwrap();
        assert_eq!(read, long.replace("d83d", "fffd"));
    }
}
