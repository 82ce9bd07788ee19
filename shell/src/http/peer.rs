//! Who is at the other end of a connection. Over TCP the kernel is asked once for each connection, and only when a
//! request depends on it: most do not.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::confine::peer::{Care, Standing, of_tcp};
use crate::spawn;

/// What is known of whoever connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Whoever may open the home's socket.
    Socket,
    /// The same, held back as a confined command is.
    Confined,
    Tcp(Standing),
}

/// The other end of one connection; its requests share what was found out about it.
#[derive(Debug, Clone)]
pub struct OtherEnd(Arc<Connected>);

#[derive(Debug)]
enum Connected {
    Known(Peer),
    /// Over TCP on this machine, or from another one.
    Tcp {
        own: SocketAddr,
        peer: SocketAddr,
        standing: OnceCell<Standing>,
    },
}

impl OtherEnd {
    pub fn known(peer: Peer) -> Self {
        Self(Arc::new(Connected::Known(peer)))
    }

    /// Of a connection to the address `own`.
    pub(super) fn over_tcp(own: SocketAddr, peer: SocketAddr) -> Self {
        Self(Arc::new(Connected::Tcp { own, peer, standing: OnceCell::new() }))
    }

    /// Who that is; asks the kernel the first time.
    pub(super) async fn peer(&self, care: Care) -> Peer {
        match &*self.0 {
            Connected::Known(peer) => *peer,
            Connected::Tcp { own, peer, standing } => {
                let (own, peer) = (*own, *peer);
                let ask = || async move {
                    // Who can't be asked for is nobody.
                    spawn::blocking(move || of_tcp(own, peer, care)).await.unwrap_or(Standing::Hidden)
                };
                Peer::Tcp(*standing.get_or_init(ask).await)
            }
        }
    }
}
