//! What performers say in tests.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::content::{Content, ContentId, Text};
use holon_facts::execution::ExecutionSnapshot;
use holon_facts::model::{
    AnswerBlock, AttemptFailure, FailureKind, ModelAnswer, ProposedCall, StopReason, Timing,
};
use holon_facts::outcome::{
    CommandEnd, CommandSpec, InstructionSource, LoadedContext, Outcome, SourceScope, SupervisorIdentity,
    ToolOutcome,
};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::skill::{GivenSkill, Skill, SkillCatalogue, SkillScope};
use holon_facts::template::{AgentTemplate, TemplateOrigin};
use holon_facts::time::Millis;
use holon_facts::tool::{ServerTool, ServerTools};
use holon_facts::usage::TokenUsage;

use super::binding;

pub(crate) fn context() -> Outcome {
    let execution = ExecutionSnapshot {
        external_trigger: true,
        ..ExecutionSnapshot::host_local(binding(), "/h", "linux", "bash")
    };
    Outcome::Context {
        context: LoadedContext {
            sources: Vec::new(),
            execution,
            context_build_ms: Millis(1),
            skills: None,
            tools: None,
        },
    }
}

/// A template was taken in.
pub(crate) fn template(id: &str) -> Outcome {
    let template = AgentTemplate {
        selector: id.into(),
        origin: TemplateOrigin::BuiltIn,
        commit: None,
        hash: ContentId([7; 32]),
    };
    let facts = ToolFacts { template: Some(Box::new(template)), ..ToolFacts::default() };
    let receipt = Receipt::success(Text::default(), facts);
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(1), end: None } }
}

pub(crate) fn answers(text: &str) -> Outcome {
    answer(alloc::vec![AnswerBlock::Text { text: Text::short(text) }], StopReason::EndTurn)
}

/// An answer with these calls: id, tool, arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Outcome {
    let call = |&(id, tool, arguments): &(&str, &str, &str)| {
        AnswerBlock::ToolCall(ProposedCall {
            call_id: id.into(),
            tool_name: tool.into(),
            arguments: Text::short(arguments),
            inline: (arguments.len() > holon_facts::content::INLINE_BYTES).then(|| arguments.into()),
        })
    };
    answer(calls.iter().map(call).collect(), StopReason::ToolUse)
}

pub(crate) fn answer(blocks: Vec<AnswerBlock>, stop: StopReason) -> Outcome {
    let usage = TokenUsage { input_tokens: 10, output_tokens: 5, total_tokens: 15, cached_input_tokens: 0 };
    Outcome::Answer {
        answer: ModelAnswer {
            blocks,
            stop,
            usage,
            timing: Timing::default(),
            joined: None,
            delivery: None,
            stored: None,
        },
    }
}

pub(crate) fn fails(kind: FailureKind) -> Outcome {
    Outcome::AttemptFailed {
        failure: AttemptFailure {
            kind,
            message: Text::short("it failed"),
            retry_after_ms: None,
            resets_at: None,
            usage: None,
            timing: Timing::default(),
            diagnostics: None,
            delivery: None,
        },
    }
}

pub(crate) fn tool_answers(text: &str) -> Outcome {
    tool_gives(Text::short(text))
}

pub(crate) fn tool_gives(text: Text) -> Outcome {
    let receipt = Receipt::success(text, ToolFacts::default());
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(3), end: None } }
}

/// Calls that only looked are shown these.
pub(crate) fn looked<'a>(texts: impl IntoIterator<Item = &'a str>) -> Outcome {
    let outcome = |text| {
        let receipt = Receipt::success(Text::short(text), ToolFacts::default());
        ToolOutcome { receipt, duration_ms: Millis(1), end: None }
    };
    Outcome::Looked { outcomes: texts.into_iter().map(outcome).collect() }
}

/// A command has ended like this, with that status where it has one.
pub(crate) fn command_ends(end: CommandEnd, exit_status: Option<i32>) -> Outcome {
    let receipt = match end {
        CommandEnd::Exited => {
            Receipt::success(Text::short("its output"), ToolFacts { exit_status, ..ToolFacts::default() })
        }
        CommandEnd::Stopped | CommandEnd::TimedOut | CommandEnd::NotStarted | CommandEnd::Unproven => {
            Receipt::failure(ToolError::new(ToolErrorKind::Interrupted, "it was ended"))
        }
    };
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(3), end: Some(end) } }
}

/// The command of a name, as a supervisor would execute it.
pub(crate) fn command(name: &str) -> CommandSpec {
    let mut digest = [0; 32];
    digest.iter_mut().zip(name.bytes()).for_each(|(at, byte)| *at = byte);
    CommandSpec {
        cmd: Text::short(name),
        cmd_digest: ContentId(digest),
        workdir: "/w".into(),
        shell: "/bin/sh".into(),
        login: true,
        tty: false,
        accepts_input: true,
        reuse_running: true,
        yield_time_ms: Some(Millis::seconds(10)),
        output_path: "/h/task-output/x.log".into(),
    }
}

/// A stored text of so many tokens.
pub(crate) fn long(number: u64, tokens: u64) -> Text {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_le_bytes());
    let (bytes, preview) = (tokens * 4, "…".into());
    Text::Stored(Content { id: ContentId(id), bytes, est_tokens: tokens, preview })
}

pub(crate) fn supervisor() -> SupervisorIdentity {
    SupervisorIdentity { pid: 4_711, started: 99, boot_id: "b".into(), socket: "run/c/x/socket".into() }
}

pub(crate) fn prepared() -> Outcome {
    prepared_for(command("make"))
}

pub(crate) fn prepared_for(command: CommandSpec) -> Outcome {
    Outcome::Prepared { supervisor: supervisor(), command: Some(command.into()) }
}

/// A skill of the agent, with a digest for each version.
pub(crate) fn skill(name: &str, version: u8) -> Skill {
    Skill {
        skill_id: alloc::format!("agent:{name}"),
        name: name.into(),
        scope: SkillScope::Agent,
        description: Text::short(alloc::format!("Version {version} of {name}")),
        entrypoint_path: alloc::format!("/skills/{name}/SKILL.md"),
        digest: ContentId([version; 32]),
    }
}

/// The same, as a prompt brings it along.
pub(crate) fn given(skill: &Skill) -> GivenSkill {
    let Skill { skill_id, name, scope, entrypoint_path, digest, .. } = skill.clone();
    let body = Text::short(alloc::format!("How {name} is done."));
    GivenSkill { skill_id, name, scope, entrypoint_path, digest, body }
}

/// What a turn begins with where these skills are there.
pub(crate) fn context_with(skills: &[Skill]) -> Outcome {
    let Outcome::Context { mut context } = context() else { panic!("a context") };
    let catalogue = SkillCatalogue { skills: skills.into(), ..SkillCatalogue::default() };
    context.skills = Some(Arc::new(catalogue));
    Outcome::Context { context }
}

/// What a turn begins with where programs have these tools, each named after its server.
pub(crate) fn context_offering(tools: &[&'static str]) -> Outcome {
    let Outcome::Context { mut context } = context() else { panic!("a context") };
    let tools = tools.iter().map(|name| {
        let (server, tool) = name.split_once("__").expect("a server");
        ServerTool { name: ToolName::new(name), server: server.into(), tool: tool.into(), est_tokens: 20 }
    });
    let tools: Vec<ServerTool> = tools.collect();
    let definitions = Text::short(format!("{} tools", tools.len()));
    context.tools = Some(Arc::new(ServerTools { tools, definitions, ..ServerTools::default() }));
    Outcome::Context { context }
}

/// A context with instructions, and with what the agent noted for itself.
pub(crate) fn context_with_notes() -> Outcome {
    let Outcome::Context { mut context } = context() else { panic!("a context") };
    let home = context.execution.agent_home.clone();
    let source = |scope, name: &str| InstructionSource {
        scope,
        path: format!("{home}/{name}"),
        content: Text::short(name),
        content_id: None,
        imported_by: None,
    };
    context.sources = alloc::vec![
        source(SourceScope::Agent, "AGENTS.md"),
        source(SourceScope::Memory, "memory/self.md"),
        source(SourceScope::Memory, "memory/operator.md"),
    ];
    Outcome::Context { context }
}

/// A command that succeeds and names these files of skills.
pub(crate) fn uses(files: &[&str]) -> Outcome {
    let skill_files = files.iter().map(|file| String::from(*file)).collect();
    let facts = ToolFacts { exit_status: Some(0), skill_files, ..ToolFacts::default() };
    let receipt = Receipt::success(Text::short("its output"), facts);
    let end = Some(CommandEnd::Exited);
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: Millis(3), end } }
}
