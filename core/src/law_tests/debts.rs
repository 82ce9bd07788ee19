//! A fifth hand-made life, of what work is owed, and ways to break the laws about it.

use alloc::vec::Vec;

use holon_facts::closure::ClosureOutcome;
use holon_facts::content::ContentId;
use holon_facts::decision::{DecisionKind, SchedulerDecision};
use holon_facts::event::inbox::Disposition;
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::operation::OpKind;
use holon_facts::event::scheduling::SelfTurnCounted;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::work::{
    StallReason, WorkAuthor, WorkChange, WorkDeferred, WorkItemStalled, WorkItemWritten, WorkOwed,
    WorkPlanSeen, WorkTick, WorkTickQueued,
};
use holon_facts::ids::{MessageId, RunId, WorkItemId};
use holon_facts::message::{MessageKind, Origin};
use holon_facts::terminal::TurnKind;
use holon_facts::time::Wall;
use holon_facts::work::PlanStatus;

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("S1", "one of the items is left out", |s| {
            s.replace("work_tick_queued", 0, ticks(WorkTick::QueuedAvailable, 1, &[1]));
        }),
        case("S1", "what is told is what is not owed", |s| {
            s.replace("work_tick_queued", 0, ticks(WorkTick::ContinueActive, 1, &[1, 2]));
        }),
        case("S1", "what waits to be told is told again", |s| {
            s.after("work_tick_queued", 0, ticks(WorkTick::QueuedAvailable, 1, &[1, 2]));
        }),
        case("S1", "it is told by what was there before", |s| {
            s.after("work_deferred", 1, ticks(WorkTick::QueuedAvailable, 1, &[1, 2]));
        }),
        case("S1", "the agent rests over what is owed", |s| {
            s.after("work_item_written", 1, decided(DecisionKind::Sleep, None));
        }),
        case("S2", "a turn that brought nothing defers nothing", |s| s.remove("work_deferred", 1)),
        case("S2", "a turn is not counted", |s| s.replace("work_deferred", 0, deferred(1, 0, FAR))),
        case("S2", "a deferral is over at once", |s| s.replace("work_deferred", 0, deferred(1, 1, 0))),
        case("S2", "an item is deferred twice", |s| s.after("work_deferred", 0, deferred(1, 2, FAR))),
        case("S2", "an item stalls for nothing", |s| {
            let reason = StallReason::NoProgress;
            let stalled = WorkItemStalled { work_item_id: WorkItemId(1), run_id: RunId(1), reason };
            s.after("work_deferred", 0, stalled);
        }),
        case("S2", "an item is too long for a turn that was not", |s| {
            let reason = StallReason::ContextLength;
            let stalled = WorkItemStalled { work_item_id: WorkItemId(1), run_id: RunId(1), reason };
            s.replace("work_deferred", 0, stalled);
        }),
        case("S2", "an item is owed a turn by a run that has not ended", |s| {
            s.after("work_deferred", 1, WorkOwed { work_item_id: WorkItemId(1), run_id: RunId(2) });
        }),
        case("S2", "a plan is edited that nobody has edited", |s| s.after(
            "work_item_written",
            0,
            plan(None)
        )),
        case("S2", "the plan of an item is edited that is not there", |s| {
            s.replace("work_item_written", 2, WorkPlanSeen { work_item_id: WorkItemId(9), ..plan(Some(1)) });
        }),
        case("S2", "a first look is said to be none", |s| {
            s.after("work_item_written", 0, WorkPlanSeen { edited: false, ..plan(Some(1)) });
        }),
        case("S2", "a turn in which nothing happened brought something on", |s| {
            let ended = ended(1, 1, 1, TurnKind::Completed, None, 0);
            s.replace("turn_terminal", 0, TurnTerminal { progress: true, ..ended });
        }),
        case("S4", "what waits to be told is to be told again", |s| {
            s.after("work_tick_queued", 0, emits("work_queue:queued_available:work_1:1"));
        }),
        case("Q4", "a tick of which nothing is owed has a turn", |s| {
            s.remove("work_tick_queued", 0);
            s.after("message_admitted", 0, ticks(WorkTick::QueuedAvailable, 1, &[]));
        }),
    ]
}

/// Later than anything in the life.
const FAR: i64 = 1_000;

fn emits(key: &str) -> SchedulerDecision {
    SchedulerDecision { idempotency_key: Some(key.into()), ..decided(DecisionKind::EmitSystemTick, None) }
}

fn created(item: u64) -> WorkItemWritten {
    let (objective, plan_status, todo_list) = ("go".into(), PlanStatus::Ready, Vec::new());
    WorkItemWritten {
        work_item_id: WorkItemId(item),
        revision: 1,
        by: WorkAuthor::Operator,
        run_id: None,
        change: WorkChange::Created { objective, plan_status, todo_list, plan: false },
    }
}

fn plan(content: Option<u8>) -> WorkPlanSeen {
    let hash = content.map(|content| ContentId([content; 32]));
    WorkPlanSeen { work_item_id: WorkItemId(1), hash, edited: true }
}

fn ticks(tick: WorkTick, message: u64, items: &[u64]) -> WorkTickQueued {
    let work_item_ids = items.iter().map(|item| WorkItemId(*item)).collect();
    WorkTickQueued { tick, message_id: MessageId(message), work_item_ids }
}

fn deferred(item: u64, turns: u32, until: i64) -> WorkDeferred {
    let until = Wall(until * 1_000_000);
    WorkDeferred { work_item_id: WorkItemId(item), run_id: RunId(1), turns, until }
}

/// Two items of an operator are notified of together; the turn picks none of them.
fn life() -> Script {
    let origin = Origin::System { subsystem: WorkTick::QueuedAvailable.name().into() };
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(created(1)).on(created(2));
    s.on(emits("work_queue:queued_available:work_1:1"))
        .on(admitted_from(1, MessageKind::SystemTick, origin))
        .on(ticks(WorkTick::QueuedAvailable, 1, &[1, 2]));
    s.on(decided(DecisionKind::StartModelTurn, Some(1))).on(dequeued(1, Some(1)));
    s.on(started(1, 1, 1)).on(opened(1, OpKind::LoadContext, 1));
    s.step().on(settled(1)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 0));
    s.on(deferred(1, 1, FAR)).on(deferred(2, 1, FAR));
    let (run_id, turns) = (RunId(1), 1);
    s.on(SelfTurnCounted { run_id, turns, deferred_until: None, self_hold: false });
    s.on(closed(ClosureOutcome::Completed));
    s.on(decided(DecisionKind::WaitForTimer, None));
    s.step().on(created(3));
    s
}
