//! Agents that come back from the ledger: those with open work at the start, others when they are asked for.

use holon_core::host::{Found, FoundCommand, RecoveryReport};
use holon_core::outcome::{Certainty, OpFailure};
use holon_core::replay::Call;
use holon_core::snapshot::SnapshotError;
use holon_core::{AgentId, EventSeq, Input, Outcome};
use holon_platform::crash_point::{Point, reached};
use tokio::task::JoinSet;

use super::{DiskFull, Driver, DriverError};
use crate::ledger::{Batch, EncodedCall, LedgerError, Restored};

/// One agent that can't be brought into memory.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its log is damaged, or this build can't read it.
    #[error(transparent)]
    Damaged(DriverError),
    /// Bringing it in takes room that there is none of.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The runtime can't go on.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl From<LoadError> for DriverError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Damaged(error) | LoadError::Driver(error) => error,
            LoadError::DiskFull(full) => full.into(),
        }
    }
}

impl Driver {
    /// Brings back every agent that has something to do, then recovers one after the other.
    pub(super) async fn recover_all(&mut self, open: Vec<AgentId>) -> Result<(), DriverError> {
        for agent in &open {
            self.room().await?;
            let restored = self.reader.load(agent)?;
            self.bring_in(agent, restored)?;
            reached(Point::AgentBroughtIn);
        }
        let reports = self.probe(&open).reports().await;
        reached(Point::CommandsProbed);
        for (agent, report) in open.iter().zip(reports) {
            self.room().await?;
            self.recover(agent, report)?;
            reached(Point::AgentRecovered);
        }
        if open.is_empty() && self.absent_wait().is_some() {
            // Nobody's recovery has read the clocks, from which waits are measured.
            self.step(Input::Tick)?;
        }
        self.performers.sweep().await;
        reached(Point::AllRecovered);
        Ok(())
    }

    /// Asks the supervisors of open commands, all at once.
    fn probe(&self, agents: &[AgentId]) -> Probes {
        let mut asked = JoinSet::new();
        for (number, agent) in agents.iter().enumerate() {
            let Some(state) = self.host.view().agent(agent) else { continue };
            // The commands of a copy are those of whom it was copied from.
            let copied = state.spec.forked_from.as_ref();
            if copied.is_some_and(|copied| copied.event_seq == state.event_seq) {
                continue;
            }
            for (op, open) in &state.ops {
                let Some(supervisor) = open.supervisor.clone() else { continue };
                let (performers, agent, op) = (self.performers.clone(), agent.clone(), *op);
                let (command, is_task) = (open.command.clone(), state.task_of(op).is_some());
                let task = open.task_id.filter(|_| !is_task);
                asked.spawn(async move {
                    let found = performers.probe(&agent, op, &supervisor, command.as_ref(), is_task).await;
                    let goes_on = task.filter(|_| found == Found::Running);
                    let tty = command.is_some_and(|command| command.tty);
                    let shown = goes_on.map(|task| Box::new(performers.written_so_far(&agent, task, tty)));
                    (number, FoundCommand { op, found, shown })
                });
            }
        }
        Probes { asked, agents: agents.len() }
    }

    /// Makes sure that an agent of the ledger is in memory; false when there is none of that name.
    ///
    /// # Errors
    /// When its log is damaged, the disk has no room for it, or the runtime can't go on.
    pub async fn load(&mut self, agent: &AgentId) -> Result<bool, LoadError> {
        if self.host.view().agent(agent).is_some() {
            return Ok(true);
        }
        while !self.writer.has_room(self.room.is_full()) {
            // Nobody waits for a full disk to bring somebody in.
            if self.room.is_full() {
                return Err(DiskFull.into());
            }
            self.hear().await?;
        }
        match self.reader.load(agent) {
            Ok(restored) => self.bring_in(agent, restored).map_err(|error| match error {
                DriverError::Restore { .. } => LoadError::Damaged(error),
                DriverError::Encode(_)
                | DriverError::Ledger(_)
                | DriverError::DiskFull(_)
                | DriverError::Law(_) => error.into(),
            })?,
            Err(LedgerError::NoAgent { .. }) => return Ok(false),
            Err(error) => return Err(LoadError::Damaged(error.into())),
        }
        let report = self.probe(std::slice::from_ref(agent)).reports().await.pop().unwrap_or_default();
        self.recover(agent, report)?;
        Ok(true)
    }

    /// Brings the children into memory that have to be told something. One that can't be is lost to its parent; a disk
    /// that is full is waited for.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub(super) async fn load_children(&mut self) -> Result<(), DriverError> {
        while let Some((agent, op, child)) = self.to_load.pop_front() {
            let problem = match self.load(&child).await {
                Ok(true) => continue,
                Ok(false) => "it is not in the ledger".to_owned(),
                Err(LoadError::DiskFull(_)) => {
                    self.to_load.push_front((agent, op, child));
                    return Ok(());
                }
                Err(LoadError::Damaged(error)) => error.to_string(),
                Err(LoadError::Driver(error)) => return Err(error),
            };
            let message = format!("{child} can't be brought into memory: {problem}");
            self.warnings.push(message.clone());
            let failure = OpFailure { certainty: Certainty::Ambiguous, message: self.texts.take(&message) };
            self.step(Input::Completed { agent, op, outcome: Outcome::Failed { failure } })?;
        }
        Ok(())
    }

    fn bring_in(&mut self, agent: &AgentId, restored: Restored) -> Result<(), DriverError> {
        let Restored { snapshot, state_bytes, tail, tail_bytes, unusable } = restored;
        let mut batch = Batch::default();
        for (event_seq, error) in unusable {
            match error {
                SnapshotError::Damaged(_) => self.warnings.push(format!(
                    "the stored state of {agent} at event {event_seq} was discarded, its log was read instead: {error}"
                )),
                // After an update: nothing is wrong.
                SnapshotError::Version { .. } | SnapshotError::Build { .. } => {}
            }
            batch.reject_snapshot(agent.clone(), event_seq);
        }
        self.stored.brought_in(agent, state_bytes, tail_bytes);
        self.host
            .admit(snapshot, tail)
            .map_err(|source| DriverError::Restore { agent: agent.clone(), source })?;
        self.absent.forget(agent);
        self.arrived.push(agent.clone());
        let through = self.host.view().agent(agent).map(|agent| agent.event_seq).unwrap_or_default();
        let log = || self.reader.records(agent, EventSeq(0), through);
        self.judge.brought_in(agent, self.host.view(), log)?;
        batch.call(EncodedCall::new(&Call::Admit { agent: agent.clone(), through })?);
        // Whoever had much to read is not to read it again the next time.
        if self.stored.takes(agent)
            && let Some(snapshot) = self.host.snapshot(agent)
        {
            batch.snapshot(snapshot);
        }
        Ok(self.writer.send(batch)?)
    }

    pub(super) fn recover(&mut self, agent: &AgentId, report: RecoveryReport) -> Result<(), DriverError> {
        let now = self.now();
        let call = Call::Recover { now, agent: agent.clone(), report: report.clone() };
        let encoded = EncodedCall::new(&call)?;
        let step = self.host.recover(now, agent, report);
        let more = step.more();
        self.stage(now, encoded, step)?;
        if more { self.step(Input::Tick) } else { Ok(()) }
    }
}

/// Supervisors that were asked what became of their commands.
struct Probes {
    asked: JoinSet<(usize, FoundCommand)>,
    agents: usize,
}

impl Probes {
    /// What they say, by agent. Whoever still has time is waited for.
    async fn reports(mut self) -> Vec<RecoveryReport> {
        let mut reports = vec![RecoveryReport::default(); self.agents];
        while let Some(probed) = self.asked.join_next().await {
            // A probe that broke down found nothing: its command counts as lost.
            if let Ok((number, command)) = probed {
                reports[number].commands.push(command);
            }
        }
        reports
    }
}
