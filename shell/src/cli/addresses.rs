//! Where a runtime listens: addresses that are taken before anything else, and opened to everybody at the end.

use std::io::ErrorKind;
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
use crate::daemon::socket::Claim;
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

impl Addresses {
    /// An address that nobody has chosen may be the one of another home's runtime: then a free port does as well.
    pub(super) fn take(endpoint: &Endpoint, by_choice: bool) -> Result<Self, Failure> {
        let socket = Claim::new(&endpoint.socket).map_err(|error| match error.hint() {
            Some(hint) => Failure::new(super::Exit::NotReachable, error).hint(hint),
            None => Failure::from(error),
        })?;
        if let Some(given) = service_manager::listener()? {
            let listen = given.local_addr()?;
            return Ok(Self { socket, tcp: Tcp::Given(given), listen });
        }
        let listen = endpoint.listen;
        let in_use = |error: std::io::Error| {
            Failure::new(super::Exit::NotReachable, anyhow!("{listen} can't be listened on: {error}"))
                .hint("--port with another one, or --port 0 for any that is free")
        };
        let tcp = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A runtime that is started again right away must get its port.
        tcp.set_reuseaddr(true)?;
        match tcp.bind(listen) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && !by_choice => {
                tcp.bind(SocketAddr::new(listen.ip(), 0)).map_err(in_use)?;
                let free = tcp.local_addr()?;
                tracing::warn!(
                    "another process listens at {listen}; this runtime listens at {free} until it ends; \
                     `holon config set server.listen ADDRESS` chooses one"
                );
            }
            bound => bound.map_err(in_use)?,
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
            Tcp::Taken(socket) => socket.listen(BACKLOG).map_err(|error| {
                Failure::new(super::Exit::NotReachable, anyhow!("{listen} can't be listened on: {error}"))
                    .hint("--port with another one, or --port 0 for any that is free")
            })?,
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
