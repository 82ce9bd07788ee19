//! A fourth hand-made life, of work items, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::content::{ContentId, Text};
use holon_facts::event::lifecycle::{AgentCreated, RequestKeyed};
use holon_facts::event::turn::TurnStarted;
use holon_facts::event::work::{
    DeliverySummaryRecorded, WorkAuthor, WorkChange, WorkItemPicked, WorkItemWritten, WorkPlanSeen,
};
use holon_facts::ids::{MessageId, RunId, WorkItemId};
use holon_facts::made::Made;
use holon_facts::message::{Idempotency, Priority};
use holon_facts::work::PlanStatus;

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("W11", "a completed item is written", |s| s.after("work_item_written", 3, updated(2, 3))),
        case("W11", "a completed item is picked", |s| {
            s.after("work_item_written", 3, picked(2, Some(1)));
        }),
        case("W11", "the plan of a completed item is looked at", |s| {
            let seen = WorkPlanSeen { work_item_id: WorkItemId(2), hash: None, edited: true };
            s.after("work_item_written", 3, seen);
        }),
        case("W11", "an item is made again", |s| s.after("work_item_written", 1, created(2))),
        case("W11", "a revision is left out", |s| s.replace("work_item_written", 2, updated(1, 3))),
        case("W11", "the focus comes from where it was not", |s| {
            s.replace("work_item_picked", 0, picked(1, Some(2)));
        }),
        case("W11", "a turn is about another item", |s| {
            let other = TurnStarted { work_item_id: Some(WorkItemId(2)), ..started(2, 2, 2) };
            s.replace("turn_started", 1, other);
        }),
        case("W11", "what is not completed is delivered", |s| {
            s.replace("delivery_summary_recorded", 0, delivered(1));
        }),
        case("Q9", "a number of an item is skipped", |s| s.replace("work_item_written", 1, created(3))),
        case("Q9", "an item that nobody made is picked", |s| {
            s.after("work_item_written", 1, picked(3, None));
        }),
        case("Q5", "a key that is kept makes another item", |s| {
            s.after("request_keyed", 0, asked(1));
        }),
        case("L8", "an item is written by a run that is not in progress", |s| {
            s.replace("work_item_written", 0, WorkItemWritten { run_id: Some(RunId(2)), ..created(1) });
        }),
    ]
}

fn asked(item: u64) -> RequestKeyed {
    let idempotency = Idempotency { key: "k".into(), payload: ContentId([1; 32]) };
    RequestKeyed { idempotency, made: Made::WorkItem(WorkItemId(item)), expired_keys: 0 }
}

fn written(item: u64, revision: u64, change: WorkChange) -> WorkItemWritten {
    let (by, run_id) = (WorkAuthor::Agent, Some(RunId(1)));
    WorkItemWritten { work_item_id: WorkItemId(item), revision, by, run_id, change }
}

fn created(item: u64) -> WorkItemWritten {
    let plan_status = PlanStatus::Draft;
    let (objective, todo_list) = ("go".into(), Vec::new());
    written(item, 1, WorkChange::Created { objective, plan_status, todo_list, plan: false })
}

fn updated(item: u64, revision: u64) -> WorkItemWritten {
    let change = WorkChange::Updated {
        objective: Some("stay".into()),
        plan_status: None,
        todo_list: None,
        blocked_by: None,
        recheck_after_ms: None,
    };
    written(item, revision, change)
}

fn picked(item: u64, previous: Option<u64>) -> WorkItemPicked {
    let (work_item_id, previous) = (WorkItemId(item), previous.map(WorkItemId));
    WorkItemPicked { work_item_id, previous, reason: None, unblocked: false, run_id: RunId(1) }
}

fn delivered(item: u64) -> DeliverySummaryRecorded {
    DeliverySummaryRecorded {
        work_item_id: WorkItemId(item),
        run_id: RunId(1),
        related_message_id: MessageId(1),
        text: Text::short("done"),
    }
}

/// Two items are made; one is picked and changed, the other completed; a crash brings the message again, bound to the
/// one in focus.
fn life() -> Script {
    use holon_facts::event::inbox::RequeueCause;
    use holon_facts::event::turn::TurnContextBuilt;
    use holon_facts::terminal::{TurnKind, TurnReason};
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.step().on(settled(1)).on(TurnContextBuilt { run_id: RunId(1), context: loaded() });
    s.on(opened(2, holon_facts::event::operation::OpKind::CallModel, 1));
    s.on(created(1)).on(created(2)).on(asked(2)).on(picked(1, None)).on(updated(1, 2));
    s.on(written(2, 2, WorkChange::Completed { result_summary: Some(Text::short("done")) })).on(delivered(2));
    s.step().on(recovered(1, 2)).on(settled(2)).on(requeued(1, 1, RequeueCause::Crash, 1));
    s.on(ended(1, 1, 1, TurnKind::Interrupted, Some(TurnReason::Crash), 0));
    s.on(closed(holon_facts::closure::ClosureOutcome::None));
    s.step().on(admitted(2, Priority::Next));
    s.on(decided(holon_facts::decision::DecisionKind::StartModelTurn, Some(2))).on(dequeued(2, Some(2)));
    s.on(TurnStarted { work_item_id: Some(WorkItemId(1)), ..started(2, 2, 2) });
    s.on(opened(3, holon_facts::event::operation::OpKind::LoadContext, 2));
    s
}
