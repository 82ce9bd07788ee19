//! S12: every wait can still end: what it waits for can come, and what blocks it is rechecked.

use holon_core::agent::Agent;
use holon_core::agent::wait::Wait;
use holon_core::agent::work::WorkItem;
use holon_facts::Wall;
use holon_facts::ids::{TaskId, TimerId};
use holon_facts::message::{Message, Origin};
use holon_facts::wait::WaitKind;
use holon_facts::work::PlanStatus;

use crate::failure::{Failure, ensure};

/// Checks an agent between two steps; `blind` is sabotage: it ignores messages in the queue. Returns whether there was
/// something to check.
pub(crate) fn check(agent: &Agent, blind: bool) -> Result<bool, Failure> {
    let mut checked = false;
    let coming = |fits: &dyn Fn(&Message) -> bool| {
        !blind && agent.inbox.queued().any(|entry| fits(&entry.message) && !entry.known)
    };
    // At the last moment of the clock there is no later one for a recheck.
    let last = agent.last_at == Wall(i64::MAX);
    let looked_at = |at: Option<Wall>| (at.is_some() || last) && !blind;
    for item in agent.work.open().filter(|item| item.blocked_by.is_some()) {
        checked = true;
        let asked = item.plan_status == PlanStatus::NeedsInput;
        let again = looked_at(item.recheck.as_ref().and_then(|recheck| recheck.recheck_at));
        ensure!(asked || again, "S12", "{} is blocked, and nobody looks again", item.id);
    }
    // An item that needs input waits for a message first.
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

/// Whether a message with a property is queued.
type Coming<'a> = dyn Fn(&dyn Fn(&Message) -> bool) -> bool + 'a;

/// Whether the task runs, or the message that reports its end is still an obligation or queued.
fn ends(agent: &Agent, task: TaskId, coming: &Coming<'_>) -> bool {
    let ended = agent.tasks.ended().find(|ended| ended.id == task).and_then(|ended| ended.end.as_ref());
    agent.tasks.active().any(|active| active.id == task)
        || ended.is_some_and(|end| {
            end.delivered_by.is_none() || coming(&|tick| Some(tick.id) == end.delivered_by)
        })
}

/// Whether the timer is armed, or the message that reports it is still an obligation or queued.
fn fires(agent: &Agent, wait: &Wait, timer: TimerId, coming: &Coming<'_>) -> bool {
    let known = agent.timers.get(timer).filter(|timer| timer.wait_id == Some(wait.id));
    let name = timer.to_string();
    known.is_some_and(|timer| timer.next_fire_at.is_some() || timer.undelivered > 0)
        || coming(&|tick| matches!(&tick.origin, Origin::Timer { timer_id } if *timer_id == name))
}
