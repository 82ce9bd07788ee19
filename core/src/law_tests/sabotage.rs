//! One hand-made life that keeps every law, and for each law at least one way to break it.

use alloc::vec::Vec;

use holon_facts::budget::BudgetKind;
use holon_facts::closure::ClosureOutcome;
use holon_facts::content::ContentId;
use holon_facts::decision::DecisionKind;
use holon_facts::event::brief::BriefKind;
use holon_facts::event::inbox::*;
use holon_facts::event::lifecycle::*;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::turn::*;
use holon_facts::event::{Event, LifecycleFact, OperationFact, TurnFact};
use holon_facts::ids::{EventSeq, MessageId, OpId, RunId, StepSeq};
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::message::{AuthorityClass, Idempotency, Priority};
use holon_facts::model::{AttemptOutcome, FailureKind, RoundEnd, StopReason};
use holon_facts::record::Record;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::{Millis, Wall};

use super::facts::*;
use crate::testing::{agent, spec};

pub(super) struct Case {
    pub(super) law: &'static str,
    pub(super) what: &'static str,
    pub(super) kept: Vec<Record>,
    pub(super) broken: Vec<Record>,
}

impl Case {
    pub(super) fn of(
        law: &'static str,
        what: &'static str,
        mut life: Script,
        sabotage: impl FnOnce(&mut Script),
    ) -> Self {
        let kept = life.records();
        sabotage(&mut life);
        Self { law, what, kept, broken: life.records() }
    }
}

pub(super) fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = lifecycle();
    cases.extend(queue());
    cases.extend(turns());
    cases.extend(answers());
    cases.extend(commands());
    cases.extend(bounds());
    cases.extend(authority());
    cases.extend(log());
    cases.extend(super::shown::cases());
    cases.extend(super::tasks::cases());
    cases.extend(super::timers::cases());
    cases.extend(super::work::cases());
    cases.extend(super::debts::cases());
    cases.extend(super::unattended::cases());
    cases.extend(super::waits::cases());
    cases.extend(super::hints::cases().into_iter().chain(super::deposits::cases()));
    cases.extend(super::triggers::cases());
    cases.extend(super::budgets::cases());
    cases.extend(super::children::cases());
    cases.extend(super::workspaces::cases());
    cases.extend(super::stops::cases().into_iter().chain(super::labels::cases()));
    cases
}

fn lifecycle() -> Vec<Case> {
    use ControlAction::Stop;
    use Status::{AwakeIdle, AwakeRunning, Stopped};
    alloc::vec![
        case("L1", "a decision to run while stopped", |s| {
            s.after("control_applied", 0, decided(DecisionKind::StartModelTurn, Some(4)));
        }),
        case("L1", "a message is taken while stopped", |s| s.after("control_applied", 0, dequeued(4, None))),
        case("L2", "an operation is left open", |s| s.remove("operation_settled", 6)),
        case("L3", "a message leaves the queue", |s| {
            s.after("control_request_admitted", 0, dequeued(4, None));
        }),
        case("L3", "the message of the run is not aborted", |s| {
            s.replace("message_aborted", 0, processed(3, Some(2), Disposition::Processed));
        }),
        case("L3", "a command is applied that was never admitted", |s| {
            s.remove("control_request_admitted", 1);
        }),
        case("L4", "the run after a start has no decision", |s| s.remove("scheduler_decision", 3)),
        case("L5", "a stopped agent is stopped", |s| {
            s.after("control_applied", 0, applied(Stop, Stopped, Stopped, None));
            s.after("control_applied", 0, requested(Stop, Stopped));
        }),
        case("L5", "a stop leaves the agent awake", |s| {
            s.replace("control_applied", 0, applied(Stop, AwakeIdle, AwakeIdle, Some((2, 3))));
        }),
        case("L6", "an admission moves the agent", |s| {
            s.after("message_admitted", 4, posture(Stopped, Status::Asleep));
        }),
        case("L8", "a result after the end", |s| s.after("turn_terminal", 0, executed(0, 0, "c1"))),
        case("L8", "an operation settles twice", |s| s.after("operation_settled", 0, settled(1))),
        case("S7", "a change from a posture that was not", |s| {
            s.replace("scheduler_posture_decision", 2, posture(AwakeRunning, Status::Asleep));
        }),
    ]
}

fn queue() -> Vec<Case> {
    let keyed = |id, key: &str| {
        let key = Idempotency { key: key.into(), payload: ContentId([1; 32]) };
        MessageAdmitted { idempotency: Some(key), ..admitted(id, Priority::Normal) }
    };
    alloc::vec![
        case("Q1", "a message stays claimed by a run that ended", |s| s.remove("message_requeued", 0)),
        case("Q1", "a queued message is settled", |s| {
            s.after("message_admitted", 3, processed(4, None, Disposition::Processed));
        }),
        case("Q1", "a message is taken without a model and forgotten", |s| {
            s.after("message_admitted", 3, dequeued(4, None));
        }),
        case("Q2", "a terminal message is processed again", |s| {
            s.after("turn_terminal", 0, processed(1, None, Disposition::Processed));
        }),
        case("Q2", "a message is admitted twice", |s| {
            s.after("message_admitted", 2, admitted(3, Priority::Normal));
        }),
        case("Q3", "a claimed message is claimed", |s| s.after("turn_started", 0, dequeued(1, Some(1)))),
        case("Q4", "a later message is taken first", |s| {
            s.replace("message_dequeued", 2, dequeued(5, Some(3)));
        }),
        case("Q4", "a prompt is taken without a model", |s| {
            s.replace("message_dequeued", 2, dequeued(4, None));
        }),
        case("Q5", "a key that is kept admits again", |s| s.replace("message_admitted", 2, keyed(3, "k"))),
        case("Q5", "a duplicate of what had no key", |s| {
            s.after("message_admitted", 2, MessageDuplicate { message_id: MessageId(3) });
        }),
        case("Q7", "a crash is not counted", |s| {
            s.replace("message_requeued", 0, requeued(4, 3, RequeueCause::Crash, 0));
        }),
        case("Q7", "a message is dropped out of order", |s| s.replace("message_dropped", 0, dropped(4, 9))),
        case("Q7", "nobody hears of the drop", |s| s.remove("brief_created", 1)),
        case("Q9", "a message id is skipped", |s| {
            s.replace("message_admitted", 2, admitted(9, Priority::Normal));
        }),
        case("Q9", "a brief is about a message to come", |s| {
            s.replace("brief_created", 0, brief(1, BriefKind::Result, 7));
        }),
        case("Q10", "a message comes back from a run that no crash interrupted", |s| {
            s.remove("runtime_recovered", 0);
        }),
        case("Q10", "an interrupted message does not come back", |s| {
            s.replace("message_requeued", 0, processed(4, Some(3), Disposition::Processed));
        }),
    ]
}

fn turns() -> Vec<Case> {
    alloc::vec![
        case("T1", "a run starts beside another", |s| s.after("turn_context_built", 0, started(2, 2, 1))),
        case("T2", "a run starts for what it did not claim", |s| s.remove("message_dequeued", 1)),
        case("T2", "a run starts for a message that a run has settled", |s| {
            s.replace("turn_started", 1, started(2, 2, 1));
        }),
        case("T3", "a round is skipped", |s| {
            s.replace("assistant_round_recorded", 1, spoken(2));
        }),
        case("T3", "two requests at a time", |s| s.after(
            "operation_opened",
            1,
            opened(3, OpKind::CallModel, 1)
        )),
        case("T4", "a run ends twice", |s| s.after(
            "turn_terminal",
            0,
            ended(1, 1, 1, TurnKind::Completed, None, 2)
        )),
        case("T4", "a run ends as another turn", |s| {
            s.replace("turn_terminal", 0, ended(1, 4, 1, TurnKind::Completed, None, 2));
        }),
        case("T5", "a call has no result", |s| s.remove("tool_execution_failed", 0)),
        case("T5", "a call has two results", |s| s.after("tool_executed", 0, executed(0, 0, "c1"))),
        case("T5", "a refused call is started", |s| {
            s.replace("tool_started", 0, ToolStarted { index: 1, call_id: "c2".into(), ..tool_started() });
        }),
        case("T5", "two calls have one name", |s| s.replace(
            "assistant_round_recorded",
            0,
            called(0, "c1", "c1")
        )),
    ]
}

fn answers() -> Vec<Case> {
    let end = |stop_reason, end| AssistantRoundRecorded { stop_reason, end: Some(end), ..spoken(1) };
    let failed = |reason| ended(1, 1, 1, TurnKind::Failed, Some(reason), 2);
    alloc::vec![
        case("T12", "an answer that was cut off completes its turn", |s| {
            s.replace("assistant_round_recorded", 1, end(StopReason::MaxOutput, RoundEnd::OutputLimit));
        }),
        case("T12", "a refusal counts as finished", |s| {
            s.replace("assistant_round_recorded", 1, end(StopReason::Refusal, RoundEnd::Finished));
        }),
        case("T12", "an empty answer counts as finished", |s| {
            let silent = AssistantRoundRecorded { blocks: Vec::new().into(), ..spoken(1) };
            s.replace("assistant_round_recorded", 1, silent);
        }),
        case("T12", "a finished answer fails its turn", |s| {
            s.replace("turn_terminal", 0, failed(TurnReason::ContentFilter));
        }),
        case("T12", "a refusal fails its turn under another name", |s| {
            s.replace("assistant_round_recorded", 1, end(StopReason::Refusal, RoundEnd::Refusal));
            s.replace("turn_terminal", 0, failed(TurnReason::ContentFilter));
        }),
        case("T12", "what was not cut off is continued", |s| {
            let text = alloc::string::String::from("go on");
            let (kind, round) = (ReminderKind::Continuation, holon_facts::ids::RoundIndex(1));
            let reminder = ReminderInjected { run_id: RunId(1), round, kind, text };
            s.after("tool_execution_failed", 0, reminder);
        }),
        case("T12", "a round joins what no round before it said", |s| {
            let joined = Some(holon_facts::content::Text::short("a b"));
            s.replace("assistant_round_recorded", 1, AssistantRoundRecorded { joined, ..spoken(1) });
        }),
    ]
}

fn commands() -> Vec<Case> {
    let unnamed = |op, kind| OperationOpened { supervisor: None, ..opened(op, kind, 1) };
    alloc::vec![
        case("P4", "a command runs under nobody", |s| {
            s.replace("operation_opened", 4, unnamed(5, OpKind::RunCommand));
        }),
        case("P4", "a command runs without a supervisor that waits", |s| {
            s.replace("operation_opened", 3, unnamed(4, OpKind::CallTool));
        }),
        case("P4", "a command runs twice", |s| {
            s.after("operation_opened", 4, opened(6, OpKind::RunCommand, 1));
            s.after("operation_opened", 4, settled(5));
        }),
        case("P4", "a request names a supervisor", |s| {
            let named = opened(6, OpKind::RunCommand, 1).supervisor;
            s.replace(
                "operation_opened",
                5,
                OperationOpened { supervisor: named, ..opened(6, OpKind::CallModel, 1) },
            );
        }),
    ]
}

/// The first attempt was the last of its chain.
fn given_up(s: &mut Script) {
    let kind = Some(FailureKind::Server);
    s.replace("provider_attempt_recorded", 0, attempted(0, 1, AttemptOutcome::RetriesExhausted, kind, None));
}

fn awaited(pause_ms: Millis, until: Wall) -> ProvidersAwaited {
    ProvidersAwaited {
        run_id: RunId(1),
        round: holon_facts::ids::RoundIndex(0),
        models: alloc::vec![holon_facts::model::ModelRef::new("local/one").unwrap()],
        since: Wall(0),
        passes: 1,
        pause_ms,
        until,
    }
}

fn bounds() -> Vec<Case> {
    use AttemptOutcome::{FailFastAborted, Retrying, Succeeded};
    let first = |outcome, kind, wait| attempted(0, 1, outcome, kind, wait);
    alloc::vec![
        case("T6", "a run forgets a round", |s| {
            s.replace("turn_terminal", 0, ended(1, 1, 1, TurnKind::Completed, None, 1));
        }),
        case("T6", "a limit without its name", |s| {
            s.replace("turn_terminal", 0, ended(1, 1, 1, TurnKind::LimitReached, None, 2));
        }),
        case("T6", "work goes on without budget", |s| {
            s.after(
                "tool_execution_failed",
                0,
                BudgetExhausted {
                    run_id: RunId(1),
                    budget: BudgetKind::TurnTokens,
                    limit: 10,
                    used: 9,
                    wanted: 2,
                },
            );
        }),
        case("T8", "a recap of the newest rounds", |s| s.replace("context_compacted", 0, compacted(1))),
        case("T8", "a second refusal is answered", |s| s.after("context_compacted", 0, compacted(0))),
        case("T8", "a recap between call and result", |s| s.after("tool_started", 0, compacted(0))),
        case("T9", "a prompt enters between call and result", |s| {
            s.remove("operator_interjection_admitted", 0);
            s.after("message_admitted", 1, interjected(1));
        }),
        case("T9", "a prompt is shown in a round that is over", |s| {
            s.replace("operator_interjection_admitted", 0, interjected(0));
        }),
        case("T10", "an attempt beyond the policy", |s| {
            s.replace("provider_attempt_recorded", 1, attempted(0, 4, Succeeded, None, None));
        }),
        case("T10", "what can't help is repeated", |s| {
            let vain = first(Retrying, Some(FailureKind::Auth), Some(Millis(9)));
            s.replace("provider_attempt_recorded", 0, vain);
        }),
        case("T10", "what may help is given up at once", |s| {
            let hasty = first(FailFastAborted, Some(FailureKind::Server), None);
            s.replace("provider_attempt_recorded", 0, hasty);
        }),
        case("T10", "a retry does not wait", |s| s.join_step("provider_attempt_recorded", 0)),
        case("T10", "a round begins with somebody else", |s| {
            let mut other = first(Retrying, Some(FailureKind::Server), Some(Millis(9)));
            other.attempt.model_ref = holon_facts::model::ModelRef::new("local/two").unwrap();
            s.replace("provider_attempt_recorded", 0, other);
        }),
        case("T10", "the first model is asked again at once", |s| {
            let probing = AssistantRoundRecorded { probes: true, candidate: 1, ..called(0, "c1", "c2") };
            s.replace("assistant_round_recorded", 0, probing);
        }),
        case("T10", "a chain that has not failed is gone through again", |s| {
            s.after("provider_attempt_recorded", 0, awaited(Millis(1_000), Wall(5_000_000)));
        }),
        case("T10", "a chain is gone through again at once", |s| {
            given_up(s);
            s.after("provider_attempt_recorded", 0, awaited(Millis(0), Wall(5_000_000)));
        }),
        case("T10", "a chain is gone through again for ever", |s| {
            given_up(s);
            s.after("provider_attempt_recorded", 0, awaited(Millis(1_000), Wall(9_000_000)));
            s.after("provider_attempt_recorded", 0, awaited(Millis(1_000), Wall(5_000_000)));
        }),
    ]
}

fn authority() -> Vec<Case> {
    let raised = |priority, authority_class| {
        let mut fact = admitted(3, priority);
        fact.message.authority_class = authority_class;
        fact
    };
    alloc::vec![
        case("T7", "what a hold has put back is tried at once", |s| {
            s.after("turn_terminal", 0, started(2, 2, 1));
            s.after("turn_terminal", 0, requeued(1, 1, RequeueCause::Hold, 0));
        }),
        case("T11", "an answer stops the agent", |s| {
            s.after("assistant_round_recorded", 0, requested(ControlAction::Stop, Status::AwakeRunning));
        }),
        case("T11", "a tool sends a message", |s| {
            s.after("tool_executed", 0, admitted(3, Priority::Normal));
        }),
        case("A1", "a prompt of the operator is evidence", |s| {
            let fact = raised(Priority::Normal, AuthorityClass::ExternalEvidence);
            s.replace("message_admitted", 2, fact);
        }),
        case("A4", "what is no instruction interjects", |s| {
            let fact = raised(Priority::Interject, AuthorityClass::IntegrationSignal);
            s.replace("message_admitted", 2, fact);
        }),
        case("W2", "an agent that works falls asleep", |s| {
            s.after("turn_context_built", 0, posture(Status::AwakeRunning, Status::Asleep));
        }),
        case("W2", "a later turn begins unannounced", |s| s.remove("scheduler_posture_decision", 3)),
        case("W2", "a turn ends unannounced", |s| s.remove("scheduler_posture_decision", 1)),
        case("W2", "a turn is announced that does not begin", |s| {
            s.step().on(decided(DecisionKind::StartModelTurn, Some(9)));
            s.on(posture(Status::AwakeIdle, Status::AwakeRunning)).step().on(admitted(9, Priority::Normal));
        }),
        case("W2", "a turn is said to be over that goes on", |s| {
            s.after("turn_context_built", 0, posture(Status::AwakeRunning, Status::AwakeIdle));
        }),
        case("W2", "a change to what it is already", |s| {
            s.after("scheduler_posture_decision", 2, posture(Status::Asleep, Status::Asleep));
        }),
    ]
}

fn log() -> Vec<Case> {
    alloc::vec![
        case("W7", "time goes back", |s| s.rows[5].at = Wall(0)),
        case("W7", "a step of the clock is made up", |s| {
            s.replace("clock_stepped", 0, ClockStepped { from: Wall(9), to: Wall(8), expected: None });
        }),
        case("W10", "a run ends without closure", |s| s.remove("closure_decided", 0)),
        case("W10", "a closure without an end", |s| s.after(
            "turn_started",
            0,
            closed(ClosureOutcome::Completed)
        )),
        case("W10", "a closure waits for nothing", |s| {
            s.replace("closure_decided", 0, closed(ClosureOutcome::Waiting));
        }),
        case("D3", "a record is missing", |s| s.gap_at = Some(7)),
        case("D3", "steps go back", |s| s.rows[8].step = StepSeq(1)),
        case("D3", "the agent is not created", |s| s.remove("agent_created", 0)),
    ]
}

/// A turn with a retry, tools and an interjection; one that is stopped; one that crashes until it is dropped.
fn life() -> Script {
    use AttemptOutcome::{Retrying, Succeeded};
    let mut s = Script::default();
    let key = Idempotency { key: "k".into(), payload: ContentId([1; 32]) };
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(MessageAdmitted { idempotency: Some(key), ..admitted(1, Priority::Normal) });
    s.begin(1, 1, 1, 1);
    s.step().on(settled(1)).on(TurnContextBuilt { run_id: RunId(1), context: loaded() });
    s.on(compacted(0)).on(opened(2, OpKind::CallModel, 1));
    s.step().on(settled(2)).on(attempted(0, 1, Retrying, Some(FailureKind::Server), Some(Millis(200))));
    s.step().on(opened(3, OpKind::CallModel, 1));
    s.step().on(settled(3)).on(attempted(0, 2, Succeeded, None, None)).on(called(0, "c1", "c2"));
    s.on(tool_started()).on(opened(4, OpKind::PrepareCommand, 1));
    s.step().on(settled(4)).on(opened(5, OpKind::RunCommand, 1));
    s.step().on(admitted(2, Priority::Interject));
    s.step().on(settled(5)).on(executed(0, 0, "c1")).on(refused(0, 1, "c2")).on(interjected(1));
    s.on(opened(6, OpKind::CallModel, 1));
    s.step().on(settled(6)).on(attempted(1, 1, Succeeded, None, None)).on(spoken(1));
    s.on(processed(2, Some(1), Disposition::Interjected)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 2)).on(brief(1, BriefKind::Result, 1));
    s.on(closed(ClosureOutcome::Completed)).on(decided(DecisionKind::Sleep, None));
    s.on(posture(Status::AwakeIdle, Status::Asleep));
    s.step().on(admitted(3, Priority::Normal));
    s.begin(3, 2, 2, 7);
    s.step().on(admitted(4, Priority::Normal));
    s.step().on(requested(ControlAction::Stop, Status::AwakeRunning)).on(settled(7)).on(aborted(3, 2));
    s.on(ended(2, 2, 3, TurnKind::Aborted, Some(TurnReason::Stopped), 0))
        .on(closed(ClosureOutcome::Completed));
    s.on(applied(ControlAction::Stop, Status::AwakeIdle, Status::Stopped, Some((2, 3))));
    s.on(posture(Status::AwakeIdle, Status::Stopped));
    s.step().on(admitted(5, Priority::Normal));
    s.step().on(requested(ControlAction::Start, Status::Stopped));
    s.on(applied(ControlAction::Start, Status::Stopped, Status::AwakeIdle, None));
    s.on(posture(Status::Stopped, Status::AwakeIdle));
    s.begin(4, 3, 3, 8);
    s.step().on(recovered(3, 8)).on(settled(8)).on(requeued(4, 3, RequeueCause::Crash, 1));
    s.on(ended(3, 3, 4, TurnKind::Interrupted, Some(TurnReason::Crash), 0))
        .on(closed(ClosureOutcome::Completed));
    s.begin(4, 4, 4, 9);
    s.step().on(recovered(4, 9)).on(settled(9)).on(dropped(4, 2));
    s.on(ended(4, 4, 4, TurnKind::Interrupted, Some(TurnReason::Crash), 0)).on(brief(
        2,
        BriefKind::Failure,
        4,
    ));
    s.on(closed(ClosureOutcome::Completed));
    s.step().back(ClockStepped { from: Wall(0), to: Wall(0), expected: None });
    s.on(decided(DecisionKind::Sleep, None));
    s
}

/// Records in the making: steps and times go on by themselves, positions are counted at the end.
#[derive(Default)]
pub(super) struct Script {
    rows: Vec<Row>,
    step: StepSeq,
    at: Wall,
    /// In flight.
    request: Option<OpId>,
    /// Before the next record.
    status: Option<Status>,
    /// A position of the log that is left out.
    gap_at: Option<usize>,
}

struct Row {
    step: StepSeq,
    at: Wall,
    event: Event,
}

impl Script {
    /// The log of an agent as a host has written it.
    pub(super) fn of(log: Vec<Record>) -> Self {
        let row = |record: Record| Row { step: record.step, at: record.at, event: record.event };
        Self {
            rows: log.into_iter().map(row).collect(),
            step: StepSeq(0),
            at: Wall(0),
            request: None,
            status: None,
            gap_at: None,
        }
    }

    pub(super) fn event(&self, kind: &str, nth: usize) -> &Event {
        &self.rows[self.find(kind, nth)].event
    }

    pub(super) fn step(&mut self) -> &mut Self {
        self.step = self.step.next();
        self.at = self.at.after(Millis(1_000));
        self
    }

    pub(super) fn time(&self) -> Wall {
        self.at
    }

    /// Requests to models are reserved and settled as they are opened and end, and turns change the posture.
    pub(super) fn on(&mut self, event: impl Into<Event>) -> &mut Self {
        let event = event.into();
        let (mut before, mut after) = (None, None);
        if let Event::Operation(OperationFact::OperationOpened(fact)) = &event
            && fact.kind == OpKind::CallModel
        {
            self.request = Some(fact.op);
            after = fact.run_id.map(|run| reserved(fact.op.0, run.0));
        }
        if let Event::Operation(OperationFact::OperationSettled(fact)) = &event
            && self.request == Some(fact.op)
        {
            self.request = None;
            before = Some(Event::from(paid(fact.op.0)));
        }
        if let Event::Turn(TurnFact::TurnStarted(_)) = &event {
            before = Some(self.posture(Status::AwakeRunning).into());
        } else if let Event::Turn(TurnFact::TurnTerminal(_)) = &event {
            before = Some(self.posture(Status::AwakeIdle).into());
        } else if let Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) = &event {
            self.status = Some(fact.next);
        }
        let all = before.into_iter().chain([event]).chain(after.map(Event::from));
        self.rows.extend(all.map(|event| Row { step: self.step, at: self.at, event }));
        self
    }

    /// Before the turn that it is due to.
    fn posture(&mut self, next: Status) -> SchedulerPostureDecision {
        posture(self.status.replace(next).unwrap_or(Status::Booting), next)
    }

    /// A step of the clock, from now to a while ago.
    fn back(&mut self, mut fact: ClockStepped) {
        fact.from = self.rows.last().unwrap().at;
        fact.to = Wall(fact.from.0 / 2);
        self.at = fact.to;
        self.on(fact);
    }

    pub(super) fn begin(&mut self, message: u64, run: u64, turn: u64, op: u64) {
        self.on(decided(DecisionKind::StartModelTurn, Some(message))).on(dequeued(message, Some(run)));
        self.on(started(run, turn, message)).on(opened(op, OpKind::LoadContext, run));
    }

    fn find(&self, kind: &str, nth: usize) -> usize {
        let mut found = self.rows.iter().enumerate().filter(|(_, row)| row.event.kind() == kind);
        found.nth(nth).unwrap_or_else(|| panic!("there is no {kind} number {nth}")).0
    }

    pub(super) fn remove(&mut self, kind: &str, nth: usize) {
        let at = self.find(kind, nth);
        self.rows.remove(at);
    }

    pub(super) fn replace(&mut self, kind: &str, nth: usize, event: impl Into<Event>) {
        let at = self.find(kind, nth);
        self.rows[at].event = event.into();
    }

    pub(super) fn after(&mut self, kind: &str, nth: usize, event: impl Into<Event>) {
        let at = self.find(kind, nth);
        let Row { step, at: time, .. } = self.rows[at];
        self.rows.insert(at + 1, Row { step, at: time, event: event.into() });
    }

    pub(super) fn before(&mut self, kind: &str, nth: usize, event: impl Into<Event>) {
        let at = self.find(kind, nth);
        let Row { step, at: time, .. } = self.rows[at];
        self.rows.insert(at, Row { step, at: time, event: event.into() });
    }

    /// What follows belongs to the same step.
    fn join_step(&mut self, kind: &str, nth: usize) {
        let at = self.find(kind, nth);
        self.rows[at + 1].step = self.rows[at].step;
    }

    fn records(&self) -> Vec<Record> {
        let record = |(index, row): (usize, &Row)| Record {
            step: row.step,
            agent: agent("main"),
            event_seq: EventSeq(index as u64 + 1),
            at: row.at,
            event: row.event.clone(),
        };
        let mut records: Vec<_> = self.rows.iter().enumerate().map(record).collect();
        if let Some(gap) = self.gap_at {
            records.remove(gap);
        }
        records
    }
}
