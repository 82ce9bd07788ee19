//! The end of a run, whatever brought it about: calls get their results, operations are given up, messages
//! reach their next status, the operator is notified, and the closure follows.

use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::inbox::{
    Disposition, MessageAborted, MessageDropped, MessageProcessed, MessageRequeued, RequeueCause, SafePoint,
};
use holon_facts::event::lifecycle::{CurrentRunAborted, SchedulerPostureDecision};
use holon_facts::event::operation::Settlement;
use holon_facts::event::scheduling::ClosureDecided;
use holon_facts::event::turn::{FailureArtifact, TurnTerminal};
use holon_facts::ids::{MessageId, RunId, WorkItemId};
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::terminal::{TurnKind, TurnReason};

use crate::agent::turn::Run;
use crate::handler::budget::Exhausted;
use crate::handler::turn::outage::{self, Away};
use crate::handler::turn::{interject, report, tools};
use crate::handler::wait::recheck;
use crate::handler::work::obligation::{self, Ended, Way};
use crate::handler::work::plan;
use crate::handler::workspace::tree;
use crate::handler::{memory, task, unattended};
use crate::tx::Tx;

/// Why a run ends.
pub(crate) enum End {
    Completed,
    /// The operator stopped the agent or aborted the run.
    Aborted {
        reason: TurnReason,
    },
    Failed {
        reason: TurnReason,
        failure: FailureArtifact,
    },
    ContextLength {
        reason: TurnReason,
        failure: FailureArtifact,
    },
    LimitReached {
        limit: Limit,
    },
    /// Where the agent is held for it, nothing else begins; where the message is, it comes again.
    BudgetExhausted {
        exhausted: Exhausted,
        agent_held: bool,
        held: bool,
    },
    /// Providers are away: the message comes again.
    Held {
        away: Away,
    },
    ShutDown,
    Crashed,
}

impl End {
    fn kind(&self) -> (TurnKind, Option<TurnReason>) {
        match self {
            Self::Completed => (TurnKind::Completed, None),
            Self::Aborted { reason } => (TurnKind::Aborted, Some(*reason)),
            Self::Failed { reason, .. } => (TurnKind::Failed, Some(*reason)),
            Self::ContextLength { reason, .. } => (TurnKind::ContextLengthExceeded, Some(*reason)),
            Self::LimitReached { limit } => (TurnKind::LimitReached, Some(limit.reason())),
            Self::BudgetExhausted { exhausted, .. } => {
                (TurnKind::BudgetExhausted, Some(exhausted.budget.budget.reason()))
            }
            Self::Held { away: Away::Outage { .. } } => (TurnKind::Interrupted, Some(TurnReason::Outage)),
            Self::Held { away: Away::Quota { .. } } => (TurnKind::Interrupted, Some(TurnReason::Quota)),
            Self::Held { away: Away::Credentials } => (TurnKind::Interrupted, Some(TurnReason::Credentials)),
            Self::ShutDown => (TurnKind::Interrupted, Some(TurnReason::Shutdown)),
            Self::Crashed => (TurnKind::Interrupted, Some(TurnReason::Crash)),
        }
    }
}

/// Which bound a turn has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Rounds,
    WallTime,
    RepeatedToolCall,
}

impl Limit {
    fn reason(self) -> TurnReason {
        match self {
            Self::Rounds => TurnReason::Rounds,
            Self::WallTime => TurnReason::WallTime,
            Self::RepeatedToolCall => TurnReason::RepeatedToolCall,
        }
    }
}

/// Ends the run in progress.
pub(crate) fn end(tx: &mut Tx<'_>, end: End) {
    let Some(run) = &tx.agent().run else { return };
    let (mut before, mut ended) = (Before::of(run), Ended::of(run, &tx.agent().inbox));
    if matches!(end, End::ShutDown) {
        task::promote::at_shutdown(tx);
    }
    tools::interrupt(tx);
    tx.cancel_run_ops(if matches!(end, End::Crashed) { Settlement::Lost } else { Settlement::Cancelled });
    tx.disarm_run();
    if comes_again(tx, &end, &before).is_some_and(|again| !again.dropped) {
        // What came in the middle of it belongs to it: the next run shows it here, and nothing before what it corrects.
        interject::take(tx, SafePoint::BeforeRequest);
        let Some(run) = &tx.agent().run else { return };
        before.interjected.clone_from(&run.conversation.interjected);
        ended = Ended::of(run, &tx.agent().inbox);
    }
    let (kind, reason) = end.kind();
    outage::set_hold(tx, &end);
    let failure = report::failure(&end);
    if let Some(failure) = &failure {
        report::report(tx, failure.clone());
    }
    let dropped = settle_messages(tx, &end, &before);
    let Some(run) = &tx.agent().run else { return };
    let answers = run.chain.models.get(run.chain.candidate as usize);
    let priced = answers.is_some_and(|model| tx.env.config.prices.of(model).is_some());
    let terminal = TurnTerminal {
        run_id: run.id,
        turn_index: run.turn_index,
        message_id: run.message,
        kind,
        reason,
        last_assistant_message: run.conversation.last_text().or(before.last_text.as_ref()).cloned(),
        completed_at: tx.now(),
        duration_ms: tx.now().since(run.started_at),
        token_usage: run.chain.usage,
        cost_micros: Some(run.spent.cost_micros).filter(|cost| priced || !cost.is_nothing()),
        rounds: before.rounds,
        progress: run.course.progress,
        held: matches!(end, End::BudgetExhausted { held: true, .. }),
    };
    // What comes again has not ended.
    let done = (!tx.agent().inbox.is_live(before.message)).then(|| memory::Done::of(run));
    let brief = report::brief(tx, &end, failure.as_ref(), &terminal, &before, dropped);
    rest(tx, &end);
    tx.record(terminal);
    if let Some(brief) = brief {
        tx.record(brief);
    }
    if kind == TurnKind::Completed {
        outage::end_hold(tx);
    }
    let way = way(&end, dropped);
    if let Some(way) = way {
        obligation::turn_ended(tx, &ended, way);
    }
    unattended::turn_ended(tx, &ended, way);
    recheck::turn_ended(tx, ended.run_id, before.message);
    obligation::asked(tx, ended.run_id, before.message, &before.asks);
    if let (Some(Way::Settled), Some(item)) = (way, before.work_item) {
        plan::probe(tx, item);
    }
    if !matches!(end, End::ShutDown | End::Crashed) {
        tree::left(tx);
    }
    if let Some(done) = done {
        memory::turn_ended(tx, done);
    }
    let closure = tx.agent().closure(tx.now());
    tx.record(ClosureDecided { closure });
}

/// The run is over: its last fact follows.
fn rest(tx: &mut Tx<'_>, end: &End) {
    let boundary = match end {
        End::Aborted { .. } => Boundary::Control,
        End::ShutDown => Boundary::Shutdown,
        End::Crashed => Boundary::Bootstrap,
        End::Completed
        | End::Failed { .. }
        | End::ContextLength { .. }
        | End::LimitReached { .. }
        | End::BudgetExhausted { .. }
        | End::Held { .. } => Boundary::MessageProcessing,
    };
    let previous = tx.agent().status;
    tx.record(SchedulerPostureDecision { previous, next: Status::AwakeIdle, boundary, wakes_at: None });
}

/// What the end means for the work that the turn was about. One that waits for providers or a budget has not ended, and
/// a stop says nothing of what was done.
fn way(end: &End, dropped: bool) -> Option<Way> {
    match end {
        End::Completed
        | End::Failed { .. }
        | End::LimitReached { .. }
        | End::BudgetExhausted { held: false, .. } => Some(Way::Settled),
        End::ContextLength { .. } => Some(Way::TooLong),
        End::Aborted { reason: TurnReason::OperatorAbort } => Some(Way::Aborted),
        End::Crashed if dropped => Some(Way::Dropped),
        End::ShutDown | End::Crashed => Some(Way::Interrupted),
        End::Aborted { .. } | End::Held { .. } | End::BudgetExhausted { held: true, .. } => None,
    }
}

/// What must be known of a run before its message takes the rounds along.
pub(super) struct Before {
    pub(super) message: MessageId,
    pub(super) work_item: Option<WorkItemId>,
    pub(super) interjected: Vec<MessageId>,
    also: Vec<MessageId>,
    /// Items for which it said that they need input.
    asks: Vec<WorkItemId>,
    last_text: Option<Text>,
    rounds: u32,
    recorded_something: bool,
}

impl Before {
    fn of(run: &Run) -> Self {
        Self {
            message: run.message,
            work_item: run.about.work_item,
            interjected: run.conversation.interjected.clone(),
            also: run.about.also.iter().map(|message| message.id).collect(),
            asks: run.course.asks.clone(),
            last_text: run.conversation.last_text().cloned(),
            rounds: run.conversation.next_round().0,
            recorded_something: run.course.recorded_something,
        }
    }
}

/// How the message of a run waits again.
#[derive(Clone, Copy)]
struct Again {
    cause: RequeueCause,
    /// Crashed runs without anything new, in a row.
    crashes: u32,
    /// It has crashed too often to come again.
    dropped: bool,
}

/// None where the end settles it.
fn comes_again(tx: &Tx<'_>, end: &End, before: &Before) -> Option<Again> {
    let cause = match end {
        End::Held { .. } | End::BudgetExhausted { held: true, .. } => RequeueCause::Hold,
        End::ShutDown => RequeueCause::Shutdown,
        End::Crashed => RequeueCause::Crash,
        End::Completed
        | End::Aborted { .. }
        | End::Failed { .. }
        | End::ContextLength { .. }
        | End::LimitReached { .. }
        | End::BudgetExhausted { held: false, .. } => return None,
    };
    let earlier = tx.agent().inbox.claimed(before.message).map_or(0, |entry| entry.crashes);
    let crashed = u32::from(cause == RequeueCause::Crash);
    let crashes = if before.recorded_something { 0 } else { earlier.saturating_add(crashed) };
    Some(Again {
        cause,
        crashes,
        dropped: cause == RequeueCause::Crash && crashes >= tx.env.config.queue.crashes,
    })
}

/// The message of the run and the prompts taken into it reach their next status; says whether the message
/// was dropped.
fn settle_messages(tx: &mut Tx<'_>, end: &End, before: &Before) -> bool {
    let Some(run) = tx.agent().run.as_ref() else { return false };
    let carried_notes = u32::try_from(run.conversation.notes.len()).unwrap_or(u32::MAX);
    let (run_id, message_id) = (run.id, before.message);
    let Some(Again { cause, crashes, dropped }) = comes_again(tx, end, before) else {
        for &message_id in &before.interjected {
            let disposition = Disposition::Interjected;
            tx.record(MessageProcessed { message_id, run_id: Some(run_id), disposition });
        }
        for &message_id in &before.also {
            settle(tx, end, run_id, message_id);
        }
        if let End::Aborted { reason } = end {
            tx.record(CurrentRunAborted { run_id, message_id, reason: *reason });
        }
        settle(tx, end, run_id, message_id);
        return false;
    };
    // Where the message is dropped, its turn has ended without what was interjected: each has one of its own.
    let interjected_into = (!dropped).then_some(message_id);
    let interjected = before.interjected.iter().map(|message| (*message, interjected_into));
    for (message_id, interjected_into) in
        interjected.chain(before.also.iter().map(|message| (*message, None)))
    {
        let crashes = tx.agent().inbox.claimed(message_id).map_or(0, |entry| entry.crashes);
        let carried_notes = 0;
        tx.record(MessageRequeued { message_id, run_id, cause, crashes, interjected_into, carried_notes });
    }
    if dropped {
        tx.record(MessageDropped { message_id, crashes });
    } else {
        let interjected_into = None;
        tx.record(MessageRequeued { message_id, run_id, cause, crashes, interjected_into, carried_notes });
    }
    dropped
}

/// The message has been dealt with: by the turn, or by its abortion.
fn settle(tx: &mut Tx<'_>, end: &End, run_id: RunId, message_id: MessageId) {
    if matches!(end, End::Aborted { .. }) {
        tx.record(MessageAborted { message_id, run_id });
    } else {
        let disposition = Disposition::Processed;
        tx.record(MessageProcessed { message_id, run_id: Some(run_id), disposition });
    }
}
