//! A runtime of this node, from the claim of its cell to its end.

use std::time::Duration;

use anyhow::anyhow;
use holon_ledger::LedgerPlace;
use holon_ledger::postgres::node::{Epoch, Lot};
use holon_platform::spawn;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::hosted::{Hosted, OfNode, Place};
use super::super::output::Failure;
use super::super::server_options::Effective;
use super::lease_file::LeaseFile;
use super::{Common, share_memory_key};
use crate::driver::DriverError;
use crate::home::Home;
use crate::http::Shutdown;
use crate::perform::tool::end_all_commands;

/// For commands that are asked to end when a cell goes elsewhere; supervisors kill them after `runtime.command_grace_ms`.
const COMMANDS_END_WITHIN: Duration = Duration::from_secs(15);

/// Between two tries to look at the cells. A start that takes too long is given up by the node.
const LOOK: Duration = Duration::from_millis(250);

pub(super) struct Tenure {
    pub(super) epoch: Epoch,
    /// What belongs to its runtime.
    home: Home,
    /// Ends what follows the runtime.
    shutdown: Shutdown,
    /// Passes on to the node that a request has asked for the end.
    leaving: JoinHandle<()>,
    state: State,
    /// Whether its first batch is durable.
    pub(super) serves: bool,
    lease: LeaseFile,
}

enum State {
    Starting(JoinHandle<Result<Hosted, Failure>>),
    Hosted(Hosted),
    /// What it has become is on its way.
    Over,
}

/// What a tenure comes to by itself.
pub(super) enum Change {
    Ready,
    NotStarted(Failure),
    BrokeDown(String),
    /// The database did not answer something that the runtime can't go on without.
    Interrupted(String),
    /// The cell is not this node's any more.
    Lost,
}

impl Tenure {
    /// Begins a runtime beside whatever else the node does. `leave` is asked when a request asks for the end.
    pub(super) fn begin(
        common: &Common,
        lot: Lot,
        until: watch::Receiver<Option<u64>>,
        leave: &Shutdown,
    ) -> Self {
        let (cell, epoch, shutdown) = (lot.cell(), lot.epoch(), Shutdown::default());
        let home = common.home_of(cell);
        let (asked, leave) = (shutdown.asked(), leave.clone());
        let leaving = spawn::task(async move {
            asked.await;
            leave.ask();
        });
        // The first time that this node has the cell, there is no folder of it here.
        let created = home.create();
        LeaseFile::remove_old(&home);
        share_memory_key(&home, &common.secret);
        let lease = LeaseFile::keep(&home, epoch, until);
        let (common, own, path) = (common.clone(), home.clone(), lease.path().to_owned());
        let of_tenure = shutdown.clone();
        let starting = spawn::task(async move {
            created?;
            // Who is in the cell may have changed while nobody owned it.
            while let Err(error) = look_at_cells(&common).await {
                tracing::warn!("the cells can't be looked at: {error:#}");
                tokio::time::sleep(LOOK).await;
            }
            // What was configured meanwhile is in effect from now on.
            let effective = Effective::load(&common.home, &common.environment, &common.options)?;
            let place = Place {
                home: &common.home,
                own: &own,
                environment: &common.environment,
                ledger: LedgerPlace::Lot(lot),
                listen: common.listen,
                metadata: &common.metadata,
                triggers: common.triggers.clone(),
                shutdown: of_tenure,
                node: Some(OfNode {
                    secret: &common.secret,
                    lease: path,
                    cell,
                    epoch,
                    directory: common.directory.clone(),
                    grants: common.grants.clone(),
                    folders: common.folders.clone(),
                    turns: common.turns.clone(),
                    doors: common.doors.clone(),
                }),
            };
            Box::pin(Hosted::start(place, effective.with_secrets_of(&common.home)?)).await
        });
        Self { epoch, home, shutdown, leaving, state: State::Starting(starting), serves: false, lease }
    }

    /// The runtime, once it is ready and its first batch durable.
    pub(super) fn open(&self) -> Option<&Hosted> {
        match &self.state {
            State::Hosted(hosted) if self.serves => Some(hosted),
            State::Hosted(_) | State::Starting(_) | State::Over => None,
        }
    }

    /// Waits for what it comes to. Nothing is lost where that is given up.
    pub(super) async fn changed(&mut self) -> Change {
        match &mut self.state {
            State::Starting(starting) => {
                let started = starting.await;
                self.state = State::Over;
                match started.unwrap_or_else(|error| Err(anyhow!("the start broke down: {error}").into())) {
                    Ok(hosted) => {
                        self.state = State::Hosted(hosted);
                        Change::Ready
                    }
                    Err(failure) => Change::NotStarted(failure),
                }
            }
            State::Hosted(hosted) => {
                let ended = (&mut hosted.ended).await;
                self.state = State::Over;
                match ended {
                    Ok(Ok(())) => Change::BrokeDown("it has left".to_owned()),
                    Ok(Err(error)) if error.is_temporary() => Change::Interrupted(error.to_string()),
                    Ok(Err(error)) if is_lost(&error) => Change::Lost,
                    Ok(Err(error)) => Change::BrokeDown(error.to_string()),
                    Err(error) => Change::BrokeDown(error.to_string()),
                }
            }
            State::Over => std::future::pending().await,
        }
    }

    /// The last batch in good order: runs are interrupted, everything decided becomes durable.
    pub(super) async fn drain(self) {
        self.leaving.abort();
        self.shutdown.ask();
        match self.state {
            State::Hosted(Hosted { runtime, ended, follower, .. }) => {
                runtime.leave().await;
                match ended.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!("the runtime did not leave in good order: {error}"),
                    Err(error) => tracing::warn!("the runtime broke down: {error}"),
                }
                drop(follower);
            }
            State::Starting(starting) => starting.abort(),
            State::Over => {}
        }
        // The next owner can't reach its commands, and writes them off: none begins any more, and those that run end.
        drop(self.lease);
        end_all_commands(self.home.root(), COMMANDS_END_WITHIN).await;
    }

    /// Without another batch: nothing of it counts any more.
    pub(super) fn end(self) {
        self.leaving.abort();
        self.shutdown.ask();
        match self.state {
            State::Hosted(hosted) => hosted.ended.abort(),
            State::Starting(starting) => starting.abort(),
            State::Over => {}
        }
    }
}

/// Looks which cells there are.
async fn look_at_cells(common: &Common) -> anyhow::Result<()> {
    let directory = common.directory.clone();
    Ok(spawn::blocking(move || directory.refresh()).await??)
}

/// Whether a runtime ended because somebody else is to go on with its cell.
pub(super) fn is_lost(error: &DriverError) -> bool {
    matches!(error, DriverError::Ledger(error) if error.is_of_another_owner())
}
