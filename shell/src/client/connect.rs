//! One connection for one request.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use holon_platform::spawn;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::request::odd;
use super::{Client, ClientError};
use crate::daemon;
use crate::daemon::Token;

/// A runtime accepts a connection within this time.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// One connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that was made.
pub(crate) struct Reached {
    pub(crate) stream: Box<dyn Stream>,
    /// The token that the home has of its own, where its runtime may ask for it: at the socket nobody does.
    pub(crate) own_token: Option<Token>,
}

/// A connection that is being made.
pub(crate) type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Reached, ClientError>> + Send + 'a>>;

/// Connects to a runtime: at its socket or its port, or over a simulated network.
pub(crate) trait Connect: fmt::Debug + Send + Sync {
    fn connect(&self) -> Connecting<'_>;
}

/// Where a runtime of this machine is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) socket: PathBuf,
    /// Tried when nobody listens at the socket.
    pub(super) tcp: Option<SocketAddr>,
    /// The home's own, if its runtime is who listens there: nobody else may see it.
    pub(super) own_token: Option<Token>,
}

impl Connect for Place {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let socket = timeout(CONNECT, unix(&self.socket)).await.unwrap_or_else(|_| Err(too_long()));
            let address = match (socket, self.tcp) {
                (Ok(stream), _) => return Ok(Reached { stream: Box::new(stream), own_token: None }),
                (Err(error), None) => return Err(not_reachable(&self.socket.display(), &error)),
                (Err(_), Some(address)) => address,
            };
            match timeout(CONNECT, tcp(address)).await.unwrap_or_else(|_| Err(too_long())) {
                Ok(stream) => Ok(Reached { stream: Box::new(stream), own_token: self.own_token.clone() }),
                Err(error) => {
                    let places = format!("{} or http://{address}", self.socket.display());
                    Err(not_reachable(&places, &error))
                }
            }
        })
    }
}

impl Client {
    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let broken = |error: hyper::Error| ClientError::Broken { problem: error.to_string() };
        let Reached { stream, own_token } = self.runtime.connect().await?;
        let bearer = own_token.filter(|_| self.token.is_none()).map(|token| bearer(&token)).transpose()?;
        request.headers_mut().extend(bearer.map(|bearer| (AUTHORIZATION, bearer)));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // How it ends is seen by whoever reads the answer.
        drop(spawn::task(async move { drop(connection.await) }));
        match timeout(self.patience, sender.send_request(request)).await {
            Ok(answer) => answer.map_err(broken),
            Err(_) => Err(ClientError::TimedOut { seconds: self.patience.as_secs() }),
        }
    }
}

fn bearer(token: &Token) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|error| odd(&error))
}

async fn unix(path: &Path) -> io::Result<UnixStream> {
    let path = path.to_owned();
    // A runtime that doesn't accept holds up whoever connects.
    let stream =
        spawn::blocking(move || daemon::socket::connect(&path)).await.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

pub(crate) fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not accept connections")
}

pub(crate) fn not_reachable(at: &dyn fmt::Display, error: &io::Error) -> ClientError {
    let kind = error.kind();
    let problem = if kind == io::ErrorKind::NotFound {
        "it is not there".to_owned()
    } else if kind == io::ErrorKind::ConnectionRefused {
        "nobody listens there".to_owned()
    } else {
        error.to_string()
    };
    ClientError::NotReachable { at: at.to_string(), problem }
}
