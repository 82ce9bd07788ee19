//! The runtime with its listeners, from recovery to drain. Agents with open work are recovered before anybody can
//! connect; addresses are taken before that, so that one which is in use is known at once.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use holon_platform::crash_point::{Point, reached};
use holon_platform::{Environment, clock, process, spawn};
use holon_supervise::confine::Confinement;
use sd_notify::NotifyState;
use tokio::task::{JoinError, JoinHandle};

use super::addresses::Addresses;
use super::hosted::{Hosted, Place};
use super::interrupts::Ending;
use super::output::Failure;
use super::server_options::Effective;
use super::service_manager::{notify, report_loop};
use crate::daemon::socket::Claim;
use crate::daemon::{LastFailure, Metadata};
use crate::driver::DriverError;
use crate::home::Home;
use crate::http::Shutdown;
use crate::memory::Follower;
use crate::runtime::{Ended, Runtime};
use crate::settings::Origin;

/// Requests under way are answered within so long before runs are interrupted.
const ANSWERS: Duration = Duration::from_secs(1);

/// A runtime that is ready.
pub(super) struct Server {
    home: Home,
    runtime: Runtime,
    ended: Ended,
    shutdown: Shutdown,
    serving: Vec<JoinHandle<()>>,
    socket: JoinHandle<Claim>,
    /// Keeps the index of the memory close behind the ledger.
    follower: Follower,
}

impl Server {
    /// Recovers everything, makes sure that there is a default agent, listens, and says so.
    pub(super) async fn start(
        home: &Home,
        environment: &Environment,
        effective: Effective,
    ) -> Result<Self, Failure> {
        let endpoint = effective.endpoint.clone();
        let by_choice = effective.setup.settings.origin("server.listen") != Origin::Default;
        let addresses = Addresses::take(&endpoint, by_choice)?;
        reached(Point::SocketClaimed);
        let among_commands = effective.setup.confinement.as_ref().is_some_and(Confinement::has_network);
        let metadata = metadata(home, &effective, addresses.listen)?;
        let shutdown = Shutdown::default();
        let place = Place {
            home,
            own: home,
            environment,
            ledger: home.ledger(),
            listen: addresses.listen,
            metadata: &metadata,
            triggers: addresses.of_triggers(home, &endpoint)?,
            shutdown: shutdown.clone(),
            node: None,
        };
        let Hosted { runtime, ended, router, follower } = Box::pin(Hosted::start(place, effective)).await?;
        let (socket, serving) = addresses.serve(&router, &shutdown)?;
        reached(Point::Listening);
        metadata.write(home).context("daemon.json")?;
        reached(Point::Announced);
        if let Err(error) = LastFailure::clear(home) {
            tracing::warn!("the last failure can't be cleared: {error}");
        }
        let socket_path = endpoint.socket.display();
        tracing::info!("ready at {socket_path} and http://{}", metadata.http_addr.unwrap_or_default());
        tracing::info!("{}", endpoint.who_may_ask(home, among_commands));
        notify(&[NotifyState::Ready]);
        report_loop(&runtime, &shutdown);
        Ok(Self { home: home.clone(), runtime, ended, shutdown, serving, socket, follower })
    }

    /// Serves until somebody asks for the end, then drains: no new connection, requests under way are answered,
    /// runs are interrupted, everything decided becomes durable.
    pub(super) async fn until_the_end(self, ending: &Ending) -> Result<(), Failure> {
        let Self { home, runtime, mut ended, shutdown, serving, socket, follower } = self;
        let left = tokio::select! {
            biased;
            () = ending.wait() => None,
            () = shutdown.asked() => None,
            left = &mut ended => Some(left),
        };
        notify(&[NotifyState::Stopping]);
        tracing::info!("the runtime leaves");
        reached(Point::LeaveBegins);
        if let Err(error) = Metadata::remove(&home) {
            tracing::warn!("daemon.json can't be removed: {error}");
        }
        shutdown.ask();
        let mut answered = spawn::task(async move {
            for server in serving {
                server.await?;
            }
            Ok::<(), JoinError>(())
        });
        // Whoever asked before gets an answer, unless the runtime itself is in no state to give one.
        let early = tokio::time::timeout(ANSWERS, &mut answered).await;
        runtime.leave().await;
        let left = match left {
            Some(left) => left,
            None => ended.await,
        };
        let answered = match early {
            Ok(answered) => answered,
            Err(_) => answered.await,
        };
        // Nothing becomes durable any more.
        drop(follower);
        left.context("the runtime broke down")?.map_err(|error| broke_down(error, &home))?;
        answered.context("a listener broke down")?.context("a listener broke down")?;
        drop(socket.await.context("the watch over the socket broke down")?);
        Ok(())
    }
}

pub(super) fn metadata(home: &Home, effective: &Effective, listen: SocketAddr) -> Result<Metadata, Failure> {
    let endpoint = &effective.endpoint;
    Ok(Metadata {
        version: Some(holon_platform::build::version().to_owned()),
        home_dir: Some(home.root().to_owned()),
        socket_path: Some(endpoint.socket.clone()),
        http_addr: Some(listen.to_string()),
        advertise_url: endpoint.advertise.clone(),
        access: Some(endpoint.access.name().to_owned()),
        auth: Some(endpoint.auth.name().to_owned()),
        fingerprint: Some(effective.fingerprint.clone()),
        options: Some(effective.options.clone()),
        started_at: Some(clock::now().wall),
        ..Metadata::of(process::own_identity()?)
    })
}

/// What is acknowledged is safe, so a start is right as soon as the cause is gone.
pub(super) fn broke_down(error: DriverError, home: &Home) -> Failure {
    let look = match &error {
        DriverError::Ledger(_) | DriverError::DiskFull(_) => {
            format!("the disk and the files of {}, then holon daemon start", home.root().display())
        }
        DriverError::Law(_) | DriverError::Damaged { .. } => {
            "holon ledger verify, then holon daemon start".to_owned()
        }
    };
    Failure::from(error).hint(look)
}
