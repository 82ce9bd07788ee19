//! A connection whose other end has to do its part: it says something soon after it connected, and takes what
//! it is sent. Otherwise it is cut, whatever was under way; an event stream resumes by its cursor.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use holon_platform::crash_point::{Point, reached};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::rest::{Rest, Unread};

/// The first bytes come so soon, as many as show which protocol it is: from then on that has time-outs of its own.
const FIRST: Duration = Duration::from_secs(10);
/// What HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Something of what is sent is taken so soon.
pub(super) const TAKEN: Duration = Duration::from_secs(30);

pub(super) struct Guarded<T> {
    io: T,
    /// Runs until the first bytes have come.
    first: Option<Pin<Box<Sleep>>>,
    /// What HTTP/2 still has to begin with, as long as nothing else has come.
    preface: &'static [u8],
    /// Runs while the other end takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Whether nothing more is written.
    ended: bool,
    rest: Rest,
}

impl<T> Guarded<T> {
    /// `unread` is whether a request was answered before it was read.
    pub(super) fn new(io: T, unread: Unread) -> Self {
        let first = Some(Box::pin(sleep(FIRST)));
        Self { io, first, preface: PREFACE, stuck: None, ended: false, rest: Rest::new(unread) }
    }

    /// These bytes have come; none where there are no more.
    fn came(&mut self, bytes: &[u8]) {
        self.preface = self.preface.strip_prefix(bytes).filter(|_| !bytes.is_empty()).unwrap_or_default();
        if self.preface.is_empty() {
            self.first = None;
        }
    }

    /// Watches the time while a write waits.
    fn written<N>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<N>>) -> Poll<io::Result<N>> {
        if done.is_ready() {
            self.stuck = None;
            return done;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(TAKEN)));
        match stuck.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Guarded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if read.is_ready() {
            if self.first.is_some() {
                self.came(&buffer.filled()[before..]);
            }
            return read;
        }
        match self.first.as_mut().map(|first| first.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        if written.is_ready() {
            reached(Point::AnswerSent);
        }
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        if written.is_ready() {
            reached(Point::AnswerSent);
        }
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(context);
        self.written(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ended {
            let ended = Pin::new(&mut self.io).poll_shutdown(context);
            ready!(self.written(context, ended))?;
            self.ended = true;
        }
        let Self { io, rest, .. } = &mut *self;
        rest.poll_read(io, context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_is_cut() {
        let (server, mut client) = duplex(64);
        let mut guarded = Guarded::new(server, Unread::default());
        let began = Instant::now();
        let error = guarded.read_u8().await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (ErrorKind::TimedOut, FIRST));

        let (server, mut other) = duplex(64);
        let mut guarded = Guarded::new(server, Unread::default());
        other.write_u8(1).await.unwrap();
        guarded.read_u8().await.unwrap();
        let silent = tokio::time::timeout(FIRST * 10, guarded.read_u8()).await;
        assert!(silent.is_err(), "later it may be silent: that is its protocol's business");

        let (server, mut half) = duplex(64);
        let mut guarded = Guarded::new(server, Unread::default());
        half.write_all(&PREFACE[..16]).await.unwrap();
        let mut read = [0; 24];
        let error = guarded.read_exact(&mut read).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "half a preface is none of HTTP/2");
        let (server, mut whole) = duplex(64);
        let mut guarded = Guarded::new(server, Unread::default());
        whole.write_all(PREFACE).await.unwrap();
        guarded.read_exact(&mut read).await.unwrap();
        assert!(guarded.first.is_none());
        client.write_u8(1).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_is_cut_and_whoever_is_slow_is_not() {
        let (server, mut client) = duplex(64);
        let mut guarded = Guarded::new(server, Unread::default());
        let slow = holon_platform::spawn::task(async move {
            for _ in 0..8 {
                sleep(TAKEN / 2).await;
                client.read_exact(&mut [0; 32]).await.unwrap();
            }
            client
        });
        guarded.write_all(&[0; 256]).await.unwrap();
        let _stays_open = slow.await.unwrap();
        let began = Instant::now();
        let error = guarded.write_all(&[0; 256]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (ErrorKind::TimedOut, TAKEN));
    }
}
