//! How an agent learns of the end of its tasks: by a message for each, or by one tick for those that ended while
//! it could not be told (contract: tasks.md, Restart; agent.md, Lifecycle).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::event::task::{StopCause, TaskResultQueued};
use holon_facts::ids::TaskId;
use holon_facts::lifecycle::Status;
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::subsystem::TASK_RESTART;
use holon_facts::task::TaskStatus;

use crate::agent::task::Task;
use crate::handler::evidence::{self, Evidence};
use crate::tx::Tx;

/// When the end of a task is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Now,
    /// With others, by a tick.
    Together,
}

/// Bytes of why nobody can say how a task ended.
const WHY: usize = 160;

/// Queues the result of one task; a stopped agent is notified after its start.
pub(super) fn deliver(tx: &mut Tx<'_>, id: TaskId) {
    if tx.agent().status == Status::Stopped {
        return;
    }
    let Some(task) = tx.agent().tasks.get(id) else { return };
    let text = task.end.as_ref().and_then(|end| end.result.clone()).unwrap_or_default();
    let known = !tx.agent().awaits(id)
        && task.status == TaskStatus::Cancelled
        && task.stop.as_ref().is_some_and(|stop| stop.cause == StopCause::Agent);
    let origin = Origin::Task { task_id: id.to_string() };
    let (kind, surface) = (MessageKind::TaskResult, Surface::TaskRejoin);
    let evidence = Evidence { kind, origin, priority: Priority::Next, surface, text };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(TaskResultQueued { task_id: id, message_id, known });
    }
}

/// One tick for everything that the agent has not been told of.
pub(crate) fn deliver_rest(tx: &mut Tx<'_>) {
    let owed: Vec<TaskId> = tx.agent().tasks.undelivered().map(|task| task.id).collect();
    if owed.is_empty() || tx.agent().status == Status::Stopped {
        return;
    }
    let lost = tx.agent().hints.lost().iter().map(|source| alloc::format!("a hint of {source} was lost"));
    let named: Vec<String> = lost.chain(tx.agent().tasks.undelivered().map(named)).collect();
    // What has no room any more are tasks and reasons, which its turn shows: an empty queue always takes a short text.
    let reasons: String = tx.agent().tasks.undelivered().filter_map(reason).collect();
    let text = Text::short(alloc::format!("{}{reasons}", named.join(", ")));
    let origin = Origin::system(TASK_RESTART);
    let (kind, surface) = (MessageKind::SystemTick, Surface::RuntimeSystem);
    let evidence = Evidence { kind, origin, priority: Priority::Next, surface, text };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        for task_id in owed {
            tx.record(TaskResultQueued { task_id, message_id, known: false });
        }
    }
}

fn named(task: &Task) -> String {
    alloc::format!("{} {}", task.id, task.status)
}

/// Why nobody can say how it ended.
fn reason(task: &Task) -> Option<String> {
    let failure = task.end.as_ref()?.failure_artifact.as_ref()?;
    let unproven = task.status == TaskStatus::Interrupted;
    unproven.then(|| alloc::format!("; {}: {}", task.id, clip(failure.summary.preview(), WHY)))
}

#[cfg(test)]
mod tests {
    use crate::input::{ControlRequest, Input};
    use crate::testing::{World, agent, calls, command_ends, context, ingress, tool_answers};
    use holon_facts::content::Text;
    use holon_facts::event::operation::OpKind;
    use holon_facts::ids::TaskId;
    use holon_facts::outcome::CommandEnd;
    use holon_facts::provenance::{MessageKind, Priority};

    /// Whoever is started again is notified at once, also by a runtime that is about to end.
    #[test]
    fn a_start_during_a_shutdown_tells_of_what_ended() {
        let mut world = World::with_agent("main");
        world.later(|reply| Input::RunTask {
            agent: agent("main"),
            arguments: Text::short(r#"{"cmd":"make"}"#),
            key: None,
            reply,
        });
        world.control("main", ControlRequest::Stop);
        world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
        world.drain();
        world.control("main", ControlRequest::Start);
        let delivered_by =
            world.agent("main").tasks.get(TaskId(1)).unwrap().end.as_ref().unwrap().delivered_by;
        assert!(delivered_by.is_some());
    }

    /// What a tick reports several tasks is not known because a turn has shown one of them.
    #[test]
    fn a_tick_of_several_is_for_the_model_until_all_of_them_were_shown() {
        let mut world = World::with_agent("main");
        for _ in 0..2 {
            world.later(|reply| Input::RunTask {
                agent: agent("main"),
                arguments: Text::short(r#"{"cmd":"make"}"#),
                key: None,
                reply,
            });
        }
        world.admit("main", ingress(MessageKind::OperatorPrompt, Priority::Next, "how did it go?"));
        world.crash();
        let end =
            |world: &World, task| world.agent("main").tasks.get(TaskId(task)).unwrap().end.clone().unwrap();
        let tick = end(&world, 1).delivered_by.unwrap();
        assert_eq!(end(&world, 2).delivered_by, Some(tick), "one tick tells of both");
        let known = |world: &World| world.agent("main").inbox.queued_entry(tick).unwrap().known;
        let look = |task: &'static str| calls(&[("", "TaskOutput", task)]);
        world.complete("main", context());
        world.complete("main", look(r#"{"task_id":"task_1"}"#));
        world.complete_one("main", OpKind::CallTool, tool_answers("the end of the first"));
        assert!(!known(&world), "nobody has shown the second");
        world.complete("main", look(r#"{"task_id":"task_2"}"#));
        world.complete_one("main", OpKind::CallTool, tool_answers("the end of the second"));
        assert!(known(&world), "both were shown");
    }
}
