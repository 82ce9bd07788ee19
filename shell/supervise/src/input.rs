//! What a command is given at its standard input: written as it takes it, without ever waiting for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use holon_facts::{Millis, Mono};

use super::protocol::{INPUT_BYTES, Reply};

/// How long a command may take to read an input, those before it included.
const READ_TIMEOUT: Millis = Millis::seconds(2);
/// Inputs that wait at a time, and their bytes.
const WAITING: usize = 64;
const WAITING_BYTES: usize = 1 << 20;

/// Why nothing more is taken.
const REFUSES: &str = "the command does not accept input";
pub(super) const ENDED: &str = "the command has ended";
const CLOSED: &str = "the command has closed its input";
const TOO_LATE: &str = "the command did not read it in time";

/// An input as it came.
pub(super) struct Given {
    /// The connection that brought it.
    pub(super) from: u64,
    pub(super) id: u64,
    pub(super) text: String,
}

/// What goes back, and over which connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) to: u64,
    pub(super) reply: Reply,
}

pub(super) struct Input {
    sink: Result<File, &'static str>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

struct Waiting {
    given: Given,
    written: usize,
    until: Mono,
}

impl Given {
    pub(super) fn answer(&self, written: usize, problem: Option<&str>) -> Answer {
        let (bytes_written, problem) = (written as u64, problem.map(str::to_owned));
        Answer { to: self.from, reply: Reply::Input { id: self.id, bytes_written, problem } }
    }
}

impl Input {
    /// Into this pipe or terminal, which does not wait; none where the command has no input.
    pub(super) fn new(sink: Option<File>) -> Self {
        Self { sink: sink.ok_or(REFUSES), waiting: VecDeque::new(), bytes: 0 }
    }

    /// Puts an input behind those that wait, or refuses it.
    pub(super) fn take(&mut self, given: Given, now: Mono) -> Option<Answer> {
        let length = given.text.len();
        if length > INPUT_BYTES {
            let problem = format!("an input has at most {INPUT_BYTES} bytes, this one has {length}");
            return Some(given.answer(0, Some(&problem)));
        }
        if let Err(why) = self.sink {
            return Some(given.answer(0, Some(why)));
        }
        if self.waiting.len() >= WAITING || self.bytes + length > WAITING_BYTES {
            return Some(given.answer(0, Some("too much input waits for the command to read it")));
        }
        self.bytes += length;
        self.waiting.push_back(Waiting { given, written: 0, until: now.after(READ_TIMEOUT) });
        None
    }

    /// What becomes writable when the command has read; none while nothing waits.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        let sink = self.sink.as_ref().ok()?;
        (!self.waiting.is_empty()).then(|| sink.as_fd())
    }

    /// When the first that waits is given up.
    pub(super) fn until(&self) -> Option<Mono> {
        self.waiting.front().map(|first| first.until)
    }

    /// Writes what is taken now, and gives up what has waited for too long.
    pub(super) fn write(&mut self, now: Mono) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let (Ok(sink), Some(first)) = (&mut self.sink, self.waiting.front_mut()) {
            let rest = &first.given.text.as_bytes()[first.written..];
            let problem = match if rest.is_empty() { Ok(0) } else { some(sink, rest) } {
                Ok(count) => {
                    first.written += count;
                    if count < rest.len() {
                        continue;
                    }
                    None
                }
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                Err(problem) if problem.kind() == io::ErrorKind::WouldBlock && now < first.until => break,
                Err(problem) if problem.kind() == io::ErrorKind::WouldBlock => Some(TOO_LATE),
                Err(_) => {
                    answers.extend(self.close(CLOSED));
                    break;
                }
            };
            if let Some(Waiting { given, written, .. }) = self.waiting.pop_front() {
                self.bytes -= given.text.len();
                answers.push(given.answer(written, problem));
            }
        }
        answers
    }

    /// Nothing more is written; the first reason stays.
    pub(super) fn close(&mut self, why: &'static str) -> Vec<Answer> {
        if self.sink.is_ok() {
            self.sink = Err(why);
        }
        self.bytes = 0;
        self.waiting.drain(..).map(|waiting| waiting.given.answer(waiting.written, Some(why))).collect()
    }
}

/// Writes at least one byte, or says that there is no room.
fn some(sink: &mut File, rest: &[u8]) -> io::Result<usize> {
    let count = sink.write(rest)?;
    if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;

    use rustix::io::ioctl_fionbio;

    use super::*;

    fn input() -> (PipeReader, Input) {
        let (reader, writer) = io::pipe().unwrap();
        ioctl_fionbio(&writer, true).unwrap();
        (reader, Input::new(Some(OwnedFd::from(writer).into())))
    }

    fn given(id: u64, bytes: usize) -> Given {
        Given { from: 7, id, text: "x".repeat(bytes) }
    }

    fn told(answers: &[Answer]) -> Vec<(u64, u64, Option<&str>)> {
        let told = answers.iter().map(|answer| match &answer.reply {
            Reply::Input { id, bytes_written, problem } => (*id, *bytes_written, problem.as_deref()),
            Reply::Ready { .. } | Reply::Ended => panic!("{answer:?}"),
        });
        told.collect()
    }

    #[test]
    fn a_reader_gets_everything_in_order_and_one_that_sleeps_gets_what_fits() {
        let (mut reader, mut input) = input();
        for id in 0..3 {
            assert_eq!(input.take(given(id, INPUT_BYTES), Mono(0)), None);
        }
        assert_eq!(told(&input.write(Mono(0))), [(0, 65_536, None)], "a pipe has room for so much");
        assert!(input.watched().is_some());
        reader.read_exact(&mut [0; 65_536]).unwrap();
        assert_eq!(told(&input.write(Mono(1))), [(1, 65_536, None)]);
        let late = input.until().unwrap();
        reader.read_exact(&mut [0; 4_096]).unwrap();
        assert_eq!(told(&input.write(late)), [(2, 4_096, Some(TOO_LATE))]);
        assert!(input.watched().is_none() && input.until().is_none() && input.bytes == 0);
    }

    #[test]
    fn what_waits_is_bounded() {
        let ((_first, mut input), (_second, mut another)) = (input(), input());
        let refused = input.take(given(0, INPUT_BYTES + 1), Mono(0));
        assert!(told(refused.as_slice())[0].2.unwrap().contains("65537"));
        let refused = (0..1_000).filter_map(|id| input.take(given(id, INPUT_BYTES), Mono(0))).count();
        assert_eq!(refused, 1_000 - WAITING_BYTES / INPUT_BYTES);
        let refused = (0..1_000).filter_map(|id| another.take(given(id, 1), Mono(0))).count();
        assert_eq!(refused, 1_000 - WAITING);
    }

    #[test]
    fn a_closed_input_is_an_answer() {
        let (reader, mut input) = input();
        assert_eq!(input.take(given(1, 5), Mono(0)), None);
        assert_eq!(input.take(given(2, 0), Mono(0)), None);
        drop(reader);
        assert_eq!(told(&input.write(Mono(0))), [(1, 0, Some(CLOSED)), (2, 0, Some(CLOSED))]);
        assert_eq!(told(input.take(given(3, 5), Mono(0)).as_slice()), [(3, 0, Some(CLOSED))]);
        let mut none = Input::new(None);
        assert_eq!(told(none.take(given(4, 5), Mono(0)).as_slice()), [(4, 0, Some(REFUSES))]);
    }
}
