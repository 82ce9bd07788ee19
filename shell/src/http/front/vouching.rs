//! What a node tells another one of whoever asks (contract: scale.md, Cells). Nodes prove themselves with their secret; what
//! others write into these headers counts for nothing.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, TRANSFER_ENCODING, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use holon_api::{Code, WEBHOOK_BYTES};
use holon_ledger::postgres::node::CellId;
use holon_supervise::confine::peer::Standing;
use hyper::body::Body as _;
use subtle::ConstantTimeEq as _;

use super::super::auth::Caller;
use super::super::body::collect;
use super::super::console::{Lease, leased};
use super::super::failure::Failure;
use super::super::peer::{OtherEnd, Peer};
use super::super::route::Handled;
use super::super::stream_tokens::{self, HasToken};
use super::target::{Sender, sender};
use super::{Front, HEALTH};

/// Carries the secret of the nodes: a request that has it was passed on by one, and goes no further.
pub(super) const PASSED_ON: HeaderName = HeaderName::from_static("x-holon-passed-on");
/// The cell that it is about.
const CELL: HeaderName = HeaderName::from_static("x-holon-cell");
/// Another user of the machine of the node that was asked is at the other end.
const OTHER_USER: HeaderName = HeaderName::from_static("x-holon-other-user");
/// The node that was asked knows the token of the stream.
const STREAM: HeaderName = HeaderName::from_static("x-holon-stream");
/// Bytes of a body that are read of anybody.
const OF_ANYBODY: u64 = 64 << 10;
/// The same of whoever was let in: they are kept until the request was answered.
const BODY: usize = 64 << 20;

/// A request that came from another node.
#[derive(Clone, Copy)]
pub(super) struct PassedOn {
    /// The cell that the node thought it to be about.
    pub(super) cell: Option<CellId>,
}

/// A request for another node.
pub(super) struct Vouched {
    pub(super) parts: Parts,
    /// What has the session that it came with.
    session: Option<Lease>,
}

/// What this node knows of whoever asks.
enum Known {
    /// Let in.
    Admitted,
    /// Let in by a session of this node's web console.
    Session(Lease),
    /// Shows a token for streams that this node has made; of a session if one has asked for it.
    Stream(Option<Lease>),
    /// Somebody else has to know; and what this node would answer.
    Stranger(Peer, Box<Failure>),
}

impl Vouched {
    /// A stream of a session ends with it.
    pub(super) fn leased(&self, response: Response) -> Response {
        match &self.session {
            Some(lease) => leased(lease.clone(), response),
            None => response,
        }
    }
}

impl Front {
    /// Whether another node has passed a request on. What only nodes may write is taken out of it.
    pub(super) fn passed_on(&self, request: &mut Request) -> Option<PassedOn> {
        let headers = request.headers_mut();
        let proof = headers.remove(PASSED_ON);
        let [cell, other, stream] = [CELL, OTHER_USER, STREAM].map(|name| headers.remove(name));
        proof.filter(|proof| bool::from(proof.as_bytes().ct_eq(self.0.bearer.as_bytes())))?;
        let standing = if other.is_some() { Standing::Other } else { Standing::Remote };
        request.extensions_mut().insert(OtherEnd::known(Peer::Tcp(standing)));
        if stream.is_some() {
            request.extensions_mut().insert(HasToken);
        }
        let cell = cell.and_then(|cell| cell.to_str().ok()?.parse().ok());
        Some(PassedOn { cell: cell.map(CellId) })
    }

    /// The body of a request, which is kept until that was answered. Of strangers only a small one is read.
    pub(super) async fn body(&self, parts: &Parts, body: Body, end: &OtherEnd) -> Handled<Bytes> {
        let limit = if body.size_hint().upper().is_some_and(|most| most <= OF_ANYBODY) {
            BODY
        } else {
            match (self.known(parts, end).await?, sender(&parts.method, &parts.uri)) {
                (Known::Stranger(..), Some(Sender::Address | Sender::Signed)) => WEBHOOK_BYTES,
                (Known::Stranger(_, failure), Some(Sender::Known) | None) => return Err(failure),
                (Known::Admitted | Known::Session(_) | Known::Stream(_), _) => BODY,
            }
        };
        collect(body, limit).await
    }

    /// A request for the node that owns its cell, with what this one has found out about whoever asks.
    ///
    /// # Errors
    /// Whom this node refuses, whatever the other one knows.
    pub(super) async fn vouched(&self, mut parts: Parts, cell: CellId, end: &OtherEnd) -> Handled<Vouched> {
        let known = self.known(&parts, end).await?;
        let headers = &mut parts.headers;
        headers.insert(PASSED_ON, self.0.bearer.clone());
        headers.insert(CELL, HeaderValue::from(cell.0));
        for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE, OTHER_USER, STREAM] {
            headers.remove(name);
        }
        let set = HeaderValue::from_static("1");
        let session = match known {
            Known::Admitted => {
                headers.insert(AUTHORIZATION, self.0.bearer.clone());
                None
            }
            Known::Session(lease) => {
                headers.remove(COOKIE);
                headers.insert(AUTHORIZATION, self.0.bearer.clone());
                Some(lease)
            }
            Known::Stream(lease) => {
                headers.insert(STREAM, set);
                lease
            }
            Known::Stranger(Peer::Tcp(Standing::Other), _) => {
                headers.insert(OTHER_USER, set);
                None
            }
            Known::Stranger(..) => None,
        };
        Ok(Vouched { parts, session })
    }

    /// # Errors
    /// A confined command, whatever token it has found; a page of another site that uses a session.
    async fn known(&self, parts: &Parts, end: &OtherEnd) -> Handled<Known> {
        let headers = &parts.headers;
        let peer = end.peer(&self.0.about.peers, self.0.policy.care(headers)).await;
        let is_open = matches!(sender(&parts.method, &parts.uri), Some(Sender::Address | Sender::Signed))
            || parts.uri.path() == HEALTH;
        if !is_open {
            self.0.policy.admit_known(peer)?;
        }
        let app = self.0.about.process.any();
        if let Some(app) = app.filter(|_| !headers.contains_key(AUTHORIZATION)) {
            let token = stream_tokens::in_query(&parts.uri);
            if let Some(Ok(lease)) = token.map(|token| app.stream_tokens.check(&token)) {
                return Ok(Known::Stream(lease));
            }
            return match app.admit(end, &parts.method, headers).await {
                Ok(Caller::Session) => Ok(Known::Session(app.console.lease(headers)?)),
                Ok(_) => Ok(Known::Admitted),
                Err(failure) if failure.code() == Code::WrongCsrf => Err(failure),
                // It may have a session of another node.
                Err(failure) => Ok(Known::Stranger(peer, failure)),
            };
        }
        Ok(match self.0.policy.admit(peer, headers) {
            Ok(_) => Known::Admitted,
            Err(failure) => Known::Stranger(peer, failure),
        })
    }
}
