//! One connection for one request.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use holon_platform::spawn;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::{Bearer, Client};
use crate::ClientError;

/// A runtime accepts a connection within this time.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is sent and received over.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A connection that was made.
pub struct Connection {
    pub stream: Box<dyn ByteStream>,
    /// The token that the home has of its own, where its runtime may ask for it: at the socket nobody does.
    pub own_bearer: Option<Bearer>,
}

/// A connection that is being made.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Connection, ClientError>> + Send + 'a>>;

/// Connects to a runtime: at its socket or its port, or over a simulated network.
pub trait Connect: fmt::Debug + Send + Sync {
    fn connect(&self) -> Connecting<'_>;
}

impl Client {
    /// Sends a request and waits for the head of the answer; longer where it asks the runtime to wait.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        waits: Duration,
    ) -> Result<Response<Incoming>, ClientError> {
        let broken = |error: hyper::Error| ClientError::Broken { problem: error.to_string() };
        let Connection { stream, own_bearer } = self.runtime.connect().await?;
        let bearer = own_bearer.filter(|_| self.bearer.is_none());
        request.headers_mut().extend(bearer.map(|bearer| (AUTHORIZATION, bearer.0)));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // How it ends is seen by whoever reads the answer.
        drop(spawn::task(async move { drop(connection.await) }));
        let limit = self.timeout.saturating_add(waits);
        match timeout(limit, sender.send_request(request)).await {
            Ok(answer) => answer.map_err(broken),
            Err(_) => Err(ClientError::TimedOut { seconds: limit.as_secs() }),
        }
    }
}

/// Nobody accepted in time.
pub fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not accept connections")
}

pub fn not_reachable(at: &dyn fmt::Display, error: &io::Error) -> ClientError {
    let kind = error.kind();
    let problem = if kind == io::ErrorKind::NotFound {
        "it is not there".to_owned()
    } else if kind == io::ErrorKind::ConnectionRefused {
        "no process listens there".to_owned()
    } else {
        error.to_string()
    };
    ClientError::NotReachable { at: at.to_string(), problem }
}
