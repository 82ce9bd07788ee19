//! The control surface from the other side: finds the runtime of a home, asks it, and follows its events. What is
//! refused comes back as it was said; what can't be reached says how to start it.

mod connect;
mod error;
mod follow;
mod request;

use std::net::SocketAddr;
use std::path::PathBuf;

pub use error::ClientError;
pub use follow::{Follow, Followed};
pub use request::Ask;

use crate::daemon::{Metadata, Token};
use crate::home::Home;
use crate::settings::Environment;

/// A runtime that can be asked. Cheap to clone; connects anew for each request.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    /// Tried when nobody listens at the socket.
    tcp: Option<SocketAddr>,
    token: Option<Token>,
}

impl Client {
    /// The runtime of a home: at the socket that it names, otherwise at the one that the environment or the home
    /// names; and at `HOLON_HTTP_ADDR`. Connects to nobody yet.
    ///
    /// # Errors
    /// A token that can't be used.
    pub fn of(home: &Home, environment: &Environment) -> Result<Self, ClientError> {
        // Without readable metadata the usual place is tried; whoever answers there says who it is.
        let metadata = Metadata::read(home).ok().flatten().filter(Metadata::is_alive);
        let said = metadata.and_then(|metadata| metadata.socket_path);
        let named = || environment.get("HOLON_SOCKET_PATH").map(PathBuf::from);
        let socket = said.or_else(named).unwrap_or_else(|| home.socket());
        let tcp = environment.get("HOLON_HTTP_ADDR").and_then(|address| address.parse().ok());
        let token = Token::find(None, environment, None)
            .map_err(|error| ClientError::Token { problem: error.to_string() })?;
        Ok(Self { socket, tcp, token })
    }

    /// A runtime at one socket.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), tcp: None, token: None }
    }

    /// The token to show; the one of a file when the environment has none.
    #[must_use]
    pub fn with_token(mut self, token: Option<Token>) -> Self {
        self.token = self.token.or(token);
        self
    }

    pub fn socket(&self) -> &PathBuf {
        &self.socket
    }
}
