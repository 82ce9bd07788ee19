//! Commands of agents and operators: how long each runs and how it ends, and what is read from it and written to it.

use holon_core::agent::task::Task;
use holon_core::effect::{Look, TaskWork};
use holon_core::tool::arguments::parse;
use holon_core::tool::{ExecCommand, Tool};
use holon_facts::call::DuplicatePolicy;
use holon_facts::ids::TemplateId;
use holon_facts::outcome::{CommandEnd, CommandSpec, Outcome, ToolOutcome};
use holon_facts::receipt::{InputReceipt, Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::task::TaskStatus;
use holon_facts::template::{AgentTemplate, TemplateOrigin};
use holon_facts::{ContentId, Millis, Text};

use crate::choices::splitmix64;
use crate::performer::{Circumstances, Deliveries};
use crate::skills;
use crate::tools::failed_receipt;

/// Arguments of commands, by number; the first is the plain one.
const ARGUMENTS: [&str; 8] = [
    r#"{"cmd":"ls"}"#,
    r#"{"cmd":"make"}"#,
    r#"{"cmd":"make","yield_time_ms":1000}"#,
    r#"{"cmd":"serve","yield_time_ms":0}"#,
    r#"{"cmd":"cat","accepts_input":true,"yield_time_ms":500}"#,
    r#"{"cmd":"top","tty":true,"yield_time_ms":2000}"#,
    r#"{"cmd":"make","duplicate_policy":"start_new","yield_time_ms":1000}"#,
    r#"{"cmd":"ls","yield_time_ms":600000}"#,
];

/// How long a long command runs, in microseconds: from seconds to days.
const LONG: [u64; 6] = [4_000_000, 12_000_000, 60_000_000, 3_600_000_000, 30_000_000_000, 200_000_000_000];

/// The arguments of the command with a number.
pub fn arguments(number: u32) -> &'static str {
    ARGUMENTS[number as usize % ARGUMENTS.len()]
}

/// Number of commands to draw from.
pub fn count() -> u32 {
    u32::try_from(ARGUMENTS.len()).unwrap_or(u32::MAX)
}

/// The command that a supervisor executes for a call. A batch has windows of its own, and never becomes a task.
pub fn spec(tool: Tool, arguments: &Text) -> CommandSpec {
    let text = arguments.preview();
    let asked = parse::<ExecCommand>(text).ok().filter(|_| tool == Tool::ExecCommand);
    let word = text.bytes().fold(7, |word, byte| splitmix64(word ^ u64::from(byte)));
    let cmd = asked.as_ref().map_or_else(|| text.to_owned(), |asked| asked.cmd.clone());
    let named = cmd.bytes().fold(7, |word, byte| splitmix64(word ^ u64::from(byte)));
    let digest = if asked.is_some() { named } else { word };
    let mut id = [0; 32];
    id[..8].copy_from_slice(&digest.to_le_bytes());
    let tty = asked.as_ref().is_some_and(|asked| asked.tty);
    let reuse = |asked: &ExecCommand| asked.duplicate_policy == DuplicatePolicy::ReuseRunning;
    CommandSpec {
        cmd: Text::short(cmd),
        cmd_digest: ContentId(id),
        workdir: "/w".into(),
        shell: "bash".into(),
        login: asked.as_ref().is_none_or(|asked| asked.login),
        tty,
        accepts_input: asked.as_ref().is_some_and(ExecCommand::takes_input),
        reuse_running: asked.as_ref().is_some_and(reuse),
        yield_time_ms: asked.as_ref().map(|asked| Millis(asked.yield_time_ms)),
        output_path: "task-output/log".into(),
    }
}

/// The end of a command that nobody ends: its delay and outcome. None if no end is ever reported.
pub fn execute(here: &mut Circumstances<'_>) -> Deliveries {
    if here.fault("silent", here.faults.tool_silent) {
        return Vec::new();
    }
    let mut after = u64::from(here.below("latency", 3_000_000));
    if !here.quiet && here.below("lasts", 1_000) < here.faults.commands_last {
        after += here.pick("lasting", &LONG).unwrap_or(0);
    }
    let fails = here.fault("fails", here.faults.tool_fails);
    let (receipt, end) = if fails {
        let ends = [
            None,
            Some(CommandEnd::Exited),
            Some(CommandEnd::TimedOut),
            Some(CommandEnd::NotStarted),
            Some(CommandEnd::Unproven),
        ];
        (failed_receipt(here), here.pick("end", &ends).flatten())
    } else {
        let content = if here.below("same", 2) == 0 { Text::short("ok") } else { here.text("output") };
        let status = here.pick("status", &[0, 0, 0, 1, 2]);
        let skill_files = if status == Some(0) { skills::named(here) } else { Vec::new() };
        let facts = ToolFacts { exit_status: status, skill_files, ..ToolFacts::default() };
        (Receipt::success(content, facts), Some(CommandEnd::Exited))
    };
    let outcome = ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end };
    here.deliver(after, Outcome::Tool { outcome })
}

/// The outcome of a command that was ended, or whose end is unknown.
pub fn ended(end: CommandEnd) -> ToolOutcome {
    let receipt = Receipt::failure(ToolError::new(ToolErrorKind::Interrupted, "the command was ended"));
    ToolOutcome { receipt, duration_ms: Millis(1), end: Some(end) }
}

/// The status and exit status of the task of a command with this outcome.
pub fn status_of(outcome: &ToolOutcome) -> (TaskStatus, Option<i32>) {
    let ToolOutcome { receipt, end, .. } = outcome;
    let (failed, exit) = (receipt.error.is_some(), receipt.facts.exit_status);
    let status = match (*end, failed, exit) {
        (None, true, _) | (Some(CommandEnd::Unproven), _, _) => TaskStatus::Interrupted,
        (None | Some(CommandEnd::Exited), false, None | Some(0)) => TaskStatus::Completed,
        (None | Some(CommandEnd::Exited), _, _) => TaskStatus::Failed,
        (Some(CommandEnd::TimedOut | CommandEnd::NotStarted), _, _) => TaskStatus::Failed,
        (Some(CommandEnd::Stopped), _, _) => TaskStatus::Cancelled,
    };
    (status, exit)
}

/// The result of a call that shows tasks, or of a command that goes on as a task.
pub fn look(here: &mut Circumstances<'_>, work: &TaskWork) -> Deliveries {
    shown(here, |here| match work {
        TaskWork::Promote { task, .. } => Text::short(format!("it goes on as {task}")),
        TaskWork::AlreadyRunning { task } | TaskWork::Stop { task, .. } => stands(task),
        TaskWork::Output { .. } | TaskWork::Input { .. } => here.text("output"),
    })
}

fn stands(task: &Task) -> Text {
    Text::short(format!("{} is {}", task.id, task.status))
}

/// The results of calls that only look: one of them may fail, and all of them may never come.
pub fn looked(here: &mut Circumstances<'_>, looks: &[Look]) -> Deliveries {
    if here.fault("silent", here.faults.task_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 40_000));
    let most = u32::try_from(looks.len()).unwrap_or(u32::MAX).max(1);
    let fails = here.fault("fails", here.faults.task_fails).then(|| here.below("which", most) as usize);
    let mut outcomes = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        let content = match look {
            Look::Work { .. } | Look::Agent { .. } if at == 0 => here.text("work"),
            Look::Work { .. } | Look::Agent { .. } => Text::short(format!("look {at}")),
            Look::Task { task, .. } => stands(task),
            Look::Tasks { tasks } => Text::short(format!("{} tasks", tasks.len())),
        };
        let receipt = if fails == Some(at) {
            failed_receipt(here)
        } else {
            Receipt::success(content, ToolFacts::default())
        };
        outcomes.push(ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None });
    }
    here.deliver(after, Outcome::Looked { outcomes })
}

/// The result of a call about work items.
pub fn show(here: &mut Circumstances<'_>) -> Deliveries {
    shown(here, |here| here.text("work"))
}

/// Loads a template; some do not exist.
pub fn prepare_agent(here: &mut Circumstances<'_>, template: Option<&TemplateId>) -> Deliveries {
    let template = template.map(|id| {
        let hash = ContentId([u8::try_from(id.as_str().len()).unwrap_or(u8::MAX); 32]);
        Box::new(AgentTemplate { selector: id.to_string(), origin: TemplateOrigin::User, commit: None, hash })
    });
    let facts = ToolFacts { template, ..ToolFacts::default() };
    received(here, |_| Receipt::success(Text::default(), facts))
}

/// The outcome of a performer that only reads: it may fail, or never answer.
fn shown(here: &mut Circumstances<'_>, content: impl FnOnce(&mut Circumstances<'_>) -> Text) -> Deliveries {
    received(here, |here| Receipt::success(content(here), ToolFacts::default()))
}

fn received(
    here: &mut Circumstances<'_>,
    receipt: impl FnOnce(&mut Circumstances<'_>) -> Receipt,
) -> Deliveries {
    if here.fault("silent", here.faults.task_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 40_000));
    let receipt =
        if here.fault("fails", here.faults.task_fails) { failed_receipt(here) } else { receipt(here) };
    let outcome = ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None };
    here.deliver(after, Outcome::Tool { outcome })
}

/// The outcome of writing to a command, as its supervisor reports it; none if the command has ended.
pub fn write(here: &mut Circumstances<'_>, spec: Option<&CommandSpec>, bytes: u64) -> Deliveries {
    if here.fault("silent", here.faults.task_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 40_000));
    let outcome = |receipt| Outcome::Tool {
        outcome: ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None },
    };
    if here.fault("fails", here.faults.task_fails) {
        let receipt = failed_receipt(here);
        return here.deliver(after, outcome(receipt));
    }
    let input_target = spec.and_then(CommandSpec::input_target);
    let (bytes_written, problem) = match (input_target, here.below("taken", 4)) {
        (None, _) => (0, Some("it takes no input".into())),
        (Some(_), 0) => (0, Some("its input is closed".into())),
        (Some(_), 1) => (bytes / 2, Some("it reads too slowly".into())),
        (Some(_), _) => (bytes, None),
    };
    let accepted_input = bytes_written > 0;
    let input = Some(InputReceipt { accepted_input, input_target, bytes_written, problem });
    let facts = ToolFacts { input, ..ToolFacts::default() };
    here.deliver(after, outcome(Receipt::success(Text::short("written"), facts)))
}
