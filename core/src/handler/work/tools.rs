//! What the model's calls do to work items: recorded at once, then shown by a performer, who knows the plan's file.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use holon_facts::call::WorkFilter;
use holon_facts::content::Text;
use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::event::wait::WaitEnd;
use holon_facts::event::work::{
    DeliverySummaryRecorded, WorkAuthor, WorkChange, WorkItemPicked, WorkItemWritten,
};
use holon_facts::ids::{RunId, WorkItemId};
use holon_facts::receipt::{ToolError, ToolErrorKind, Verdict, WorkCall};
use holon_facts::work::{NoReport, WorkState};

use crate::agent::wait::recheck;
use crate::agent::work::{OPEN, WorkItem};
use crate::effect::{Look, WorkShown, WorkView};
use crate::handler::turn::tools::{self, Begun};
use crate::handler::wait::resolve;
use crate::tx::Tx;

/// Begins a call.
///
/// # Errors
/// The one result of a call that changes and shows nothing.
pub(crate) fn call(
    tx: &mut Tx<'_>,
    run_id: RunId,
    call: &WorkCall,
    arguments: Text,
) -> Result<Begun, ToolError> {
    let mut view = WorkView {
        shown: WorkShown::None,
        current: None,
        changed: false,
        warning: None,
        plan: None,
        output_tokens: 0,
    };
    let mut with_todo_list = true;
    let id = match call {
        WorkCall::Create { objective, plan_status, todo_list, plan } => {
            view.plan = plan.then_some(arguments);
            let change = WorkChange::Created {
                objective: objective.clone(),
                plan_status: *plan_status,
                todo_list: todo_list.clone(),
                plan: *plan,
            };
            view.changed = true;
            create(tx, WorkAuthor::Agent, Some(run_id), change)?
        }
        WorkCall::Pick { work_item, reason, clear_blocker } => {
            let item = open(tx, *work_item)?;
            let unblocked = *clear_blocker && item.blocked_by.is_some();
            let previous = tx.agent().work.current().map(|item| item.id);
            view.changed = previous != Some(*work_item) || unblocked || item.stalled.is_some();
            if view.changed {
                let (work_item_id, reason) = (*work_item, reason.clone());
                tx.record(WorkItemPicked { work_item_id, previous, reason, unblocked, run_id });
            }
            *work_item
        }
        WorkCall::Get { work_item, todo_list } => {
            let item = Box::new(known(tx, *work_item)?.clone());
            return Ok(looks(tx, view, WorkShown::One { item, todo_list: *todo_list }));
        }
        WorkCall::List { filter, limit, todo_list } => {
            let shown = list(tx, *filter, *limit, *todo_list);
            return Ok(looks(tx, view, shown));
        }
        WorkCall::Update { work_item, todo_list, .. } => {
            // Whoever leaves the steps as they are knows them.
            with_todo_list = todo_list.is_some();
            let item = open(tx, *work_item)?;
            if let Some(change) = changes(item, call)? {
                view.changed = true;
                write(tx, WorkAuthor::Agent, Some(run_id), *work_item, change);
            }
            *work_item
        }
        WorkCall::Complete { work_item } => {
            let item = open(tx, *work_item)?.id;
            let report = report(tx);
            view.changed = true;
            view.warning = report.as_ref().err().copied();
            complete(tx, WorkAuthor::Agent, Some(run_id), item, report.ok());
            item
        }
    };
    view.current = tx.agent().work.current().map(|item| item.id);
    if let Some(item) = tx.agent().work.get(id) {
        view.shown = WorkShown::One { item: Box::new(item.clone()), todo_list: with_todo_list };
    }
    tools::show_work(tx, run_id, view);
    Ok(Begun::Performed)
}

/// A call that changes nothing.
fn looks(tx: &Tx<'_>, view: WorkView, shown: WorkShown) -> Begun {
    let current = tx.agent().work.current().map(|item| item.id);
    Begun::Looks(Box::new(Look::Work { view: WorkView { shown, current, ..view } }))
}

/// Records a new item.
///
/// # Errors
/// When there are as many as there may be.
pub(super) fn create(
    tx: &mut Tx<'_>,
    by: WorkAuthor,
    run_id: Option<RunId>,
    change: WorkChange,
) -> Result<WorkItemId, ToolError> {
    if tx.agent().work.open_count() >= OPEN as u64 {
        let error =
            ToolError::new(ToolErrorKind::LimitReached, format!("{OPEN} work items are open already"));
        return Err(error.hint("complete what is done first"));
    }
    let work_item_id = tx.agent().next.work_item;
    tx.record(WorkItemWritten { work_item_id, revision: 1, by, run_id, change });
    Ok(work_item_id)
}

fn write(tx: &mut Tx<'_>, by: WorkAuthor, run_id: Option<RunId>, id: WorkItemId, change: WorkChange) {
    let Some(item) = tx.agent().work.get(id) else { return };
    let revision = item.revision.saturating_add(1);
    tx.record(WorkItemWritten { work_item_id: id, revision, by, run_id, change });
}

/// Completes an open item; with a report, that is what is delivered.
pub(super) fn complete(
    tx: &mut Tx<'_>,
    by: WorkAuthor,
    run_id: Option<RunId>,
    id: WorkItemId,
    report: Option<Text>,
) {
    resolve::cancel(tx, Some(id), WaitEnd::ItemCompleted);
    write(tx, by, run_id, id, WorkChange::Completed { result_summary: report.clone() });
    let run = tx.agent().run.as_ref().map(|run| (run.id, run.message));
    let Some((text, (run_id, message))) = report.zip(run) else { return };
    tx.record(DeliverySummaryRecorded {
        work_item_id: id,
        run_id,
        related_message_id: message,
        text: text.clone(),
    });
    tx.record(BriefCreated {
        id: tx.agent().next.brief,
        kind: BriefKind::Result,
        visibility: BriefVisibility::WorkDone,
        text,
        work_item_id: Some(id),
        run_id: Some(run_id),
        related_message_id: Some(message),
        interjected_message_ids: Vec::new(),
    });
}

/// The text of the round in progress, which is the report of its one completion; or why it is none.
fn report(tx: &Tx<'_>) -> Result<Text, NoReport> {
    let round =
        tx.agent().run.as_ref().and_then(|run| run.conversation.rounds.last()).ok_or(NoReport::NoText)?;
    let completes = round.verdicts.iter().enumerate().filter_map(|(at, verdict)| match verdict {
        Verdict::OnWork(WorkCall::Complete { work_item }) => Some((at, *work_item)),
        Verdict::OnWork(_)
        | Verdict::OnTask(_)
        | Verdict::OnSelf(_)
        | Verdict::Accepted(_)
        | Verdict::Refused(_) => None,
    });
    // Calls that have failed, or will, complete nothing.
    let counts = |(at, item): &(usize, WorkItemId)| match round.results.get(*at) {
        Some(receipt) => receipt.error.is_none(),
        None => tx.agent().work.is_open(*item),
    };
    let items: BTreeSet<WorkItemId> = completes.filter(counts).map(|(_, item)| item).collect();
    if items.len() > 1 {
        return Err(NoReport::Several);
    }
    round.text().cloned().ok_or(NoReport::NoText)
}

/// What an update makes another than before; none when that is nothing.
///
/// # Errors
/// A recheck of what does not stand in the way.
fn changes(item: &WorkItem, call: &WorkCall) -> Result<Option<WorkChange>, ToolError> {
    let WorkCall::Update { objective, plan_status, todo_list, blocked_by, recheck_after, .. } = call else {
        return Ok(None);
    };
    let objective = objective.clone().filter(|objective| *objective != item.objective);
    let plan_status = plan_status.filter(|status| *status != item.plan_status);
    let todo_list = todo_list.clone().filter(|todo_list| *todo_list != item.todo_list);
    let stands = item.blocked_by.as_deref().unwrap_or_default();
    let blocked = !blocked_by.as_deref().unwrap_or(stands).is_empty();
    let blocked_by = blocked_by.clone().filter(|blocked_by| blocked_by != stands);
    let before = item.recheck.as_ref().map(|recheck| recheck.after_ms);
    let asked = recheck_after.filter(|after| blocked_by.is_some() || Some(*after) != before);
    // Another blocker is looked at by its own time.
    let another = blocked && blocked_by.is_some();
    let recheck_after_ms = asked.or_else(|| another.then_some(recheck::DEFAULT));
    if recheck_after.is_some() && !blocked {
        let message = format!("nothing stands in the way of {}: there is nothing to look at again", item.id);
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, message).field("recheck_after_ms");
        return Err(error.hint("say with blocked_by what does, or leave it out"));
    }
    let same = objective.is_none()
        && plan_status.is_none()
        && todo_list.is_none()
        && blocked_by.is_none()
        && recheck_after_ms.is_none();
    let change = WorkChange::Updated { objective, plan_status, todo_list, blocked_by, recheck_after_ms };
    Ok((!same).then_some(change))
}

fn list(tx: &Tx<'_>, filter: WorkFilter, limit: u32, todo_list: bool) -> WorkShown {
    let work = &tx.agent().work;
    let current = work.current().map(|item| item.id);
    let fits = |item: &&WorkItem| item.fits(filter, Some(item.id) == current);
    let mut items = work.open().chain(work.completed()).filter(fits);
    let shown = items.by_ref().take(limit as usize).cloned().collect();
    WorkShown::Many { items: shown, more: items.next().is_some(), todo_list }
}

fn known<'a>(tx: &'a Tx<'_>, id: WorkItemId) -> Result<&'a WorkItem, ToolError> {
    tx.agent().work.get(id).ok_or_else(|| {
        let error = ToolError::new(ToolErrorKind::UnknownWorkItem, format!("there is no work item {id}"));
        error.hint("ListWorkItems names those that are open and those that were completed lately")
    })
}

pub(crate) fn open<'a>(tx: &'a Tx<'_>, id: WorkItemId) -> Result<&'a WorkItem, ToolError> {
    let item = known(tx, id)?;
    if item.state() != WorkState::Completed {
        return Ok(item);
    }
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, format!("{id} is completed"));
    Err(error.hint("what is completed stays as it is: create another item"))
}
