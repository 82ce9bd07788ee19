//! Read models: summaries and explanations, assembled on read and never an input to anything. An explanation
//! is built from the projection and the decision function themselves (contract: scheduler.md, Explaining).

mod children;
pub mod decided;
pub mod past;
mod preview;
pub mod standing;
mod verdict;

use alloc::vec::Vec;

use holon_facts::budget::BudgetKind;
use holon_facts::closure::ClosureDecision;
use holon_facts::config::Config;
use holon_facts::decision::{DeadlineReason, SchedulerDecision};
use holon_facts::ids::{AgentId, EventSeq, MessageId};
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::message::Idempotency;
use holon_facts::model_ref::ModelRef;
use holon_facts::names;
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::history::LastTurn;
use crate::agent::hold::Hold;
use crate::agent::keys::Seen;
use crate::agent::outside::Outside;
use crate::agent::sleep::Sleep;
use crate::agent::unattended::Unattended;
use crate::agent::wake::Pending;
use crate::host::{Host, Stats};
use crate::scheduler::{decide_next_action, project};
use crate::summary::deferred::DeferredWork;
use crate::summary::run::RunSummary;
use crate::summary::spending::Spending;
use crate::summary::waits::ActiveWait;
use crate::summary::{
    AgentSummary, QueueSummary, SchedulingPosture, StatusLabel, deferred, posture, queue, run, status_label,
    waits,
};

/// Reads of a host at rest between two steps.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    host: &'a Host,
}

names! {
    /// How a run of the program ended (contract: agent.md, Idle).
    RunVerdict {
        Completed "completed", WaitingForOperator "waiting_for_operator",
        WaitingForExternal "waiting_for_external", WaitingForTimer "waiting_for_timer", Failed "failed",
        BudgetExhausted "budget_exhausted", MaxTurnsExceeded "max_turns_exceeded", Aborted "aborted",
        Stopped "stopped", Interrupted "interrupted",
    }
}

/// Why an agent is as it is, and what would change it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    pub agent_id: AgentId,
    pub status: Status,
    pub since: Wall,
    pub status_label: Option<StatusLabel>,
    pub scheduling_posture: SchedulingPosture,
    /// What the scheduler would decide at this moment.
    pub decision: SchedulerDecision,
    /// What it decided last, as recorded.
    pub last_decision: Option<SchedulerDecision>,
    /// How the last turn left the agent: history while something is pending. `completed` with the evidence
    /// `no_turn` where there was none.
    pub closure: ClosureDecision,
    pub last_turn: Option<LastTurn>,
    pub run: Option<RunSummary>,
    pub hold: Option<Hold>,
    /// The sleep that the agent chose, as long as no turn has ended it.
    pub sleep: Option<Sleep>,
    /// What it waits for: for its work items in order, then for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<ActiveWait>,
    /// Obligations that are due later, because turns for them brought nothing; the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred_work: Vec<DeferredWork>,
    /// Pending hints by source, then folded ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Pending>,
    /// Folded hints of which only the number is known.
    pub other_hints: Option<u64>,
    /// Turns that no operator caused, once there was one.
    pub unattended: Option<Unattended>,
    /// Events from outside, once there was one.
    pub outside: Option<Outside>,
    pub deadlines: Vec<ExplainedDeadline>,
    pub woken_by: Vec<WakeSource>,
    pub queue: QueueSummary,
    pub token_usage: TokenUsage,
    pub spending: Spending,
    /// Whether nothing runs, and nothing is queued but what has to wait.
    pub quiet: bool,
    /// How things stand, from facts alone; none while something is pending that is not waited for.
    pub verdict: Option<RunVerdict>,
    /// What an agent without a run waits for.
    pub due: Option<ExplainedDeadline>,
    pub event_seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedDeadline {
    pub at: Wall,
    pub reason: DeadlineReason,
}

names! {
    /// What would make the scheduler decide otherwise.
    WakeSource {
        Start "start", NewMessage "new_message", OperatorPrompt "operator_prompt", TaskResult "task_result",
        ExternalEvent "external_event", Deadline "deadline",
        EndOfRun "end_of_run", FreeSlot "free_slot", RuntimeStart "runtime_start",
    }
}

impl Host {
    /// Summaries and explanations; a view changes nothing.
    pub fn view(&self) -> View<'_> {
        View { host: self }
    }
}

impl<'a> View<'a> {
    pub fn config(&self) -> &'a Config {
        self.host.config()
    }

    pub fn stats(&self) -> Stats {
        self.host.stats()
    }

    pub fn agent_ids(&self) -> impl Iterator<Item = &'a AgentId> {
        self.host.agents().map(|agent| &agent.id)
    }

    /// Agents that wait for a turn slot, whoever asked first first.
    pub fn waiting_for_slot(&self) -> impl Iterator<Item = &'a AgentId> {
        self.host.waiting_for_slot()
    }

    /// The durable state of an agent, for comparison with what its log folds to.
    pub fn agent(&self, id: &AgentId) -> Option<&'a Agent> {
        self.host.agent(id)
    }

    pub fn summary(&self, id: &AgentId) -> Option<AgentSummary> {
        let agent = self.host.agent(id)?;
        let others = self.host.subtree_without(id).spent;
        Some(AgentSummary::of(agent, self.host.config(), self.host.facts().now, others))
    }

    /// The budget that can't be kept if that model is asked, which has no price.
    pub fn needs_price(&self, model: &ModelRef) -> Option<BudgetKind> {
        let config = self.host.config();
        config.budgets.of_money().filter(|_| config.prices.of(model).is_none())
    }

    /// What all agents have spent together.
    pub fn spending(&self) -> Spending {
        Spending::of_runtime(self.host.accounts(), self.host.config(), self.host.facts().now)
    }

    /// Why the agent is in its state, since when, what would wake it, when it looks next.
    pub fn explain(&self, id: &AgentId) -> Option<Explanation> {
        let agent = self.host.agent(id)?;
        let (facts, config) = (self.host.facts(), self.host.config());
        let now = facts.now;
        let decision = decide_next_action(&project(agent, facts, config, Boundary::RunLoopIdle));
        let deadlines = self.host.deadlines_of(id);
        Some(Explanation {
            agent_id: agent.id.clone(),
            status: agent.status,
            since: agent.status_since,
            status_label: status_label(agent, now),
            scheduling_posture: posture(agent, now),
            woken_by: wake_sources(agent, &decision, !deadlines.is_empty()),
            decision,
            last_decision: agent.last_decision.clone(),
            closure: agent.closure(now).shown(),
            last_turn: agent.history.last_turn.clone(),
            run: run::summary(agent),
            hold: agent.hold.clone(),
            sleep: agent.sleep.clone(),
            waits: waits::active(agent),
            deferred_work: deferred::deferred(agent, now),
            hints: agent.hints.pending().chain(agent.hints.folded()).cloned().collect(),
            other_hints: Some(agent.hints.others()).filter(|others| *others > 0),
            unattended: agent.unattended.shown(),
            outside: agent.outside.shown(),
            deadlines: deadlines
                .into_iter()
                .map(|deadline| ExplainedDeadline { at: deadline.at, reason: deadline.reason })
                .collect(),
            queue: queue(agent),
            token_usage: agent.history.usage,
            spending: Spending::of_agent(agent, config, now, self.host.subtree_without(id).spent),
            quiet: self.quiet(id),
            verdict: self.verdict(id),
            due: self.due(id),
            event_seq: agent.event_seq,
        })
    }

    /// The message that this key with this payload stands for.
    pub fn admitted(&self, id: &AgentId, key: &Idempotency) -> Option<MessageId> {
        match self.host.agent(id)?.inbox.keys().seen(key, self.host.facts().now, &self.host.config().queue) {
            Seen::SamePayload(message_id) => Some(message_id),
            Seen::OtherPayload(_) | Seen::Never => None,
        }
    }
}

fn wake_sources(agent: &Agent, decision: &SchedulerDecision, deadline: bool) -> Vec<WakeSource> {
    use holon_facts::decision::DecisionReason as Reason;
    let mut sources = match decision.reason {
        Reason::Stopped if agent.childhood.retired.is_some() => Vec::new(),
        Reason::Stopped => alloc::vec![WakeSource::Start],
        Reason::Draining => alloc::vec![WakeSource::RuntimeStart],
        Reason::RunInProgress => alloc::vec![WakeSource::EndOfRun],
        // A budget is raised by a start of the runtime.
        Reason::Hold if agent.hold.as_ref().is_some_and(|hold| hold.budget.is_some()) => {
            alloc::vec![WakeSource::OperatorPrompt, WakeSource::RuntimeStart]
        }
        Reason::Hold => alloc::vec![WakeSource::OperatorPrompt],
        Reason::NoSlot => alloc::vec![WakeSource::FreeSlot],
        Reason::HeldLiveness
        | Reason::HoldTrial
        | Reason::QueuedMessage
        | Reason::LivenessOnly
        | Reason::Stale
        | Reason::WakeHint
        | Reason::SleepElapsed
        | Reason::Recheck
        | Reason::ContinueActive
        | Reason::QueuedAvailable => Vec::new(),
        Reason::SelfHold => {
            alloc::vec![WakeSource::OperatorPrompt, WakeSource::NewMessage, WakeSource::Start]
        }
        Reason::UnattendedTurns => alloc::vec![WakeSource::OperatorPrompt],
        Reason::NeedsInput | Reason::Stalled | Reason::OperatorInput => {
            alloc::vec![WakeSource::OperatorPrompt, WakeSource::NewMessage]
        }
        Reason::TaskResult => alloc::vec![WakeSource::TaskResult, WakeSource::NewMessage],
        Reason::External => alloc::vec![WakeSource::ExternalEvent, WakeSource::NewMessage],
        Reason::Timer | Reason::DeadlineArmed | Reason::NothingPending | Reason::AlreadyAsleep => {
            alloc::vec![WakeSource::NewMessage]
        }
    };
    if sources.contains(&WakeSource::NewMessage)
        && !sources.contains(&WakeSource::TaskResult)
        && agent.tasks.active_count() > 0
    {
        sources.push(WakeSource::TaskResult);
    }
    if deadline && agent.status != Status::Stopped {
        sources.push(WakeSource::Deadline);
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, agent};
    use holon_facts::message::Ingress;

    #[test]
    fn queued_input_stands_before_a_hold() {
        let world = World::held("main");
        let explained = world.host.view().explain(&agent("main")).unwrap();
        assert_eq!(explained.scheduling_posture, SchedulingPosture::HasQueuedInput);
    }

    #[test]
    fn a_key_is_known_with_its_payload_alone() {
        let mut world = World::with_agent("main");
        let key = |payload| Idempotency { key: "k".into(), payload: holon_facts::ContentId([payload; 32]) };
        let known = |world: &World, payload| world.host.view().admitted(&agent("main"), &key(payload));
        assert_eq!(known(&world, 1), None);
        let sent = Ingress { idempotency: Some(key(1)), ..crate::testing::prompt("once") };
        world.admit("main", sent);
        assert_eq!((known(&world, 1), known(&world, 2)), (Some(MessageId(1)), None));
        assert_eq!(world.host.view().admitted(&agent("nobody"), &key(1)), None);
    }
}
