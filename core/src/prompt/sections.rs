//! The prompt's blocks in their order, from facts and loaded sources.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
use super::{policy, worded, worded_parts};
use crate::agent::Agent;
use crate::agent::history::{Done, Exchange};
use crate::agent::task::Task;
use crate::agent::wait::recheck;
use crate::agent::wake::Pending;
use crate::agent::workspace::Retained;
use crate::config::ContextLimits;
use crate::content::{Text, clip};
use crate::execution::ExecutionSnapshot;
use crate::hash::Fnv;
use crate::ids::MessageId;
use crate::message::{Message, MessageKind, Origin};
use crate::outcome::{LoadedContext, SourceScope};

/// Files that are named of what a child has left.
const LEFT_FILES: usize = 16;
/// Bytes of the path of each.
const FILE_BYTES: usize = 200;
/// Characters of an earlier message, or of the answer to it, that a prompt shows.
const RECENT_CHARS: u32 = 8_000;
/// Characters of the results of all tasks that one message tells of.
const TOGETHER_CHARS: u32 = 16_000;
/// Bytes of each thing that hints were about before the last one.
const SUBJECT_BYTES: usize = 100;
/// Characters of a call's arguments that it shows.
const CALL_CHARS: u32 = 300;

/// Everything before the conversation. `work` is what is said of work items. Earlier messages take at most `recent_tokens`; without, there are none.
pub(crate) fn frame(
    agent: &Agent,
    context: &LoadedContext,
    limits: &ContextLimits,
    work: Option<&str>,
    recent_tokens: Option<u64>,
) -> PromptFrame {
    let mut system_blocks = Vec::new();
    for (scope, label, stability) in [
        (SourceScope::Agent, "agent_instructions", Stability::AgentScoped),
        (SourceScope::Workspace, "workspace_instructions", Stability::AgentScoped),
    ] {
        for source in context.sources.iter().filter(|source| source.scope == scope) {
            let heading = format!("Instructions from {}:\n", source.path);
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
        let parts = alloc::vec![Part::Rendered(told.into())];
        context_blocks.push(block("work_items", parts, Stability::TurnScoped));
    }
    if let Some(tokens) = recent_tokens {
        context_blocks.extend(recent_messages(agent, limits, tokens));
    }
    let cache = cache(agent, &system_blocks, &context_blocks);
    PromptFrame { system_prompt: worded(policy::POLICY.into()), system_blocks, context_blocks, cache }
}

/// The message that the turn is for, with what it is, and the tasks that it tells of.
pub(crate) fn current_input(agent: &Agent, message: &Message) -> Vec<Part> {
    let heading = format!(
        "[message {} | kind {} | from {} | class {} | received {}]\n",
        message.id,
        message.kind,
        message.origin.name(),
        message.authority_class,
        message.created_at
    );
    let mut parts = alloc::vec![Part::Rendered(heading)];
    parts.extend(ended_waits(agent, message.id));
    let alone = message.kind == MessageKind::TaskResult;
    let told = agent.tasks.told_by(message.id).count();
    if let (0, Origin::Task { task_id }) = (told, &message.origin) {
        // It ended so long ago that nothing else is remembered of it.
        parts.push(Part::Rendered(format!("[task {task_id}]\n")));
    }
    let chars = TOGETHER_CHARS / u32::try_from(told.max(1)).unwrap_or(u32::MAX);
    for task in agent.tasks.told_by(message.id) {
        parts.push(Part::Rendered(ended(task)));
        if let Some(text) = task.end.as_ref().and_then(|end| end.result.clone()).filter(|_| !alone) {
            parts.push(shortened(&text, chars.min(RECENT_CHARS)));
            parts.push(Part::Rendered("\n".into()));
        }
    }
    parts.push(Part::Given(message.body.text.clone()));
    parts.extend(rechecks(agent, message.id));
    parts.extend(hints(agent, message.id));
    worded_parts(parts)
}

/// The hints that a message tells of, with what they say: material to inspect, whoever sent it.
fn hints(agent: &Agent, message: MessageId) -> Vec<Part> {
    let told = agent.hints.told_by(message).count();
    let chars = TOGETHER_CHARS / u32::try_from(told.max(1)).unwrap_or(u32::MAX);
    let mut parts = Vec::new();
    for pending in agent.hints.told_by(message) {
        parts.push(Part::Rendered(hint(pending)));
        parts.extend(pending.hint.body.as_ref().map(|body| shortened(body, chars.min(RECENT_CHARS))));
    }
    parts
}

/// Hints that a turn is shown at once, in the middle of it.
pub(crate) fn hints_now(hints: &[Pending]) -> Part {
    let one = |pending: &Pending| {
        let body = pending.hint.body.as_ref().map(Text::preview).unwrap_or_default();
        format!("{}{body}", hint(pending))
    };
    Part::Rendered(worded(hints.iter().map(one).collect()))
}

/// What a hint says before its body, and what else those before it were about.
fn hint(pending: &Pending) -> String {
    let Pending { hint, count, last_at, .. } = pending;
    let times = if *count > 1 { format!(", the last of {count}") } else { String::new() };
    let about = hint.resource.as_ref().map_or_else(String::new, |resource| format!(" | about {resource}"));
    let about = about + &others(pending);
    let typed = hint.content_type.as_ref().map_or_else(String::new, |kind| format!(" | {kind}"));
    let described = hint.description.as_ref().map_or_else(String::new, |text| format!("\n{text}"));
    format!(
        "\n[hint from {} | class integration_signal | received {last_at}{times}{about}{typed}]\n{}{described}\n",
        hint.source, hint.reason
    )
}

fn others(Pending { hint, about, .. }: &Pending) -> String {
    let others = about.resources.iter().filter(|resource| Some(*resource) != hint.resource.as_ref());
    let others: Vec<String> = others.map(|resource| clip(resource, SUBJECT_BYTES)).collect();
    let more = if about.more > 0 { format!(", {} more", about.more) } else { String::new() };
    if others.is_empty() { more } else { format!(" | before about {}{more}", others.join(", ")) }
}

/// What is to be looked at again because of a message.
fn rechecks(agent: &Agent, message: MessageId) -> Option<Part> {
    let told: String = recheck::told_by(agent, message).map(|line| format!("\n{line}")).collect();
    (!told.is_empty()).then_some(Part::Rendered(told))
}

/// The waits that a message ends.
fn ended_waits(agent: &Agent, message: MessageId) -> Option<Part> {
    let mut told = String::new();
    for wait in agent.waits.ended_by(message) {
        let owner = wait.work_item_id.map_or_else(String::new, |item| format!(" of {item}"));
        told += &format!("[ends {}{owner}: {}]\n", wait.id, wait.waiting_for);
    }
    (!told.is_empty()).then_some(Part::Rendered(told))
}

fn ended(task: &Task) -> String {
    let status = task.end.as_ref().and_then(|end| end.exit_status);
    let status = status.map_or_else(String::new, |status| format!(", exit status {status}"));
    format!("[task {} | {}{status} | {}]\n{}", task.id, task.status, task.summary, left_over(task))
}

/// What a child that had a worktree leaves for its parent to look at.
fn left_over(task: &Task) -> String {
    let plan = task.child().and_then(|child| child.worktree.as_ref());
    let left = task.end.as_ref().and_then(|end| end.worktree.as_ref());
    let (Some(plan), Some(Retained { reason, detail, changed_files, more_files })) = (plan, left) else {
        return String::new();
    };
    let detail = detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
    let named: Vec<String> =
        changed_files.iter().take(LEFT_FILES).map(|file| clip(file, FILE_BYTES)).collect();
    let named = named.join(", ");
    let others = changed_files.len().saturating_sub(LEFT_FILES) as u64 + more_files;
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    let files = if named.is_empty() { String::new() } else { format!(": {named}{others}") };
    format!(
        "[its worktree stays for you to look at | {} | branch {} | {reason}{detail}{files}]\n",
        plan.path, plan.branch
    )
}

/// A prompt that came in the middle of the turn.
pub(crate) fn interjection(agent: &Agent, message_id: MessageId, text: &Text) -> Vec<Part> {
    let heading = format!("[message {message_id} | the operator interjects | class operator_instruction]\n");
    let mut parts = alloc::vec![Part::Rendered(heading)];
    parts.extend(ended_waits(agent, message_id));
    parts.push(Part::Given(text.clone()));
    worded_parts(parts)
}

fn block(label: &str, parts: Vec<Part>, stability: Stability) -> PromptBlock {
    PromptBlock { label: label.to_string(), parts: worded_parts(parts), stability, cache_breakpoint: false }
}

fn about(agent: &Agent) -> String {
    format!(
        "You are the agent {} ({}, {}), created {}.",
        agent.id, agent.spec.kind, agent.spec.visibility, agent.created_at
    )
}

fn environment(agent: &Agent, execution: &ExecutionSnapshot) -> String {
    let found = execution.external_trigger && agent.trigger_generation().is_some();
    let trigger = if found { policy::EXTERNAL_TRIGGER } else { "" };
    format!(
        "Execution root: {}\nCurrent folder: {}\nWorkspace: {}\nAgent home: {}\nPlatform: {}, shell {}\n\
         {}{trigger}",
        execution.binding.execution_root,
        execution.binding.cwd,
        execution.binding.workspace_anchor,
        execution.agent_home,
        execution.platform,
        execution.shell,
        execution.boundaries()
    )
}

/// The newest earlier messages that have room, the oldest of them first.
fn recent_messages(agent: &Agent, limits: &ContextLimits, tokens: u64) -> Option<PromptBlock> {
    let mut left = tokens;
    let mut shown = Vec::new();
    for exchange in agent.history.exchanges.iter().rev().take(limits.recent_messages as usize) {
        let parts = recent(exchange);
        let size = parts.iter().map(Part::est_tokens).sum();
        let Some(rest) = left.checked_sub(size) else { break };
        left = rest;
        shown.push(parts);
    }
    let parts: Vec<Part> = shown.into_iter().rev().flatten().collect();
    (!parts.is_empty()).then(|| block("recent_messages", parts, Stability::TurnScoped))
}

fn recent(exchange: &Exchange) -> Vec<Part> {
    let mut parts = alloc::vec![
        Part::Rendered(format!(
            "[earlier message {} | kind {} | class {} | received {}]\n",
            exchange.message_id, exchange.kind, exchange.authority_class, exchange.at
        )),
        excerpt(&exchange.text),
        Part::Rendered(format!("\n[your turn ended: {}]\n", exchange.end)),
    ];
    if !exchange.calls.is_empty() {
        parts.push(Part::Rendered("[its last calls, whose results you did not report:]\n".into()));
    }
    for Done { tool_name, arguments, failed } in &exchange.calls {
        parts.push(Part::Rendered(format!("  {tool_name} ")));
        parts.push(Part::Excerpt { text: arguments.clone(), chars: CALL_CHARS });
        let outcome = failed.map_or_else(|| " (done)\n".into(), |kind| format!(" (failed: {kind})\n"));
        parts.push(Part::Rendered(outcome));
    }
    parts.extend(exchange.answer.iter().map(excerpt));
    parts.push(Part::Rendered("\n".into()));
    parts
}

/// The whole text, unless it is long.
fn excerpt(text: &Text) -> Part {
    shortened(text, RECENT_CHARS)
}

fn shortened(text: &Text, chars: u32) -> Part {
    if text.est_tokens() <= crate::content::estimate_tokens(chars.into()) {
        Part::Given(text.clone())
    } else {
        Part::Excerpt { text: text.clone(), chars }
    }
}

/// The key covers the stable and agent-scoped surface, the fingerprint everything.
fn cache(agent: &Agent, system: &[PromptBlock], context: &[PromptBlock]) -> PromptCache {
    const POLICY: Fnv = Fnv::START.piece(policy::POLICY.as_bytes());
    let hash = |start: Fnv, block: &PromptBlock| {
        block.parts.iter().fold(start, |hash, part| match part {
            Part::Rendered(text) => hash.piece(text.as_bytes()),
            Part::Given(text) => hash.text(text),
            Part::Excerpt { text, chars } => hash.text(text).piece(&chars.to_le_bytes()),
        })
    };
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

impl PromptFrame {
    pub fn est_tokens(&self) -> u64 {
        let blocks = self.system_blocks.iter().chain(&self.context_blocks);
        let blocks: u64 = blocks.flat_map(|block| &block.parts).map(Part::est_tokens).sum();
        blocks.saturating_add(crate::content::estimate_tokens(self.system_prompt.chars().count() as u64))
    }
}
