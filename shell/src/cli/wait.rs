//! Waiting for the end of what an agent does by itself (contract: agent.md, Idle), or of one turn, and showing it
//! meanwhile.

use std::time::Duration;

use anyhow::anyhow;
use clap::ValueEnum;
use holon_api::{AgentWhy, Client, Control, Events, Follow, Followed, HttpEvents};
use holon_core::view::{ExplainedDeadline, Explanation, RunVerdict};
use holon_facts::decision::DeadlineReason;
use holon_facts::ids::{MessageId, TaskId};
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, EventSeq, Millis, Record};
use holon_platform::clock;

use super::output::Failure;
use crate::envelope;
use crate::prompt_turn::PromptTurn;

/// Without any event the agent is looked at so often.
const LOOK: Duration = Duration::from_secs(5);
/// After these an agent may have nothing more to do.
const LAST: [&str; 6] = [
    "scheduler_decision",
    "turn_terminal",
    "hold_set",
    "control_applied",
    "message_dropped",
    "task_status_updated",
];

/// What a client that gave a prompt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Until {
    /// The end of the prompt's turn
    Turn,
    /// Until nothing more happens by itself: tasks, children, and what is due soon
    Settled,
}

/// How what was waited for ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) verdict: RunVerdict,
    /// What happens later by itself.
    pub(super) due: Vec<ExplainedDeadline>,
    /// Tasks of the prompt's turn that still run.
    pub(super) tasks: Vec<TaskId>,
    pub(super) why: AgentWhy,
}

impl End {
    /// From how things stand with the agent, and how the turn that is waited for ended; without one it is the agent
    /// itself that was waited for.
    ///
    /// # Errors
    /// A runtime whose verdict this build does not know.
    pub(super) fn of(why: AgentWhy, turn: Option<&PromptTurn>) -> Result<Self, Failure> {
        let turn = turn.and_then(|turn| Some((turn.ended()?.1, turn.tasks())));
        let tasks = turn.map(|(_, tasks)| tasks.iter().copied().collect()).unwrap_or_default();
        let verdict = match turn {
            Some((ended, tasks)) => ended.of_prompt(why.explanation.verdict, !tasks.is_empty()),
            None => why.explanation.verdict.ok_or_else(|| {
                Failure::from(anyhow!("the runtime gives no verdict, though nothing is in progress"))
            })?,
        };
        let due = why.explanation.due.clone().into_iter().collect();
        Ok(Self { verdict, due, tasks, why })
    }
}

/// An agent that is waited for.
pub(super) struct Wait {
    client: Client,
    agent: AgentId,
    follow: HttpEvents,
    /// What is due later is not waited for.
    idle_limit: Millis,
    for_tasks: bool,
    turn: Option<PromptTurn>,
}

impl Wait {
    /// `after` is the last event before what is waited for.
    pub(super) fn new(client: &Client, agent: &AgentId, after: EventSeq, idle_limit: Millis) -> Self {
        let follow = client.follow(agent, Some(after), false);
        Self {
            client: client.clone(),
            agent: agent.clone(),
            follow,
            idle_limit,
            for_tasks: false,
            turn: None,
        }
    }

    /// Whether background tasks are waited for as well, and what their results bring.
    pub(super) fn for_tasks(self, for_tasks: bool) -> Self {
        Self { for_tasks, ..self }
    }

    /// Whether the end of this prompt's turn is enough.
    pub(super) fn for_prompt(self, prompt: MessageId, until: Until) -> Self {
        match until {
            Until::Turn => Self { turn: Some(PromptTurn::of(prompt)), ..self },
            Until::Settled => self.for_tasks(true),
        }
    }

    /// Shows what happens, and says how it ended. Events of a newer build are not shown.
    pub(super) async fn until_end(mut self, see: &mut dyn FnMut(&Record)) -> Result<End, Failure> {
        loop {
            let last = match tokio::time::timeout(LOOK, self.follow.next()).await {
                Ok(followed) => show(&followed?, self.turn.as_mut(), see),
                // The runtime may have nothing to tell, or be away.
                Err(_) => true,
            };
            if !last {
                continue;
            }
            match self.client.why(&self.agent).await {
                Ok(why) if self.has_ended(&why) => {
                    self.catch_up(&why, see).await?;
                    return End::of(why.into_reply(), self.turn.as_ref());
                }
                Ok(_) => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether the turn has, and its agent has decided what follows; or nothing more happens by itself soon.
    fn has_ended(&self, why: &AgentWhy) -> bool {
        let turn = self.turn.as_ref().and_then(PromptTurn::ended);
        let after = |(ended, _): (EventSeq, RunVerdict)| why.explanation.event_seq >= ended;
        turn.is_some_and(after)
            || (settled(&why.explanation, self.idle_limit) && !(self.for_tasks && has_tasks(why)))
    }

    /// What was durable when the end was seen is shown, too.
    async fn catch_up(&mut self, why: &AgentWhy, see: &mut dyn FnMut(&Record)) -> Result<(), Failure> {
        let end = why.explanation.event_seq;
        while self.follow.cursor().is_some_and(|seq| seq < end) {
            show(&self.follow.next().await?, self.turn.as_mut(), see);
        }
        Ok(())
    }
}

/// Says whether it may be the last one for now.
fn show(followed: &Followed, turn: Option<&mut PromptTurn>, see: &mut dyn FnMut(&Record)) -> bool {
    let Followed::Event(event) = followed else { return false };
    if let Ok(record) = envelope::record(event) {
        turn.into_iter().for_each(|turn| turn.record(&record));
        see(&record);
    }
    LAST.contains(&event.kind.as_str())
}

/// Whether commands go on whose results its agent will be told.
fn has_tasks(why: &AgentWhy) -> bool {
    why.explanation.status != Status::Stopped && !why.active_tasks.is_empty()
}

/// Whether nothing more happens by itself soon.
fn settled(why: &Explanation, idle_limit: Millis) -> bool {
    let runs = why.run.is_some();
    let soon = why.due.as_ref().is_some_and(|due| clock::now().wall.until(due.at) <= idle_limit);
    // Some holds end only by somebody else.
    let for_good = !runs && why.hold.as_ref().is_some_and(|hold| hold.until.is_none());
    let held = for_good || why.due.as_ref().is_some_and(|due| due.reason == DeadlineReason::Hold);
    if why.status == Status::Stopped { !runs } else { (why.quiet || held) && !soon }
}

#[cfg(test)]
mod tests {
    use holon_facts::Wall;
    use serde_json::{Value, json};

    use super::*;

    /// As the runtime answers about an agent, with these facts.
    fn why(facts: Value) -> Explanation {
        let decision = json!({
            "kind": "sleep", "reason": "nothing_pending", "row": 19, "boundary": "run_loop_idle",
            "model_reentry": false, "liveness_only": false, "evidence": [],
        });
        let nothing = json!({ "tokens": 0 });
        let mut why = json!({
            "agent_id": "main", "since": "2026-01-01T00:00:00Z", "scheduling_posture": "idle",
            "decision": decision,
            "closure": { "outcome": "completed", "runtime_posture": "sleeping", "row": 1, "evidence": [] },
            "deadlines": [], "woken_by": [], "queue": { "entries": 0, "bytes": 0, "queued": [] },
            "token_usage": { "input_tokens": 0, "output_tokens": 0, "total_tokens": 0 },
            "spending": { "total": nothing, "today": nothing }, "event_seq": 1,
        });
        why.as_object_mut().unwrap().extend(facts.as_object().cloned().unwrap());
        serde_json::from_value(why).unwrap()
    }

    fn run() -> Value {
        json!({
            "run_id": "run_1", "turn_index": 1, "message_id": "msg_1", "started_at": "2026-01-01T00:00:00Z",
            "phase": { "phase": "loading" }, "since": "2026-01-01T00:00:00Z", "rounds": 0,
        })
    }

    #[test]
    fn the_end_is_known_from_facts() {
        let settled = |facts: Value| settled(&why(facts), Millis::seconds(60));
        assert!(settled(json!({ "status": "asleep", "quiet": true })));
        assert!(!settled(json!({ "status": "awake_running", "quiet": false, "run": run() })));
        assert!(settled(json!({ "status": "stopped", "quiet": false })));
        assert!(!settled(json!({ "status": "stopped", "quiet": false, "run": run() })));
        let held = json!({
            "cause": "budget", "since": "2026-01-01T00:00:00Z", "step": 0,
            "budget": { "budget": "agent_cost", "limit": 1 },
        });
        assert!(settled(json!({ "status": "asleep", "quiet": false, "hold": held })));
        assert!(!settled(json!({ "status": "awake_running", "quiet": false, "hold": held, "run": run() })));
    }

    #[test]
    fn what_is_due_within_the_limit_is_waited_for() {
        let due = |seconds: i64, limit: u64| {
            let at = Wall(clock::now().wall.0 + seconds * 1_000_000);
            let facts = json!({ "status": "asleep", "quiet": false, "due": { "at": at, "reason": "hold" } });
            settled(&why(facts), Millis::seconds(limit))
        };
        assert!(due(3_600, 60) && !due(1_800, 3_600) && due(1_800, 0));
        let at = Wall(clock::now().wall.0 + 30 * 1_000_000);
        let timer = json!({ "status": "asleep", "quiet": true, "due": { "at": at, "reason": "timer" } });
        let timer = why(timer);
        assert!(!settled(&timer, Millis::seconds(60)) && settled(&timer, Millis::seconds(10)));
    }
}
