//! `MemorySearch` and `MemoryGet`: what they find is on record with their result, so that nobody needs the index for it again.

use holon_core::tool::{MemoryGet, MemorySearch, arguments};
use holon_facts::AgentId;
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_platform::spawn;
use serde::Serialize;

use super::{Refusal, Success};
use crate::memory::{Asked, Memory, MemoryProblem};

pub(super) async fn search(
    memory: &Memory,
    (agent, execution): (&AgentId, &ExecutionBinding),
    arguments: &str,
) -> Result<Success, Refusal> {
    let MemorySearch { query, limit, include_all_workspaces } = arguments::parse(arguments)?;
    let workspace = (!include_all_workspaces).then(|| execution.workspace_id());
    let asked = Asked { agent: agent.clone(), query, limit, workspace, in_turn: true };
    blocking(memory, move |memory| memory.search(&asked)).await
}

pub(super) async fn get(memory: &Memory, agent: &AgentId, arguments: &str) -> Result<Success, Refusal> {
    let MemoryGet { source_ref, max_chars } = arguments::parse(arguments)?;
    let agent = agent.clone();
    blocking(memory, move |memory| memory.get(&agent, &source_ref, max_chars)).await
}

async fn blocking<T: Serialize + Send + 'static>(
    memory: &Memory,
    look: impl FnOnce(&Memory) -> Result<T, MemoryProblem> + Send + 'static,
) -> Result<Success, Refusal> {
    let memory = memory.clone();
    let failed = |problem: String| Refusal::new(ToolErrorKind::ToolExecutionFailed, problem);
    let looked =
        spawn::blocking(move || look(&memory)).await.map_err(|problem| failed(problem.to_string()))?;
    let shown = looked.map_err(|problem| {
        let text = problem.to_string();
        match problem {
            MemoryProblem::NotFound { .. } => Refusal::new(ToolErrorKind::MemorySourceNotFound, text)
                .hint("copy a source_ref from a result of MemorySearch")
                .field("source_ref"),
            MemoryProblem::Query(_) => Refusal::new(ToolErrorKind::InvalidToolInput, text).field("query"),
            MemoryProblem::Index(_) | MemoryProblem::Ledger(_) | MemoryProblem::Key(_) => failed(text),
        }
    })?;
    let content = serde_json::to_string(&shown).map_err(|problem| failed(problem.to_string()))?;
    Ok(Success { content, facts: ToolFacts::default(), images: Vec::new() })
}
