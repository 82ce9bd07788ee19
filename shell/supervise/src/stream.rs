//! One stream of a command, while it comes. What is secret goes no further than here: neither log nor record has it.

use std::fs::File;
use std::io::{self, Read};

use holon_text::Redactor;
use rustix::pipe::fcntl_setpipe_size;

use super::capture::{Capture, Kept};
use super::log::Log;

/// Output that comes in pieces of less is let come together: to look at each of them costs as much as to print it.
const PIECE: usize = 4 << 10;
/// Bytes that a pipe is made to take once pieces are larger; a kernel gives one user room for hundreds of those.
const WIDE: usize = 256 << 10;
/// Pieces that such a pipe takes: while they come together, whoever writes must not have to wait.
const PIECES: usize = 16;

pub(super) struct Stream {
    /// None once it has ended.
    pub(super) source: Option<File>,
    redactor: Redactor,
    capture: Capture,
    /// Bytes of what is no small piece.
    piece: usize,
    widened: bool,
}

impl Stream {
    pub(super) fn new(source: Option<File>, keep: usize, terminal: bool, redactor: Redactor) -> Self {
        Self { source, redactor, capture: Capture::new(keep, terminal), piece: PIECE, widened: false }
    }

    /// Takes what has come, at most one buffer of it. Says whether that was a small piece; none where nothing came.
    pub(super) fn read(&mut self, buffer: &mut [u8], log: &mut Log) -> Option<bool> {
        let source = self.source.as_mut()?;
        match source.read(buffer) {
            Ok(count @ 1..) => {
                let small = count < self.piece;
                if !small && !self.widened {
                    self.widened = true;
                    // A terminal stays as it is, and so does a pipe of a user who has too many.
                    self.piece = fcntl_setpipe_size(source, WIDE).map_or(PIECE, |size| size / PIECES);
                }
                let bytes = self.redactor.push(&buffer[..count]);
                self.keep(&bytes, log);
                Some(small)
            }
            Err(problem)
                if matches!(problem.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) =>
            {
                None
            }
            // A terminal whose other side is closed fails; a pipe ends.
            Ok(0) | Err(_) => {
                self.source = None;
                self.flush(log);
                None
            }
        }
    }

    fn keep(&mut self, bytes: &[u8], log: &mut Log) {
        if !bytes.is_empty() {
            log.push(bytes);
            self.capture.push(bytes);
        }
    }

    /// What was held back as the possible beginning of a secret: nothing follows.
    fn flush(&mut self, log: &mut Log) {
        let rest = self.redactor.finish();
        self.keep(&rest, log);
    }

    pub(super) fn finish(mut self, log: &mut Log) -> Kept {
        self.flush(log);
        self.capture.finish()
    }
}
