//! The start of a runtime: open the ledger, bring back every agent with open work, recover it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::config::ConfigError;
use holon_core::replay::Call;
use holon_core::{AgentId, Config, Host, Seed};
use holon_platform::{build, clock, entropy};
use holon_text::{Secrets, Texts};

use super::absent::Absent;
use super::judge::Judge;
use super::pace::Pace;
use super::stored::Stored;
use super::{Driver, DriverError, Gate, Observer, Room};
use crate::ledger::{
    Batch, Durability, EncodedCall, Ledger, LedgerError, Opened, Reader, Writer, text_reader,
};
use crate::live::LiveSink;
use crate::perform::model::Providers;
use crate::perform::{self, Performers};
use crate::work::Work;

/// What a runtime is started with.
pub struct Start {
    pub ledger: PathBuf,
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

/// Who there is in a ledger, without loading anybody.
#[derive(Default)]
struct Roll {
    /// Of those who may run.
    names: BTreeSet<AgentId>,
    /// Those who have something to do now.
    open: Vec<AgentId>,
    /// The others with something due later.
    absent: Absent,
}

impl Roll {
    fn read(reader: &Reader) -> Result<Self, LedgerError> {
        let (mut roll, now) = (Self::default(), clock::now().wall);
        reader.each_agent(|row| {
            if !row.archived {
                roll.names.insert(row.agent.clone());
            }
            match row.next_deadline {
                _ if row.open_work > 0 => roll.open.push(row.agent),
                Some(at) if at <= now => roll.open.push(row.agent),
                Some(at) => roll.absent.wait(row.agent, at),
                None => {}
            }
        })?;
        Ok(roll)
    }
}

impl Driver {
    /// Opens the ledger and recovers what it holds; afterwards the loop may run.
    ///
    /// # Errors
    /// When the ledger can't be opened, is damaged, or holds what this build does not know.
    pub async fn start(start: Start) -> Result<Self, StartError> {
        Self::start_with(start, Writer::start).await
    }

    /// The same with a writer of one's own.
    pub(crate) async fn start_with(
        start: Start,
        write: impl FnOnce(Ledger, Option<&Path>, Texts) -> io::Result<Writer>,
    ) -> Result<Self, StartError> {
        let Opened { ledger, reader, last_step, mut warnings, .. } =
            Ledger::open(&start.ledger, start.durability)?;
        let reader = Arc::new(reader);
        let texts = Texts::new(start.secrets, text_reader(reader.clone()));
        let seed = Seed(entropy::seed()?);
        let mut config = start.config;
        // How long the end of a task is waited for follows from how long commands are given.
        config.tasks.stop_grace = start.performing.commands.grace;
        config.homes = start.performing.real_homes().display().to_string();
        config.worktrees = start.performing.real_worktrees().display().to_string();
        let mut host = Host::new(config.clone(), seed)?;
        host.resume_after(last_step);
        host.resume_accounts(reader.accounts()?);
        let roll = Roll::read(&reader)?;
        host.resume_names(roll.names);
        if let Some(newest) = reader.newest_record()? {
            host.resume_clock(newest);
        }
        warnings.extend(perform::tool::recover(&start.performing));
        let writer = write(ledger, start.reserve.as_deref(), texts.clone())?;
        let wall = host.facts().now;
        let mut driver = Self {
            host,
            writer,
            reader,
            performers: Performers::new(texts.clone(), start.providers, start.performing, start.live),
            texts,
            work: Work::default(),
            observer: start.observer,
            judge: Judge::of_this_build(),
            tools_from: start.tools_from,
            next_reply: 1,
            waiting: BTreeMap::new(),
            ahead: VecDeque::new(),
            stored: Stored::default(),
            stepped_at: clock::now().mono,
            pace: Pace::default(),
            look: false,
            warnings,
            room: Room::default(),
            to_load: VecDeque::new(),
            absent: roll.absent,
            arrived: Vec::new(),
            wall,
        };
        driver.record_call(&Call::RuntimeStarted {
            build: build::id().to_owned(),
            config,
            seed,
            after: last_step,
        })?;
        driver.recover_all(roll.open).await?;
        Ok(driver)
    }

    /// Writes a call down that makes no step.
    pub(super) fn record_call(&mut self, call: &Call) -> Result<(), DriverError> {
        let mut batch = Batch::default();
        batch.call(EncodedCall::new(call)?);
        self.writer.send(batch)?;
        Ok(())
    }
}
