//! Where the runtime of a home is reached.

use std::net::SocketAddr;
use std::path::PathBuf;

use holon_api::{Bearer, Client, ClientError, Location};
use holon_platform::Environment;

use crate::daemon::{Metadata, Token};
use crate::home::Home;
use crate::settings::Settings;

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
    let tcp = named_address(environment);
    let token = Token::find(None, environment, None)
        .map_err(|error| ClientError::Token { problem: error.to_string() })?;
    // Somebody else may listen there.
    let is_own = tcp.is_some() && tcp.map(|address| address.to_string()) == listens;
    let own_token = is_own.then(|| Token::known(home).ok().flatten()).flatten();
    let own_bearer = own_token.as_ref().and_then(bearer);
    let bearer = token.as_ref().and_then(bearer);
    Ok(Client::over(Location { socket, tcp, own_bearer }).with_bearer(bearer))
}

/// The address that `HOLON_HTTP_ADDR` names. Port 0 is any port for whoever listens, and none for whoever connects.
pub fn named_address(environment: &Environment) -> Option<SocketAddr> {
    let address: SocketAddr = environment.get("HOLON_HTTP_ADDR")?.parse().ok()?;
    (address.port() != 0).then_some(address)
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
