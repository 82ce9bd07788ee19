//! The prompt's blocks in their order, from facts and loaded sources.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::config::ContextLimits;
use holon_facts::content::Text;
use holon_facts::execution::ExecutionSnapshot;
use holon_facts::fence::Fence;
use holon_facts::frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_facts::hash::Fnv;
use holon_facts::outcome::{LoadedContext, SourceScope};

use super::earlier::recent_messages;
use super::fence::line;
use super::{policy, worded, worded_parts};
use crate::agent::Agent;

/// Bytes of a path: longer ones can't be opened.
const PATH_BYTES: usize = 4_096;

/// Everything before the conversation. `work` is what is said of work items. Earlier messages take at most `recent_tokens`; without, there are none.
pub(crate) fn frame(
    agent: &Agent,
    context: &LoadedContext,
    limits: &ContextLimits,
    (work, recent_tokens): (Option<&str>, Option<u64>),
    fence: Fence,
) -> PromptFrame {
    let mut system_blocks = Vec::new();
    for (scope, label, stability) in [
        (SourceScope::Agent, "agent_instructions", Stability::AgentScoped),
        (SourceScope::Workspace, "workspace_instructions", Stability::AgentScoped),
    ] {
        for source in context.sources.iter().filter(|source| source.scope == scope) {
            let heading = format!("Instructions from {}:\n", line(&source.path, PATH_BYTES));
            let parts = alloc::vec![Part::Rendered(heading), Part::Given(source.content.clone())];
            system_blocks.push(block(label, parts, stability));
        }
    }
    system_blocks.push(block(
        "tool_guidance",
        alloc::vec![Part::Rendered(policy::TOOL_GUIDANCE.into())],
        Stability::Stable,
    ));
    if let Some(last) = system_blocks.last_mut() {
        last.cache_breakpoint = true;
    }
    let mut context_blocks = alloc::vec![
        block("agent", alloc::vec![Part::Rendered(about(agent))], Stability::AgentScoped),
        block(
            "execution_environment",
            alloc::vec![Part::Rendered(environment(agent, &context.execution))],
            Stability::AgentScoped
        ),
    ];
    if let Some(last) = context_blocks.last_mut() {
        last.cache_breakpoint = true;
    }
    if let Some(told) = work {
        let heading =
            Part::Rendered("[your work items and waits as they stood when this turn began]\n".into());
        let told = fence.quoted(fence.work(told), alloc::vec![Part::Rendered(told.into())]);
        context_blocks.push(block("work_items", alloc::vec![heading, told], Stability::TurnScoped));
    }
    if let Some(tokens) = recent_tokens {
        context_blocks.extend(recent_messages(agent, limits, tokens, fence));
    }
    let cache = cache(agent, &system_blocks, &context_blocks);
    PromptFrame { system_prompt: worded(policy::POLICY.into()), system_blocks, context_blocks, cache }
}

pub(crate) fn block(label: &str, parts: Vec<Part>, stability: Stability) -> PromptBlock {
    PromptBlock { label: label.to_string(), parts: worded_parts(parts), stability, cache_breakpoint: false }
}

fn about(agent: &Agent) -> String {
    let supervisor = agent.spec.supervisor.as_ref();
    let supervisor =
        supervisor.map_or_else(String::new, |it| format!(" Your supervisor is {}.", it.agent_id));
    format!(
        "You are the agent {} ({}, {}), created {}.{supervisor}",
        agent.id, agent.spec.kind, agent.spec.visibility, agent.created_at
    )
}

fn environment(agent: &Agent, execution: &ExecutionSnapshot) -> String {
    let found = execution.external_trigger && agent.trigger_generation().is_some();
    let trigger = if found { policy::EXTERNAL_TRIGGER } else { "" };
    format!(
        "Execution root: {}\nCurrent folder: {}\nWorkspace: {}\nAgent home: {}\nPlatform: {}, shell {}\n\
         {}{trigger}",
        line(&execution.binding.execution_root, PATH_BYTES),
        line(&execution.binding.cwd, PATH_BYTES),
        line(&execution.binding.workspace_anchor, PATH_BYTES),
        line(&execution.agent_home, PATH_BYTES),
        execution.platform,
        execution.shell,
        execution.boundaries()
    )
}

/// The whole text, unless it is long.
pub(crate) fn shortened(text: &Text, chars: u32) -> Part {
    if text.est_tokens() <= holon_facts::content::estimate_tokens(chars.into()) {
        Part::Given(text.clone())
    } else {
        Part::Excerpt { text: text.clone(), chars }
    }
}

/// The key covers the stable and agent-scoped surface, the fingerprint everything.
fn cache(agent: &Agent, system: &[PromptBlock], context: &[PromptBlock]) -> PromptCache {
    const POLICY: Fnv = Fnv::START.piece(policy::POLICY.as_bytes());
    let hash = |start: Fnv, block: &PromptBlock| block.parts.iter().fold(start, hashed);
    let start = POLICY.piece(agent.id.as_str().as_bytes());
    // What lasts comes first.
    let turn_scoped = |block: &PromptBlock| block.stability == Stability::TurnScoped;
    let (lasting, rest) = context.split_at(context.iter().position(turn_scoped).unwrap_or(context.len()));
    let lasting = system.iter().chain(lasting).fold(start, hash);
    let all = rest.iter().fold(lasting, hash);
    PromptCache {
        agent_id: agent.id.clone(),
        prompt_cache_key: format!("holon-{:016x}", lasting.0),
        context_fingerprint: format!("{:016x}", all.0),
        working_memory_revision: 0,
        compression_epoch: 0,
    }
}

fn hashed(hash: Fnv, part: &Part) -> Fnv {
    match part {
        Part::Rendered(text) => hash.piece(text.as_bytes()),
        Part::Given(text) => hash.text(text),
        Part::Excerpt { text, chars } => hash.text(text).piece(&chars.to_le_bytes()),
        // The tag says nothing, and is another one in each turn.
        Part::Quoted { parts, .. } => parts.iter().fold(hash.piece(b"quoted"), hashed),
    }
}
