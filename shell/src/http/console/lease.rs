//! A stream of a session ends with it: whoever is logged out sees nothing more.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body as HttpBody;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::sessions::Lease;

/// A body that ends with a session.
struct Leased {
    body: HttpBody,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A reply that ends with a session.
pub(in crate::http) fn leased(lease: Lease, response: Response) -> Response {
    response.map(|body| HttpBody::new(Leased::new(body, lease)))
}

impl Leased {
    fn new(body: HttpBody, lease: Lease) -> Self {
        Self { body, ended: Box::pin(lease.ended()) }
    }
}

impl Body for Leased {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
