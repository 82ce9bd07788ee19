//! A request that is under way at the owner of its cell. A node that stands still answers nothing, and closes nothing either:
//! once another one owns the cell, the answer is waited for a little longer, and given up then.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// For an answer of a node that owns the cell no more: it may be on its way.
pub(super) const GRACE: Duration = Duration::from_secs(1);

type GivenUp = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An answer, or none where `given_up` comes first.
pub(super) async fn answered<Answer>(
    answer: impl Future<Output = Answer>,
    given_up: &mut GivenUp,
) -> Option<Answer> {
    let answer = pin!(answer);
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = given_up => None,
    }
}

/// An answer whose body ends with an error where its owner is given up.
pub(super) fn until(response: Response, given_up: GivenUp) -> Response {
    response.map(|body| Body::new(Rest { body, given_up: Some(given_up) }))
}

struct Rest {
    body: Body,
    /// None once it was.
    given_up: Option<GivenUp>,
}

impl HttpBody for Rest {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(given_up) = &mut self.given_up else { return Poll::Ready(None) };
        let is_given_up = given_up.as_mut().poll(context).is_ready();
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending if is_given_up => {
                self.given_up = None;
                Poll::Ready(Some(Err(axum::Error::new("another node owns the agent now: ask again"))))
            }
            // What has come already is passed on first.
            Poll::Ready(frame) if is_given_up => {
                self.given_up = Some(Box::pin(std::future::ready(())));
                Poll::Ready(frame)
            }
            frame @ (Poll::Pending | Poll::Ready(_)) => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
