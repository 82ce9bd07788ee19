//! How an agent learns of the end of its tasks: by a message for each, or by one tick for those that ended while
//! it could not be told (contract: tasks.md, Restart; agent.md, Lifecycle).

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Task, TaskStatus};
use crate::content::Text;
use crate::event::inbox::MessageAdmitted;
use crate::event::task::{StopCause, TaskResultQueued};
use crate::host::tx::Tx;
use crate::ids::{MessageId, TaskId};
use crate::lifecycle::Status;
use crate::message::{
    AdmissionContext, Body, BodyType, Ingress, Message, MessageKind, Origin, Priority, Surface,
};

/// When the end of a task is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Now,
    /// With others, by a tick.
    Together,
}

/// The subsystem that a tick about tasks comes from.
pub const SUBSYSTEM: &str = "task_restart";

/// Queues the result of one task; a stopped agent is told after its start.
pub(super) fn tell(tx: &mut Tx<'_>, id: TaskId) {
    if tx.agent().status == Status::Stopped {
        return;
    }
    let Some(task) = tx.agent().tasks.get(id) else { return };
    let text = task.end.as_ref().and_then(|end| end.result.clone()).unwrap_or_default();
    let known = task.status == TaskStatus::Cancelled
        && task.stop.as_ref().is_some_and(|stop| stop.cause == StopCause::Agent);
    let origin = Origin::Task { task_id: id.to_string() };
    if let Some(message_id) = admit(tx, MessageKind::TaskResult, origin, Surface::TaskRejoin, text) {
        tx.record(TaskResultQueued { task_id: id, message_id, known });
    }
}

/// One tick for everything that the agent has not been told of.
pub(crate) fn tell_rest(tx: &mut Tx<'_>) {
    let untold: Vec<TaskId> = tx.agent().tasks.untold().map(|task| task.id).collect();
    if untold.is_empty() || tx.agent().status == Status::Stopped {
        return;
    }
    let named: Vec<String> = tx.agent().tasks.untold().map(named).collect();
    let text = Text::short(named.join(", "));
    let origin = Origin::System { subsystem: SUBSYSTEM.into() };
    if let Some(message_id) = admit(tx, MessageKind::SystemTick, origin, Surface::RuntimeSystem, text) {
        for task_id in untold {
            tx.record(TaskResultQueued { task_id, message_id, known: false });
        }
    }
}

fn named(task: &Task) -> String {
    alloc::format!("{} {}", task.id, task.status)
}

/// Admits evidence of the runtime; none when not even that has room. Then it stays owed.
fn admit(
    tx: &mut Tx<'_>,
    kind: MessageKind,
    origin: Origin,
    surface: Surface,
    text: Text,
) -> Option<MessageId> {
    let ingress = Ingress {
        kind,
        origin,
        priority: Priority::Next,
        body: Body { kind: BodyType::Text, text },
        metadata: None,
        source_refs: BTreeMap::new(),
        delivery_surface: surface,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        idempotency: None,
    };
    let message = Message::admit(tx.agent().next.message, tx.now(), ingress).ok()?;
    if !tx.agent().inbox.has_room(kind, message.bytes(), &tx.config.queue) {
        return None;
    }
    let message_id = message.id;
    tx.record(MessageAdmitted { message, idempotency: None, expired_keys: 0 });
    Some(message_id)
}
