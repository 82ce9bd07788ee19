//! Tool calls of a round, one after the other, each with exactly one result.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::SpawnAgent;
use holon_facts::content::Text;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::{ToolExecuted, ToolExecutionFailed, ToolStarted};
use holon_facts::ids::{AgentId, RoundIndex, RunId, TaskId, TemplateId};
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{Receipt, SelfCall, ToolError, ToolErrorKind, ToolFacts, Verdict};
use holon_facts::time::Millis;

use crate::agent::turn::window::Window;
use crate::effect::{Look, TaskWork, ToolCall, Work, WorkView};
use crate::handler::task::tools::Retrieval;
use crate::handler::turn::{itself, look, request};
use crate::handler::workspace::occupancy;
use crate::handler::{servers, skills, task, work};
use crate::tool::Tool;
use crate::tx::{Opening, Tx};

/// What every call may say, however little room there is.
const FEWEST_TOKENS: u64 = 128;
/// Looking at a task, or writing to it, takes no longer than this.
pub(super) const WORK_TIMEOUT: Millis = Millis::seconds(60);

/// Beyond twice its time, a tool has so long to be stopped and to report.
const STOP_TIMEOUT: Millis = Millis::seconds(90);

/// How a call goes on that has begun.
pub(crate) enum Begun {
    /// A performer brings its result.
    Performed,
    /// It changes nothing: this is what it asks for.
    Looks(Box<Look>),
    Done(Box<Receipt>),
}

/// The first call of the last round that has no result yet.
struct OpenCall {
    run_id: RunId,
    round: RoundIndex,
    index: u32,
    call_id: String,
    tool_name: String,
    arguments: Text,
    verdict: Verdict,
}

fn first_open(tx: &Tx<'_>) -> Option<OpenCall> {
    let run = tx.agent().run.as_ref()?;
    let round = run.conversation.rounds.last()?;
    let at = round.results.len();
    let verdict = round.verdicts.get(at)?.clone();
    let (call_id, tool_name, arguments) = round.calls().nth(at)?;
    Some(OpenCall {
        run_id: run.id,
        round: run.conversation.last_round(),
        index: u32::try_from(at).unwrap_or(u32::MAX),
        call_id: call_id.into(),
        tool_name: tool_name.into(),
        arguments: arguments.clone(),
        verdict,
    })
}

/// Starts the next accepted call; refused ones before it get their results at once. False when every call
/// has its result.
pub(crate) fn call_next(tx: &mut Tx<'_>) -> bool {
    while let Some(call) = first_open(tx) {
        let run_id = call.run_id;
        match begin(tx, call) {
            Ok(Begun::Performed) => return true,
            Ok(Begun::Looks(look)) => {
                look::open(tx, run_id, *look);
                return true;
            }
            Ok(Begun::Done(receipt)) => record_result(tx, *receipt, Millis(0)),
            Err(error) => record_failure(tx, error, Millis(0)),
        }
    }
    false
}

/// Begins a call.
///
/// # Errors
/// The one result of a call that does nothing.
fn begin(tx: &mut Tx<'_>, call: OpenCall) -> Result<Begun, ToolError> {
    let name = match &call.verdict {
        Verdict::Refused(error) => return Err(error.clone()),
        Verdict::Accepted(name) => name.clone(),
        verdict @ (Verdict::OnWork(_) | Verdict::OnTask(_) | Verdict::OnSelf(_)) => {
            let verdict = verdict.clone();
            started(tx, &call);
            return own(tx, call.run_id, &verdict, call.arguments);
        }
    };
    started(tx, &call);
    match Tool::named(name.as_str()) {
        Some(tool) => execute(tx, call, tool)?,
        None => {
            let OpenCall { run_id, call_id, tool_name, arguments, .. } = call;
            let (found, output_tokens) = (tool_name != name.as_str(), output_tokens(tx));
            let asked = servers::Asked { run_id, call_id, arguments, found, output_tokens };
            servers::call(tx, name.as_str(), asked)?;
        }
    }
    Ok(Begun::Performed)
}

/// Begins a call that is decided here.
///
/// # Errors
/// The one result of a call that does nothing.
pub(super) fn own(
    tx: &mut Tx<'_>,
    run_id: RunId,
    verdict: &Verdict,
    arguments: Text,
) -> Result<Begun, ToolError> {
    match verdict {
        Verdict::OnWork(on) => work::tools::call(tx, run_id, on, arguments),
        Verdict::OnTask(on) => task::tools::call(tx, run_id, on, arguments),
        Verdict::OnSelf(on) => itself::call(tx, run_id, on),
        Verdict::Accepted(_) | Verdict::Refused(_) => Ok(Begun::Performed),
    }
}

fn started(tx: &mut Tx<'_>, call: &OpenCall) {
    let Some(tool) = call.verdict.tool() else { return };
    let OpenCall { run_id, round, index, ref call_id, .. } = *call;
    tx.record(ToolStarted { run_id, round, index, call_id: call_id.clone(), tool });
}

/// Lets a performer begin.
fn execute(tx: &mut Tx<'_>, call: OpenCall, tool: Tool) -> Result<(), ToolError> {
    let OpenCall { run_id, call_id, arguments, .. } = call;
    let execution = tx.agent().execution().clone();
    let root = execution.execution_root.clone();
    let (timeout, output_tokens) = (tx.env.config.turn.tool_timeout, output_tokens(tx));
    let run = Some(run_id);
    let call = ToolCall { run_id: run, call_id, tool, arguments, execution, output_tokens, timeout };
    if tool.is_command() {
        if let Some(error) = task::command::refusal(tx) {
            return Err(error);
        }
        occupancy::take(tx, &root, run)?;
        task::command::prepare(tx, run, call);
    } else {
        if tool.needs_folder() {
            occupancy::take(tx, &root, run)?;
        }
        let opening = Opening::of(run_id, OpKind::CallTool, patience(tx));
        tx.open(opening, Work::CallTool { call });
    }
    Ok(())
}

/// Lets a performer do what a call about tasks came to. With `shows`, its result is that of the ended task.
pub(crate) fn work(tx: &mut Tx<'_>, run_id: RunId, shows: Option<TaskId>, work: TaskWork) {
    let opening = Opening { task_id: shows, ..Opening::of(run_id, OpKind::CallTool, WORK_TIMEOUT) };
    tx.open(opening, Work::CallTask { work });
}

/// Lets a performer show work items to the call in progress.
pub(crate) fn show_work(tx: &mut Tx<'_>, run_id: RunId, mut view: WorkView) {
    view.output_tokens = output_tokens(tx);
    let opening = Opening::of(run_id, OpKind::CallTool, WORK_TIMEOUT);
    tx.open(opening, Work::CallWork { view });
}

/// Lets a performer take in the template of the agent that the call in progress begins, and claim its name.
pub(crate) fn prepare_agent(
    tx: &mut Tx<'_>,
    run_id: RunId,
    template: Option<TemplateId>,
    name: Option<AgentId>,
) {
    let opening = Opening::of(run_id, OpKind::CallTool, WORK_TIMEOUT);
    tx.open(opening, Work::PrepareAgent { template, name });
}

/// Shows the output of a task to the call in progress.
pub(crate) fn task_output(tx: &mut Tx<'_>, id: TaskId, retrieval: Retrieval) {
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    let Some(task) = tx.agent().tasks.get(id).cloned() else { return };
    let shows = task.status.is_terminal().then_some(id);
    work(tx, run_id, shows, TaskWork::Output { task: Box::new(task), retrieval });
}

/// What the call in progress may take of the model's window: an equal part of what its round has left.
pub(crate) fn output_tokens(tx: &mut Tx<'_>) -> u64 {
    let around = request::tokens_around(tx);
    let Some((run, round)) =
        tx.agent().run.as_ref().and_then(|run| Some((run, run.conversation.rounds.last()?)))
    else {
        return FEWEST_TOKENS;
    };
    let used: u64 = round.results.iter().flat_map(|receipt| receipt.texts()).map(Text::est_tokens).sum();
    let open = round.verdicts.len().saturating_sub(round.results.len()).max(1) as u64;
    let window = Window::of_chain(tx.env.config, &run.chain.models);
    let fixed = around.map_or(0, |around| request::fixed_tokens(run, around));
    let ratio = run.chain.models.iter().map(|model| tx.agent().requests.ratio(model)).max();
    let room = ratio.map_or(window, |ratio| window.estimated(ratio)).results(fixed);
    (room.saturating_sub(used) / open).max(FEWEST_TOKENS)
}

/// How long the core waits for the end of a call.
pub(crate) fn patience(tx: &Tx<'_>) -> Millis {
    Millis(tx.env.config.turn.tool_timeout.0.saturating_mul(2).saturating_add(STOP_TIMEOUT.0))
}

/// The task that the call in progress names.
pub(crate) fn open_task(tx: &Tx<'_>) -> Option<TaskId> {
    match first_open(tx)?.verdict {
        Verdict::OnTask(call) => call.task(),
        Verdict::Accepted(_) | Verdict::OnWork(_) | Verdict::OnSelf(_) | Verdict::Refused(_) => None,
    }
}

/// What the call in progress begins, where it begins an agent.
pub(crate) fn open_spawn(tx: &Tx<'_>) -> Option<SpawnAgent> {
    match first_open(tx)?.verdict {
        Verdict::OnSelf(SelfCall::Spawn(asked)) => Some(asked),
        Verdict::OnSelf(_)
        | Verdict::Accepted(_)
        | Verdict::OnWork(_)
        | Verdict::OnTask(_)
        | Verdict::Refused(_) => None,
    }
}

/// Whether the call in progress only looks.
pub(crate) fn looks(tx: &Tx<'_>) -> bool {
    first_open(tx).is_some_and(|call| look::looks(&call.verdict))
}

/// The arguments of the call in progress.
pub(crate) fn open_arguments(tx: &Tx<'_>) -> Option<Text> {
    first_open(tx).map(|call| call.arguments)
}

/// Records what a performer said of the call in progress.
pub(crate) fn record_result(tx: &mut Tx<'_>, mut receipt: Receipt, duration_ms: Millis) {
    if let Some(error) = receipt.error {
        record_failure(tx, error, duration_ms);
        return;
    }
    let Some(OpenCall { run_id, round, index, call_id, tool_name, .. }) = first_open(tx) else { return };
    // What other programs bring is evidence: it changes nothing but the conversation.
    if Tool::named(&tool_name).is_none_or(|tool| !tool.has_facts()) {
        receipt.facts = ToolFacts { truncated: receipt.facts.truncated, ..ToolFacts::default() };
        receipt.images.clear();
    }
    let receipt = Arc::new(receipt);
    let facts = receipt.clone();
    tx.record(ToolExecuted { run_id, round, index, call_id, tool_name, receipt, duration_ms });
    skills::used(tx, &facts.facts.skill_files);
}

/// Records what the calls came to that only looked, in their order.
pub(super) fn record_looked(tx: &mut Tx<'_>, outcomes: Vec<ToolOutcome>) {
    for (at, ToolOutcome { mut receipt, duration_ms, .. }) in outcomes.into_iter().enumerate() {
        if !looks(tx) {
            return;
        }
        if at > 0 {
            first_open(tx).into_iter().for_each(|call| started(tx, &call));
        }
        receipt.facts = ToolFacts { truncated: receipt.facts.truncated, ..ToolFacts::default() };
        record_result(tx, receipt, duration_ms);
    }
}

/// Records that the call in progress has an error as its result.
pub(crate) fn record_failure(tx: &mut Tx<'_>, error: ToolError, duration_ms: Millis) {
    let Some(OpenCall { run_id, round, index, call_id, tool_name, .. }) = first_open(tx) else { return };
    let receipt = Arc::new(Receipt::failure(error));
    tx.record(ToolExecutionFailed { run_id, round, index, call_id, tool_name, receipt, duration_ms });
}

/// Gives every call without a result the result that it was interrupted.
pub(crate) fn interrupt(tx: &mut Tx<'_>) {
    let agent = tx.agent();
    let mut started = agent.ops.values().filter(|open| agent.is_of_run(open)).any(|open| match open.kind {
        OpKind::CallTool | OpKind::RunCommand => true,
        // Reading does nothing, and the command that it is about is there beside it, or a task by now. Without the word that follows it, a supervisor executes nothing; and waiting does nothing.
        OpKind::PromoteCommand
        | OpKind::PrepareCommand
        | OpKind::AwaitTask
        | OpKind::WriteInput
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree
        | OpKind::Summarize
        | OpKind::LoadContext
        | OpKind::CallModel => false,
    });
    while first_open(tx).is_some() {
        let (message, hint) = if started {
            ("the call was interrupted", "it may have had effects: look before you repeat it")
        } else {
            ("the call was not made: the run ended before", "make it again if it is still wanted")
        };
        record_failure(tx, ToolError::new(ToolErrorKind::Interrupted, message).hint(hint), Millis(0));
        started = false;
    }
}
