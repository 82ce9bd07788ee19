//! The runtime as everybody but its driver sees it: a handle that asks and reads, shared by all connections.
//! One task owns the driver; nothing else is locked.

mod actor;
mod agent_cache;
mod mailbox;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use holon_core::agent::Agent;
use holon_core::host::RestoreError;
use holon_core::snapshot::AgentSnapshot;
use holon_core::view::View;
use holon_core::{Answer, Host, Input};
use holon_facts::config::ConfigError;
use holon_facts::identity::AgentSpec;
use holon_facts::outcome::LoadedContext;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Config, EventSeq, Outcome, Record, ReplyId, Seed};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_ledger::write::ForkError;
use holon_ledger::{LedgerReader, Restored, Stall};
use holon_platform::{clock, spawn};
use holon_supervise::confine::Readable;
use holon_text::Texts;
use mailbox::{Asker, Mailbox, MailboxSender, Request, Urgency};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::driver::{DiskState, Driver, DriverError, ForkOrder, NoAnswer};
use crate::memory::Memory;
use crate::perform::Performers;
use crate::perform::context::Looks;
use crate::skills::Skills;
use holon_mcp::ServerState;

/// A runtime that lives. Cheap to clone; it leaves when [`Runtime::leave`] says so, or when every handle is gone.
#[derive(Clone)]
pub struct Runtime {
    sender: MailboxSender,
    texts: Texts,
    reader: Arc<Reader>,
    performers: Performers,
    disk: DiskState,
    config: Arc<Config>,
    /// Whether there is nothing but the ledger.
    stopped: bool,
}

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("the runtime is leaving")]
    Leaving,
    /// Only its ledger is read.
    #[error("the runtime is stopped")]
    Stopped,
    #[error(
        "the disk of the ledger is full: the runtime admits nothing new until there is free space (a home keeps 32 MiB \
         in reserve)"
    )]
    DiskFull,
    /// Other processes hold locks on the ledger.
    #[error(
        "the ledger is locked by {by}: the runtime admits nothing new until that process releases it, or ends"
    )]
    LedgerLocked { by: String },
    /// The database of the ledger gives no answer.
    #[error(
        "the database of the ledger gives no answer ({problem}): the runtime admits nothing new until it does"
    )]
    DatabaseAway { problem: String },
    /// It was taken in and can't be taken back.
    #[error(
        "it is not stored yet: the disk of the ledger is full, its database does not take it, or another process has it \
         locked. It was taken in, and is done as soon as it can be written; it is forgotten if the runtime ends before that"
    )]
    NotStoredYet,
    /// It was taken in, and the runtime has ended since.
    #[error("the runtime ended before it answered: whether the request was carried out is not known")]
    NotAnswered,
    /// The log of that agent is damaged; others are not concerned.
    #[error("{agent} can't be loaded: {problem}")]
    Damaged { agent: AgentId, problem: String },
}

impl Unavailable {
    /// Whether the request was certainly not taken in.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Stopped | Self::DiskFull | Self::LedgerLocked { .. } | Self::DatabaseAway { .. } => true,
            Self::Leaving | Self::NotStoredYet | Self::NotAnswered | Self::Damaged { .. } => false,
        }
    }
}

impl From<NoAnswer> for Unavailable {
    fn from(no_answer: NoAnswer) -> Self {
        match no_answer {
            NoAnswer::DiskFull(_) => Self::DiskFull,
            NoAnswer::Waits => Self::NotStoredYet,
        }
    }
}

/// An agent that can't be looked at as the ledger has it.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{agent} can't be loaded: {source}")]
    Restore { agent: AgentId, source: RestoreError },
}

/// The end of the task that owns the driver.
pub type Ended = JoinHandle<Result<(), DriverError>>;

impl Runtime {
    /// Takes a driver that has recovered everything, and keeps it going until the runtime is to leave. Warnings
    /// are handed to `warn`.
    pub fn spawn(driver: Driver, warn: impl FnMut(String) + Send + 'static) -> (Self, Ended) {
        let (sender, mailbox) = Mailbox::open();
        let (texts, reader) = (driver.texts().clone(), driver.reader());
        let (performers, disk) = (driver.performers().clone(), driver.disk_state().clone());
        let config = Arc::new(driver.config().clone());
        let runtime = Self { sender, texts, reader, performers, disk, config, stopped: false };
        let ended = spawn::task(actor::RuntimeActor::new(driver, mailbox, Box::new(warn)).run());
        (runtime, ended)
    }

    /// A runtime that does not live: what is read is what the ledger has, and nothing is admitted.
    pub fn stopped(reader: Arc<Reader>, texts: Texts, performers: Performers, config: Config) -> Self {
        // Nobody has the other end: whatever is sent fails at once.
        let (sender, _) = Mailbox::open();
        let (disk, config) = (DiskState::default(), Arc::new(config));
        Self { sender, texts, reader, performers, disk, config, stopped: true }
    }

    /// Asks for something and waits until what is answered is durable. An agent that is named is brought into
    /// memory first.
    ///
    /// # Errors
    /// When there is no runtime any more, or no room on its disk: whether it was taken in is told apart.
    pub async fn ask(
        &self,
        agent: Option<&AgentId>,
        make: impl FnOnce(ReplyId) -> Input + Send + 'static,
    ) -> Result<Answer, Unavailable> {
        self.send(Urgency::Normal, agent, make).await
    }

    /// The same for what must get through whatever else waits: stops and aborts.
    ///
    /// # Errors
    /// When there is no runtime any more.
    pub async fn ask_urgently(
        &self,
        agent: &AgentId,
        make: impl FnOnce(ReplyId) -> Input + Send + 'static,
    ) -> Result<Answer, Unavailable> {
        self.send(Urgency::Urgent, Some(agent), make).await
    }

    /// Reads the state between two steps; keep it short, nothing else happens meanwhile. An agent that is named
    /// is brought into memory first, if there is one.
    ///
    /// # Errors
    /// When there is no runtime any more.
    pub async fn read<T: Send + 'static>(
        &self,
        agent: Option<&AgentId>,
        read: impl FnOnce(View<'_>) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let (sender, receiver) = oneshot::channel();
        let read = Box::new(move |view: Result<View<'_>, Unavailable>| drop(sender.send(view.map(read))));
        let sent = self.sender.send(Urgency::Normal, Request::Read { agent: agent.cloned(), read }).await;
        sent.map_err(|unavailable| self.named(unavailable))?;
        receiver.await.map_err(|_| Unavailable::Leaving)?.map_err(|unavailable| self.named(unavailable))
    }

    /// One agent as the ledger has it, to look at: not as it is now, and without waiting for anybody. Blocks on the
    /// disk.
    ///
    /// # Errors
    /// When there is no agent of that name, or its log can't be read.
    pub fn as_stored(&self, reader: &Reader, agent: &AgentId) -> Result<Host, StoredError> {
        let Restored { snapshot, tail, .. } = reader.load(agent)?;
        self.host_of(agent, snapshot, tail)
    }

    /// The same at this moment, of an agent that is not in memory: nothing of it is newer. None for one that has a supervisor: what
    /// its family has spent is known in memory alone.
    ///
    /// # Errors
    /// As [`Runtime::as_stored`].
    pub fn at_rest(&self, reader: &Reader, agent: &AgentId) -> Result<Option<Host>, StoredError> {
        let mut host = self.as_stored(reader, agent)?;
        // What is due, and since when, is a matter of the present.
        host.resume_clock(clock::now().wall);
        let is_alone = host.view().agent(agent).is_some_and(|agent| agent.spec.supervisor.is_none());
        Ok(is_alone.then_some(host))
    }

    /// A host to look at that has this agent alone.
    ///
    /// # Errors
    /// When its records don't fit one another.
    pub fn as_it_was(&self, agent: &Agent) -> Result<Host, StoredError> {
        self.host_of(&agent.id, Some(AgentSnapshot::of(agent)), Vec::new())
    }

    fn host_of(
        &self,
        agent: &AgentId,
        snapshot: Option<AgentSnapshot>,
        tail: Vec<Record>,
    ) -> Result<Host, StoredError> {
        // Nothing is decided by this host: any seed is as good.
        let mut host = Host::new((*self.config).clone(), Seed(0))?;
        let restored = host.admit(snapshot, tail);
        restored.map_err(|source| StoredError::Restore { agent: agent.clone(), source })?;
        Ok(host)
    }

    /// Makes a new agent whose log begins as a copy of another's; says which event was the last to be copied.
    ///
    /// # Errors
    /// When there is no runtime any more; inside, when the fork is refused.
    pub async fn fork(&self, order: ForkOrder) -> Result<Result<EventSeq, ForkError>, Unavailable> {
        let (forked, receiver) = oneshot::channel();
        self.sender.send(Urgency::Normal, Request::Fork { order: Box::new(order), forked }).await?;
        receiver.await.map_err(|_| Unavailable::NotAnswered)
    }

    /// Shuts down in good order: runs are interrupted, everything decided becomes durable. Waiting for the end
    /// is for whoever holds [`Ended`].
    pub async fn leave(&self) {
        // A runtime that is gone has left.
        drop(self.sender.send(Urgency::Urgent, Request::Leave).await);
    }

    /// What keeps new work out, although the runtime answers.
    pub fn problem(&self) -> Option<Unavailable> {
        let stall = || {
            self.disk.stall().map(|stall| match stall {
                Stall::Full => Unavailable::DiskFull,
                Stall::Locked { by } => Unavailable::LedgerLocked { by: by.to_string() },
                Stall::Away { problem } => Unavailable::DatabaseAway { problem },
            })
        };
        if self.stopped { Some(Unavailable::Stopped) } else { stall() }
    }

    /// Says by its name what keeps new work out.
    fn named(&self, unavailable: Unavailable) -> Unavailable {
        match unavailable {
            Unavailable::DiskFull => self.problem().unwrap_or(unavailable),
            Unavailable::Leaving if self.stopped => Unavailable::Stopped,
            Unavailable::Leaving
            | Unavailable::Stopped
            | Unavailable::LedgerLocked { .. }
            | Unavailable::DatabaseAway { .. }
            | Unavailable::NotStoredYet
            | Unavailable::NotAnswered
            | Unavailable::Damaged { .. } => unavailable,
        }
    }

    /// Its limits.
    pub fn config(&self) -> Config {
        (*self.config).clone()
    }

    /// What agents of this home remember.
    pub fn memory(&self) -> &Memory {
        self.performers.memory()
    }

    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Reads what is durable, beside the driver.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Where skills are, and what was read of them.
    pub fn skills(&self) -> &Skills {
        self.performers.skills()
    }

    /// The home of an agent.
    pub fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.performers.agent_home(agent)
    }

    /// What is read for an agent that works there.
    pub fn readable(&self, agent: &AgentId, at: &ExecutionBinding) -> Readable {
        self.performers.readable(agent, at)
    }

    /// How servers of tools stand.
    pub fn tool_servers(&self) -> Vec<ServerState> {
        self.performers.tool_servers()
    }

    /// Reads instruction files and the environment as the beginning of a turn does, to show them.
    ///
    /// # Errors
    /// What can't be read.
    pub async fn look_at_context(
        &self,
        agent: &AgentId,
        execution: &ExecutionBinding,
        spec: &AgentSpec,
        untrusted: bool,
    ) -> Result<LoadedContext, String> {
        let looks = Looks { user_skills: spec.has_user_skills(), untrusted, work_tree: !untrusted };
        match self.performers.load_context(agent, execution, looks, spec.template.as_ref()).await {
            Outcome::Context { context } => Ok(context),
            Outcome::Failed { failure } => {
                let told = self.texts.resolve(&failure.message).map_err(|error| error.to_string())?;
                Err(told.to_string())
            }
            other @ (Outcome::Answer { .. }
            | Outcome::AttemptFailed { .. }
            | Outcome::Tool { .. }
            | Outcome::Looked { .. }
            | Outcome::Prepared { .. }
            | Outcome::Workspace { .. }
            | Outcome::Worktree { .. }) => Err(format!("reading the context ended in {other:?}")),
        }
    }

    async fn send(
        &self,
        urgency: Urgency,
        agent: Option<&AgentId>,
        make: impl FnOnce(ReplyId) -> Input + Send + 'static,
    ) -> Result<Answer, Unavailable> {
        let (asker, receiver) = Asker::new();
        let request = Request::Ask { agent: agent.cloned(), urgency, make: Box::new(make), asker };
        self.sender.send(urgency, request).await.map_err(|unavailable| self.named(unavailable))?;
        let answer = receiver.await.map_err(|_| Unavailable::NotAnswered)?;
        answer.map_err(|unavailable| self.named(unavailable))
    }
}
