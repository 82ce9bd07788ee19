//! Connections to the router of this process: whoever speaks HTTP to a runtime reads a home without one in the same way.

use std::io;

use axum::Router;
use holon_api::{Connect, Connecting, Connection, not_reachable};
use holon_platform::spawn;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::peer::{OtherEnd, Peer};
use super::server::{Listener, serve};

/// Bytes that are on their way at once, in each direction.
const BUFFER: usize = 64 << 10;
/// Connections that wait to be accepted.
const BACKLOG: usize = 16;

/// Connects to a router that is served as long as this lives.
#[derive(Debug)]
pub struct InProcess {
    accepting: Sender<DuplexStream>,
}

/// The other side of the connections.
struct Accepted(Receiver<DuplexStream>);

impl InProcess {
    /// Serves a router, in a task of its own.
    pub fn serve(router: Router) -> Self {
        let (accepting, accepted) = channel(BACKLOG);
        // It waits for connections until nobody can make one, and ends with the process.
        drop(spawn::task(serve(Accepted(accepted), router, std::future::pending())));
        Self { accepting }
    }
}

impl Connect for InProcess {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let (own, other) = duplex(BUFFER);
            let gone = |_| not_reachable(&"this process", &io::ErrorKind::ConnectionRefused.into());
            self.accepting.send(other).await.map_err(gone)?;
            Ok(Connection { stream: Box::new(own), own_bearer: None })
        })
    }
}

impl Listener for Accepted {
    type Io = DuplexStream;

    async fn accept(&mut self) -> io::Result<(DuplexStream, OtherEnd)> {
        match self.0.recv().await {
            // As whoever may open the socket: the ledger's own mode was what was asked.
            Some(stream) => Ok((stream, OtherEnd::known(Peer::Socket))),
            None => std::future::pending().await,
        }
    }
}
