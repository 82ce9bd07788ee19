//! Where a runtime listens: addresses that are taken before anything else, and opened to everybody at the end.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::anyhow;
use axum::Router;
use holon_platform::spawn;
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::task::JoinHandle;

use super::output::Failure;
use super::service_manager;
use crate::daemon::Endpoint;
use crate::daemon::socket::{Claim, SocketError, is_leftover, listener};
use crate::daemon::watch::Removals;
use crate::home::Home;
use crate::http::{self, Shutdown};
use crate::trigger_address::{TriggerAddresses, TriggerKey};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Addresses that are taken, but not listened on.
pub(super) struct Addresses {
    socket: Claim,
    tcp: Tcp,
    pub(super) listen: SocketAddr,
}

/// Where connections of others come in.
enum Tcp {
    Taken(TcpSocket),
    /// The service manager listens there, also while there is no runtime.
    Given(TcpListener),
}

/// What the runtime of the home has, and lets go of before another one starts.
pub(super) struct Held {
    pub(super) pid: u32,
    pub(super) listens: Option<SocketAddr>,
}

impl Held {
    /// Whether it is why an address is in use.
    fn has(&self, listen: SocketAddr) -> bool {
        self.listens.is_some_and(|held| {
            let overlap =
                held.ip() == listen.ip() || held.ip().is_unspecified() || listen.ip().is_unspecified();
            held.port() == listen.port() && overlap
        })
    }
}

/// Whether [`Addresses::take`] would get them once the runtime that holds some has ended. Takes nothing; blocks on the socket.
///
/// # Errors
/// What else stands there, or listens there.
pub(super) fn check(endpoint: &Endpoint, by_choice: bool, held: Held) -> Result<(), Failure> {
    match is_leftover(&endpoint.socket) {
        Err(SocketError::InUse { path }) if listener(&path).ok() == Some(held.pid) => {}
        found => drop(found.map_err(unclaimed)?),
    }
    let listen = endpoint.listen;
    let bound = unbound(listen)?.bind(listen);
    match bound {
        Err(error) if error.kind() == ErrorKind::AddrInUse && (!by_choice || held.has(listen)) => Ok(()),
        bound => bound.map_err(|error| in_use(listen, &error)),
    }
}

fn unclaimed(error: SocketError) -> Failure {
    match error.hint() {
        Some(hint) => Failure::new(super::Exit::NotReachable, error).hint(hint),
        None => Failure::from(error),
    }
}

/// A runtime that is started again right away must get its port.
fn unbound(listen: SocketAddr) -> io::Result<TcpSocket> {
    let tcp = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    tcp.set_reuseaddr(true)?;
    Ok(tcp)
}

fn in_use(listen: SocketAddr, error: &io::Error) -> Failure {
    Failure::new(super::Exit::NotReachable, anyhow!("{listen} can't be listened on: {error}"))
        .hint("--port with another one, or --port 0 for any that is free")
}

impl Addresses {
    /// An address that nobody has chosen may be the one of another home's runtime: then a free port does as well.
    pub(super) fn take(endpoint: &Endpoint, by_choice: bool) -> Result<Self, Failure> {
        let socket = Claim::new(&endpoint.socket).map_err(unclaimed)?;
        if let Some(given) = service_manager::listener()? {
            let listen = given.local_addr()?;
            return Ok(Self { socket, tcp: Tcp::Given(given), listen });
        }
        let listen = endpoint.listen;
        let tcp = unbound(listen)?;
        match tcp.bind(listen) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && !by_choice => {
                tcp.bind(SocketAddr::new(listen.ip(), 0)).map_err(|error| in_use(listen, &error))?;
                let free = tcp.local_addr()?;
                tracing::warn!(
                    "another process listens at {listen}; this runtime listens at {free} until it ends; \
                     `holon config set server.listen ADDRESS` chooses one"
                );
            }
            bound => bound.map_err(|error| in_use(listen, &error))?,
        }
        let listen = tcp.local_addr()?;
        Ok(Self { socket, tcp: Tcp::Taken(tcp), listen })
    }

    /// How other systems reach triggers: as others reach the runtime.
    pub(super) fn of_triggers(&self, home: &Home, endpoint: &Endpoint) -> Result<TriggerAddresses, Failure> {
        let key = TriggerKey::of(home).map_err(|error| {
            let hint = error.hint();
            Failure::usage(error).hint(hint)
        })?;
        Ok(TriggerAddresses::new(&self.url(endpoint), key))
    }

    /// How others reach this process.
    pub(super) fn url(&self, endpoint: &Endpoint) -> String {
        endpoint.advertise.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }

    /// Lets everybody in.
    pub(super) fn serve(
        self,
        router: &Router,
        shutdown: &Shutdown,
    ) -> Result<(JoinHandle<Claim>, Vec<JoinHandle<()>>), Failure> {
        let Self { socket, tcp, listen } = self;
        let unix = UnixListener::from_std(socket.listen()?)?;
        let tcp = match tcp {
            Tcp::Given(listener) => listener,
            Tcp::Taken(socket) => socket.listen(BACKLOG).map_err(|error| in_use(listen, &error))?,
        };
        let serving = vec![
            spawn::task(http::serve(unix, router.clone(), shutdown.asked())),
            spawn::task(http::serve(tcp, router.clone(), shutdown.asked())),
        ];
        Ok((spawn::task(keep_in_place(socket, router.clone(), shutdown.clone())), serving))
    }
}

/// Makes the socket again when somebody has removed it, until the runtime leaves.
async fn keep_in_place(mut socket: Claim, router: Router, shutdown: Shutdown) -> Claim {
    let mut serving = Vec::new();
    let folder = socket.path().parent().unwrap_or(Path::new("/")).to_owned();
    let removals = Removals::in_folder(&folder)
        .inspect_err(|error| tracing::warn!("{} can't be watched: {error}", folder.display()));
    while let Ok(removals) = &removals {
        let removed = tokio::select! {
            biased;
            () = shutdown.asked() => break,
            removed = removals.next() => removed,
        };
        if removed.is_err() {
            break;
        }
        if !socket.is_in_place() {
            match again(socket.path(), &router, &shutdown) {
                Ok((made, server)) => {
                    tracing::warn!("{} was removed, and is made again", made.path().display());
                    socket = made;
                    serving.push(server);
                }
                Err(error) => {
                    tracing::warn!(
                        "{} was removed, and can't be made again: {error:#}",
                        socket.path().display()
                    );
                }
            }
        }
    }
    shutdown.asked().await;
    for server in serving {
        drop(server.await);
    }
    socket
}

fn again(path: &Path, router: &Router, shutdown: &Shutdown) -> anyhow::Result<(Claim, JoinHandle<()>)> {
    let socket = Claim::new(path)?;
    let unix = UnixListener::from_std(socket.listen()?)?;
    let server = spawn::task(http::serve(unix, router.clone(), shutdown.asked()));
    Ok((socket, server))
}
