//! What a campaign wants to have seen: which events follow each other, which errors are returned, and whether
//! faults met what their contracts speak of.

use std::collections::BTreeMap;

use holon_core::event::operation::Settlement;
use holon_core::event::turn::CompactionCause;
use holon_core::event::workspace::ReleaseCause;
use holon_core::event::{InboxFact, LifecycleFact, OperationFact, SchedulingFact, TurnFact, WorkspaceFact};
use holon_core::model::AttemptOutcome;
use holon_core::terminal::{TurnKind, TurnReason};
use holon_core::tool::{Tool, ToolError, ToolErrorKind, Verdict};
use holon_core::{AgentId, Answer, Event};

use crate::decisions::Came;
use crate::disk::Row;
use crate::fault::Injector;
use crate::places;

/// Two kinds of events, one right after the other in the log of an agent.
pub type Pair = (&'static str, &'static str);

#[derive(Debug, Default)]
pub struct Witness {
    pub pairs: BTreeMap<Pair, u64>,
    pub errors: BTreeMap<(&'static str, &'static str), u64>,
    pub decisions: BTreeMap<Came, u64>,
    last: BTreeMap<AgentId, &'static str>,
    /// The models that the last run of each agent was bound to.
    models: BTreeMap<AgentId, usize>,
    /// Turns that ended otherwise than interrupted.
    pub turns: u64,
}

impl Witness {
    /// A row was handed to the disk.
    pub fn row(&mut self, row: &Row, injector: &mut Injector) {
        for record in &row.records {
            let kind = record.event.kind();
            match self.last.get_mut(&record.agent) {
                Some(last) => {
                    *self.pairs.entry((*last, kind)).or_default() += 1;
                    *last = kind;
                }
                None => drop(self.last.insert(record.agent.clone(), kind)),
            }
            match &record.event {
                Event::Turn(fact) => self.turn(&record.agent, fact, injector),
                Event::Inbox(fact) => inbox(fact, injector),
                Event::Workspace(fact) => folder(fact, injector),
                Event::Operation(OperationFact::OperationSettled(fact)) => match fact.settlement {
                    Settlement::TimedOut => injector.saw("an operation has timed out"),
                    Settlement::Failed => injector.saw("an operation has failed"),
                    Settlement::Done | Settlement::Cancelled | Settlement::Lost => {}
                },
                Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => {
                    let begun = fact.spec.lineage_parent_agent_id.is_some();
                    if begun && fact.spec.supervisor.is_none() {
                        injector.saw("a public agent begins");
                    }
                }
                Event::Lifecycle(LifecycleFact::ClockStepped(_)) => {
                    injector.saw("a step of the clock is recorded");
                }
                Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) => {
                    *self.decisions.entry(Came::of(decision)).or_default() += 1;
                }
                Event::Lifecycle(_)
                | Event::Scheduling(_)
                | Event::Operation(_)
                | Event::Task(_)
                | Event::Timer(_)
                | Event::Work(_)
                | Event::Wait(_)
                | Event::Wake(_)
                | Event::Outbox(_)
                | Event::Brief(_) => {}
            }
        }
    }

    /// A crash has taken some of the rows back.
    pub fn restart(&mut self) {
        self.last.clear();
    }

    /// A caller was told something.
    pub fn told(&mut self, answer: &Answer, injector: &mut Injector) {
        match answer {
            Answer::Refused { reject } => {
                *self.errors.entry(("reject", reject.code())).or_default() += 1;
                if reject.code() == "queue_full" {
                    injector.saw("a queue is full");
                }
            }
            Answer::Admitted { duplicate: true, .. } => injector.saw("a key is known"),
            Answer::Admitted { .. }
            | Answer::Created { .. }
            | Answer::Controlled(_)
            | Answer::ModelSet { .. }
            | Answer::Task { .. }
            | Answer::TaskInput { .. }
            | Answer::Timer { .. }
            | Answer::WorkItem { .. }
            | Answer::Workspaces { .. }
            | Answer::Woken { .. }
            | Answer::ExternalTrigger { .. }
            | Answer::Drained => {}
        }
    }

    fn turn(&mut self, agent: &AgentId, fact: &TurnFact, injector: &mut Injector) {
        match fact {
            TurnFact::TurnStarted(fact) => {
                let before = self.models.insert(agent.clone(), fact.models.len());
                if fact.carried_rounds > 0 && before.is_some_and(|before| before != fact.models.len()) {
                    injector.saw("a carried turn under another configuration");
                }
            }
            TurnFact::ProviderAttemptRecorded(fact) => {
                if let Some(kind) = fact.attempt.failure_kind {
                    *self.errors.entry(("model", kind.name())).or_default() += 1;
                    injector.saw("an attempt has failed");
                }
                if fact.attempt.outcome == AttemptOutcome::Retrying {
                    injector.saw("an attempt is repeated");
                }
            }
            TurnFact::AssistantRoundRecorded(fact) => {
                if fact.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Refused(_))) {
                    injector.saw("a call is refused");
                }
                if fact.verdicts.len() >= 100 {
                    injector.saw("a round has a hundred calls");
                }
            }
            TurnFact::ToolExecutionFailed(fact) => {
                let Some(error) = &fact.receipt.error else { return };
                *self.errors.entry(("tool", error.kind.name())).or_default() += 1;
                injector.saw("a call has an error for its result");
                if fact.tool_name == Tool::SpawnAgent.name() {
                    spawn_refused(error, injector);
                }
                if error.kind == ToolErrorKind::Interrupted {
                    injector.saw("a call was interrupted");
                }
                if error.kind == ToolErrorKind::WorkspaceOccupied {
                    injector.saw("a folder is refused");
                }
            }
            TurnFact::ContextCompacted(fact) if fact.cause == CompactionCause::Refused => {
                injector.saw("a refusal is answered with a recap");
            }
            TurnFact::TurnTerminal(fact) => {
                self.turns += u64::from(fact.kind != TurnKind::Interrupted);
                if fact.reason == Some(TurnReason::Shutdown) {
                    injector.saw("a run is shut down");
                }
            }
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ToolExecuted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::RuntimeError(_) => {}
            TurnFact::BudgetExhausted(_) => injector.saw("a budget is exhausted"),
        }
    }
}

/// Which bound of the contract a call for another agent came to, by the name of its setting. Calls fail for other
/// reasons, too.
fn spawn_refused(error: &ToolError, injector: &mut Injector) {
    const BOUNDS: [(&str, &str); 4] = [
        ("(limits.child_depth)", "a child would be too deep"),
        ("(limits.children_per_agent)", "a child is one too many for its parent"),
        ("(limits.agents)", "an agent is one too many for the runtime"),
        ("exists already", "a name is taken"),
    ];
    let said = error.message.preview();
    BOUNDS.iter().filter(|(bound, _)| said.contains(bound)).for_each(|(_, met)| injector.saw(met));
}

fn inbox(fact: &InboxFact, injector: &mut Injector) {
    match fact {
        InboxFact::MessageDropped(_) => injector.saw("a message is dropped"),
        InboxFact::OperatorInterjectionAdmitted(_) => injector.saw("an interjection"),
        InboxFact::MessageRequeued(_)
        | InboxFact::MessageAdmitted(_)
        | InboxFact::MessageDuplicate(_)
        | InboxFact::MessageDequeued(_)
        | InboxFact::MessageProcessed(_)
        | InboxFact::MessageAborted(_) => {}
    }
}

fn folder(fact: &WorkspaceFact, injector: &mut Injector) {
    match fact {
        WorkspaceFact::OccupancyAcquired(fact) if places::is_shared(&fact.execution_root) => {
            injector.saw("a folder is taken");
        }
        WorkspaceFact::OccupancyReleased(fact) if places::is_shared(&fact.execution_root) => {
            injector.saw(match fact.cause {
                ReleaseCause::Unused => "a folder is left",
                ReleaseCause::Stopped => "a holder is stopped",
            });
        }
        WorkspaceFact::OccupancyAcquired(_)
        | WorkspaceFact::OccupancyReleased(_)
        | WorkspaceFact::WorkspaceAttached(_)
        | WorkspaceFact::WorkspaceUsed(_)
        | WorkspaceFact::WorkspaceDetached(_)
        | WorkspaceFact::WorktreeCreated(_)
        | WorkspaceFact::WorktreeLeft(_)
        | WorkspaceFact::WorktreeRemoved(_)
        | WorkspaceFact::WorktreeRetained(_) => {}
    }
}
