//! What a prompt says of work items: the one in focus, and that there are others.

use alloc::string::String;

use holon_facts::content::clip;
use holon_facts::work::{Todo, TodoState, WorkState};

use super::worded;
use crate::agent::wait::Wait;
use crate::agent::work::WorkItem;
use crate::agent::work::outline::{OpenItem, WorkOutline};

/// Steps that are listed.
const STEPS: usize = 20;
/// Bytes of a line, and of the objective of the item in focus.
pub(super) const LINE_BYTES: usize = 100;
const OBJECTIVE_BYTES: usize = 1_000;

/// At most about 5,000 bytes.
pub(crate) fn render(work: &WorkOutline) -> String {
    let WorkOutline { focus: current, others, more, wait } = work;
    let mut text = match current {
        Some(item) => focus(item),
        None if others.is_empty() => String::new(),
        None => String::from("No work item is in focus: PickWorkItem turns to one.\n"),
    };
    for OpenItem { id, state, objective } in others {
        text += &format!("Open: {id} ({state}): {}\n", clip(objective, LINE_BYTES));
    }
    if *more > 0 {
        text += &format!("{more} more are open: ListWorkItems names them.\n");
    }
    text.extend(wait.as_ref().map(waits));
    worded(text)
}

fn waits(wait: &Wait) -> String {
    format!("Waits ({}, {}): {}\n", wait.id, wait.kind, clip(&wait.waiting_for, LINE_BYTES))
}

fn focus(item: &WorkItem) -> String {
    described("In focus", item, |_| true)
}

/// With the steps for which `shown` is true.
pub(super) fn described(how: &str, item: &WorkItem, shown: fn(&Todo) -> bool) -> String {
    let mut text = format!(
        "{how}: {} (plan {}, {})\nObjective: {}\nPlan: work-items/{}/plan.md in your agent home\n",
        item.id,
        item.plan_status,
        item.state(),
        clip(&item.objective, OBJECTIVE_BYTES),
        item.id
    );
    text.extend(item.wait.as_ref().map(waits));
    if let (WorkState::Blocked, Some(blocked_by)) = (item.state(), &item.blocked_by) {
        text += &format!("Blocked by: {}\n", clip(blocked_by, LINE_BYTES));
    }
    if item.is_too_long() {
        text += "Blocked by the runtime: the last turn about it was longer than your context window. Make its next step \
                 smaller: it goes on with any progress, or once it is changed or picked.\n";
    }
    let mut steps = item.todo_list.iter().filter(|todo| shown(todo));
    for todo in steps.by_ref().take(STEPS) {
        let mark = match todo.state {
            TodoState::Pending => " ",
            TodoState::InProgress => ">",
            TodoState::Completed => "x",
        };
        text += &format!("[{mark}] {}\n", clip(&todo.text, LINE_BYTES));
    }
    let more = steps.count();
    if more > 0 {
        text += &format!("{more} more steps: GetWorkItem shows them.\n");
    }
    text
}
