//! Children on the side of their parent: each is a task whose operation is its life (contract: tasks.md, Child
//! agents).

use holon_facts::message::Message;
use holon_facts::subsystem::CHILD_NEEDS;

use crate::agent::task::Task;

/// Whether a message reports needs that nobody has any more.
pub(crate) fn is_stale(tasks: &super::Tasks, message: &Message) -> bool {
    let about = message.origin.is_of(CHILD_NEEDS);
    let delivered =
        |task: &Task| task.need.as_ref().is_some_and(|need| need.delivered_by == Some(message.id));
    about && !tasks.active().any(delivered)
}
