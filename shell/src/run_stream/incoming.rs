//! Standard input, line by line: a thread reads it, and is never further ahead than one line.

use std::io::{self, BufRead, BufReader};

use holon_platform::spawn;
use holon_rpc::{Line, Lines};
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
            let mut lines = Lines::new(BufReader::new(io::stdin()), LINE_BYTES);
            while let Some(line) = next(&mut lines) {
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

/// The next line, or why it is none.
fn next(lines: &mut Lines<impl BufRead>) -> Option<Read> {
    let line = lines.next_line();
    let source = || Source { line: Some(lines.number()), id: None };
    match line.transpose()? {
        Ok(Line::Read(line)) => Some(Instruction::read(lines.number(), &line)),
        Ok(Line::TooLong(length)) => {
            let problem = format!("the line has {length} bytes, the limit is {LINE_BYTES}");
            let hint = "put long texts into files and name the files in the prompt";
            Some(Err((source(), Refusal::new("line_too_long", &problem).hint(hint))))
        }
        Err(error) => {
            let problem = format!("standard input can't be read: {error}");
            Some(Err((source(), Refusal::new("input_unreadable", &problem))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<Read> {
        let mut lines = Lines::new(BufReader::with_capacity(7, text), LINE_BYTES);
        std::iter::from_fn(|| next(&mut lines)).collect()
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
