//! Heads that are refused before any request is known, since they are no HTTP or too long: the HTTP library answers
//! them by itself, with a status and nothing else. Here they get the body that every other error has.
//!
//! What the library writes is looked at only where nothing else can stand: at the beginning of a write, after
//! everything before was sent, while no request is being answered.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use holon_api::Code;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::failure::Failure;

/// The end of the library's own answers.
const EMPTY: &str = "content-length: 0\r\n";

/// Requests of one connection: how many have begun, and how many are through.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicUsize,
    through: AtomicUsize,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Request(Requests);

impl Requests {
    pub(super) fn begin(&self) -> Request {
        self.0.begun.fetch_add(1, Ordering::AcqRel);
        Request(self.clone())
    }

    /// How many there were; none while one is being answered.
    fn all_through(&self) -> Option<usize> {
        let through = self.0.through.load(Ordering::Acquire);
        (through == self.0.begun.load(Ordering::Acquire)).then_some(through)
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.0.0.through.fetch_add(1, Ordering::AcqRel);
    }
}

/// The body of an answer; with its end the request is through.
pub(super) struct Answer<B> {
    pub(super) body: B,
    pub(super) _request: Request,
}

impl<B: Body + Unpin> Body for Answer<B> {
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

/// A connection on which refused heads get an error body.
pub(super) struct ErrorBodyWriter<T> {
    io: T,
    requests: Requests,
    /// After how many requests everything that was written has been sent; none while something is on its way.
    sent: Option<usize>,
    /// What is left to write of a refusal.
    refusal: Bytes,
}

impl<T> ErrorBodyWriter<T> {
    pub(super) fn new(io: T, requests: Requests) -> Self {
        Self { io, requests, sent: Some(0), refusal: Bytes::new() }
    }

    /// What stands for these bytes, if they are the library's own answer.
    fn refusal_for(&self, written: &[u8]) -> Option<Bytes> {
        let quiet = self.sent.is_some() && self.sent == self.requests.all_through();
        if quiet { error_body(written) } else { None }
    }
}

impl<T: AsyncWrite + Unpin> ErrorBodyWriter<T> {
    /// Writes what is left of a refusal.
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = ready!(Pin::new(&mut self.io).poll_write(context, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The library's own answer to a head with the body of every other error; none if it is something else.
fn error_body(written: &[u8]) -> Option<Bytes> {
    let head = std::str::from_utf8(written).ok().filter(|head| head.ends_with("\r\n\r\n"))?;
    let failure = match head.strip_prefix("HTTP/1.1 ")?.split(' ').next()? {
        "400" => Failure::new(Code::InvalidHead, "the head of the request is no HTTP")
            .hint("a line like `GET /status HTTP/1.1`, then headers as `name: value`"),
        "414" => Failure::new(Code::UriTooLong, "the address of the request is longer than 65,534 bytes")
            .hint("send what is long as the body of a POST"),
        "431" => {
            let text = "the head of the request has more than 100 headers, or more than 408 KiB";
            Failure::new(Code::HeadTooLarge, text).hint("send fewer or shorter headers")
        }
        _ => return None,
    };
    let body = serde_json::to_string(&failure.body()).ok()?;
    let filled = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    let (before, after) = head.split_once(EMPTY)?;
    Some(format!("{before}{filled}{after}{body}").into())
}

impl<T: AsyncRead + Unpin> AsyncRead for ErrorBodyWriter<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for ErrorBodyWriter<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        if let Some(refusal) = self.refusal_for(bytes) {
            (self.refusal, self.sent) = (refusal, None);
            return Poll::Ready(Ok(bytes.len()));
        }
        self.sent = None;
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        // The library has nothing to say besides.
        if let [only] = slices
            && let Some(refusal) = self.refusal_for(only)
        {
            (self.refusal, self.sent) = (refusal, None);
            return Poll::Ready(Ok(only.len()));
        }
        self.sent = None;
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        // Asked for only when the library keeps nothing back.
        ready!(Pin::new(&mut self.io).poll_flush(context))?;
        self.sent = self.requests.all_through();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const OWN: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\
                       content-length: 0\r\ndate: now\r\n\r\n";

    /// What comes out at the other end of these writes; each is followed by a flush where that is said.
    async fn sent(requests: &Requests, writes: &[(&str, bool)], room: usize) -> String {
        let (server, mut client) = duplex(room);
        let mut worded = ErrorBodyWriter::new(server, requests.clone());
        let writes: Vec<(String, bool)> =
            writes.iter().map(|(text, flushed)| ((*text).to_owned(), *flushed)).collect();
        let writing = holon_platform::spawn::task(async move {
            for (text, flushed) in writes {
                worded.write_all(text.as_bytes()).await.unwrap();
                if flushed {
                    worded.flush().await.unwrap();
                }
            }
            worded.shutdown().await.unwrap();
        });
        let mut all = String::new();
        client.read_to_string(&mut all).await.unwrap();
        writing.await.unwrap();
        all
    }

    #[tokio::test]
    async fn an_answer_of_the_library_gets_its_words_however_little_is_taken_at_once() {
        for room in [7, 4_096] {
            let said = sent(&Requests::default(), &[(OWN, false)], room).await;
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 431 ") && head.contains("date: now"), "{head}");
            assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{said}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!((&body["ok"], &body["code"]), (&false.into(), &"head_too_large".into()));
        }
        let other = OWN.replace("431", "500");
        assert_eq!(sent(&Requests::default(), &[(&other, false)], 64).await, other);
    }

    /// Texts of agents may look like anything.
    #[tokio::test]
    async fn a_body_that_looks_the_same_stays_as_it_is() {
        let requests = Requests::default();
        let begun = requests.begin();
        assert_eq!(sent(&requests, &[("a head", true), (OWN, true)], 4_096).await, format!("a head{OWN}"));
        drop(begun);
        // It is through, and what it said is not sent yet.
        assert_eq!(sent(&requests, &[(OWN, true)], 4_096).await, OWN);
        let after = sent(&requests, &[("an answer", true), (OWN, true)], 4_096).await;
        assert!(after.starts_with("an answerHTTP/1.1 431") && after.contains("head_too_large"), "{after}");
        assert_eq!(sent(&requests, &[("half", false), (OWN, true)], 4_096).await, format!("half{OWN}"));
    }
}
