//! What operators ask of tasks, past the agent's turns.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use holon_facts::call::INPUT_BYTES;
use holon_facts::content::Text;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::{TaskCause, TaskInputDelivered, TaskOrigin};
use holon_facts::ids::{OpId, ReplyId, TaskId};
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::outcome::{CommandSpec, OpFailure, SupervisorIdentity, ToolOutcome};
use holon_facts::receipt::{InputReceipt, ToolError, ToolErrorKind};
use holon_facts::reject::Reject;
use holon_facts::task::TaskStatus;
use holon_facts::time::Millis;

use crate::agent::OpenOp;
use crate::agent::task::Task;
use crate::effect::{Answer, InputSource, TaskWork, ToolCall, Work};
use crate::handler::task::{command, promote, stop};
use crate::handler::workspace::occupancy;
use crate::handler::{admission, keyed};
use crate::tool::Tool;
use crate::tx::{Opening, Tx};

/// Writing to a command takes no longer than this.
const INPUT_TIMEOUT: Millis = Millis::seconds(15);

/// Starts a command as a task; the caller is answered when it has the word.
pub(crate) fn run(tx: &mut Tx<'_>, arguments: Text, key: Option<Idempotency>, reply: ReplyId) {
    match keyed::known(tx, key.as_ref()) {
        Ok(None) => {}
        Ok(Some(made)) => return run_before(tx, made, reply),
        Err(reject) => return tx.reply(reply, Answer::Refused { reject }),
    }
    let full = || command::refusal(tx).map(|error| Reject::CommandRefused { error: Box::new(error) });
    if let Some(reject) = admission::closed(tx).or_else(full) {
        tx.reply(reply, Answer::Refused { reject });
        return;
    }
    let execution = tx.agent().workspaces.active().clone();
    if let Err(error) = occupancy::take(tx, &execution.execution_root, None) {
        let reject = Reject::CommandRefused { error: Box::new(error) };
        tx.reply(reply, Answer::Refused { reject });
        return;
    }
    let call = ToolCall {
        run_id: None,
        call_id: "operator".to_string(),
        tool: Tool::ExecCommand,
        arguments,
        execution,
        output_tokens: tx.env.config.tasks.result_tokens,
        timeout: tx.env.config.turn.tool_timeout,
    };
    let made = Made::Task(tx.agent().next.task);
    let op = command::prepare(tx, None, call);
    keyed::keep(tx, key, made);
    tx.answer_later(op, reply);
}

fn run_before(tx: &mut Tx<'_>, made: Made, reply: ReplyId) {
    match made {
        Made::Task(id) if tx.agent().tasks.get(id).is_some() => answer(tx, reply, id, false),
        Made::Task(id) => match being_prepared(tx, id) {
            Some(op) => tx.answer_later(op, reply),
            None => tx.reply(reply, Answer::Refused { reject: Reject::KeySpent { made } }),
        },
        Made::WorkItem(_) | Made::Timer(_) => {
            tx.reply(reply, Answer::Refused { reject: Reject::KeyTaken { made } })
        }
    }
}

/// The operation after which the command begins.
fn being_prepared(tx: &Tx<'_>, id: TaskId) -> Option<OpId> {
    let is_it = |open: &OpenOp| open.kind == OpKind::PrepareCommand && open.task_id == Some(id);
    tx.agent().ops.iter().find(|(_, open)| is_it(open)).map(|(op, _)| *op)
}

/// The supervisor is up: the task begins, and its operator is notified.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    prepared: OpId,
    open: OpenOp,
    supervisor: SupervisorIdentity,
    command: Option<Box<CommandSpec>>,
) {
    let Some((task_id, known)) = open.task_id.zip(command.as_deref().cloned()) else {
        let message = "the supervisor did not say what it would execute";
        let error = ToolError::new(ToolErrorKind::CommandSpawnFailed, message);
        tx.dismiss(prepared);
        refuse(tx, prepared, error);
        return;
    };
    let op = command::execute(tx, open, None, supervisor, command);
    let Some(open) = tx.agent().ops.get(&op).cloned() else { return };
    promote::record(tx, op, open, TaskOrigin::Operator, known, None);
    for (number, reply) in tx.answers(prepared).into_iter().enumerate() {
        // Whoever asks under the same key later begins nothing.
        answer(tx, reply, task_id, number == 0);
    }
}

/// Nothing could be executed for the operator.
pub(crate) fn refuse(tx: &mut Tx<'_>, prepared: OpId, error: ToolError) {
    for reply in tx.answers(prepared) {
        let error = Box::new(error.clone());
        tx.reply(reply, Answer::Refused { reject: Reject::CommandRefused { error } });
    }
}

/// Asks a task to end.
pub(crate) fn end(tx: &mut Tx<'_>, id: TaskId, force: bool, reply: ReplyId) {
    let changed = stop::request(tx, id, TaskCause::OperatorAsked, force);
    answer(tx, reply, id, changed);
}

/// Writes to a task; the caller is answered when that is done.
pub(crate) fn input(tx: &mut Tx<'_>, id: TaskId, text: Text, reply: ReplyId) {
    let Some(task) = tx.agent().tasks.get(id).cloned() else {
        return answer(tx, reply, id, false);
    };
    if let Some(reject) = admission::closed(tx) {
        tx.reply(reply, Answer::Refused { reject });
        return;
    }
    if text.bytes() > INPUT_BYTES as u64 {
        let (what, bytes, limit) = ("the input".into(), text.bytes(), INPUT_BYTES as u64);
        tx.reply(reply, Answer::Refused { reject: Reject::TooLarge { what, bytes, limit } });
        return;
    }
    if let Some(problem) = task.refuses_input() {
        let input = InputReceipt { problem: Some(problem.into()), ..InputReceipt::default() };
        tx.reply(reply, Answer::TaskInput { task: Box::new(task), input });
        return;
    }
    if task.child().is_some() {
        let input = super::child::follow_up(tx, id, text);
        tx.reply(reply, Answer::TaskInput { task: Box::new(task), input });
        return;
    }
    let opening = Opening { task_id: Some(id), ..Opening::new(OpKind::WriteInput, INPUT_TIMEOUT) };
    let executing = stop::executing(tx, id);
    let work = TaskWork::Input { task: Box::new(task), op: executing, source: InputSource::Text { text } };
    let op = tx.open(opening, Work::CallTask { work });
    tx.answer_later(op, reply);
}

/// Something was written, or not.
pub(crate) fn written(tx: &mut Tx<'_>, op: OpId, outcome: Result<ToolOutcome, OpFailure>) {
    let Some(task) = tx.agent().ops.get(&op).and_then(|open| open.task_id) else { return };
    let (settlement, input) = match outcome {
        Ok(ToolOutcome { receipt, .. }) => {
            let problem = receipt.error.map(|error| error.message.preview().to_string());
            let failed = InputReceipt { problem, ..InputReceipt::default() };
            (Settlement::Done, receipt.facts.input.unwrap_or(failed))
        }
        Err(failure) => {
            let problem = Some(failure.message.preview().to_string());
            (Settlement::Failed, InputReceipt { problem, ..InputReceipt::default() })
        }
    };
    tx.settle(op, settlement);
    delivered(tx, task, &input);
    input_reported(tx, op, task, input);
}

/// On record is what reached the command, whoever sent it.
pub(crate) fn delivered(tx: &mut Tx<'_>, task_id: TaskId, input: &InputReceipt) {
    if let (Some(input_target), 1..) = (input.input_target, input.bytes_written) {
        tx.record(TaskInputDelivered { task_id, input_target, bytes_written: input.bytes_written });
    }
}

/// A task has ended: what was still to be written is not.
pub(super) fn input_too_late(tx: &mut Tx<'_>, id: TaskId) {
    let ops = tx.agent().ops.iter();
    let writing: Vec<OpId> = ops
        .filter(|(_, open)| open.kind == OpKind::WriteInput && open.task_id == Some(id))
        .map(|(op, _)| *op)
        .collect();
    for op in writing {
        tx.cancel(op, Settlement::Cancelled);
        let problem = Some("the task ended meanwhile: it may have been written".into());
        input_reported(tx, op, id, InputReceipt { problem, ..InputReceipt::default() });
    }
}

/// The runtime ends: whoever writes is not kept waiting.
pub(crate) fn input_unknown(tx: &mut Tx<'_>) {
    let ops = tx.agent().ops.iter();
    let writing: Vec<(OpId, TaskId)> = ops
        .filter(|(_, open)| open.kind == OpKind::WriteInput)
        .filter_map(|(op, open)| Some((*op, open.task_id?)))
        .collect();
    for (op, task) in writing {
        tx.cancel(op, Settlement::Cancelled);
        let problem = Some("the runtime shut down: it may have been written".into());
        input_reported(tx, op, task, InputReceipt { problem, ..InputReceipt::default() });
    }
}

/// The agent is stopped, or the runtime ends: no further task begins for an operator.
pub(crate) fn give_up(tx: &mut Tx<'_>, reject: &Reject) {
    let ops = tx.agent().ops.iter();
    let preparing: Vec<OpId> = ops
        .filter(|(_, open)| open.kind == OpKind::PrepareCommand && open.run_id.is_none())
        .map(|(op, _)| *op)
        .collect();
    for op in preparing {
        tx.cancel(op, Settlement::Cancelled);
        for reply in tx.answers(op) {
            tx.reply(reply, Answer::Refused { reject: reject.clone() });
        }
    }
}

fn input_reported(tx: &mut Tx<'_>, op: OpId, task: TaskId, input: InputReceipt) {
    let Some(task) = tx.agent().tasks.get(task).cloned() else { return };
    for reply in tx.answers(op) {
        tx.reply(reply, Answer::TaskInput { task: Box::new(task.clone()), input: input.clone() });
    }
}

fn answer(tx: &mut Tx<'_>, reply: ReplyId, id: TaskId, changed: bool) {
    let answer = match tx.agent().tasks.get(id) {
        Some(task) => Answer::Task { task: Box::new(task.clone()), changed },
        None => Answer::Refused { reject: Reject::UnknownTask { task: id } },
    };
    tx.reply(reply, answer);
}

impl Task {
    /// Why nothing can be written to it.
    pub fn refuses_input(&self) -> Option<&'static str> {
        if self.status.is_terminal() {
            Some("the task has ended")
        } else if self.child_end.is_some() {
            Some("the child has ended")
        } else if self.status == TaskStatus::Cancelling && self.child().is_some() {
            Some("the child is being ended")
        } else if self.command().is_some_and(|command| !command.accepts_input) {
            Some("the task was started without accepts_input")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::effect::Answer;
    use crate::input::{ControlRequest, Input};
    use crate::testing::{World, agent, calls, config, context, prompt};
    use holon_facts::config::{Config, TaskLimits};
    use holon_facts::content::Text;
    use holon_facts::event::operation::OpKind;
    use holon_facts::ids::TaskId;
    use holon_facts::time::Millis;

    fn run(reply: holon_facts::ids::ReplyId) -> Input {
        Input::RunTask { agent: agent("main"), arguments: Text::short(r#"{"cmd":"make"}"#), key: None, reply }
    }

    fn write(reply: holon_facts::ids::ReplyId) -> Input {
        Input::WriteTask { agent: agent("main"), task: TaskId(1), text: Text::short("y"), reply }
    }

    fn code(answer: Option<Answer>) -> Option<&'static str> {
        match answer {
            Some(Answer::Refused { reject }) => Some(reject.code()),
            Some(_) | None => None,
        }
    }

    fn with_limit(per_agent: u64) -> World {
        let tasks = TaskLimits { per_agent, ..config().tasks };
        World::with_config("main", Config { tasks, ..config() })
    }

    /// The command of a call may go on as a task: it counts before it does.
    #[test]
    fn a_command_that_a_run_waits_for_is_one_of_as_many_as_there_may_be() {
        let mut world = with_limit(1);
        world.admit("main", prompt("build"));
        world.complete("main", context());
        world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"make"}"#)]));
        assert_eq!(world.waits_for("main"), Some(OpKind::RunCommand));
        let reply = world.later(run);
        assert_eq!(code(world.answer(reply)), Some("command_refused"));
    }

    #[test]
    fn so_is_one_whose_supervisor_comes_up() {
        let mut world = with_limit(1);
        world.prepares = false;
        let first = world.later(run);
        assert_eq!(world.answer(first), None);
        let second = world.later(run);
        assert_eq!(code(world.answer(second)), Some("command_refused"));
    }

    /// Nothing begins for a stopped agent, nor once the runtime ends: not even a look at a task.
    #[test]
    fn nothing_is_written_for_a_stopped_agent_or_during_a_shutdown() {
        for (drains, refused) in [(false, "agent_stopped"), (true, "draining")] {
            let mut world = with_limit(2);
            world.later(run);
            assert!(world.agent("main").tasks.is_active(TaskId(1)));
            if drains {
                world.drain();
            } else {
                world.control("main", ControlRequest::Stop);
            }
            let works = world.works.len();
            let reply = world.later(write);
            assert_eq!(code(world.answer(reply)), Some(refused));
            assert_eq!(world.works.len(), works);
            world.pass(Millis::seconds(1));
        }
    }
}
