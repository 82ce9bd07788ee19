//! Tool calls of a round, one after the other, each with exactly one result.

use alloc::string::String;
use alloc::sync::Arc;

use crate::agent::turn::recap::Window;
use crate::content::Text;
use crate::effect::{Effect, ToolCall};
use crate::event::operation::OpKind;
use crate::event::turn::{ToolExecuted, ToolExecutionFailed, ToolStarted};
use crate::host::tx::Tx;
use crate::ids::{RoundIndex, RunId};
use crate::outcome::SupervisorIdentity;
use crate::time::Millis;
use crate::tool::{Receipt, ToolError, ToolErrorKind, Verdict};

/// What every call may say, however little room there is.
const FEWEST_TOKENS: u64 = 128;
/// Bringing up a supervisor takes no longer than this.
const PREPARE_TIMEOUT: Millis = Millis::seconds(60);

/// Beyond twice its time, a tool has so long to be stopped and to report.
const STOP_TIMEOUT: Millis = Millis::seconds(90);

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
    let round = run.rounds.last()?;
    let at = round.results.len();
    let verdict = round.verdicts.get(at)?.clone();
    let (call_id, tool_name, arguments) = round.calls().nth(at)?;
    Some(OpenCall {
        run_id: run.id,
        round: run.last_round(),
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
        match call.verdict.clone() {
            Verdict::Refused(error) => record_failure(tx, error, Millis(0)),
            Verdict::Accepted(tool) => {
                let OpenCall { run_id, round, index, call_id, arguments, .. } = call;
                tx.record(ToolStarted { run_id, round, index, call_id: call_id.clone(), tool });
                let (agent, execution) = (tx.agent().id.clone(), tx.agent().spec.execution.clone());
                let timeout = tx.config.turn.tool_timeout;
                let output_tokens = output_tokens(tx);
                let call = ToolCall { run_id, call_id, tool, arguments, execution, output_tokens, timeout };
                if tool.is_command() {
                    let effect = |op| Effect::PrepareCommand { agent, op, call };
                    tx.open(OpKind::PrepareCommand, run_id, PREPARE_TIMEOUT, effect);
                } else {
                    let effect = |op| Effect::CallTool { agent, op, call };
                    tx.open(OpKind::CallTool, run_id, patience(tx), effect);
                }
                return true;
            }
        }
    }
    false
}

/// What the call in progress may take of the model's window: an equal part of what its round has left.
fn output_tokens(tx: &Tx<'_>) -> u64 {
    let Some((run, round)) = tx.agent().run.as_ref().and_then(|run| Some((run, run.rounds.last()?))) else {
        return FEWEST_TOKENS;
    };
    let used: u64 = round.results.iter().flat_map(|receipt| receipt.texts()).map(Text::est_tokens).sum();
    let open = round.verdicts.len().saturating_sub(round.results.len()).max(1) as u64;
    let room = Window::of_chain(tx.config, &run.models).results();
    (room.saturating_sub(used) / open).max(FEWEST_TOKENS)
}

/// How long the core waits for the end of a call.
fn patience(tx: &Tx<'_>) -> Millis {
    Millis(tx.config.turn.tool_timeout.0.saturating_mul(2).saturating_add(STOP_TIMEOUT.0))
}

/// A supervisor waits for the word: it is given once its identity is durable.
pub(crate) fn prepared(tx: &mut Tx<'_>, supervisor: SupervisorIdentity) {
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    tx.open_command(run_id, patience(tx), supervisor);
}

/// Records what a performer said of the call in progress.
pub(crate) fn record_result(tx: &mut Tx<'_>, receipt: Receipt, duration_ms: Millis) {
    if let Some(error) = receipt.error {
        record_failure(tx, error, duration_ms);
        return;
    }
    let Some(OpenCall { run_id, round, index, call_id, tool_name, .. }) = first_open(tx) else { return };
    let receipt = Arc::new(receipt);
    tx.record(ToolExecuted { run_id, round, index, call_id, tool_name, receipt, duration_ms });
}

/// Records that the call in progress has an error as its result.
pub(crate) fn record_failure(tx: &mut Tx<'_>, error: ToolError, duration_ms: Millis) {
    let Some(OpenCall { run_id, round, index, call_id, tool_name, .. }) = first_open(tx) else { return };
    let receipt = Arc::new(Receipt::failure(error));
    tx.record(ToolExecutionFailed { run_id, round, index, call_id, tool_name, receipt, duration_ms });
}

/// Gives every call without a result the result that it was interrupted.
pub(crate) fn interrupt(tx: &mut Tx<'_>) {
    let mut started = tx.agent().ops.values().any(|op| match op.kind {
        OpKind::CallTool | OpKind::RunCommand => true,
        // Without the word that follows it, a supervisor executes nothing.
        OpKind::PrepareCommand | OpKind::LoadContext | OpKind::CallModel => false,
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
