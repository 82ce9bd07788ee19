//! Cells that one process reads while nobody works on them: a request goes to the cell of the agent that it is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use holon_facts::AgentId;
use holon_ledger::postgres::node::{CellId, Directory};

use super::super::failure::Failure;
use super::target::Target;
use super::{look_up, served};

/// Where each agent is.
#[derive(Clone)]
struct Across {
    directory: Arc<Directory>,
    cells: Arc<BTreeMap<CellId, Router>>,
    default_agent: AgentId,
}

/// What serves all cells as one.
pub fn across(directory: Directory, cells: BTreeMap<CellId, Router>, default_agent: AgentId) -> Router {
    let across = Across { directory: Arc::new(directory), cells: Arc::new(cells), default_agent };
    Router::new().fallback(answer).with_state(across)
}

async fn answer(State(across): State<Across>, request: Request) -> Response {
    let agent = match Target::of(request.uri()) {
        Target::Agent(agent) => Some(agent),
        Target::Default => Some(across.default_agent.to_string()),
        Target::Address(_) | Target::Any => None,
    };
    match across.router(agent).await {
        Ok(router) => served(router, request).await,
        Err(failure) => failure.into_response(),
    }
}

impl Across {
    /// Of the agent's cell; without an agent any.
    async fn router(&self, agent: Option<String>) -> Result<Router, Box<Failure>> {
        let cell = match agent {
            Some(agent) => look_up(&self.directory, agent).await?,
            None => None,
        };
        let of_agent = cell.and_then(|cell| self.cells.get(&cell));
        let found = of_agent.or_else(|| self.cells.values().next());
        found.cloned().ok_or_else(|| Failure::internal("the cluster has no cell"))
    }
}
