//! Scripted-random tools, and the reading of context files.

use holon_facts::execution::{ExecutionSnapshot, GitHead, WorkTree};
use holon_facts::image::Image;
use holon_facts::outcome::{
    Certainty, CommandSpec, InstructionSource, LoadedContext, OpFailure, Outcome, SourceScope,
    SupervisorIdentity, ToolOutcome,
};
use holon_facts::receipt::{DETAIL_CHARS, Details, Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, ContentId, Millis, Text};

use crate::performer::{Circumstances, Deliveries, image};
use crate::{servers, skills};

/// The home of every agent.
const HOME: &str = "/home";

/// The first folder of a simulated agent, which no other agent uses.
pub fn workspace_of(agent: &AgentId) -> ExecutionBinding {
    let root = format!("/w/{agent}");
    ExecutionBinding::project(root.clone(), root)
}

/// A supervisor that comes up, and the command that it reports; older supervisors reported none.
#[derive(Debug, Clone)]
pub struct Up {
    pub supervisor: SupervisorIdentity,
    pub command: Option<CommandSpec>,
}

impl Up {
    pub fn prepared(self) -> Outcome {
        Outcome::Prepared { supervisor: self.supervisor, command: self.command.map(Box::new) }
    }
}

/// Starts a supervisor; one that fails reports that, breaks down, or never answers.
pub fn prepare(here: &mut Circumstances<'_>, up: Up) -> Deliveries {
    let after = u64::from(here.below("latency", 5_000));
    if !here.fault("fails", here.faults.supervisor_fails) {
        return here.deliver(after, up.prepared());
    }
    let failure = OpFailure { certainty: Certainty::Definite, message: Text::short("no more processes") };
    match here.below("how", 3) {
        0 => Vec::new(),
        1 => vec![(after, Outcome::Failed { failure })],
        _ => {
            let error = ToolError::new(ToolErrorKind::CommandSpawnFailed, "there is no such shell");
            let outcome = ToolOutcome { receipt: Receipt::failure(error), duration_ms: Millis(0), end: None };
            vec![(after, Outcome::Tool { outcome })]
        }
    }
}

/// Executes one call that needs no supervisor.
pub fn call(here: &mut Circumstances<'_>) -> Deliveries {
    if here.fault("silent", here.faults.tool_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 3_000_000));
    let receipt = if here.fault("fails", here.faults.tool_fails) {
        failed_receipt(here)
    } else {
        let content = if here.below("same", 2) == 0 { Text::short("ok") } else { here.text("output") };
        let receipt = Receipt::success(content, ToolFacts { exit_status: Some(0), ..ToolFacts::default() });
        receipt.showing(images(here))
    };
    let outcome = ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None };
    here.deliver(after, Outcome::Tool { outcome })
}

/// Searches the agent's memory. Results depend on an index that lags, is rebuilt, or is gone.
pub fn look(here: &mut Circumstances<'_>) -> Deliveries {
    if here.fault("silent", here.faults.tool_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 300_000));
    let receipt = match here.below("index", 4) {
        0 => Receipt::failure(ToolError::new(ToolErrorKind::ToolExecutionFailed, "the index is damaged")),
        1 => {
            Receipt::success(Text::short(r#"{"results":[],"index":"index_building"}"#), ToolFacts::default())
        }
        _ => Receipt::success(here.text("remembered"), ToolFacts::default()),
    };
    let outcome = ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None };
    here.deliver(after, Outcome::Tool { outcome })
}

/// Images of a result, in worlds where models read images: few large ones fill a request.
fn images(here: &mut Circumstances<'_>) -> Vec<Image> {
    if here.faults.image_calls == 0 {
        return Vec::new();
    }
    let count = here.pick("images", &[0, 1, 1, 2, 7]).unwrap_or_default();
    let bytes = if count > 2 { 100 } else { here.pick("image", &[100, 2_000_000, 5_000_000]).unwrap_or(1) };
    (0..count).map(|number| image(here.site.ordinal.wrapping_mul(8).wrapping_add(number), bytes)).collect()
}

/// The receipt of a failure, of any kind.
pub(crate) fn failed_receipt(here: &mut Circumstances<'_>) -> Receipt {
    let kind = here.pick("error", ToolErrorKind::ALL).unwrap_or(ToolErrorKind::ToolExecutionFailed);
    Receipt::failure(failure(here, kind))
}

/// An error with any optional fields.
fn failure(here: &mut Circumstances<'_>, kind: ToolErrorKind) -> ToolError {
    let mut error = ToolError::new(kind, "it did not work");
    if here.below("hint", 3) == 0 {
        error = error.hint("do something else");
    }
    if here.below("long error", 4) == 0 {
        error.message = here.text("error text");
    }
    if here.below("field", 4) == 0 {
        error.field = Some("cmd".into());
    }
    let long = "x".repeat(DETAIL_CHARS + 1);
    let details = [None, None, Some(r#"{"exit_status":1}"#), Some("no JSON"), Some(long.as_str())];
    let details = here.pick("details", &details).flatten();
    error.details = details.map(|json| Details::new(json, || ContentId([7; 32])));
    error
}

/// Reads instruction files and the environment, and looks for skills.
pub fn load_context(here: &mut Circumstances<'_>, untrusted: bool, work_tree: bool) -> Deliveries {
    let after = u64::from(here.below("latency", 20_000));
    if here.fault("fails", here.faults.context_fails) {
        if here.below("silent", 3) == 0 {
            return Vec::new();
        }
        let failure = OpFailure { certainty: Certainty::Definite, message: Text::short("permission denied") };
        return vec![(after, Outcome::Failed { failure })];
    }
    let mut context = context(here.text("instructions"), Millis(after / 1_000));
    context.sources.extend(notes(here));
    context.skills = skills::found(here, untrusted);
    context.tools = servers::found(here);
    context.execution.work_tree = work_tree.then_some(WorkTree::Changed { files: after / 1_000 % 5 });
    here.deliver(after, Outcome::Context { context })
}

/// What some agents have noted for themselves.
fn notes(here: &mut Circumstances<'_>) -> Vec<InstructionSource> {
    let files = [&[][..], &[], &[], &["self.md"], &["operator.md"], &["self.md", "operator.md"]];
    let files = here.pick("notes", &files).unwrap_or_default();
    let note = |file: &&str| InstructionSource {
        scope: SourceScope::Memory,
        path: format!("{HOME}/memory/{file}"),
        content: here.text("note"),
        content_id: None,
        imported_by: None,
    };
    files.iter().map(note).collect()
}

/// A loaded context with these instructions.
pub fn context(content: Text, context_build_ms: Millis) -> LoadedContext {
    let source = InstructionSource {
        scope: SourceScope::Workspace,
        path: "AGENTS.md".into(),
        content,
        content_id: None,
        imported_by: None,
    };
    // Commands may switch branches at any time.
    let branch = if context_build_ms.0.is_multiple_of(2) { "main" } else { "topic" };
    LoadedContext {
        sources: vec![source],
        execution: ExecutionSnapshot {
            external_trigger: true,
            git: Some(GitHead::Branch { name: branch.into() }),
            programs: vec!["git".into()],
            ..ExecutionSnapshot::host_local(ExecutionBinding::project("/w", "/w"), HOME, "sim", "sh")
        },
        context_build_ms,
        skills: None,
        tools: None,
    }
}
