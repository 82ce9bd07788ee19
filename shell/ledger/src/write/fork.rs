//! A new agent whose log begins as a copy of another's, up to a past event: to try again from there. Texts are
//! shared, they are stored once anyway.

use holon_core::host::RestoreError;
use holon_core::replay::Call;
use holon_core::{Host, Step};
use holon_facts::event::workspace::{TreeMoment, WorkspaceTreeKept};
use holon_facts::event::{LifecycleFact, TurnFact, WorkspaceFact};
use holon_facts::identity::{AgentKind, ForkedFrom};
use holon_facts::{AgentId, Event, EventSeq, Record, Reject, StepSeq};
use holon_text::Texts;

use crate::error::LedgerError;
use crate::read::garbage::removed_of;
use crate::read::{PastError, Reader};
use crate::rows::batch::{Batch, EncodedCall};

/// Records that a fork copies at most: they become durable in one transaction.
pub const FORKED_RECORDS: u64 = 200_000;

/// Who is to begin where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    pub from: AgentId,
    /// The last event of the copy at most; a step is copied whole or not at all, the first one always. None for
    /// all of them.
    pub at: Option<EventSeq>,
    pub to: AgentId,
    /// Whether somebody gives the first answer in the place of the model.
    pub answer_given: bool,
}

/// A fork that was not made.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error("there is no agent {0}")]
    NoAgent(AgentId),
    /// Nobody can create an agent of that name now.
    #[error(transparent)]
    Refused(Reject),
    #[error("the agent {0} exists already")]
    Exists(AgentId),
    #[error("the name {name} belongs to the agent {agent}")]
    NameTaken { name: AgentId, agent: AgentId },
    #[error("{agent} is a child of {supervisor}: what it is about belongs to that one's task")]
    Child { agent: AgentId, supervisor: AgentId },
    #[error("{agent} has no event {at}: its log ends at {last}")]
    Beyond { agent: AgentId, at: EventSeq, last: EventSeq },
    #[error("{records} records are more than the {FORKED_RECORDS} that a fork copies at most")]
    TooLarge { records: u64 },
    #[error("{count} texts that {agent} had at event {at} were removed by holon ledger gc --texts")]
    TextsRemoved { agent: AgentId, at: EventSeq, count: usize },
    #[error("the disk of the ledger is full: nothing new is admitted until there is free space")]
    DiskFull,
    /// The only one that is not undone: the copy is there as soon as there is room.
    #[error("the copy waits for free space on the disk of the ledger: it is there as soon as there is some")]
    Waits,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the copy can't be brought in: {0}")]
    Restore(#[from] RestoreError),
    /// The files of the home that belong to it can't be copied.
    #[error("{0}")]
    Home(String),
}

/// A fork on its way to the disk. The new agent is in the host's memory already, as the copy leaves it: in the
/// middle of a turn, maybe, which [`Host::recover`] ends.
#[derive(Debug)]
pub struct Forked {
    pub batch: Batch,
    /// To be released when the batch is durable.
    pub steps: Vec<Step>,
    /// The last event that was copied.
    pub through: EventSeq,
}

/// The records of one step, and its number in the log that is copied.
type Copied = (StepSeq, Vec<Record>);

/// What a fork copies. Nothing has changed yet.
#[derive(Debug)]
pub struct Past {
    fork: Fork,
    steps: Vec<Copied>,
    /// The files that its last turn found, where they were kept after the last event that is copied and before any tool
    /// changed them.
    found: Option<WorkspaceTreeKept>,
}

impl Past {
    /// # Errors
    /// When there is nothing to copy or the name is taken.
    pub fn read(reader: &Reader, fork: &Fork) -> Result<Self, ForkError> {
        match reader.last_event(&fork.to) {
            Err(LedgerError::NoAgent { .. }) => {}
            Ok(_) => return Err(ForkError::Exists(fork.to.clone())),
            Err(error) => return Err(error.into()),
        }
        if let Some(agent) = reader.agent_named(&fork.to)? {
            return Err(ForkError::NameTaken { name: fork.to.clone(), agent });
        }
        let last = reader.last_event(&fork.from).map_err(|error| {
            let unknown = matches!(error, LedgerError::NoAgent { .. });
            if unknown { ForkError::NoAgent(fork.from.clone()) } else { error.into() }
        })?;
        let at = fork.at.unwrap_or(last);
        if at > last {
            return Err(ForkError::Beyond { agent: fork.from.clone(), at, last });
        }
        if at.0 > FORKED_RECORDS {
            return Err(ForkError::TooLarge { records: at.0 });
        }
        let mut steps: Vec<Copied> = Vec::new();
        let mut later = Vec::new();
        let mut all = reader.records(&fork.from, EventSeq(0), last)?;
        for record in all.by_ref() {
            let record = record?;
            may_be_copied(&record)?;
            match steps.last_mut() {
                Some((step, records)) if *step == record.step => records.push(record),
                Some(_) if record.event_seq > at => {
                    later.push(record);
                    break;
                }
                Some(_) | None => steps.push((record.step, vec![record])),
            }
        }
        // The step of the creation is copied in any case.
        let cut =
            steps.last().and_then(|(_, records)| records.last()).is_some_and(|last| last.event_seq > at);
        if cut && steps.len() > 1 {
            later.splice(0..0, steps.pop().map(|(_, records)| records).unwrap_or_default());
        }
        let found = found(later.into_iter().map(Ok).chain(all))?;
        let through = steps.last().and_then(|(_, records)| records.last()).map(|last| last.event_seq);
        if let Some(at) = through {
            let stood = reader.agent_after(&fork.from, at).map_err(|error| match error {
                PastError::Ledger(error) => error.into(),
                PastError::Beyond { agent, last, .. } => ForkError::Beyond { agent, at, last },
                PastError::TooFar { records, .. } => ForkError::TooLarge { records },
            })?;
            let count = reader.read(|source| removed_of(source, &stood.agent))?;
            if count > 0 {
                return Err(ForkError::TextsRemoved { agent: fork.from.clone(), at, count });
            }
        }
        Ok(Self { fork: fork.clone(), steps, found })
    }

    /// The files of that moment, as they were kept, and where the agent worked with them.
    pub fn files(&self) -> Option<&WorkspaceTreeKept> {
        let records = self.steps.iter().rev().flat_map(|(_, records)| records.iter().rev());
        self.found.as_ref().or_else(|| records.filter_map(tree).next())
    }

    /// Copies, and brings the copy into the host.
    ///
    /// # Errors
    /// When the copy can't be brought in; the host is as before then.
    pub fn copy(self, host: &mut Host, texts: &Texts) -> Result<Forked, ForkError> {
        let Self { fork, steps, found: _ } = self;
        let last = steps.last().and_then(|(_, records)| records.last());
        let through = last.map_or(EventSeq(0), |record| record.event_seq);
        let mut log = Vec::new();
        let mut made = Vec::new();
        for (of, records) in steps {
            let records: Vec<Record> =
                records.into_iter().map(|record| renamed(record, &fork, through)).collect();
            log.extend(records.iter().cloned());
            made.push((of, host.copy(records)));
        }
        host.admit(None, log)?;
        let mut batch = Batch::default();
        for (of, step) in &made {
            let call = Call::Copy { agent: fork.to.clone(), from: fork.from.clone(), of: *of };
            batch.step(EncodedCall::new(&call)?, step, host.view(), texts)?;
        }
        batch.call(EncodedCall::new(&Call::Admit { agent: fork.to, through })?);
        Ok(Forked { batch, steps: made.into_iter().map(|(_, step)| step).collect(), through })
    }
}

fn tree(record: &Record) -> Option<&WorkspaceTreeKept> {
    let Event::Workspace(WorkspaceFact::WorkspaceTreeKept(fact)) = &record.event else { return None };
    Some(fact)
}

/// The files that a turn which is under way has found: they are kept while its first request is.
fn found(
    records: impl Iterator<Item = Result<Record, LedgerError>>,
) -> Result<Option<WorkspaceTreeKept>, LedgerError> {
    for record in records {
        let record = record?;
        if let Some(kept) = tree(&record).filter(|kept| kept.moment == TreeMoment::TurnBegin) {
            return Ok(Some(kept.clone()));
        }
        let Event::Turn(fact) = &record.event else { continue };
        let over = matches!(fact, TurnFact::TurnStarted(_) | TurnFact::TurnTerminal(_));
        if over || matches!(fact, TurnFact::ToolExecuted(_) | TurnFact::ToolExecutionFailed(_)) {
            break;
        }
    }
    Ok(None)
}

/// A copy of a child would have a supervisor that knows nothing of it.
fn may_be_copied(record: &Record) -> Result<(), ForkError> {
    let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event else { return Ok(()) };
    match &fact.spec.supervisor {
        None => Ok(()),
        Some(supervisor) => {
            Err(ForkError::Child { agent: record.agent.clone(), supervisor: supervisor.agent_id.clone() })
        }
    }
}

fn renamed(record: Record, fork: &Fork, through: EventSeq) -> Record {
    let mut record = Record { agent: fork.to.clone(), ..record };
    if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &mut record.event {
        // There is one default agent.
        if fact.spec.kind == AgentKind::Default {
            fact.spec.kind = AgentKind::Named;
        }
        fact.spec.tree = None;
        fact.spec.forked_from = Some(ForkedFrom {
            agent_id: fork.from.clone(),
            event_seq: through,
            answer_given: fork.answer_given,
        });
    }
    // Two agents have no name in common, and a copy is made to be used.
    if let Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) = &mut record.event {
        for label in [&mut fact.previous, &mut fact.label] {
            (label.name, label.archived) = (None, false);
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use holon_law::Laws;
    use holon_law::replay::Again;

    use super::*;
    use crate::read::{replay, verify};
    use crate::sqlite::testing::{BUILD, Home, id};

    fn asked(at: Option<u64>) -> Fork {
        Fork { from: id("main"), at: at.map(EventSeq), to: id("other"), answer_given: false }
    }

    #[test]
    fn a_fork_at_any_event_is_a_log_of_its_own() {
        let last = Home::with_turns(2).reader().last_event(&id("main")).unwrap().0;
        for at in 0..=last {
            let home = Home::with_turns(2);
            let mut world = home.start();
            let past = Past::read(&world.reader, &asked(Some(at))).unwrap();
            let forked = past.copy(&mut world.host, &world.texts).unwrap();
            assert!(forked.through.0 <= at.max(4) && forked.through.0 + 24 > at, "{at}: {}", forked.through);
            world.ledger.append(&forked.batch).unwrap();
            let copy = world.host.view().agent(&id("other")).unwrap();
            assert_eq!(copy.event_seq, forked.through);
            world.recover("other");
            world.prompt("other", "from here on it is another story");
            let mut laws = Laws::new();
            verify(&home.reader(), &mut |record| laws.step(record).map_err(|broken| broken.to_string()))
                .unwrap();
            replay(&home.reader(), Again::Build(BUILD.to_owned())).unwrap();
        }
    }

    #[test]
    fn what_can_not_be_forked_changes_nothing() {
        let home = Home::with_turns(1);
        let mut world = home.start();
        world.create("taken");
        let refused = |fork: Fork| Past::read(&world.reader, &fork).unwrap_err();
        assert!(matches!(refused(asked(Some(10_000))), ForkError::Beyond { .. }));
        assert!(matches!(refused(Fork { to: id("taken"), ..asked(None) }), ForkError::Exists(_)));
        assert!(matches!(refused(Fork { from: id("nobody"), ..asked(None) }), ForkError::NoAgent(_)));
    }
}
