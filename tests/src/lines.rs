//! A program that is spoken to in lines of JSON, over its standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// For an answer, on a machine that does much else.
const ENOUGH: Duration = Duration::from_secs(60);

/// The running program. It is killed with its test.
pub struct Lines {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Everything that it has written so far.
    pub seen: Vec<Value>,
}

impl Lines {
    /// # Panics
    /// When it can't be started, or when it writes a line that is no JSON.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("it is read");
                let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, seen: Vec::new() }
    }

    /// Writes a line. A program that is gone does not read it.
    pub fn send(&mut self, line: &Value) {
        self.raw(&line.to_string());
    }

    /// The same with a text that may be anything.
    pub fn raw(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).ok();
    }

    /// Waits for a line that is wanted, and gives it.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = match self.lines.recv_timeout(ENOUGH) {
                Ok(line) => line,
                Err(error) => panic!("{error}: no {what}: {:#?}", self.seen),
            };
            self.seen.push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Waits for a line of a type, and gives its payload.
    pub fn payload(&mut self, kind: &str) -> Value {
        self.until(kind, |line| line["type"] == kind)["payload"].take()
    }

    /// What has come and nobody has waited for, after a time in which more may come.
    pub fn rest(&mut self, within: Duration) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(within) {
            rest.push(line);
        }
        self.seen.extend(rest.iter().cloned());
        rest
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Ends the input, and gives the exit code once everything is read.
    pub fn end(&mut self) -> Option<i32> {
        self.close();
        self.code()
    }

    /// The exit code once everything is read, while the input stays open.
    pub fn code(&mut self) -> Option<i32> {
        loop {
            match self.lines.recv_timeout(ENOUGH) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {:#?}", self.seen),
            }
        }
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It has ended already, or nobody wants it any more.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
