//! Background tasks.

use holon_core::agent::task::TaskStatus;
use holon_core::event::TaskFact;
use holon_core::event::task::{TaskCreated, TaskStatusUpdated};

use super::{Category, Told, Visibility};

pub(super) fn told(fact: &TaskFact) -> Told {
    match fact {
        TaskFact::TaskCreated(fact) => created(fact),
        TaskFact::TaskStatusUpdated(fact) => updated(fact),
        TaskFact::TaskResultQueued(fact) => {
            let known = if fact.known { ", which its agent knows" } else { "" };
            let summary = format!("the end of {} is told by {}{known}", fact.task_id, fact.message_id);
            Told::new(Visibility::Trace, Category::Task, "task", &summary)
        }
        TaskFact::TaskInputDelivered(fact) => {
            let summary = format!(
                "{} bytes were written to {} ({})",
                fact.bytes_written, fact.task_id, fact.input_target
            );
            Told::new(Visibility::Verbose, Category::Task, "task", &summary)
        }
    }
}

fn created(fact: &TaskCreated) -> Told {
    let summary = format!("{} goes on in the background: {}", fact.task_id, fact.summary);
    Told::new(Visibility::Info, Category::Task, "task", &summary)
}

fn updated(fact: &TaskStatusUpdated) -> Told {
    let status = fact.exit_status.map(|status| format!(", exit status {status}")).unwrap_or_default();
    let summary = format!("{} is {} ({}{status})", fact.task_id, fact.status, fact.cause);
    let visibility = match fact.status {
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => Visibility::Verbose,
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted => {
            Visibility::Info
        }
    };
    Told::new(visibility, Category::Task, "task", &summary)
}
