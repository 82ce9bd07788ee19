//! Connections to the router of this process: whoever speaks HTTP to a runtime reads a home without one in the same way.

use std::io;

use axum::Router;
use holon_api::{Bearer, Connect, Connecting, Connection, not_reachable};
use holon_platform::spawn;
use holon_supervise::confine::peer::Standing;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::auth::Caller;
use super::peer::{OtherEnd, Peer};
use super::server::{Listener, serve};

/// Bytes that are on their way at once, in each direction.
const BUFFER: usize = 64 << 10;
/// Connections that wait to be accepted.
const BACKLOG: usize = 16;

/// Connects to a router that is served as long as one of these lives. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InProcess {
    accepting: Sender<(DuplexStream, Peer)>,
    /// Who connects.
    peer: Peer,
    bearer: Option<Bearer>,
}

/// The other side of the connections.
struct Accepted(Receiver<(DuplexStream, Peer)>);

impl InProcess {
    /// Serves a router, in a task of its own, to whoever may open the socket: the ledger's own mode was what was asked.
    pub fn serve(router: Router) -> Self {
        let (accepting, accepted) = channel(BACKLOG);
        // It waits for connections until nobody can make one, and ends with the process.
        drop(spawn::task(serve(Accepted(accepted), router, std::future::pending())));
        Self { accepting, peer: Peer::Socket, bearer: None }
    }

    /// With a token that the router takes from whoever has one.
    pub fn with_bearer(self, bearer: Option<Bearer>) -> Self {
        Self { bearer, ..self }
    }

    /// For somebody who was let in, and is let in again as the same.
    pub(super) fn asked_by(&self, caller: Caller) -> Self {
        let (peer, has_token) = match caller {
            Caller::Token | Caller::Session => (Peer::Tcp(Standing::Remote), true),
            Caller::Socket => (Peer::Socket, false),
            Caller::Owner => (Peer::Tcp(Standing::Owner), false),
            Caller::Loopback => (Peer::Tcp(Standing::Unasked), false),
        };
        let bearer = self.bearer.clone().filter(|_| has_token);
        Self { accepting: self.accepting.clone(), peer, bearer }
    }
}

impl Connect for InProcess {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let (own, other) = duplex(BUFFER);
            let gone = |_| not_reachable(&"this process", &io::ErrorKind::ConnectionRefused.into());
            self.accepting.send((other, self.peer)).await.map_err(gone)?;
            let own_bearer = self.bearer.clone().filter(|_| matches!(self.peer, Peer::Tcp(_)));
            Ok(Connection { stream: Box::new(own), own_bearer })
        })
    }
}

impl Listener for Accepted {
    type Io = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, OtherEnd)> {
        match self.0.recv().await {
            Some((stream, peer)) => Ok((stream, OtherEnd::known(peer))),
            None => std::future::pending().await,
        }
    }
}
