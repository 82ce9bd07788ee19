//! What a client still sends when it has been answered: a body that nobody asked for, or one that is too long. A connection
//! that is closed while something is left to read is reset, and the client never sees its answer. So the rest is read and
//! thrown away, within bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Most bytes of a rest that are read.
const BYTES: usize = 64 << 20;
/// A rest is read for so long.
const TIME: Duration = Duration::from_secs(5);
/// Read at once.
const CHUNK: usize = 16 << 10;

/// Whether a request of a connection was answered without having been read to its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Unread(Arc<AtomicBool>);

impl Unread {
    fn mark(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_marked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The body of a request; dropped before its end it says so.
pub(super) struct Arriving<B: Body> {
    body: B,
    unread: Unread,
}

impl<B: Body> Arriving<B> {
    pub(super) fn new(body: B, unread: Unread) -> Self {
        Self { body, unread }
    }
}

impl<B: Body + Unpin> Body for Arriving<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for Arriving<B> {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            self.unread.mark();
        }
    }
}

/// The end of a connection that may have a rest.
pub(super) struct Rest {
    unread: Unread,
    left: usize,
    until: Option<Pin<Box<Sleep>>>,
}

impl Rest {
    pub(super) fn new(unread: Unread) -> Self {
        Self { unread, left: BYTES, until: None }
    }

    /// Reads what is left, once nothing more is written. How that ends is nobody's business any more.
    pub(super) fn poll_read<T: AsyncRead + Unpin>(
        &mut self,
        io: &mut T,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if !self.unread.is_marked() {
            return Poll::Ready(());
        }
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(TIME)));
        let mut chunk = [0; CHUNK];
        // Whoever sends without a pause must not keep others waiting.
        for _ in 0..16 {
            if self.left == 0 || until.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut chunk);
            let read = ready!(Pin::new(&mut *io).poll_read(context, &mut buffer));
            let count = buffer.filled().len();
            if read.is_err() || count == 0 {
                return Poll::Ready(());
            }
            self.left = self.left.saturating_sub(count);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_read_to_its_end_and_no_longer_than_its_time() {
        let unread = Unread::default();
        unread.mark();
        let (mut server, mut client) = duplex(64);
        let sent = holon_platform::spawn::task(async move {
            client.write_all(&[1; 4_096]).await.unwrap();
            client.shutdown().await.unwrap();
            client
        });
        let mut rest = Rest::new(unread.clone());
        poll_fn(|context| rest.poll_read(&mut server, context)).await;
        let _client = sent.await.unwrap();
        assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0, "nothing is left");

        let (mut server, _silent) = duplex(64);
        let began = Instant::now();
        let mut rest = Rest::new(unread);
        poll_fn(|context| rest.poll_read(&mut server, context)).await;
        assert_eq!(began.elapsed(), TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_read_is_not_waited_for() {
        let unread = Unread::default();
        let mut body = Arriving::new(Full::new(Bytes::from_static(b"all")), unread.clone());
        assert_eq!((&mut body).collect().await.unwrap().to_bytes(), "all");
        drop(body);
        let (mut server, _silent) = duplex(64);
        let began = Instant::now();
        let mut rest = Rest::new(unread.clone());
        poll_fn(|context| rest.poll_read(&mut server, context)).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        drop(Arriving::new(Full::new(Bytes::from_static(b"all")), unread.clone()));
        assert!(unread.is_marked());
    }
}
