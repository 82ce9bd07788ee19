//! Coverage of a run: which events follow each other, which errors are returned, and whether faults met what their
//! contracts are about.

#![expect(clippy::wildcard_enum_match_arm, reason = "a witness looks for named events")]

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Answer;
use holon_core::tool::Tool;
use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::operation::Settlement;
use holon_facts::event::scheduling::HoldEnd;
use holon_facts::event::wait::Resolution;
use holon_facts::event::workspace::ReleaseCause;
use holon_facts::event::{
    BriefFact, EpisodeFact, InboxFact, LifecycleFact, OperationFact, SchedulingFact, TurnFact, WaitFact,
    WakeFact, WorkspaceFact,
};
use holon_facts::model::AttemptOutcome;
use holon_facts::receipt::{ToolError, ToolErrorKind, Verdict};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::{AgentId, Event, OpId, Reject};

use crate::decisions::Came;
use crate::disk::Row;
use crate::fault::Injector;
use crate::places;

/// So many hints of one source before a report are a storm.
const STORM: u64 = 10;
/// So many ends and needs of children before their parent begins a turn are a flood.
const MANY_CHILDREN: u64 = 3;

/// Two kinds of events, one right after the other in the log of an agent.
pub type Pair = (&'static str, &'static str);

#[derive(Debug, Default)]
pub struct Witness {
    pub pairs: BTreeMap<Pair, u64>,
    pub errors: BTreeMap<(&'static str, &'static str), u64>,
    pub decisions: BTreeMap<Came, u64>,
    last: BTreeMap<AgentId, &'static str>,
    /// Operations cancelled with an aborted run, in this life of the process.
    aborted: BTreeSet<(AgentId, OpId)>,
    /// How often children have reported to an agent since its last turn began.
    child_reports: BTreeMap<AgentId, u64>,
    /// Hints of each source since the last tick.
    hints: BTreeMap<(AgentId, String), u64>,
    /// The models that the last run of each agent was bound to.
    models: BTreeMap<AgentId, usize>,
    /// Turns that ended otherwise than interrupted.
    pub turns: u64,
}

impl Witness {
    /// Notes a row that was handed to the disk.
    pub fn row(&mut self, row: &Row, injector: &mut Injector) {
        let mut cancelled = Vec::new();
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
                Event::Turn(fact) => {
                    if aborts(fact) {
                        let own = |(agent, _): &(AgentId, OpId)| *agent == record.agent;
                        self.aborted.extend(cancelled.drain(..).filter(own));
                    }
                    self.turn(&record.agent, fact, injector);
                }
                Event::Wake(fact) => self.hint(&record.agent, fact, injector),
                Event::Episode(EpisodeFact::EpisodeClosed(fact))
                    if fact.boundary == EpisodeBoundary::Refused =>
                {
                    injector.saw("a refusal is answered with a recap");
                }
                Event::Wait(WaitFact::WaitResolved(fact)) if fact.by == Resolution::TaskResultQueued => {
                    injector.saw("what has ended already is waited for");
                }
                Event::Inbox(fact) => inbox(fact, injector),
                Event::Workspace(fact) => folder(fact, injector),
                Event::Operation(OperationFact::OperationSettled(fact)) => match fact.settlement {
                    Settlement::TimedOut => injector.saw("an operation has timed out"),
                    Settlement::Failed => injector.saw("an operation has failed"),
                    Settlement::Cancelled => cancelled.push((record.agent.clone(), fact.op)),
                    Settlement::Done | Settlement::Lost => {}
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
                Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) => {
                    match (fact.previous.archived, fact.label.archived) {
                        (false, true) => injector.saw("an agent is archived"),
                        (true, false) => injector.saw("an archived agent is started"),
                        (_, _) => {}
                    }
                }
                Event::Brief(BriefFact::AskClosed(_)) => injector.saw("an ask is closed"),
                Event::Scheduling(SchedulingFact::HoldEnded(fact))
                    if fact.reason == HoldEnd::LoginChanged =>
                {
                    injector.saw("a login ends a hold");
                }
                Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) => {
                    *self.decisions.entry(Came::of(decision)).or_default() += 1;
                }
                _ => {}
            }
        }
    }

    /// Resets what a crash may have taken back.
    pub fn restart(&mut self) {
        self.last.clear();
        self.aborted.clear();
        self.child_reports.clear();
        self.hints.clear();
    }

    /// Notes an answer to a caller.
    pub fn answered(&mut self, answer: &Answer, injector: &mut Injector) {
        match answer {
            Answer::Refused { reject } => {
                *self.errors.entry(("reject", reject.code())).or_default() += 1;
                match reject.code() {
                    "queue_full" => injector.saw("a queue is full"),
                    "too_many_events" => injector.saw("others have sent too much"),
                    "idempotency_conflict" => injector.saw("a key means something else"),
                    "unknown_trigger" => injector.saw("an address is refused"),
                    "too_large" => injector.saw("something is too large"),
                    _ => {}
                }
                if let Reject::CommandRefused { error } = reject {
                    command_refused(error, injector);
                }
            }
            Answer::Admitted { duplicate: true, .. } => injector.saw("a key is known"),
            _ => {}
        }
    }

    /// An outcome arrives; returns whether its operation was cancelled with an aborted run.
    pub fn was_aborted(&mut self, agent: &AgentId, op: OpId) -> bool {
        self.aborted.remove(&(agent.clone(), op))
    }

    /// A parent is notified of a child's end or need.
    pub fn a_child_speaks(&mut self, agent: &AgentId, injector: &mut Injector) {
        let times = self.child_reports.entry(agent.clone()).or_default();
        *times += 1;
        if *times == MANY_CHILDREN {
            injector.saw("a family speaks to its parent all at once");
        }
    }

    fn hint(&mut self, agent: &AgentId, fact: &WakeFact, injector: &mut Injector) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                self.hints.insert((agent.clone(), fact.hint.source.clone()), 1);
            }
            WakeFact::WakeHintCoalesced(fact) => {
                let times = self.hints.entry((agent.clone(), fact.hint.source.clone())).or_default();
                *times += 1;
                if *times == STORM {
                    injector.saw("a storm of hints");
                }
            }
            WakeFact::WakeTickQueued(fact) => {
                if self.hints.iter().any(|((of, _), times)| of == agent && *times >= STORM) {
                    injector.saw("one tick delivers a storm");
                }
                self.hints.retain(|(of, _), _| of != agent);
                if !fact.contentful {
                    injector.saw("a hint that nobody waits for");
                }
            }
            _ => {}
        }
    }

    fn turn(&mut self, agent: &AgentId, fact: &TurnFact, injector: &mut Injector) {
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.child_reports.remove(agent);
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
                command_refused(error, injector);
                if error.kind == ToolErrorKind::Interrupted {
                    injector.saw("a call was interrupted");
                }
                if error.kind == ToolErrorKind::WorkspaceOccupied {
                    injector.saw("a folder is refused");
                }
            }
            TurnFact::TurnTerminal(fact) => {
                self.turns += u64::from(fact.kind != TurnKind::Interrupted);
                if fact.reason == Some(TurnReason::Shutdown) {
                    injector.saw("a run is shut down");
                }
            }
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ProvidersAwaited(_)
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

fn aborts(fact: &TurnFact) -> bool {
    matches!(fact, TurnFact::TurnTerminal(fact) if fact.kind == TurnKind::Aborted)
}

/// Notes which limit refused a command, by the name of its setting.
fn command_refused(error: &ToolError, injector: &mut Injector) {
    const BOUNDS: [(&str, &str); 2] = [
        ("(limits.tasks_per_agent)", "a command is one too many for its agent"),
        ("(limits.tasks)", "a command is one too many for the runtime"),
    ];
    let message = error.message.preview();
    BOUNDS.iter().filter(|(bound, _)| message.contains(bound)).for_each(|(_, met)| injector.saw(met));
}

/// Notes which limit refused a call for another agent, by the name of its setting. Calls also fail for other reasons.
fn spawn_refused(error: &ToolError, injector: &mut Injector) {
    const BOUNDS: [(&str, &str); 5] = [
        ("(limits.child_depth)", "a child would be too deep"),
        ("an agent this deep begins no others", "a child would be too deep"),
        ("(limits.children_per_agent)", "a child is one too many for its parent"),
        ("(limits.agents)", "an agent is one too many for the runtime"),
        ("exists already", "a name is taken"),
    ];
    let message = error.message.preview();
    BOUNDS.iter().filter(|(bound, _)| message.contains(bound)).for_each(|(_, met)| injector.saw(met));
}

fn inbox(fact: &InboxFact, injector: &mut Injector) {
    match fact {
        InboxFact::MessageDropped(_) => injector.saw("a message is dropped"),
        InboxFact::OperatorInterjectionAdmitted(_) => injector.saw("an interjection"),
        _ => {}
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
        WorkspaceFact::WorkspaceTreeKept(_) => injector.saw("files are kept"),
        _ => {}
    }
}
