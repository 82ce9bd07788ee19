//! Background tasks.

use holon_facts::event::TaskFact;
use holon_facts::event::task::{
    TaskCause, TaskCreated, TaskInputDelivered, TaskOrigin, TaskResultQueued, TaskStatusUpdated,
};
use holon_facts::task::{Need, TaskStatus};
use holon_text::time::duration;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &TaskFact) -> Rendered {
    let (visibility, summary) = match fact {
        TaskFact::TaskCreated(fact) => (Visibility::Info, created(fact)),
        TaskFact::TaskStatusUpdated(fact) => (importance(fact.status), updated(fact)),
        TaskFact::TaskResultQueued(fact) => (Visibility::Debug, queued(fact)),
        TaskFact::TaskInputDelivered(fact) => (Visibility::Verbose, delivered(fact)),
        TaskFact::ChildNeedNoted(fact) => {
            let Need { kind, subject, about } = &fact.need;
            let summary =
                format!("the child of {} can't continue by itself: {kind}, {subject}: {about}", fact.task_id);
            (Visibility::Info, summary)
        }
        TaskFact::ChildNeedTold(fact) => {
            (Visibility::Debug, format!("{} reports what {} needs", fact.message_id, fact.task_id))
        }
        TaskFact::ChildEnded(fact) => {
            let summary = format!("the child of {} has ended {}", fact.task_id, fact.end.status);
            (Visibility::Verbose, summary)
        }
    };
    Rendered::new(visibility, Category::Task, "task", &summary)
}

fn created(fact: &TaskCreated) -> String {
    let how = match fact.cause {
        TaskOrigin::Promoted => "continues in the background",
        TaskOrigin::PromotedAtRecovery => "is still alive, and continues in the background",
        TaskOrigin::PromotedAtShutdown => "keeps running without its runtime",
        TaskOrigin::PromotedAtStop => "is ended with its agent",
        TaskOrigin::PromotedAtTurnEnd => "is ended with its turn",
        TaskOrigin::Operator => "was started by an operator",
        TaskOrigin::Spawned => "is a child",
    };
    format!("{} {how}: {}", fact.task_id, fact.summary)
}

/// An end is news; what leads to it is a step.
fn importance(status: TaskStatus) -> Visibility {
    if status.is_terminal() { Visibility::Info } else { Visibility::Verbose }
}

fn updated(fact: &TaskStatusUpdated) -> String {
    let exit = fact.exit_status.map(|status| format!(", exit status {status}")).unwrap_or_default();
    let after = fact.duration_ms.map(|took| format!(" after {}", duration(took))).unwrap_or_default();
    let why = why(fact.cause, fact.force);
    format!("{} is {}{after}{exit}{why}", fact.task_id, fact.status)
}

/// What the status alone does not say.
fn why(cause: TaskCause, force: bool) -> String {
    let why = match cause {
        TaskCause::Started | TaskCause::Exited | TaskCause::Stopped => return String::new(),
        TaskCause::TimedOut => "it was ended past its window",
        TaskCause::NotStarted => "nothing was executed",
        TaskCause::AgentAsked => "its agent ends it",
        TaskCause::OperatorAsked => "an operator ends it",
        TaskCause::AgentStopped => "its agent is stopped",
        TaskCause::GraceOver => "it did not end in time",
        TaskCause::Unproven => "its end is unknown",
    };
    let at_once = if force { ", and everything is killed" } else { "" };
    format!(": {why}{at_once}")
}

fn queued(fact: &TaskResultQueued) -> String {
    let known = if fact.known { ", which the agent asked for" } else { "" };
    format!("{} reports the end of {}{known}", fact.message_id, fact.task_id)
}

/// So many bytes, of which something is told.
pub fn bytes(count: u64) -> String {
    if count == 1 { "1 byte was".to_owned() } else { format!("{count} bytes were") }
}

fn delivered(fact: &TaskInputDelivered) -> String {
    format!("{} written to {} ({})", bytes(fact.bytes_written), fact.task_id, fact.input_target)
}
