//! How what was performed for an operation comes back: its outcome, its failure or its time goes to whoever the operation
//! belongs to.

use holon_facts::content::Text;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::ids::{OpId, TaskId};
use holon_facts::outcome::{Certainty, OpFailure, Outcome, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind};
use holon_facts::time::Millis;

use crate::effect::Retrieval;
use crate::handler::episode::summary;
use crate::handler::turn::{look, model_round, request, tools};
use crate::handler::workspace::{self, isolate};
use crate::handler::{budget, task};
use crate::tx::Tx;

/// The end of an operation that the agent is waiting for.
pub(crate) fn completed(tx: &mut Tx<'_>, op: OpId, outcome: Outcome) {
    let Some(kind) = tx.agent().ops.get(&op).map(|open| open.kind) else { return };
    match (kind, outcome) {
        (OpKind::LoadContext, Outcome::Context { context }) => model_round::context_loaded(tx, op, context),
        (OpKind::CallModel, Outcome::Answer { answer }) => model_round::answered(tx, op, answer),
        (OpKind::CallModel, Outcome::AttemptFailed { failure }) => {
            budget::failed(tx, op, &failure);
            tx.settle(op, Settlement::Failed);
            model_round::attempt_failed(tx, op, &failure);
        }
        (OpKind::Summarize, Outcome::Answer { answer }) => summary::answered(tx, op, answer),
        (OpKind::Summarize, Outcome::AttemptFailed { failure }) => summary::failed(tx, op, &failure),
        (OpKind::PrepareCommand, Outcome::Prepared { supervisor, command }) => {
            task::command::prepared(tx, op, supervisor, command);
        }
        (OpKind::PrepareCommand, Outcome::Tool { outcome }) if outcome.receipt.error.is_some() => {
            not_prepared(tx, op, outcome);
        }
        (
            OpKind::CallTool | OpKind::RunCommand | OpKind::PromoteCommand | OpKind::WriteInput,
            Outcome::Tool { outcome },
        ) => performed(tx, op, kind, outcome),
        (OpKind::CallTool, Outcome::Looked { outcomes }) if !outcomes.is_empty() && tools::looks(tx) => {
            look::looked(tx, op, outcomes);
        }
        (OpKind::FindWorkspace, Outcome::Workspace { execution, base }) => {
            workspace::tools::found(tx, op, &execution, base);
        }
        (OpKind::RemoveWorktree, Outcome::Worktree { removal }) => isolate::removed(tx, op, removal),
        (OpKind::FindWorkspace, Outcome::Tool { outcome }) if outcome.receipt.error.is_some() => {
            not_prepared(tx, op, outcome);
        }
        (_, Outcome::Failed { failure }) => failed(tx, op, kind, failure),
        (
            kind,
            Outcome::Context { .. }
            | Outcome::Answer { .. }
            | Outcome::AttemptFailed { .. }
            | Outcome::Tool { .. }
            | Outcome::Looked { .. }
            | Outcome::Prepared { .. }
            | Outcome::Workspace { .. }
            | Outcome::Worktree { .. },
        ) => {
            let message = format!("the outcome does not fit an operation of kind {kind}");
            failed(tx, op, kind, ambiguous(&message));
        }
    }
}

/// Whether it says that an agent which another one begins can begin.
fn is_prepared(receipt: &Receipt) -> bool {
    receipt.facts.template.is_some() || receipt.facts.claimed.is_some()
}

/// A performer has done its work, or a command has ended.
fn performed(tx: &mut Tx<'_>, op: OpId, kind: OpKind, outcome: ToolOutcome) {
    if let Some(task) = tx.agent().task_of(op) {
        task::end::end_reported(tx, op, task, outcome);
        return;
    }
    if kind == OpKind::WriteInput {
        task::operator::written(tx, op, Ok(outcome));
        return;
    }
    let shows = tx.agent().ops.get(&op).and_then(|open| open.task_id).filter(|_| kind == OpKind::CallTool);
    tx.settle(op, Settlement::Done);
    let ToolOutcome { mut receipt, duration_ms, .. } = outcome;
    match kind {
        OpKind::PromoteCommand => return task::promote::promoted(tx, Some(receipt)),
        OpKind::RunCommand => {
            task::promote::no_more(tx);
        }
        OpKind::CallTool if is_prepared(&receipt) && tools::open_spawn(tx).is_some() => {
            return task::child::prepared(tx, receipt.facts.template.take());
        }
        OpKind::CallTool => {
            // What a command wrote is in its log; of a child's report the rest is nowhere that a call could read.
            let is_child = |id| tx.agent().tasks.get(id).is_some_and(|task| task.child().is_some());
            let whole = |id: &TaskId| receipt.error.is_none() && !(receipt.facts.truncated && is_child(*id));
            receipt.facts.shown_task = shows.filter(whole);
            if let (Some(input), Some(task)) = (receipt.facts.input.clone(), tools::open_task(tx)) {
                task::operator::delivered(tx, task, &input);
            }
        }
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::Summarize
        | OpKind::PrepareCommand
        | OpKind::AwaitTask
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree
        | OpKind::WriteInput => {}
    }
    tools::record_result(tx, receipt, duration_ms);
    request::advance(tx);
}

/// Nothing can be executed, and the error says why.
fn not_prepared(tx: &mut Tx<'_>, op: OpId, outcome: ToolOutcome) {
    let of_run = tx.agent().ops.get(&op).is_some_and(|open| open.run_id.is_some());
    tx.settle(op, Settlement::Failed);
    match outcome.receipt.error.clone().filter(|_| !of_run) {
        Some(error) => task::operator::refuse(tx, op, error),
        None => {
            tools::record_result(tx, outcome.receipt, outcome.duration_ms);
            request::advance(tx);
        }
    }
}

/// Nothing was heard of an operation in time. A command goes on as a task, a wait for a task is over; anything
/// else is given up and counts as failed.
pub(crate) fn timed_out(tx: &mut Tx<'_>, op: OpId) {
    let Some(open) = tx.agent().ops.get(&op) else { return };
    let (kind, task) = (open.kind, open.task_id);
    match kind {
        OpKind::RunCommand
            if open.command.as_ref().is_some_and(|command| command.yield_time_ms.is_some()) =>
        {
            task::promote::yields(tx, op);
        }
        OpKind::PromoteCommand => {
            tx.cancel(op, Settlement::TimedOut);
            task::promote::promoted(tx, None);
        }
        OpKind::AwaitTask => {
            tx.settle(op, Settlement::TimedOut);
            if let Some(task) = task {
                tools::task_output(tx, task, Retrieval::Timeout);
            }
        }
        // A life takes as long as it takes.
        OpKind::SuperviseChild => {}
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::Summarize
        | OpKind::CallTool
        | OpKind::PrepareCommand
        | OpKind::RunCommand
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree
        | OpKind::WriteInput => {
            tx.dismiss(op);
            give_up(
                tx,
                op,
                kind,
                Settlement::TimedOut,
                ambiguous("nothing was heard of the operation in time"),
            );
        }
    }
}

/// The performer itself failed.
fn failed(tx: &mut Tx<'_>, op: OpId, kind: OpKind, failure: OpFailure) {
    if let Some(task) = tx.agent().task_of(op) {
        task::end::end_unknown(tx, op, task, &failure);
        return;
    }
    if kind == OpKind::PromoteCommand {
        tx.settle(op, Settlement::Failed);
        task::promote::promoted(tx, None);
        return;
    }
    give_up(tx, op, kind, Settlement::Failed, failure);
}

/// An operation that brings nothing any more: whoever waits for it is told.
fn give_up(tx: &mut Tx<'_>, op: OpId, kind: OpKind, settlement: Settlement, failure: OpFailure) {
    let of_run = tx.agent().ops.get(&op).is_some_and(|open| open.run_id.is_some());
    match kind {
        OpKind::WriteInput => task::operator::written(tx, op, Err(failure)),
        OpKind::Summarize => summary::given_up(tx, op, settlement, failure.message),
        OpKind::RemoveWorktree => isolate::not_removed(tx, op, settlement, failure.message.preview()),
        OpKind::PrepareCommand if !of_run => {
            tx.settle(op, settlement);
            let mut error = ToolError::new(ToolErrorKind::CommandSpawnFailed, "");
            error.message = failure.message;
            task::operator::refuse(tx, op, error.hint("nothing was executed"));
        }
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::CallTool
        | OpKind::PrepareCommand
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::AwaitTask => {
            tx.settle(op, settlement);
            if kind == OpKind::RunCommand {
                task::promote::no_more(tx);
            }
            performer_failed(tx, op, kind, failure);
        }
    }
}

/// Nobody can say whether the operation had an effect.
fn ambiguous(message: &str) -> OpFailure {
    OpFailure { certainty: Certainty::Ambiguous, message: Text::short(message) }
}

fn performer_failed(tx: &mut Tx<'_>, op: OpId, kind: OpKind, failure: OpFailure) {
    let OpFailure { certainty, message } = failure;
    match kind {
        OpKind::LoadContext => model_round::context_failed(tx, message),
        OpKind::CallModel => model_round::no_answer(tx, op, message),
        OpKind::CallTool
        | OpKind::PrepareCommand
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree
        | OpKind::Summarize
        | OpKind::WriteInput => {
            // Before it has the word, a supervisor executes nothing.
            let certainty = if kind == OpKind::PrepareCommand { Certainty::Definite } else { certainty };
            let mut error = ToolError::new(ToolErrorKind::ToolExecutionFailed, "");
            error.message = message;
            error.hint = Some(match certainty {
                Certainty::Ambiguous => "it may have had effects: look before you repeat it".into(),
                Certainty::Definite => "nothing was done".into(),
            });
            tools::record_failure(tx, error, Millis(0));
            request::advance(tx);
        }
    }
}
