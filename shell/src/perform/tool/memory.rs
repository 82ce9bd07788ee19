//! `MemorySearch` and `MemoryGet`: what they find is on record with their result, so that nobody needs the index for it again.

use holon_api::{MemoryFound, MemoryText};
use holon_core::effect::ToolCall;
use holon_core::tool::{MemoryGet, MemorySearch, arguments};
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::{AgentId, tokens};
use holon_platform::spawn;
use serde::Serialize;

use super::fitting::fitting;
use super::{Refusal, Success};
use crate::memory::{Asked, Memory, MemoryProblem};

pub(super) async fn search(
    memory: &Memory,
    (agent, call): (&AgentId, &ToolCall),
    arguments: &str,
) -> Result<Success, Refusal> {
    let MemorySearch { query, limit, include_all_workspaces } = arguments::parse(arguments)?;
    let workspace = (!include_all_workspaces).then(|| call.execution.workspace_id());
    let asked = Asked { agent: agent.clone(), query, limit, workspace, in_turn: true };
    let tokens = call.output_tokens;
    blocking(memory, move |memory| Ok(found_within(tokens, &memory.search(&asked)?))).await
}

pub(super) async fn get(
    memory: &Memory,
    (agent, call): (&AgentId, &ToolCall),
    arguments: &str,
) -> Result<Success, Refusal> {
    let MemoryGet { source_ref, max_chars } = arguments::parse(arguments)?;
    let (agent, tokens) = (agent.clone(), call.output_tokens);
    blocking(memory, move |memory| Ok(text_within(tokens, &memory.get(&agent, &source_ref, max_chars)?)))
        .await
}

/// The best of them that the request has space for.
fn found_within(tokens: u64, found: &MemoryFound) -> MemoryFound {
    let best = |most: usize| {
        let results = found.results.iter().take(most).cloned().collect();
        MemoryFound { results, matched: found.matched.clone(), index: found.index.clone() }
    };
    fitting(tokens, found.results.len(), best, size)
}

/// As much of its beginning as the request has space for.
fn text_within(tokens: u64, text: &MemoryText) -> MemoryText {
    let beginning = |most: usize| {
        let end = text.content.char_indices().nth(most).map(|(end, _)| end);
        let content = end.map_or(text.content.as_str(), |end| &text.content[..end]).to_owned();
        MemoryText { content, truncated: text.truncated || end.is_some(), source: text.source.clone() }
    };
    fitting(tokens, text.content.chars().count(), beginning, size)
}

/// In tokens, as the request has it.
fn size(shown: &impl Serialize) -> u64 {
    serde_json::to_string(shown).map_or(u64::MAX, |json| tokens::estimate(&json))
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

#[cfg(test)]
mod tests {
    use holon_api::{MemoryHit, MemoryIndex, MemorySource};

    use super::*;

    fn source() -> MemorySource {
        serde_json::from_value(serde_json::json!({
            "source_ref": "ref", "kind": "note", "standing": "own", "scope_kind": "agent", "agent_id": "main",
            "title": "a note", "updated_at": "2026-01-01T00:00:00.000000Z", "metadata": { "id": "a.md" }
        }))
        .unwrap_or_else(|problem| panic!("{problem}"))
    }

    #[test]
    fn a_note_in_any_script_stays_within_what_the_request_has_space_for() {
        for said in ["several words ", "\u{90e8}\u{7f72}\u{670d}\u{52a1}", "0f3c"] {
            let content: String = said.repeat(20_000).chars().take(50_000).collect();
            let whole = MemoryText { source: source(), content, truncated: false };
            let shown = text_within(3_000, &whole);
            assert!(size(&shown) <= 3_000 && shown.truncated && whole.content.starts_with(&shown.content));
            assert!(size(&shown) > 2_000, "{said}: {}", size(&shown));
            assert_eq!(text_within(200_000, &whole), whole);
        }
    }

    #[test]
    fn of_results_the_best_are_shown() {
        let hit = |number: usize| MemoryHit {
            source: source(),
            snippet: format!("{number} {}", "\u{90e8}".repeat(300)),
            score: 1.0,
        };
        let index = MemoryIndex { state: "ready".into(), indexed_through: 1, ledger_position: 1 };
        let whole = MemoryFound { results: (0..50).map(hit).collect(), matched: "all".into(), index };
        let shown = found_within(3_000, &whole);
        assert!(size(&shown) <= 3_000 && (5..50).contains(&shown.results.len()), "{}", shown.results.len());
        assert!(shown.results.iter().zip(&whole.results).all(|(shown, found)| shown == found));
    }
}
