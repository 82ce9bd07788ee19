//! What an agent waits for.

use holon_facts::event::WaitFact;
use holon_facts::event::wait::{
    RecheckGivenUp, Resolution, WaitCancelled, WaitEnd, WaitRegistered, WaitResolved, WorkItemRecheckDue,
};
use holon_facts::ids::WorkItemId;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &WaitFact) -> Rendered {
    let (visibility, summary) = match fact {
        WaitFact::WaitRegistered(fact) => (Visibility::Info, registered(fact)),
        WaitFact::WaitResolved(fact) => (Visibility::Verbose, resolved(fact)),
        WaitFact::WaitCancelled(fact) => (Visibility::Verbose, cancelled(fact)),
        WaitFact::WorkItemRecheckDue(fact) => (Visibility::Verbose, due(fact)),
        WaitFact::RecheckGivenUp(fact) => (Visibility::ActionRequired, given_up(fact)),
    };
    Rendered::new(visibility, Category::Waiting, "wait", &summary)
}

fn who(owner: Option<WorkItemId>) -> String {
    owner.map_or_else(|| "it".to_owned(), |item| item.to_string())
}

fn registered(fact: &WaitRegistered) -> String {
    let what = match (fact.task_id, fact.timer_id, &fact.subject) {
        (Some(task), _, _) => format!(" {task}"),
        (None, Some(timer), _) => format!(" {timer}"),
        (None, None, Some(subject)) => format!(" {subject}"),
        (None, None, None) => String::new(),
    };
    format!("{} waits, {} ({}{what}): {}", who(fact.work_item_id), fact.wait_id, fact.kind, fact.waiting_for)
}

fn resolved(fact: &WaitResolved) -> String {
    match fact.by {
        Resolution::Message { message_id } => format!("{message_id} ends {}", fact.wait_id),
        Resolution::TaskResultQueued => format!("{} is over: the task had ended", fact.wait_id),
    }
}

fn cancelled(fact: &WaitCancelled) -> String {
    let why = match fact.reason {
        WaitEnd::Replaced => "another wait replaces it",
        WaitEnd::ItemCompleted => "its work item is completed",
        WaitEnd::TimerCancelled => "its timer was cancelled",
    };
    format!("{} is given up: {why}", fact.wait_id)
}

fn due(fact: &WorkItemRecheckDue) -> String {
    let owners: Vec<String> = fact.due.iter().map(|due| due.work_item_id).map(owner).collect();
    format!("to be rechecked: {}", owners.join(", "))
}

fn owner(owner: Option<WorkItemId>) -> String {
    owner.map_or_else(|| "its own wait".to_owned(), |item| item.to_string())
}

fn given_up(fact: &RecheckGivenUp) -> String {
    format!("{} is not rechecked any more: an operator must act", owner(fact.work_item_id))
}
