//! Connections to a runtime of this machine.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use holon_platform::{socket, spawn};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::{Bearer, CONNECT_TIMEOUT, Connect, Connecting, Connection, not_reachable, silent};

/// Where a runtime of this machine is.
#[derive(Debug)]
pub struct Location {
    pub socket: PathBuf,
    /// Tried when nobody listens at the socket.
    pub tcp: Option<SocketAddr>,
    /// The home's own, if its runtime is who listens there: nobody else may see it.
    pub own_bearer: Option<Bearer>,
}

impl Connect for Location {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let socket = timeout(CONNECT_TIMEOUT, unix(&self.socket)).await.unwrap_or_else(|_| Err(silent()));
            let address = match (socket, self.tcp) {
                (Ok(stream), _) => return Ok(Connection { stream: Box::new(stream), own_bearer: None }),
                (Err(error), None) => return Err(not_reachable(&self.socket.display(), &error)),
                (Err(_), Some(address)) => address,
            };
            match timeout(CONNECT_TIMEOUT, tcp(address)).await.unwrap_or_else(|_| Err(silent())) {
                Ok(stream) => {
                    Ok(Connection { stream: Box::new(stream), own_bearer: self.own_bearer.clone() })
                }
                Err(error) => {
                    let locations = format!("{} or http://{address}", self.socket.display());
                    Err(not_reachable(&locations, &error))
                }
            }
        })
    }
}

async fn unix(path: &Path) -> io::Result<UnixStream> {
    let path = path.to_owned();
    // A runtime that doesn't accept holds up whoever connects.
    let stream = spawn::blocking(move || socket::connect(&path)).await.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
