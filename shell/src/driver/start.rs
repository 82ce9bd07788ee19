//! The start of a runtime: open the ledger, bring back every agent with open work, recover it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::Host;
use holon_core::replay::Call;
use holon_driver::{Engine, InvariantCheck, Parts};
use holon_facts::config::ConfigError;
use holon_facts::{Config, Seed};
use holon_ledger::error::LedgerError;
use holon_ledger::read::text_reader;
use holon_ledger::write::Writer;
use holon_ledger::{Durability, LedgerPlace, Load, Opened, Store};
use holon_models::Providers;
use holon_platform::{build, clock, crash_point, entropy};
use holon_text::{Secrets, Texts};

use super::logins::Logins;
use super::{DiskState, Driver, DriverError, Gate, Observer};
use crate::live::LiveSink;
use crate::perform::{self, Performers};
use crate::shared_turns::{BorrowedTurns, SharedTurns};
use crate::work::Work;

/// Bytes of records after which the state of an agent is stored again, at least.
fn store_after() -> usize {
    if crash_point::in_use() { 6 << 10 } else { 256 << 10 }
}

/// What a runtime is started with.
pub struct Start {
    pub ledger: LedgerPlace,
    pub durability: Durability,
    pub config: Config,
    pub secrets: Secrets,
    pub providers: Providers,
    /// The folder of a reserve for a full disk; a run that ends soon needs none.
    pub reserve: Option<PathBuf>,
    pub performing: perform::Settings,
    /// Sees pieces of what models say, while they say it.
    pub live: LiveSink,
    /// No tool begins before it is open.
    pub tools_from: Gate,
    /// Turns, where other runtimes of the process have the same limit.
    pub turns: Option<SharedTurns>,
    pub observer: Observer,
}

/// A runtime that can't be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error("the kernel gives no random numbers or no thread: {0}")]
    System(#[from] io::Error),
}

impl Driver {
    /// Opens the ledger and recovers what it holds; afterwards the loop may run.
    ///
    /// # Errors
    /// When the ledger can't be opened, is damaged, or holds what this build does not know.
    pub async fn start(start: Start) -> Result<Self, StartError> {
        Self::start_with(start, begin_writing).await
    }

    /// The same with a writer of one's own.
    pub(crate) async fn start_with(
        start: Start,
        write: impl FnOnce(Store, Option<&Path>, Texts) -> io::Result<Writer>,
    ) -> Result<Self, StartError> {
        let Opened { store, reader, last_step, mut warnings, permit } =
            start.ledger.open(start.durability)?;
        let reader = Arc::new(reader);
        let texts = Texts::new(start.secrets, text_reader(reader.clone()));
        let seed = Seed(entropy::seed()?);
        let mut config = start.config;
        // How long the end of a task is waited for follows from how long commands are given.
        config.tasks.stop_grace = start.performing.commands.grace;
        config.homes = start.performing.real_homes().display().to_string();
        config.shares_names = start.performing.names.are_shared();
        config.shares_budgets = start.performing.lender.is_needed();
        let turns = start.turns.map(|turns| turns.join(config.limits.concurrent_turns));
        config.lent_turns = turns.as_ref().map(BorrowedTurns::at_first);
        config.worktrees = start.performing.real_worktrees().display().to_string();
        let host = Host::new(config.clone(), seed)?;
        warnings.extend(perform::tool::recover(&start.performing));
        let writer = write(store, start.reserve.as_deref(), texts.clone())?;
        let invariants = InvariantCheck::of_this_build();
        let parts =
            Parts { host, writer, reader, group: Load::GROUP, store_after: store_after(), invariants };
        let build = build::id().to_owned();
        let started = Call::RuntimeStarted { build, config, seed, after: last_step };
        let (mut engine, open) = Engine::start(parts, clock::now(), &started)?;
        engine.warn(warnings);
        let mut driver = Self {
            engine,
            performers: Performers::new(texts.clone(), start.providers, start.performing, start.live),
            texts,
            work: Work::default(),
            logins: Logins::default(),
            turns,
            observer: start.observer,
            tools_from: start.tools_from,
            permit,
            disk: DiskState::default(),
            stepped: clock::now(),
        };
        driver.recover_all(open).await?;
        Ok(driver)
    }
}

/// The paused clock of a test does not advance while something is on its way to the disk.
fn begin_writing(store: Store, reserve: Option<&Path>, texts: Texts) -> io::Result<Writer> {
    let writer = store.start(reserve, texts)?;
    #[cfg(test)]
    let writer = writer.with_paused_clock();
    Ok(writer)
}
