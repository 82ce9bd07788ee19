//! Where the runtime of a home is reached.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use holon_api::{
    Bearer, CONNECT_TIMEOUT, Client, ClientError, Connect, Connecting, Connection, not_reachable, silent,
};
use holon_platform::{Environment, spawn};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::daemon::{Metadata, Token, socket};
use crate::home::Home;
use crate::settings::Settings;

/// Where a runtime of this machine is.
#[derive(Debug)]
struct Location {
    socket: PathBuf,
    /// Tried when nobody listens at the socket.
    tcp: Option<SocketAddr>,
    /// The home's own, if its runtime is who listens there: nobody else may see it.
    own_bearer: Option<Bearer>,
}

/// The runtime of a home: at the socket that it names, otherwise at the one that is configured, or at the home's
/// own; and at `HOLON_HTTP_ADDR`. Connects to nobody yet.
///
/// # Errors
/// A token that can't be used.
pub fn of(home: &Home, environment: &Environment) -> Result<Client, ClientError> {
    // Without readable metadata its location is tried; whoever answers there says who it is.
    let metadata = Metadata::read(home).ok().flatten().filter(Metadata::is_alive);
    let listens = metadata.as_ref().and_then(|metadata| metadata.http_addr.clone());
    let named = metadata.and_then(|metadata| metadata.socket_path);
    let configured = || Settings::socket(&home.config(), environment);
    let socket = named.or_else(configured).unwrap_or_else(|| home.socket());
    let tcp: Option<SocketAddr> = environment.get("HOLON_HTTP_ADDR").and_then(|address| address.parse().ok());
    // Port 0 is any port for whoever listens, and none for whoever connects.
    let tcp = tcp.filter(|address| address.port() != 0);
    let token = Token::find(None, environment, None)
        .map_err(|error| ClientError::Token { problem: error.to_string() })?;
    // Somebody else may listen there.
    let is_own = tcp.is_some() && tcp.map(|address| address.to_string()) == listens;
    let own_token = is_own.then(|| Token::known(home).ok().flatten()).flatten();
    let own_bearer = own_token.as_ref().and_then(bearer);
    let bearer = token.as_ref().and_then(bearer);
    Ok(Client::over(Location { socket, tcp, own_bearer }).with_bearer(bearer))
}

/// A runtime at one socket.
pub fn at(socket: impl Into<PathBuf>, token: Option<&Token>) -> Client {
    let location = Location { socket: socket.into(), tcp: None, own_bearer: None };
    Client::over(location).with_bearer(token.and_then(bearer))
}

/// Never none: a token is visible ASCII, which a header takes.
fn bearer(token: &Token) -> Option<Bearer> {
    Bearer::new(token.expose())
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
