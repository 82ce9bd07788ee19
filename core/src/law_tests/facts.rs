//! Facts for hand-made logs, with no more arguments than a law looks at.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::closure::{ClosureDecision, ClosureOutcome, RuntimePosture};
use holon_facts::content::Text;
use holon_facts::decision::{DecisionKind, DecisionReason};
use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::event::inbox::*;
use holon_facts::event::lifecycle::*;
use holon_facts::event::operation::{OpKind, OperationOpened, OperationSettled, Settlement};
use holon_facts::event::scheduling::{ClosureDecided, SchedulerDecision};
use holon_facts::event::task::{TaskCause, TaskCreated, TaskOrigin, TaskResultQueued, TaskStatusUpdated};
use holon_facts::event::turn::*;
use holon_facts::ids::{BriefId, MessageId, OpId, RoundIndex, RunId, TaskId, TurnIndex};
use holon_facts::lifecycle::{Boundary, ControlAction, Status};
use holon_facts::message::{Message, MessageKind, Origin, Priority};
use holon_facts::model::{
    AttemptOutcome, AttemptRecord, Block, FailureKind, ModelRef, RoundEnd, StopReason, TokenUsage,
};
use holon_facts::price::{Amount, Cost};
use holon_facts::receipt::{Receipt, TaskCall, ToolError, ToolErrorKind, ToolFacts, Verdict};
use holon_facts::task::{TaskKind, TaskStatus, WaitPolicy};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::{Millis, Wall};

use crate::testing::{prompt, supervisor};
use crate::tool::Tool;

pub(super) fn admitted(id: u64, priority: Priority) -> MessageAdmitted {
    let ingress = holon_facts::message::Ingress { priority, ..prompt("do it") };
    let message = Message::admit(MessageId(id), Wall(0), ingress).unwrap();
    MessageAdmitted { message, idempotency: None, expired_keys: 0, deposit: None }
}

pub(super) fn dequeued(message: u64, run: Option<u64>) -> MessageDequeued {
    MessageDequeued { message_id: MessageId(message), run_id: run.map(RunId) }
}

pub(super) fn processed(message: u64, run: Option<u64>, disposition: Disposition) -> MessageProcessed {
    MessageProcessed { message_id: MessageId(message), run_id: run.map(RunId), disposition }
}

pub(super) fn aborted(message: u64, run: u64) -> MessageAborted {
    MessageAborted { message_id: MessageId(message), run_id: RunId(run) }
}

pub(super) fn dropped(message: u64, crashes: u32) -> MessageDropped {
    MessageDropped { message_id: MessageId(message), crashes }
}

pub(super) fn requeued(message: u64, run: u64, cause: RequeueCause, crashes: u32) -> MessageRequeued {
    let (message_id, run_id) = (MessageId(message), RunId(run));
    MessageRequeued { message_id, run_id, cause, crashes, interjected_into: None, carried_notes: 0 }
}

pub(super) fn interjected(round: u32) -> OperatorInterjectionAdmitted {
    OperatorInterjectionAdmitted {
        message_id: MessageId(2),
        run_id: RunId(1),
        round: RoundIndex(round),
        safe_point: SafePoint::AfterTools,
    }
}

pub(super) fn requested(action: ControlAction, previous: Status) -> ControlRequestAdmitted {
    ControlRequestAdmitted { action, previous }
}

pub(super) fn applied(
    action: ControlAction,
    previous: Status,
    next: Status,
    aborted: Option<(u64, u64)>,
) -> ControlApplied {
    ControlApplied {
        action,
        previous,
        next,
        boundary: Boundary::Control,
        aborted_run_id: aborted.map(|(run, _)| RunId(run)),
        aborted_messages: aborted.map(|(_, message)| MessageId(message)).into_iter().collect(),
        cancelled_ops: Vec::new(),
        cancelling_tasks: Vec::new(),
        lost_hints: Vec::new(),
        untold_tasks: Vec::new(),
        released_roots: None,
        stopping_roots: Vec::new(),
        stopped_children: Vec::new(),
    }
}

pub(super) fn posture(previous: Status, next: Status) -> SchedulerPostureDecision {
    SchedulerPostureDecision { previous, next, boundary: Boundary::LifecycleSleep, wakes_at: None }
}

pub(super) fn recovered(run: u64, op: u64) -> RuntimeRecovered {
    RuntimeRecovered { interrupted_run_id: Some(RunId(run)), lost_ops: [OpId(op)].into() }
}

pub(super) fn decided(kind: DecisionKind, message: Option<u64>) -> SchedulerDecision {
    SchedulerDecision {
        task_id: None,
        work_item_id: None,
        wait_id: None,
        idempotency_key: None,
        kind,
        reason: DecisionReason::QueuedMessage,
        row: 6,
        boundary: Boundary::RunLoop,
        model_reentry: message.is_some(),
        liveness_only: false,
        message_id: message.map(MessageId),
        also_message_ids: Vec::new(),
        next_deadline: None,
        evidence: Vec::new(),
    }
}

pub(super) fn closed(outcome: ClosureOutcome) -> ClosureDecided {
    ClosureDecided {
        closure: ClosureDecision {
            work_signal: None,
            outcome,
            waiting_reason: None,
            runtime_posture: RuntimePosture::Awake,
            row: 7,
            evidence: Vec::new(),
        },
    }
}

pub(super) fn started(run: u64, turn: u64, message: u64) -> TurnStarted {
    TurnStarted {
        run_id: RunId(run),
        turn_index: TurnIndex(turn),
        message_id: MessageId(message),
        also: Vec::new(),
        models: [model()].into(),
        work_item_id: None,
        carried_rounds: 0,
        interjected: Vec::new(),
        fence: None,
        tools_offered: None,
        only_offered: false,
        input_limit: None,
    }
}

pub(super) fn model() -> ModelRef {
    ModelRef::new("local/one").unwrap()
}

pub(super) fn loaded() -> holon_facts::outcome::LoadedContext {
    let holon_facts::Outcome::Context { context } = crate::testing::context() else {
        panic!("not a context")
    };
    context
}

pub(super) fn opened(op: u64, kind: OpKind, run: u64) -> OperationOpened {
    let command = matches!(kind, OpKind::PrepareCommand | OpKind::RunCommand);
    OperationOpened {
        execution_root: None,
        op: OpId(op),
        kind,
        run_id: Some(RunId(run)),
        task_id: command.then_some(TaskId(1)),
        timeout_ms: Some(Millis(1_000)),
        supervisor: (kind == OpKind::RunCommand).then(supervisor),
        command: None,
        worktree: None,
        template: None,
        request: None,
    }
}

pub(super) fn settled(op: u64) -> OperationSettled {
    OperationSettled { op: OpId(op), settlement: Settlement::Done }
}

pub(super) fn reserved(op: u64, run: u64) -> BudgetReserved {
    let amount = |tokens| Amount { tokens, cost_micros: Cost(tokens * 2) };
    let (amount, sent) = (amount(1_000), amount(600));
    BudgetReserved { run_id: RunId(run), op: OpId(op), day: 0, amount, sent }
}

pub(super) fn paid(op: u64) -> BudgetSettled {
    let amount = Amount { tokens: 700, cost_micros: Cost(1_400) };
    BudgetSettled { run_id: RunId(1), op: OpId(op), day: 0, amount }
}

pub(super) fn attempted(
    round: u32,
    attempt: u32,
    outcome: AttemptOutcome,
    failure_kind: Option<FailureKind>,
    backoff_ms: Option<Millis>,
) -> ProviderAttemptRecorded {
    let attempt = AttemptRecord {
        provider: "local".into(),
        model_ref: model(),
        attempt,
        max_attempts: 3,
        started_at: Wall(0),
        completed_at: Wall(0),
        duration_ms: Millis(0),
        failure_kind,
        message: None,
        outcome,
        advanced_to_fallback: false,
        backoff_ms,
        resets_at: None,
        token_usage: None,
        transport_diagnostics: None,
        delivery: None,
    };
    ProviderAttemptRecorded { run_id: RunId(1), round: RoundIndex(round), attempt }
}

pub(super) fn compacted(recapped_rounds: u32) -> ContextCompacted {
    ContextCompacted {
        run_id: RunId(1),
        round: RoundIndex(0),
        cause: CompactionCause::Refused,
        recapped_rounds,
        est_tokens: 10,
        limit: 10,
    }
}

/// A round with an accepted and a refused call.
pub(super) fn called(round: u32, first: &str, second: &str) -> AssistantRoundRecorded {
    let call = |id: &str| Block::ToolCall {
        call_id: id.to_string(),
        tool_name: String::from("ExecCommand"),
        arguments: Text::default(),
    };
    let refused = Verdict::Refused(ToolError::new(ToolErrorKind::UnknownTool, "no"));
    AssistantRoundRecorded {
        blocks: Arc::from([call(first), call(second)]),
        verdicts: [Verdict::Accepted(Tool::ExecCommand.into()), refused].into(),
        stop_reason: StopReason::ToolUse,
        end: None,
        ..spoken(round)
    }
}

pub(super) fn spoken(round: u32) -> AssistantRoundRecorded {
    AssistantRoundRecorded {
        run_id: RunId(1),
        round: RoundIndex(round),
        blocks: Arc::from([Block::Text { text: Text::short("done") }]),
        verdicts: Vec::new(),
        stop_reason: StopReason::EndTurn,
        token_usage: TokenUsage::default(),
        end: Some(RoundEnd::Finished),
        joined: None,
        candidate: 0,
        probes: false,
    }
}

pub(super) fn tool_started() -> ToolStarted {
    ToolStarted {
        run_id: RunId(1),
        round: RoundIndex(0),
        index: 0,
        call_id: "c1".into(),
        tool: Tool::ExecCommand.into(),
    }
}

pub(super) fn executed(round: u32, index: u32, call_id: &str) -> ToolExecuted {
    ToolExecuted {
        run_id: RunId(1),
        round: RoundIndex(round),
        index,
        call_id: call_id.into(),
        tool_name: "ExecCommand".into(),
        receipt: Arc::new(Receipt::success(Text::short("ok"), ToolFacts::default())),
        duration_ms: Millis(1),
    }
}

pub(super) fn refused(round: u32, index: u32, call_id: &str) -> ToolExecutionFailed {
    ToolExecutionFailed {
        run_id: RunId(1),
        round: RoundIndex(round),
        index,
        call_id: call_id.into(),
        tool_name: "Levitate".into(),
        receipt: Arc::new(Receipt::failure(ToolError::new(ToolErrorKind::UnknownTool, "no"))),
        duration_ms: Millis(0),
    }
}

pub(super) fn ended(
    run: u64,
    turn: u64,
    message: u64,
    kind: TurnKind,
    reason: Option<TurnReason>,
    rounds: u32,
) -> TurnTerminal {
    TurnTerminal {
        cost_micros: None,
        held: false,
        progress: false,
        run_id: RunId(run),
        turn_index: TurnIndex(turn),
        message_id: MessageId(message),
        kind,
        reason,
        last_assistant_message: None,
        completed_at: Wall(0),
        duration_ms: Millis(0),
        token_usage: TokenUsage::default(),
        rounds,
    }
}

pub(super) fn brief(id: u64, kind: BriefKind, message: u64) -> BriefCreated {
    BriefCreated {
        work_item_id: None,
        id: BriefId(id),
        kind,
        visibility: BriefVisibility::TurnResult,
        text: Text::short("told"),
        run_id: None,
        related_message_id: Some(MessageId(message)),
        interjected_message_ids: Vec::new(),
    }
}

/// A message of the runtime's own.
pub(super) fn admitted_from(id: u64, kind: MessageKind, origin: Origin) -> MessageAdmitted {
    let ingress = holon_facts::message::Ingress {
        kind,
        origin,
        priority: Priority::Next,
        admission_context: holon_facts::message::AdmissionContext::RuntimeOwned,
        ..prompt("it has ended")
    };
    let message = Message::admit(MessageId(id), Wall(0), ingress).unwrap();
    MessageAdmitted { message, idempotency: None, expired_keys: 0, deposit: None }
}

pub(super) fn result_queued(task: u64, message: u64, known: bool) -> TaskResultQueued {
    TaskResultQueued { task_id: TaskId(task), message_id: MessageId(message), known }
}

pub(super) fn begun(task: u64, op: u64, run: Option<u64>, cause: TaskOrigin) -> TaskCreated {
    TaskCreated {
        task_id: TaskId(task),
        kind: TaskKind::CommandTask,
        cause,
        status: TaskStatus::Running,
        op: Some(OpId(op)),
        run_id: run.map(RunId),
        parent_message_id: None,
        summary: "make".into(),
        wait_policy: WaitPolicy::Background,
        job: holon_facts::task::Job::Command(crate::testing::command("make")),
        repeated: false,
    }
}

pub(super) fn changed(
    task: u64,
    previous: TaskStatus,
    status: TaskStatus,
    cause: TaskCause,
) -> TaskStatusUpdated {
    TaskStatusUpdated {
        task_id: TaskId(task),
        previous,
        status,
        cause,
        force: false,
        exit_status: None,
        duration_ms: None,
        result: None,
        failure_artifact: None,
        spent: Amount::default(),
        worktree: None,
    }
}

/// A round with a command, and a call that waits for a task.
pub(super) fn called_about(round: u32, task: u64) -> AssistantRoundRecorded {
    let wait = TaskCall::Output { task: TaskId(task), wait: Some(Millis(1_000)) };
    let verdicts = [Verdict::Accepted(Tool::ExecCommand.into()), Verdict::OnTask(wait)].into();
    AssistantRoundRecorded { verdicts, ..called(round, "c1", "c2") }
}

/// The second call begins: it looks at a task.
pub(super) fn looks(index: u32) -> ToolStarted {
    ToolStarted { index, call_id: "c2".into(), tool: Tool::TaskOutput.into(), ..tool_started() }
}

/// A result that shows how a task ended.
pub(super) fn shows(index: u32, call_id: &str, task: u64) -> ToolExecuted {
    let facts = ToolFacts { shown_task: Some(TaskId(task)), ..ToolFacts::default() };
    let receipt = Arc::new(Receipt::success(Text::short("ok"), facts));
    ToolExecuted { receipt, ..executed(0, index, call_id) }
}
