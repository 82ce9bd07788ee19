//! From a call to what its supervisor is shown to execute.

use std::path::{Path, PathBuf};

use holon_core::effect::ToolCall;
use holon_core::tool::{BatchItem, ExecCommand, ExecCommandBatch, Tool, arguments};
use holon_facts::call::DuplicatePolicy;
use holon_facts::ids::TaskId;
use holon_facts::outcome::CommandSpec;
use holon_facts::receipt::ToolErrorKind;
use holon_facts::{AgentId, Millis};
use holon_platform::open_files;
use holon_supervise::protocol::{Input, Item, LOG_BYTES, Plan, Refused};
use holon_text::{Texts, hash};

use super::super::root::Root;
use super::run_directory::outputs;
use super::{Refusal, Settings};

const MIN_TOKENS: u64 = 64;
pub(in crate::perform::tool) const CHARACTERS_PER_TOKEN: u64 = 4;

/// What the two tools have in common.
struct Asked<'a> {
    cmd: &'a str,
    workdir: Option<&'a str>,
    shell: Option<&'a str>,
    login: bool,
    tty: bool,
    input: Input,
    /// Time that was asked for; none for a command that goes on as a task when its call has yielded.
    window_ms: Option<u64>,
    tokens: u64,
    log: PathBuf,
}

/// Judges the call.
pub(super) fn plan(
    texts: &Texts,
    settings: &Settings,
    agent: &AgentId,
    task: TaskId,
    call: &ToolCall,
    arguments: &str,
) -> Result<(Plan, CommandSpec), Refusal> {
    let confine = settings.policy(agent, &call.execution);
    let root = Root::open(&call.execution.execution_root, confine.is_some())?;
    let outputs = outputs(settings, agent);
    let (items, stop_on_error, reuse_running, yields) = if call.tool == Tool::ExecCommandBatch {
        let asked: ExecCommandBatch = arguments::parse(arguments)?;
        let share = asked.items.len() as u64;
        let items = asked.items.iter().zip(1..).map(|(one, number)| {
            let tokens = budget(settings, call, one.max_output_tokens, share);
            let asked = of_batch(one, tokens, outputs.join(format!("{task}.{number}.log")));
            // One that can't be run is a result like another: those beside it are run.
            item(settings, call, &root, &asked).unwrap_or_else(|refusal| refused(&asked, &refusal))
        });
        (items.collect::<Vec<Item>>(), asked.stop_on_error, false, None)
    } else {
        let asked: ExecCommand = arguments::parse(arguments)?;
        let tokens = budget(settings, call, asked.max_output_tokens, 1);
        let reuse = asked.duplicate_policy == DuplicatePolicy::ReuseRunning;
        let yields = Millis(asked.yield_time_ms);
        let asked = single(&asked, tokens, outputs.join(format!("{task}.log")));
        (vec![item(settings, call, &root, &asked)?], false, reuse, Some(yields))
    };
    // Together they have a bound only where each of them has one.
    let windows: Option<u64> = items.iter().map(|item| item.window_ms).sum();
    let command = command(texts, &items, reuse_running, yields, &outputs.join(format!("{task}.log")));
    let plan = Plan {
        tool: call.tool.into(),
        items,
        stop_on_error,
        total_ms: windows.map(|windows| windows.min(call.timeout.0)),
        grace_ms: settings.commands.grace.0,
        tied: settings.tied,
        lease: settings.lease.clone(),
        open_files: open_files::given(),
        confine,
    };
    Ok((plan, command))
}

/// What the core is told of it.
fn command(
    texts: &Texts,
    items: &[Item],
    reuse_running: bool,
    yield_time_ms: Option<Millis>,
    log: &Path,
) -> CommandSpec {
    let cmd: Vec<&str> = items.iter().map(|item| item.cmd.as_str()).collect();
    let cmd = texts.redact(&cmd.join("\n"));
    let first = items.first();
    let shown = |path: Option<&PathBuf>| path.map(|path| path.display().to_string()).unwrap_or_default();
    CommandSpec {
        cmd_digest: hash(cmd.as_bytes()),
        cmd: texts.take(&cmd),
        workdir: shown(first.map(|item| &item.folder)),
        shell: shown(first.map(|item| &item.shell)),
        login: first.is_some_and(|item| item.login),
        tty: first.is_some_and(|item| item.tty),
        accepts_input: first.is_some_and(|item| item.input == Input::Pipe),
        reuse_running,
        yield_time_ms,
        output_path: log.display().to_string(),
    }
}

fn single(asked: &ExecCommand, tokens: u64, log: PathBuf) -> Asked<'_> {
    let ExecCommand { cmd, workdir, shell, login, tty, .. } = asked;
    Asked {
        cmd,
        workdir: workdir.as_deref(),
        shell: shell.as_deref(),
        login: *login,
        tty: *tty,
        input: if asked.takes_input() { Input::Pipe } else { Input::None },
        window_ms: None,
        tokens,
        log,
    }
}

fn of_batch(asked: &BatchItem, tokens: u64, log: PathBuf) -> Asked<'_> {
    let BatchItem { cmd, workdir, shell, login, yield_time_ms, .. } = asked;
    Asked {
        cmd,
        workdir: workdir.as_deref(),
        shell: shell.as_deref(),
        login: *login,
        tty: false,
        input: Input::None,
        window_ms: Some(*yield_time_ms),
        tokens,
        log,
    }
}

fn item(settings: &Settings, call: &ToolCall, root: &Root, asked: &Asked<'_>) -> Result<Item, Refusal> {
    let folder = root.folder(&call.execution.cwd, asked.workdir)?;
    if folder.to_str().is_none() {
        let message = format!("the name of the folder {} is not UTF-8", folder.display());
        return Err(Refusal::new(ToolErrorKind::CommandSpawnFailed, message).field("workdir"));
    }
    let shell = settings.environment.shell(asked.shell)?;
    Ok(Item {
        cmd: asked.cmd.to_owned(),
        shell,
        login: asked.login,
        tty: asked.tty,
        folder,
        window_ms: asked.window_ms.map(|window| window.min(call.timeout.0)),
        asked_ms: asked.window_ms,
        input: asked.input,
        budget: usize::try_from(asked.tokens * CHARACTERS_PER_TOKEN).unwrap_or(usize::MAX),
        log: asked.log.clone(),
        log_bytes: settings.commands.log_bytes,
        refused: None,
    })
}

fn refused(asked: &Asked<'_>, refusal: &Refusal) -> Item {
    Item {
        cmd: asked.cmd.to_owned(),
        shell: PathBuf::new(),
        login: asked.login,
        tty: false,
        folder: PathBuf::new(),
        window_ms: Some(0),
        asked_ms: asked.window_ms,
        input: Input::None,
        budget: 0,
        log: asked.log.clone(),
        log_bytes: LOG_BYTES,
        refused: Some(Refused { kind: refusal.0.kind, message: refusal.0.message.clone() }),
    }
}

/// The tokens that one of so many commands may show: all of them together stay within the call's bound,
/// and within what the model's window has left.
fn budget(settings: &Settings, call: &ToolCall, asked: Option<u64>, share: u64) -> u64 {
    let (default, most) = (settings.commands.default_tokens, settings.commands.max_tokens);
    let most = (most.min(call.output_tokens) / share).max(MIN_TOKENS);
    asked.unwrap_or(default / share).clamp(MIN_TOKENS, most)
}
