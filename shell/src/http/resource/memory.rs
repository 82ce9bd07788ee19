//! What an agent remembers, for its operators: the same as its tools find.

use holon_api::rows::{ReadMemory, RebuildMemory, SearchMemory, ShowMemoryStatus};
use holon_api::{Code, MemoryPath, MemoryQuery, MemorySearched, MemoryShown, MemoryStatus};
use holon_facts::AgentId;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::look::look;
use crate::memory::{Asked, MemoryProblem, RESULTS, TEXT_CHARS};

pub(in super::super) async fn search(app: App, call: Call<SearchMemory>) -> Handled<MemorySearched> {
    let (agent, MemoryQuery { query, limit, include_all_workspaces }) = (call.path.agent_id, call.query);
    let limit = u32::try_from(bounded("limit", limit, RESULTS, 1)?).map_err(Failure::internal)?;
    let active =
        look(&app, &agent, |view, agent| Some(view.agent(agent)?.workspaces.active().workspace_id()));
    let active = active.await?.seen;
    let workspace = (!include_all_workspaces.unwrap_or_default()).then_some(active);
    app.blocking(move |app| {
        let asked = Asked { agent: agent.clone(), query, limit, workspace, in_turn: false };
        let found = app.runtime.memory().search(&asked).map_err(|problem| failed(&agent, problem))?;
        Ok(MemorySearched { ok: true, agent_id: agent, found })
    })
    .await
}

pub(in super::super) async fn text(app: App, call: Call<ReadMemory>) -> Handled<MemoryShown> {
    let MemoryPath { agent_id: agent, source_ref } = call.path;
    let most = bounded("max_chars", call.query.max_chars, TEXT_CHARS, 1)?;
    let most = u32::try_from(most).map_err(Failure::internal)?;
    app.blocking(move |app| {
        app.last_event(&agent)?;
        let text = app.runtime.memory().get(&agent, &source_ref, most);
        Ok(MemoryShown { ok: true, text: text.map_err(|problem| failed(&agent, problem))? })
    })
    .await
}

pub(in super::super) async fn status(app: App, call: Call<ShowMemoryStatus>) -> Handled<MemoryStatus> {
    let agent = call.path.agent_id;
    app.blocking(move |app| {
        app.last_event(&agent)?;
        app.runtime.memory().status(&agent).map_err(|problem| failed(&agent, problem))
    })
    .await
}

pub(in super::super) async fn reindex(app: App, call: Call<RebuildMemory>) -> Handled<MemoryStatus> {
    let agent = call.path.agent_id;
    app.blocking(move |app| {
        app.last_event(&agent)?;
        app.runtime.memory().reindex(&agent).map_err(|problem| failed(&agent, problem))
    })
    .await
}

fn failed(agent: &AgentId, problem: MemoryProblem) -> Box<Failure> {
    match problem {
        MemoryProblem::Query(problem) => Failure::new(Code::InvalidQuery, problem).detail("field", "query"),
        problem @ MemoryProblem::NotFound { .. } => Failure::new(Code::MemorySourceNotFound, problem)
            .hint(format!("holon memory search --agent {agent} WORDS"))
            .detail("agent_id", agent.as_str()),
        MemoryProblem::Ledger(error) => error.into(),
        problem @ (MemoryProblem::Index(_) | MemoryProblem::Key(_)) => Failure::internal(problem),
    }
}
