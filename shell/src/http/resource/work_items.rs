//! Work items: the list, one of them, and what operators do to them.

use holon_api::rows::{FinishWorkItem, MakeWorkItem, ShowWorkItem, ShowWorkItems};
use holon_api::{Json, WorkItemPath, WorkItemReply, WorkItemShown, WorkItemSnapshot, WorkItems};
use holon_core::agent::work::WorkItem;
use holon_core::{Answer as Answered, Input};
use holon_facts::ids::WorkItemId;
use holon_facts::work::{NewWorkItem, PlanStatus};
use holon_facts::{AgentId, Reject};
use holon_supervise::confine;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::control::unexpected;
use super::ingress::{key, keyed};
use super::look::{Looked, look};
use crate::work_items::{self, Shown};

/// Items of one reply, where nothing else is asked for, and at most.
const LISTED: (u32, u32) = (100, 500);

const BY_HAND: &str = "write the plan into its file yourself; don't create the item again";

/// An item, and whether it is in focus.
type Focused = (WorkItem, bool);

pub(in super::super) async fn list(app: App, call: Call<ShowWorkItems>) -> Handled<WorkItems> {
    let limit = bounded("limit", call.query.limit, LISTED, 1)?;
    let filter = call.query.filter.unwrap_or_default();
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        let work = &view.agent(agent)?.work;
        let mut seen = Vec::new();
        for item in work.open().chain(work.completed()) {
            let in_focus = work.current().is_some_and(|current| current.id == item.id);
            if item.fits(filter, in_focus) {
                seen.push((item.clone(), in_focus));
            }
        }
        Some(seen)
    };
    let Looked { mut seen, .. } = look(&app, &call.path.agent_id, read).await?;
    let more = seen.len() > limit;
    seen.truncate(limit);
    let work_items = shown(&app, call.path.agent_id, seen).await?;
    Ok(WorkItems { ok: true, work_items, more })
}

pub(in super::super) async fn show(app: App, call: Call<ShowWorkItem>) -> Handled<WorkItemShown> {
    let WorkItemPath { agent_id: agent, work_item_id: id } = call.path;
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        let work = &view.agent(agent)?.work;
        let in_focus = work.current().is_some_and(|current| current.id == id);
        Some(work.get(id).map(|item| (item.clone(), in_focus)))
    };
    let Looked { seen, .. } = look(&app, &agent, read).await?;
    let seen = seen.ok_or_else(|| unknown(&agent, id))?;
    Ok(WorkItemShown { ok: true, work_item: one(&app, agent, seen).await? })
}

pub(in super::super) async fn create(app: App, call: Call<MakeWorkItem>) -> Handled<WorkItemReply> {
    let key = key(&call.from.headers)?;
    let (agent, Json(asked)) = (call.path.agent_id, call.body);
    let key = keyed(key, "work_item", &asked)?;
    let mut item = NewWorkItem {
        objective: app.runtime.texts().redact(&asked.objective),
        plan_status: asked.plan_status.unwrap_or(PlanStatus::Draft),
        todo_list: asked.todo_list,
        plan: asked.plan.is_some(),
    };
    for todo in &mut item.todo_list {
        todo.text = app.runtime.texts().redact(&todo.text);
    }
    let named = agent.clone();
    let ask = move |reply| Input::CreateWorkItem { agent: named, item, key, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    if let (Some(plan), Answered::WorkItem { item, changed }) = (asked.plan, &answered) {
        write(&app, agent.clone(), (item.id, *changed), plan).await?;
    }
    reply(&app, agent, answered).await
}

/// Writes the plan of a new item, and of one that was made before where its plan was not written then. The item is there
/// whatever becomes of it.
async fn write(app: &App, agent: AgentId, (item, is_new): (WorkItemId, bool), plan: String) -> Handled<()> {
    app.blocking(move |app| {
        let home = app.home.create_folders(&agent).map_err(Failure::internal)?;
        if !is_new && work_items::plan(&home, item).exists() {
            return Ok(());
        }
        let bound = app.about.confinement.as_ref().map(|_| std::slice::from_ref(&home));
        let written = confine::within(bound, || work_items::write_plan(&home, item, &plan));
        let (problem, hint) = match written {
            Ok(Ok(())) => return Ok(()),
            // The item is there: a code of what was not accepted would be wrong.
            Ok(Err(problem)) if problem.is_full() => (
                problem.to_string(),
                "free space on that disk, then the same request with the same Idempotency-Key writes it",
            ),
            Ok(Err(problem)) => (problem.to_string(), BY_HAND),
            Err(problem) => (problem.to_string(), BY_HAND),
        };
        Err(Failure::internal(format!("{item} was created, and its plan was not written: {problem}"))
            .hint(hint))
    })
    .await
}

pub(in super::super) async fn complete(app: App, call: Call<FinishWorkItem>) -> Handled<WorkItemReply> {
    let WorkItemPath { agent_id: agent, work_item_id: item } = call.path;
    let named = agent.clone();
    let ask = move |reply| Input::CompleteWorkItem { agent: named, item, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(&app, agent, answered).await
}

async fn reply(app: &App, agent: AgentId, answered: Answered) -> Handled<WorkItemReply> {
    if let Answered::Refused { reject: Reject::UnknownWorkItem { work_item } } = answered {
        return Err(unknown(&agent, work_item));
    }
    let Answered::WorkItem { item, changed } = answered else { return Err(unexpected(answered)) };
    // An operator moves no focus, and what is new or completed has none.
    let work_item = one(app, agent.clone(), (*item, false)).await?;
    Ok(WorkItemReply { ok: true, agent_id: agent, changed, work_item })
}

fn unknown(agent: &AgentId, work_item: WorkItemId) -> Box<Failure> {
    let failure: Box<Failure> = Reject::UnknownWorkItem { work_item }.into();
    failure.hint(format!("holon work list --agent {agent}")).detail("agent_id", agent.as_str())
}

async fn one(app: &App, agent: AgentId, seen: Focused) -> Handled<WorkItemSnapshot> {
    let shown = shown(app, agent, vec![seen]).await?.pop();
    shown.ok_or_else(|| Failure::internal("an item is not shown"))
}

/// With their plans, which are files.
async fn shown(app: &App, agent: AgentId, seen: Vec<Focused>) -> Handled<Vec<WorkItemSnapshot>> {
    app.blocking(move |app| {
        let home = app.home.agent(&agent);
        let show = |(item, in_focus): &Focused| {
            let shown = Shown { in_focus: *in_focus, todo_list: true };
            work_items::snapshot(app.runtime.texts(), &agent, &home, item, shown)
        };
        Ok(seen.iter().map(show).collect())
    })
    .await
}
