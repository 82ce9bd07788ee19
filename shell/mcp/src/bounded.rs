//! Lines of a server, none of them longer than can be kept: a line without end is an error at once, not a wait.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Most bytes of one message.
pub(crate) const MESSAGE_BYTES: usize = 8 << 20;

/// Passes on what is read until a line is too long.
pub(crate) struct BoundedLines<R> {
    source: R,
    most: usize,
    /// Bytes of the line that is being read.
    line: usize,
    exceeded: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(source: R, most: usize) -> Self {
        Self { source, most, line: 0, exceeded: Arc::default() }
    }

    /// Becomes true once a line was too long.
    pub(crate) fn exceeded(&self) -> Arc<AtomicBool> {
        self.exceeded.clone()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.source).poll_read(cx, buffer))?;
        let mut line = self.line;
        let mut exceeds = false;
        for piece in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            line += piece.len();
            exceeds |= line > self.most;
            if piece.ends_with(b"\n") {
                line = 0;
            }
        }
        self.line = line;
        if exceeds {
            self.exceeded.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long")));
        }
        Poll::Ready(Ok(()))
    }
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
}
