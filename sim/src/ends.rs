//! How children end (C9), over the logs of both sides: a child's end follows from its own turns, its last outbox
//! message reports that end, and its parent is notified of what the message reports.

#![expect(clippy::wildcard_enum_match_arm, reason = "an end is made of some facts alone")]

use std::collections::BTreeMap;

use holon_facts::content::Text;
use holon_facts::event::task::{TaskCause, TaskResultQueued, TaskStatusUpdated};
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::{InboxFact, LifecycleFact, OutboxFact, TaskFact, TurnFact};
use holon_facts::identity::Supervisor;
use holon_facts::ids::{LetterId, TaskId};
use holon_facts::lifecycle::ControlAction;
use holon_facts::message::Message;
use holon_facts::outbox::Letter;
use holon_facts::provenance::MessageKind;
use holon_facts::task::{ChildEnd, TaskStatus};
use holon_facts::terminal::TurnKind;
use holon_facts::{AgentId, Event, Record};

use crate::failure::{Failure, ensure};

/// The children of a run, by their records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    children: BTreeMap<AgentId, Life>,
    /// Ends that parents have received, until the status of the task shows them.
    received: BTreeMap<Supervision, ChildEnd>,
    /// Ended tasks of children, until a message reports them.
    over: BTreeMap<Supervision, (TaskStatus, Option<Text>)>,
}

/// A parent, and the task that supervises the child.
type Supervision = (AgentId, TaskId);

#[derive(Debug, Clone)]
struct Life {
    supervisor: Supervisor,
    /// How the last turn ended; a failure stands until a turn succeeds.
    came_to: Option<TurnKind>,
    /// The final text of the last turn; none before there was a turn.
    last_text: Option<Option<Text>>,
    stopped: bool,
    /// The undelivered message that reports the end.
    last_message: Option<(LetterId, ChildEnd)>,
}

impl Life {
    fn begins(supervisor: Supervisor) -> Self {
        Self { supervisor, came_to: None, last_text: None, stopped: false, last_message: None }
    }

    fn turn_ended(&mut self, fact: &TurnTerminal) {
        if fact.settles() {
            self.last_text = Some(fact.last_assistant_message.clone().filter(|text| !text.is_empty()));
        }
        let stands = self.came_to.is_some_and(TurnKind::failed) && fact.kind == TurnKind::Aborted;
        if fact.kind.settles() && !stands {
            self.came_to = Some(fact.kind);
        }
    }

    /// The status with which the child ends now.
    fn status(&self) -> TaskStatus {
        match self.came_to {
            _ if self.stopped => TaskStatus::Cancelled,
            Some(kind) if kind.failed() => TaskStatus::Failed,
            Some(_) | None => TaskStatus::Completed,
        }
    }

    /// Whether this is the right report: the final text, or, for a failure without text, the cause.
    fn may_report(&self, report: Option<&Text>) -> bool {
        match (&self.last_text, self.status()) {
            (_, TaskStatus::Cancelled) | (None, _) => report.is_none(),
            (Some(Some(text)), _) => report == Some(text),
            (Some(None), TaskStatus::Failed) => report.is_some_and(|why| !why.is_empty()),
            (Some(None), _) => report.is_none(),
        }
    }
}

impl Ends {
    /// Checks the records of a step; returns the number of checks.
    pub(crate) fn check(&mut self, records: &[Record]) -> Result<u64, Failure> {
        let (mut checked, mut admitted) = (0, None);
        for record in records {
            match &record.event {
                Event::Inbox(InboxFact::MessageAdmitted(fact)) => admitted = Some(&fact.message),
                Event::Lifecycle(fact) => checked += u64::from(self.lives(&record.agent, fact)?),
                Event::Turn(TurnFact::TurnTerminal(fact)) => {
                    if let Some(life) = self.children.get_mut(&record.agent) {
                        life.turn_ended(fact);
                    }
                }
                Event::Outbox(fact) => checked += u64::from(self.message(&record.agent, fact)?),
                Event::Task(fact) => checked += u64::from(self.task(&record.agent, fact, admitted)?),
                _ => {}
            }
        }
        Ok(checked)
    }

    /// A child begins, is stopped, or retires.
    fn lives(&mut self, id: &AgentId, fact: &LifecycleFact) -> Result<bool, Failure> {
        if let LifecycleFact::AgentCreated(fact) = fact {
            let begins =
                fact.spec.supervisor.clone().map(|supervisor| (id.clone(), Life::begins(supervisor)));
            self.children.extend(begins);
            return Ok(false);
        }
        let Some(life) = self.children.get_mut(id) else { return Ok(false) };
        match fact {
            LifecycleFact::ControlApplied(fact) => {
                life.stopped |= fact.action == ControlAction::Stop;
                Ok(false)
            }
            LifecycleFact::AgentRetired(fact) => {
                let due = life.status();
                ensure!(fact.status == due, "C9", "{id} retires as {}, it came to {due}", fact.status);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A child reports its end, or its parent receives the report.
    fn message(&mut self, id: &AgentId, fact: &OutboxFact) -> Result<bool, Failure> {
        match fact {
            OutboxFact::LetterPosted(fact) => {
                let Letter::Result { status, report, spent, .. } = &fact.letter else { return Ok(false) };
                let Some(life) = self.children.get_mut(id) else { return Ok(false) };
                let (due, fits) = (life.status(), life.may_report(report.as_ref()));
                ensure!(*status == due, "C9", "{id} says that it ended {status}, it came to {due}");
                ensure!(fits, "C9", "{id} ended {due}, and reports {report:?} after {:?}", life.last_text);
                let end = ChildEnd { status: *status, result: report.clone(), spent: *spent };
                life.last_message = Some((fact.letter_id, end));
                Ok(true)
            }
            OutboxFact::LetterReceived(fact) => {
                let Some(life) = self.children.get_mut(&fact.from) else { return Ok(false) };
                let Some((_, end)) = life.last_message.take_if(|(message, _)| *message == fact.letter_id)
                else {
                    return Ok(false);
                };
                let supervision = (life.supervisor.agent_id.clone(), life.supervisor.task_id);
                ensure!(supervision.0 == *id, "C9", "{id} takes in how {}, no child of it, ended", fact.from);
                self.received.insert(supervision, end);
                Ok(true)
            }
            OutboxFact::LetterDelivered(_) | OutboxFact::LetterReturned(_) => Ok(false),
        }
    }

    /// A parent records or is notified of an end.
    fn task(&mut self, id: &AgentId, fact: &TaskFact, admitted: Option<&Message>) -> Result<bool, Failure> {
        match fact {
            TaskFact::ChildEnded(fact) => {
                let received = self.received.get(&(id.clone(), fact.task_id));
                ensure!(
                    received == Some(&fact.end),
                    "C9",
                    "{} of {id} ended {:?}, it heard {received:?}",
                    fact.task_id,
                    fact.end
                );
                Ok(true)
            }
            TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => self.ended(id, fact),
            TaskFact::TaskResultQueued(fact) => self.delivered(id, fact, admitted),
            _ => Ok(false),
        }
    }

    /// The task ends as the child reported; without a report, its end is unproven.
    fn ended(&mut self, id: &AgentId, fact: &TaskStatusUpdated) -> Result<bool, Failure> {
        let supervision = (id.clone(), fact.task_id);
        let mut children = self.children.values().map(|life| &life.supervisor);
        if !children.any(|of| (&of.agent_id, of.task_id) == (id, fact.task_id)) {
            return Ok(false);
        }
        let recorded_end = ChildEnd { status: fact.status, result: fact.result.clone(), spent: fact.spent };
        match self.received.remove(&supervision) {
            Some(received) => {
                let stopped = received.status == TaskStatus::Cancelled;
                let cause = if stopped { TaskCause::Stopped } else { TaskCause::Exited };
                let same = recorded_end == received && fact.cause == cause;
                ensure!(
                    same,
                    "C9",
                    "{} of {id} ends {recorded_end:?} ({}), its child {received:?}",
                    fact.task_id,
                    fact.cause
                );
            }
            None => {
                let nobody = fact.status == TaskStatus::Interrupted && fact.cause == TaskCause::Unproven;
                ensure!(nobody, "C9", "{} of {id} is {}, and nobody said so", fact.task_id, fact.status);
            }
        }
        self.over.insert(supervision, (fact.status, fact.result.clone()));
        Ok(true)
    }

    /// The message shows the report, or lists the end together with others.
    fn delivered(
        &mut self,
        id: &AgentId,
        fact: &TaskResultQueued,
        admitted: Option<&Message>,
    ) -> Result<bool, Failure> {
        let Some((status, report)) = self.over.remove(&(id.clone(), fact.task_id)) else { return Ok(false) };
        let Some(message) = admitted.filter(|message| message.id == fact.message_id) else {
            return Ok(false);
        };
        let text = &message.body.text;
        let fits = if message.kind == MessageKind::TaskResult {
            *text == report.unwrap_or_default()
        } else {
            // A long list is cut.
            text.preview().ends_with('…') || text.preview().contains(&format!("{} {status}", fact.task_id))
        };
        ensure!(fits, "C9", "{id} is told {text:?} of {}, which is {status}", fact.task_id);
        Ok(true)
    }
}
