//! Work items.

use holon_facts::event::WorkFact;
use holon_facts::event::work::{
    StallReason, WorkAuthor, WorkChange, WorkItemWritten, WorkTick, WorkTickQueued,
};
use holon_facts::work::PlanStatus;
use holon_text::time::exactly;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &WorkFact) -> Rendered {
    let (visibility, summary) = match fact {
        WorkFact::WorkItemWritten(fact) => (importance(&fact.change), written(fact)),
        WorkFact::WorkItemPicked(fact) => {
            let why = fact.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            (Visibility::Verbose, format!("{} is in focus{why}", fact.work_item_id))
        }
        WorkFact::DeliverySummaryRecorded(fact) => {
            (Visibility::Debug, format!("{} is delivered: {}", fact.work_item_id, fact.text.preview()))
        }
        WorkFact::WorkTickQueued(fact) => (Visibility::Verbose, queued(fact)),
        WorkFact::WorkDeferred(fact) => {
            let (id, until, turns) = (fact.work_item_id, fact.until, fact.turns);
            let turns = if turns == 1 { "a turn".to_owned() } else { format!("{turns} turns in a row") };
            (Visibility::Verbose, format!("{id} waits until {until}: {turns} made no progress"))
        }
        WorkFact::WorkPlanSeen(fact) => {
            let how = if fact.edited { "has changed" } else { "is there" };
            (Visibility::Verbose, format!("the plan of {} {how}", fact.work_item_id))
        }
        WorkFact::WorkOwed(fact) => (Visibility::Verbose, format!("{} continues", fact.work_item_id)),
        WorkFact::WorkItemStalled(fact) => {
            (Visibility::ActionRequired, format!("{} is stalled: {}", fact.work_item_id, why(fact.reason)))
        }
    };
    Rendered::new(visibility, Category::Runtime, "work", &summary)
}

fn queued(fact: &WorkTickQueued) -> String {
    let items: Vec<String> = fact.work_item_ids.iter().map(ToString::to_string).collect();
    match fact.tick {
        WorkTick::ContinueActive => format!("a turn is due for {}", items.join(", ")),
        WorkTick::QueuedAvailable => format!("to be picked: {}", items.join(", ")),
    }
}

fn why(reason: StallReason) -> &'static str {
    match reason {
        StallReason::NoProgress => "its turns in a row without progress reached the limit",
        StallReason::Aborted => "an operator aborted its turn",
        StallReason::Dropped => "its turns crashed",
        StallReason::ContextLength => "its turn was longer than the model's context window",
    }
}

/// Beginnings and ends are news.
fn importance(change: &WorkChange) -> Visibility {
    match change {
        WorkChange::Created { .. } | WorkChange::Completed { .. } => Visibility::Info,
        WorkChange::Updated { .. } => Visibility::Verbose,
    }
}

fn written(fact: &WorkItemWritten) -> String {
    let who = match fact.by {
        WorkAuthor::Agent => "",
        WorkAuthor::Operator => " by an operator",
    };
    let what = match &fact.change {
        WorkChange::Created { objective, .. } => format!("is new{who}: {objective}"),
        WorkChange::Updated { objective, plan_status, todo_list, blocked_by, recheck_after_ms } => {
            let blocked = blocked_by.as_ref().map(|by| match by.as_str() {
                "" => "it is not blocked".to_owned(),
                by => format!("it is blocked by {by}"),
            });
            let objective = objective.as_ref().map(|objective| format!("its objective is {objective}"));
            let plan = plan_status.map(|status| match status {
                PlanStatus::Draft => "its plan is a draft".to_owned(),
                PlanStatus::Ready => "its plan is ready".to_owned(),
                PlanStatus::NeedsInput => "it needs input".to_owned(),
            });
            let todo = todo_list.as_ref().map(|list| format!("it has {} steps", list.len()));
            let again = recheck_after_ms.map(|after| format!("it is rechecked in {}", exactly(after)));
            let said: Vec<String> = [blocked, again, plan, objective, todo].into_iter().flatten().collect();
            format!("is changed: {}", said.join(", "))
        }
        WorkChange::Completed { .. } => format!("is completed{who}"),
    };
    format!("{} {what}", fact.work_item_id)
}
