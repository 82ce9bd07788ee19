//! Standard input, line by line: a thread reads it, and is never further ahead than one line.

use std::io::{self, BufRead, BufReader, Stdin};

use holon_platform::spawn;
use tokio::sync::mpsc::{Receiver, channel};

use super::input::{Instruction, LINE_BYTES, Source};
use super::output::Refusal;

/// Lines that were read and that nobody has taken yet.
const AHEAD: usize = 1;

/// What stood in a line.
type Read = Result<Instruction, (Source, Refusal)>;

/// The lines of standard input.
pub struct Incoming {
    lines: Receiver<Read>,
    open: bool,
}

impl Incoming {
    /// Begins to read.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn stdin() -> io::Result<Self> {
        let (sender, lines) = channel(AHEAD);
        // It ends with the input, with the reader, or with the process.
        drop(spawn::thread("stdin", move || {
            let mut lines = Lines::new(BufReader::new(io::stdin()));
            while let Some(line) = lines.next() {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        })?);
        Ok(Self { lines, open: true })
    }

    /// Whether there may be more.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The next line; none at the end of the input. Giving the wait up loses nothing.
    pub async fn next(&mut self) -> Option<Read> {
        let line = self.lines.recv().await;
        self.open = line.is_some();
        line
    }
}

/// Lines of bounded length.
struct Lines<R> {
    reader: R,
    number: u64,
    ended: bool,
}

impl Lines<BufReader<Stdin>> {
    fn new(reader: BufReader<Stdin>) -> Self {
        Self { reader, number: 0, ended: false }
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line that is not empty, or why there is none.
    fn next(&mut self) -> Option<Read> {
        while !self.ended {
            let mut line = Vec::new();
            let length = match self.line(&mut line) {
                Ok(length) => length,
                Err(error) => {
                    self.ended = true;
                    let problem = format!("standard input can't be read: {error}");
                    return Some(Err((self.source(), Refusal::new("input_unreadable", &problem))));
                }
            };
            if length > LINE_BYTES {
                let problem = format!("the line has {length} bytes, the limit is {LINE_BYTES}");
                let hint = "put long texts into files and name the files in the prompt";
                return Some(Err((self.source(), Refusal::new("line_too_long", &problem).hint(hint))));
            }
            if !line.trim_ascii().is_empty() {
                return Some(Instruction::read(self.number, &line));
            }
        }
        None
    }

    fn source(&self) -> Source {
        Source { line: Some(self.number), id: None }
    }

    /// Reads to the end of a line, and keeps no more of it than a line may have. Gives its length.
    fn line(&mut self, line: &mut Vec<u8>) -> io::Result<usize> {
        self.number += 1;
        let mut length = 0;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                self.ended = true;
                return Ok(length);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            length += part.len();
            if length <= LINE_BYTES {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<Read> {
        let mut lines = Lines { reader: BufReader::with_capacity(7, text), number: 0, ended: false };
        std::iter::from_fn(|| lines.next()).collect()
    }

    #[test]
    fn lines_are_numbered_and_empty_ones_left_out() {
        let lines = read(
            b"\n{\"type\":\"prompt\",\"text\":\"a\"}\r\n  \nnonsense\n{\"type\":\"prompt\",\"text\":\"b\"}",
        );
        let told: Vec<String> = lines
            .iter()
            .map(|line| match line {
                Ok(Instruction { source, text, .. }) => format!("{:?} {text}", source.line),
                Err((source, refusal)) => format!("{:?} {}", source.line, refusal.code()),
            })
            .collect();
        assert_eq!(told, ["Some(2) a", "Some(4) invalid_line", "Some(5) b"]);
        assert!(read(b"").is_empty() && read(b"\n\n").is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
        let mut text = vec![b'x'; LINE_BYTES + 1];
        text.extend_from_slice(b"\n{\"type\":\"prompt\",\"text\":\"next\"}\n");
        let lines = read(&text);
        let Err((source, refusal)) = &lines[0] else { panic!("{lines:?}") };
        assert_eq!((source.line, refusal.code()), (Some(1), "line_too_long"));
        assert!(refusal.error().contains(&(LINE_BYTES + 1).to_string()), "{}", refusal.error());
        assert!(matches!(&lines[1], Ok(Instruction { text, .. }) if text == "next"), "{lines:?}");
    }
}
