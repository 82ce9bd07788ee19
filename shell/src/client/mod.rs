//! The control surface from the other side: finds the runtime of a home, asks it, and follows its events. What is
//! refused comes back as it was said; what can't be reached says how to start it.

mod connect;

mod follow;
mod output;
mod request;
mod sse;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use follow::{Follow, Followed};
pub use holon_api::ClientError;
pub use output::{FollowOutput, Written};
pub use request::Ask;

pub(crate) use connect::Connect;
use connect::Place;
#[cfg(test)]
pub(crate) use connect::{CONNECT, Connecting, Reached, not_reachable, too_long};
use holon_platform::Environment;

use crate::daemon::{Metadata, Token};
use crate::home::Home;
use crate::settings::Settings;

/// A runtime that can be asked. Cheap to clone; connects anew for each request.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    runtime: Arc<dyn Connect>,
    token: Option<Token>,
    /// How long the head of an answer is waited for.
    patience: Duration,
}

/// A runtime answers when what it says is durable, which a busy disk may hold up.
const ANSWER: Duration = Duration::from_secs(60);

impl Client {
    /// The runtime of a home: at the socket that it names, otherwise at the one that is configured, or at the home's
    /// own; and at `HOLON_HTTP_ADDR`. Connects to nobody yet.
    ///
    /// # Errors
    /// A token that can't be used.
    pub fn of(home: &Home, environment: &Environment) -> Result<Self, ClientError> {
        // Without readable metadata its place is tried; whoever answers there says who it is.
        let metadata = Metadata::read(home).ok().flatten().filter(Metadata::is_alive);
        let listens = metadata.as_ref().and_then(|metadata| metadata.http_addr.clone());
        let said = metadata.and_then(|metadata| metadata.socket_path);
        let configured = || Settings::socket(&home.config(), environment);
        let socket = said.or_else(configured).unwrap_or_else(|| home.socket());
        let tcp: Option<SocketAddr> =
            environment.get("HOLON_HTTP_ADDR").and_then(|address| address.parse().ok());
        // Port 0 is any port for whoever listens, and none for whoever connects.
        let tcp = tcp.filter(|address| address.port() != 0);
        let token = Token::find(None, environment, None)
            .map_err(|error| ClientError::Token { problem: error.to_string() })?;
        // Somebody else may listen there.
        let is_own = tcp.is_some() && tcp.map(|address| address.to_string()) == listens;
        let own_token = is_own.then(|| Token::known(home).ok().flatten()).flatten();
        let runtime = Arc::new(Place { socket: socket.clone(), tcp, own_token });
        Ok(Self { socket, runtime, token, patience: ANSWER })
    }

    /// A runtime at one socket.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        let socket = socket.into();
        let runtime = Arc::new(Place { socket: socket.clone(), tcp: None, own_token: None });
        Self { socket, runtime, token: None, patience: ANSWER }
    }

    /// A runtime that is reached in another way.
    #[cfg(test)]
    pub(crate) fn over(runtime: impl Connect + 'static) -> Self {
        Self { socket: PathBuf::new(), runtime: Arc::new(runtime), token: None, patience: ANSWER }
    }

    /// The token to show; the one of a file when the environment has none.
    #[must_use]
    pub fn with_token(mut self, token: Option<Token>) -> Self {
        self.token = self.token.or(token);
        self
    }

    /// Gives an answer up sooner, where a runtime may be stuck.
    #[must_use]
    pub fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub fn socket(&self) -> &PathBuf {
        &self.socket
    }
}
