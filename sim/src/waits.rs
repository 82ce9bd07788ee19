//! Nobody waits for nothing (S12): what is waited for can still come, and what stands in the way is looked at again.

use holon_core::agent::Agent;
use holon_core::agent::wait::Wait;
use holon_core::agent::work::WorkItem;
use holon_facts::Wall;
use holon_facts::ids::{TaskId, TimerId};
use holon_facts::message::{Message, Origin};
use holon_facts::wait::WaitKind;
use holon_facts::work::PlanStatus;

use crate::failure::{Failure, ensure};

/// Judges an agent between two steps; `blind` sees none of the messages that are on their way. Says whether there was
/// something to judge.
pub(crate) fn judge(agent: &Agent, blind: bool) -> Result<bool, Failure> {
    let mut checked = false;
    let coming = |tells: &dyn Fn(&Message) -> bool| {
        !blind && agent.inbox.queued().any(|entry| tells(&entry.message) && !entry.known)
    };
    // At the last moment that a clock can say there is no other at which to look again.
    let last = agent.last_at == Wall(i64::MAX);
    let looked_at = |at: Option<Wall>| (at.is_some() || last) && !blind;
    for item in agent.work.open().filter(|item| item.blocked_by.is_some()) {
        checked = true;
        let asked = item.plan_status == PlanStatus::NeedsInput;
        let again = looked_at(item.recheck.as_ref().and_then(|recheck| recheck.recheck_at));
        ensure!(asked || again, "S12", "{} is blocked, and nobody looks again", item.id);
    }
    // Of an item that needs input, somebody else has to say something first.
    let asked = |item: &WorkItem| item.plan_status == PlanStatus::NeedsInput;
    let items = agent.work.open();
    let items = items.filter_map(|item| item.wait.as_ref().map(|wait| (wait, &item.recheck, asked(item))));
    let own = agent.waits.own.as_ref().map(|wait| (wait, &agent.waits.recheck, false));
    for (wait, recheck, asked) in items.chain(own) {
        checked = true;
        let recheck = looked_at(recheck.as_ref().and_then(|recheck| recheck.recheck_at));
        let ends = match wait.kind {
            WaitKind::Operator => true,
            WaitKind::External => recheck || wait.operator_must_act || asked,
            WaitKind::Task => wait.task_id.is_some_and(|task| ends(agent, task, &coming)),
            WaitKind::Timer => wait.timer_id.is_some_and(|timer| fires(agent, wait, timer, &coming)),
        };
        ensure!(ends, "S12", "{} of {} waits ({}), and nothing can end it", wait.id, agent.id, wait.kind);
    }
    Ok(checked)
}

/// Whether a message is on its way, by what it is.
type Coming<'a> = dyn Fn(&dyn Fn(&Message) -> bool) -> bool + 'a;

/// The task goes on, or the message that reports its end is owed or on its way.
fn ends(agent: &Agent, task: TaskId, coming: &Coming<'_>) -> bool {
    let ended = agent.tasks.ended().find(|ended| ended.id == task).and_then(|ended| ended.end.as_ref());
    agent.tasks.active().any(|active| active.id == task)
        || ended.is_some_and(|end| {
            end.delivered_by.is_none() || coming(&|tick| Some(tick.id) == end.delivered_by)
        })
}

/// The timer is armed, or the message that reports it is owed or on its way.
fn fires(agent: &Agent, wait: &Wait, timer: TimerId, coming: &Coming<'_>) -> bool {
    let known = agent.timers.get(timer).filter(|timer| timer.wait_id == Some(wait.id));
    let name = timer.to_string();
    known.is_some_and(|timer| timer.next_fire_at.is_some() || timer.undelivered > 0)
        || coming(&|tick| matches!(&tick.origin, Origin::Timer { timer_id } if *timer_id == name))
}
