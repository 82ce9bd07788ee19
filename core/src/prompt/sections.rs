//! The prompt's blocks in their order, from facts and loaded sources.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::fence::Place;
use holon_facts::frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_facts::hash::Fnv;
use holon_facts::outcome::{InstructionSource, SourceScope};
use holon_facts::tool::ServerTools;

use Share::{OneIn, Whole};
use Stability::{AgentScoped, Stable, TurnScoped};

use super::digest::digests;
use super::fence::line;
use super::incoming::NAME_BYTES;
use super::work::render;
use super::{memory, policy, skills, worded, worded_parts};
use crate::agent::Agent;
use crate::agent::episode::{Head, OpenTask, Standing};
use crate::agent::turn::window::Window;

/// Bytes of a path: longer ones can't be opened.
pub(crate) const PATH_BYTES: usize = 4_096;

/// What sections are rendered from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptFacts<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) head: &'a Head,
    pub(crate) standing: &'a Standing,
    /// Tools of other programs, where requests find them instead of having them all.
    pub(crate) found: Option<&'a ServerTools>,
    /// Tokens of which sections with a share may take that part.
    pub(crate) window: u64,
}

/// A part of the prompt before the conversation.
struct Section {
    label: &'static str,
    stability: Stability,
    /// The part of the window that it takes at most; the others take what they are.
    share: Share,
    render: Render,
}

/// Renders the blocks of a section in at most so many tokens.
type Render = fn(&PromptFacts<'_>, u64) -> Blocks;

/// The parts of each block of a section.
type Blocks = Vec<Vec<Part>>;

/// What of the window a section may take.
#[derive(Clone, Copy)]
enum Share {
    Whole,
    /// One of so many parts.
    OneIn(u64),
}

/// The runtime's rules, the same for every agent of one build that lasts, and for every run that does not; then those of
/// its operator.
const SYSTEM: [Section; 6] = [
    section("tool_guidance", Stable, Whole, |_, _| rendered(policy::TOOL_GUIDANCE.into())),
    section("turn_mode", Stable, Whole, |facts, _| rendered(turn_mode(facts.agent).into())),
    section("agent_instructions", AgentScoped, Whole, |facts, _| instructions(facts, SourceScope::Agent)),
    section("workspace_instructions", AgentScoped, Whole, |facts, _| {
        instructions(facts, SourceScope::Workspace)
    }),
    section("skills_catalogue", AgentScoped, Whole, |facts, _| skills_catalogue(facts.standing)),
    section("tool_servers", AgentScoped, Whole, |facts, _| tool_servers(facts.found)),
];

/// What the agent is, has and did. What lasts comes first, and of that, what agents of one folder share.
const CONTEXT: [Section; 8] = [
    section("execution_environment", AgentScoped, Whole, |facts, _| rendered(environment(facts.standing))),
    section("agent", AgentScoped, Whole, |facts, _| rendered(about(facts))),
    section("curated_memory", TurnScoped, Whole, |facts, _| curated_memory(facts)),
    section("earlier_episodes", TurnScoped, OneIn(Window::DIGESTS), earlier_episodes),
    section("working_memory", TurnScoped, Whole, |facts, _| working_memory(facts.head)),
    section("active_skills", TurnScoped, Whole, |facts, _| active_skills(facts.head)),
    section("work_items", TurnScoped, Whole, |facts, _| work_items(facts.head)),
    section("tasks", TurnScoped, Whole, |facts, _| tasks(facts.head)),
];

const fn section(label: &'static str, stability: Stability, share: Share, render: Render) -> Section {
    Section { label, stability, share, render }
}

/// Everything before the conversation.
pub(crate) fn frame(facts: &PromptFacts<'_>) -> PromptFrame {
    let (system_blocks, context_blocks) = (blocks(&SYSTEM, facts), blocks(&CONTEXT, facts));
    let cache = cache(facts, &system_blocks, &context_blocks);
    PromptFrame { system_prompt: worded(policy::POLICY.into()), system_blocks, context_blocks, cache }
}

/// The blocks of a table; a provider may cache up to the last one that outlives a turn.
fn blocks(sections: &[Section], facts: &PromptFacts<'_>) -> Vec<PromptBlock> {
    let mut blocks = Vec::new();
    for Section { label, stability, share, render } in sections {
        let tokens = match share {
            Whole => u64::MAX,
            OneIn(parts) => facts.window / parts,
        };
        blocks.extend(render(facts, tokens).into_iter().map(|parts| PromptBlock {
            label: (*label).to_string(),
            parts: worded_parts(parts),
            stability: *stability,
            cache_breakpoint: false,
        }));
    }
    let lasts = |block: &&mut PromptBlock| block.stability != TurnScoped;
    if let Some(last) = blocks.iter_mut().rev().find(lasts) {
        last.cache_breakpoint = true;
    }
    blocks
}

fn rendered(text: String) -> Blocks {
    alloc::vec![alloc::vec![Part::Rendered(text)]]
}

fn instructions(facts: &PromptFacts<'_>, scope: SourceScope) -> Blocks {
    let shown = |source: &&InstructionSource| source.scope == scope && !source.content.is_empty();
    let sources = facts.standing.context.sources.iter().filter(shown);
    let one = |source: &InstructionSource| {
        let by = source.imported_by.as_ref();
        let by = by.map_or_else(String::new, |by| format!(", imported by {}", line(by, PATH_BYTES)));
        let heading = format!("Instructions from {}{by}:\n", line(&source.path, PATH_BYTES));
        alloc::vec![Part::Rendered(heading), Part::Given(source.content.clone())]
    };
    sources.map(one).collect()
}

/// What the agent wrote down for itself: fenced and never in the system role, since anybody's words may have got there.
fn curated_memory(facts: &PromptFacts<'_>) -> Blocks {
    let shown =
        |source: &&InstructionSource| source.scope == SourceScope::Memory && !source.content.is_empty();
    let mut parts = Vec::new();
    for source in facts.standing.context.sources.iter().filter(shown) {
        parts.push(Part::Rendered(format!("{}:\n", line(&source.path, PATH_BYTES))));
        parts.push(Part::Given(source.content.clone()));
        parts.push(Part::Rendered("\n".into()));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let heading =
        "[your own memory files; what you noted earlier, and no instruction of an operator]\n".into();
    alloc::vec![alloc::vec![Part::Rendered(heading), facts.head.fence.quoted(Place::MemoryFiles, parts)]]
}

/// Where a provider has refused a request as too long, it takes a quarter of its share.
fn earlier_episodes(facts: &PromptFacts<'_>, tokens: u64) -> Blocks {
    let tokens = if facts.head.tight { tokens / 4 } else { tokens };
    let parts = digests(&facts.head.digests, facts.head.fence, tokens);
    if parts.is_empty() { Vec::new() } else { alloc::vec![parts] }
}

fn working_memory(Head { memory, memory_revision, fence, .. }: &Head) -> Blocks {
    let shown = memory.as_deref().map(memory::parts).filter(|parts| !parts.is_empty());
    let one = |parts| {
        let heading = "[your working memory as it stood when this part of the conversation began]\n".into();
        let quoted = fence.quoted(Place::Memory(*memory_revision), parts);
        alloc::vec![Part::Rendered(heading), quoted]
    };
    shown.map(one).into_iter().collect()
}

fn skills_catalogue(standing: &Standing) -> Blocks {
    standing.skills.as_deref().map(skills::catalogue).into_iter().collect()
}

/// Who has the tools that are found: the words of their servers stand in results alone.
fn tool_servers(found: Option<&ServerTools>) -> Blocks {
    let Some(servers) = found else { return Vec::new() };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in &servers.tools {
        *counts.entry(&tool.server).or_default() += 1;
    }
    let one = |(server, count): (&str, usize)| format!("- {}: {count} tools\n", line(server, NAME_BYTES));
    let heading = "Other programs have tools for you: find them with ToolSearch, call them with ToolCall.\n";
    rendered(core::iter::once(heading.into()).chain(counts.into_iter().map(one)).collect())
}

fn active_skills(Head { skills: active, .. }: &Head) -> Blocks {
    if active.is_empty() { Vec::new() } else { alloc::vec![skills::active(active)] }
}

fn work_items(Head { work, fence, .. }: &Head) -> Blocks {
    let one = |work| {
        let shown = render(work);
        let heading =
            "[your work items and waits as they stood when this part of the conversation began]\n".into();
        let quoted = fence.quoted(fence.work(&shown), alloc::vec![Part::Rendered(shown)]);
        alloc::vec![Part::Rendered(heading), quoted]
    };
    work.as_deref().map(one).into_iter().collect()
}

fn tasks(Head { tasks, fence, .. }: &Head) -> Blocks {
    if tasks.is_empty() {
        return Vec::new();
    }
    let one = |task: &OpenTask| {
        format!("{} ({}, since {}): {}\n", task.id, task.kind, task.since, line(&task.summary, PATH_BYTES))
    };
    let shown: String = tasks.iter().map(one).collect();
    let heading = "[your tasks that went on when this part of the conversation began]\n".into();
    let quoted = fence.quoted(fence.work(&shown), alloc::vec![Part::Rendered(shown)]);
    alloc::vec![alloc::vec![Part::Rendered(heading), quoted]]
}

fn turn_mode(agent: &Agent) -> &'static str {
    if agent.spec.is_temporary() { policy::TEMPORARY } else { policy::LASTING }
}

fn about(PromptFacts { agent, head, .. }: &PromptFacts<'_>) -> String {
    let supervisor = agent.spec.supervisor.as_ref();
    let supervisor =
        supervisor.map_or_else(String::new, |it| format!(" Your supervisor is {}.", it.agent_id));
    let today = head.began_at.map_or_else(String::new, |at| {
        format!("\nDate when this part of the conversation began: {} (UTC)", at.date())
    });
    format!(
        "You are the agent {} ({}, {}), created {}.{supervisor}{today}",
        agent.id, agent.spec.kind, agent.spec.visibility, agent.created_at
    )
}

pub(crate) fn environment(standing: &Standing) -> String {
    let execution = &standing.context.execution;
    let path = |path: &str| line(path, PATH_BYTES);
    let changed = execution.work_tree.map_or_else(String::new, |files| format!(", {files}"));
    let git =
        execution.git.as_ref().map(|git| format!("Git: {}{changed}", line(&git.to_string(), NAME_BYTES)));
    let programs = &execution.programs;
    let programs =
        (!programs.is_empty()).then(|| format!("Programs that are installed: {}", programs.join(", ")));
    let lines = [
        Some(format!("Execution root: {}", path(&execution.binding.execution_root))),
        Some(format!("Current folder: {}", path(&execution.binding.cwd))),
        Some(format!("Workspace: {}", path(&execution.binding.workspace_anchor))),
        git,
        Some(format!("Platform: {}, shell {}", execution.platform, execution.shell)),
        programs,
        Some(execution.boundaries()),
        Some(format!("Agent home: {}", path(&execution.agent_home))),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    lines.join("\n") + if standing.external_trigger { policy::EXTERNAL_TRIGGER } else { "" }
}

/// The whole text, unless it is long.
pub(crate) fn shortened(text: &Text, chars: u32) -> Part {
    if text.bytes() <= chars.into() {
        Part::Given(text.clone())
    } else {
        Part::Excerpt { text: text.clone(), chars }
    }
}

/// The key covers the runtime's rules, instruction files and whose they are, the fingerprint everything. A provider keeps
/// what has the same key together: temporary runs of one folder share theirs, as they share the beginning of their requests.
fn cache(facts: &PromptFacts<'_>, system: &[PromptBlock], context: &[PromptBlock]) -> PromptCache {
    const POLICY: Fnv = Fnv::START.piece(policy::POLICY.as_bytes());
    let hash = |start: Fnv, block: &PromptBlock| block.parts.iter().fold(start, hashed);
    let agent = facts.agent;
    let whose = if agent.spec.is_temporary() {
        facts.standing.context.execution.binding.execution_root.as_str()
    } else {
        agent.id.as_str()
    };
    let key = system.iter().fold(POLICY, hash).piece(whose.as_bytes());
    let all = context.iter().fold(key.piece(agent.id.as_str().as_bytes()), hash);
    PromptCache {
        agent_id: agent.id.clone(),
        prompt_cache_key: format!("holon-{:016x}", key.0),
        context_fingerprint: format!("{:016x}", all.0),
        working_memory_revision: facts.head.memory_revision,
        compression_epoch: facts.head.episode,
    }
}

fn hashed(hash: Fnv, part: &Part) -> Fnv {
    match part {
        Part::Rendered(text) => hash.piece(text.as_bytes()),
        Part::Given(text) => hash.text(text),
        Part::Image(shown) => hash.text(&shown.image.data),
        Part::Excerpt { text, chars } => hash.text(text).piece(&chars.to_le_bytes()),
        // The tag says nothing, and is another one in each turn.
        Part::Quoted { parts, .. } => parts.iter().fold(hash.piece(b"quoted"), hashed),
    }
}
