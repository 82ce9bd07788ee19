//! How an agent stands, in short, from its own facts alone: what a list shows of it without loading it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::event::scheduling::HoldCause;
use holon_facts::label::AgentLabel;
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::asks::Ask;
use crate::summary::{SchedulingPosture, posture};
use crate::view::RunVerdict;

/// Bytes of what an agent waits for.
const WAITS_FOR_BYTES: usize = 200;

/// An agent as it was after its newest event.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    #[serde(flatten)]
    pub label: AgentLabel,
    #[serde(rename = "scheduling_posture")]
    pub posture: SchedulingPosture,
    /// None while a run, a message or a task that it waits for is pending.
    pub verdict: Option<RunVerdict>,
    /// Since when.
    pub since: Wall,
    /// The folder where its commands start.
    pub works_in: String,
    /// In the agent's own words, the cause of its hold, or its children; of a long text the beginning.
    pub waiting_for: Option<String>,
    /// Briefs that require an action of the operator, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// Older ones that are open, too.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub older_asks: u64,
}

impl Standing {
    pub fn of(agent: &Agent) -> Self {
        let now = agent.last_at;
        let hold = agent.held(now).filter(|_| agent.run.is_none() && agent.inbox.queued_entries() > 0);
        let waits = agent.active_waits().next();
        let turn = agent.history.last_turn.as_ref().map(|turn| turn.completed_at);
        let verdict = (!agent.is_busy(now)).then(|| agent.own_verdict(now));
        let since = match (&agent.run, hold, verdict) {
            (Some(run), _, _) => run.started_at,
            (None, Some(hold), _) => hold.since,
            (None, None, Some(RunVerdict::Stopped)) => agent.status_since,
            (None, None, _) => waits.map(|wait| wait.created_at).or(turn).unwrap_or(agent.created_at),
        };
        let waiting_for = match (hold, waits) {
            (Some(hold), _) => Some(cause(hold.cause).to_string()),
            (None, Some(wait)) => Some(clip(&wait.waiting_for, WAITS_FOR_BYTES)),
            (None, None) => children(agent),
        };
        let waiting_for = waiting_for.filter(|_| agent.run.is_none());
        Self {
            label: agent.label.clone(),
            posture: posture(agent, now),
            verdict,
            since,
            works_in: agent.workspaces.active().cwd.clone(),
            waiting_for,
            asks: agent.asks.open.iter().copied().collect(),
            older_asks: agent.asks.older,
        }
    }

    pub fn open_asks(&self) -> u64 {
        self.older_asks.saturating_add(self.asks.len() as u64)
    }
}

impl Agent {
    /// Whether something goes on that is waited for; a child, whatever it does, is a task.
    fn is_busy(&self, now: Wall) -> bool {
        let held = self.held(now).is_some();
        let pending = self.inbox.queued().any(|entry| !self.defers(entry, now)) && !held;
        self.run.is_some()
            || pending
            || self.waits_for(WaitKind::Task)
            || self.tasks.children().next().is_some()
    }
}

/// The children whose ends wake it.
fn children(agent: &Agent) -> Option<String> {
    let mut children = agent.tasks.children().map(|(_, spec)| &spec.child_agent_id);
    let first = children.next()?;
    Some(match children.count() {
        0 => format!("its child {first}"),
        others => format!("its {} children", others.saturating_add(1)),
    })
}

fn cause(cause: HoldCause) -> &'static str {
    match cause {
        HoldCause::Budget => "a higher budget",
        HoldCause::Credentials => "a key that its provider accepts",
        HoldCause::Outage => "its provider, which is away",
        HoldCause::Quota => "its provider, which accepts no more requests now",
    }
}
