//! What becomes of one task, seen in the events of its agent: nobody asks the runtime again and again.

use holon_facts::AgentId;
use holon_facts::ids::TaskId;
use holon_facts::task::TaskStatus;
use serde::Deserialize;

use super::super::super::App;
use super::super::super::route::Handled;
use crate::events::{Event, Subscription};

/// One who watches a task from now on.
pub(super) struct Watch {
    subscription: Subscription,
    task: TaskId,
}

/// What happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happened {
    Nothing,
    /// Something of which its output may tell.
    Something,
    Ended,
}

impl Watch {
    /// Begins before the state of the task is looked at: then no end is missed.
    pub(super) async fn begin(app: &App, agent: &AgentId, task: TaskId) -> Handled<Self> {
        let (agent, shared) = (agent.clone(), app.clone());
        let subscription = app
            .blocking(move |app| {
                let last = app.last_event(&agent)?;
                Ok(app.hub.follow(shared.reader.clone(), &agent, last, false)?)
            })
            .await?;
        Ok(Self { subscription, task })
    }

    /// Waits for the next events of the agent. Giving the wait up loses nothing.
    pub(super) async fn next(&mut self) -> Handled<Happened> {
        let events = self.subscription.next().await?;
        let happened = events.iter().map(|event| happened(event, self.task));
        Ok(happened.max_by_key(|happened| *happened as u8).unwrap_or(Happened::Nothing))
    }

    /// Waits for the end of the task.
    pub(super) async fn ended(&mut self) -> Handled<()> {
        while self.next().await? != Happened::Ended {}
        Ok(())
    }
}

/// The part of an event that says which task it is about, and how that stands now.
#[derive(Deserialize)]
struct About {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    task_id: TaskId,
    status: Option<TaskStatus>,
}

fn happened(event: &Event, task: TaskId) -> Happened {
    if !event.kind.starts_with("task_") {
        return Happened::Nothing;
    }
    match serde_json::from_str::<About>(&event.json) {
        Ok(About { payload: Payload { task_id, status } }) if task_id == task => {
            if status.is_some_and(TaskStatus::is_terminal) { Happened::Ended } else { Happened::Something }
        }
        Ok(_) | Err(_) => Happened::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use holon_facts::EventSeq;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_end_of_this_task_is_its_end() {
        let told = |kind: &'static str, payload: serde_json::Value| {
            let json = json!({ "event_seq": 1, "type": kind, "payload": payload }).to_string();
            happened(&Event { seq: EventSeq(1), kind, json, presentation: None }, TaskId(7))
        };
        let updated = |task: &str, status: &str| {
            told("task_status_updated", json!({ "task_id": task, "previous": "running", "status": status }))
        };
        assert_eq!(updated("task_7", "cancelling"), Happened::Something);
        for status in ["completed", "failed", "cancelled", "interrupted"] {
            assert_eq!(updated("task_7", status), Happened::Ended);
            assert_eq!(updated("task_8", status), Happened::Nothing);
        }
        let input = json!({ "task_id": "task_7", "input_target": "stdin", "bytes_written": 1 });
        assert_eq!(told("task_input_delivered", input), Happened::Something);
        assert_eq!(
            told("turn_started", json!({ "task_id": "task_7", "status": "failed" })),
            Happened::Nothing
        );
        assert_eq!(told("task_result_queued", json!({})), Happened::Nothing);
    }
}
