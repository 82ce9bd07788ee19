//! Waiting for the end of what an agent does by itself (contract: agent.md, Idle), or of one turn, and showing it
//! meanwhile.

use std::time::Duration;

use anyhow::anyhow;
use clap::ValueEnum;
use holon_core::ids::{MessageId, TaskId};
use holon_core::view::{ExplainedDeadline, RunVerdict};
use holon_core::{AgentId, EventSeq, Millis, Record, Wall};
use holon_platform::clock;
use serde_json::Value;

use super::output::Failure;
use super::through::{number, text};
use crate::client::{Ask, Client, Follow, Followed};
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
    pub(super) why: Value,
}

impl End {
    /// From how things stand with the agent, and how the turn that is waited for ended; without one it is the agent
    /// itself that was waited for.
    ///
    /// # Errors
    /// A runtime whose verdict this build does not know.
    pub(super) fn of(why: Value, turn: Option<&PromptTurn>) -> Result<Self, Failure> {
        let turn = turn.and_then(|turn| Some((turn.ended()?.1, turn.tasks())));
        let tasks = turn.map(|(_, tasks)| tasks.iter().copied().collect()).unwrap_or_default();
        let verdict = match turn {
            Some((ended, tasks)) => ended.of_prompt(known_verdict(&why)?, !tasks.is_empty()),
            None => known_verdict(&why)?.ok_or_else(|| {
                Failure::from(anyhow!("the runtime gives no verdict, though nothing goes on"))
            })?,
        };
        let due = why.get("due").and_then(|due| serde_json::from_value(due.clone()).ok());
        Ok(Self { verdict, due: due.into_iter().collect(), tasks, why })
    }
}

/// None while the agent is at work.
///
/// # Errors
/// A runtime whose verdict this build does not know.
pub(super) fn known_verdict(why: &Value) -> Result<Option<RunVerdict>, Failure> {
    let name = text(why, "/verdict");
    let found = RunVerdict::ALL.iter().copied().find(|verdict| verdict.name() == name);
    if found.is_none() && !name.is_empty() {
        return Err(Failure::from(anyhow!("the runtime knows the verdict {name:?}")));
    }
    Ok(found)
}

/// An agent that is waited for.
pub(super) struct Wait {
    client: Client,
    agent: AgentId,
    follow: Follow,
    /// What is due later is not waited for.
    idle_limit: Millis,
    for_tasks: bool,
    turn: Option<PromptTurn>,
}

impl Wait {
    /// `after` is the last event before what is waited for.
    pub(super) fn new(client: &Client, agent: &AgentId, after: EventSeq, idle_limit: Millis) -> Self {
        let follow = Follow::after(client.clone(), agent.clone(), Some(after));
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
        let path = format!("/agents/{}/why", self.agent);
        loop {
            let last = match tokio::time::timeout(LOOK, self.follow.next()).await {
                Ok(followed) => show(&followed?, self.turn.as_mut(), see),
                // The runtime may have nothing to tell, or be away.
                Err(_) => true,
            };
            if !last {
                continue;
            }
            match self.client.ask(&Ask::get(&path, &[])).await {
                Ok(why) if self.has_ended(&why) => {
                    self.catch_up(&why, see).await?;
                    return End::of(why, self.turn.as_ref());
                }
                Ok(_) => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether the turn has, and its agent has decided what follows; or nothing more happens by itself soon.
    fn has_ended(&self, why: &Value) -> bool {
        let turn = self.turn.as_ref().and_then(PromptTurn::ended);
        let after = |(ended, _): (EventSeq, RunVerdict)| number(why, "/event_seq") >= ended.0;
        turn.is_some_and(after) || (settled(why, self.idle_limit) && !(self.for_tasks && has_tasks(why)))
    }

    /// What was durable when the end was seen is shown, too.
    async fn catch_up(&mut self, why: &Value, see: &mut dyn FnMut(&Record)) -> Result<(), Failure> {
        let end = why.get("event_seq").and_then(Value::as_u64).unwrap_or_default();
        while self.follow.cursor().is_some_and(|seq| seq.0 < end) {
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
    LAST.contains(&text(event, "/type"))
}

/// Whether commands go on whose results its agent will be told.
fn has_tasks(why: &Value) -> bool {
    let active = why.get("active_tasks").and_then(Value::as_array);
    text(why, "/status") != "stopped" && active.is_some_and(|tasks| !tasks.is_empty())
}

/// Whether nothing more happens by itself soon.
fn settled(why: &Value, idle_limit: Millis) -> bool {
    let runs = why.get("run").is_some_and(Value::is_object);
    let quiet = why.get("quiet").and_then(Value::as_bool).unwrap_or(false);
    let due = why.pointer("/due/at").and_then(|at| serde_json::from_value::<Wall>(at.clone()).ok());
    let soon = due.is_some_and(|at| clock::now().wall.until(at) <= idle_limit);
    // Some holds end only by somebody else.
    let for_good =
        !runs && why.get("hold").is_some_and(Value::is_object) && why.pointer("/hold/until").is_none();
    let held = for_good || (due.is_some() && text(why, "/due/reason") == "hold");
    if text(why, "/status") == "stopped" { !runs } else { (quiet || held) && !soon }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_is_known_from_facts() {
        let settled = |why: &Value| settled(why, Millis::seconds(60));
        assert!(settled(&json!({ "status": "asleep", "quiet": true })));
        assert!(!settled(&json!({ "status": "awake_running", "quiet": false, "run": {} })));
        assert!(settled(&json!({ "status": "stopped", "quiet": false })));
        assert!(!settled(&json!({ "status": "stopped", "quiet": false, "run": {} })));
        let held = json!({ "cause": "budget", "budget": { "budget": "agent_cost" } });
        assert!(settled(&json!({ "status": "asleep", "quiet": false, "hold": held })));
        assert!(!settled(&json!({ "status": "awake_running", "quiet": false, "hold": held, "run": {} })));
    }

    #[test]
    fn what_is_due_within_the_limit_is_waited_for() {
        let due = |seconds: i64, limit: u64| {
            let at = Wall(clock::now().wall.0 + seconds * 1_000_000);
            let why = json!({ "status": "asleep", "quiet": false, "due": { "at": at, "reason": "hold" } });
            settled(&why, Millis::seconds(limit))
        };
        assert!(due(3_600, 60) && !due(1_800, 3_600) && due(1_800, 0));
        let at = Wall(clock::now().wall.0 + 30 * 1_000_000);
        let timer = json!({ "status": "asleep", "quiet": true, "due": { "at": at, "reason": "timer" } });
        assert!(!settled(&timer, Millis::seconds(60)) && settled(&timer, Millis::seconds(10)));
    }
}
