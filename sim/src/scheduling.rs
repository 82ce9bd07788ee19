//! G6: a decision states facts, and follows from them. Each recorded decision is checked against its agent's state
//! before it, with a second version of the scheduler's table.

use holon_core::agent::Agent;
use holon_core::agent::hold::Hold;
use holon_core::agent::inbox::Entry;
use holon_core::agent::wait::Wait;
use holon_core::agent::wait::recheck::Recheck;
use holon_core::agent::work::WorkItem;
use holon_facts::closure::{ClosureOutcome, WaitingReason};
use holon_facts::continuation::ContinuationClass;
use holon_facts::decision::{
    DeadlineReason, DecisionKind as Kind, DecisionReason as Reason, Evidence, SchedulerDecision,
};
use holon_facts::event::SchedulingFact;
use holon_facts::event::scheduling::ContinuationResolved;
use holon_facts::ids::{WaitId, WorkItemId};
use holon_facts::lifecycle::Status;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority};
use holon_facts::terminal::TurnKind;
use holon_facts::wait::WaitKind;
use holon_facts::work::{PlanStatus, WorkState};
use holon_facts::{Event, MessageId, Record, Wall};

use crate::decisions::Came;
use crate::failure::{Failure, ensure};
use crate::supervision;

/// Checks a record by its agent before it; `blind` is sabotage: it takes every queue for empty. Returns whether there
/// was something to check.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
pub(crate) fn check(agent: &Agent, record: &Record, blind: bool) -> Result<bool, Failure> {
    match &record.event {
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) => {
            let facts = Facts::of(agent, record.at, blind);
            facts.table(decision)?;
            decision.evidence.iter().try_for_each(|evidence| facts.check_notice(evidence, decision))?;
            Ok(true)
        }
        Event::Scheduling(SchedulingFact::ClosureDecided(fact)) => {
            let facts = Facts::of(agent, record.at, blind);
            let (closure, right) = (&fact.closure, facts.closure());
            let same = (closure.row, closure.outcome) == right;
            ensure!(same, "G6", "{} closes with {closure:?}, right is {right:?}", agent.id);
            Ok(true)
        }
        Event::Scheduling(SchedulingFact::ContinuationResolved(fact)) => {
            Facts::of(agent, record.at, blind).continues(fact)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The facts about an agent that decisions depend on.
struct Facts<'a> {
    agent: &'a Agent,
    queued: u64,
    /// The first queued entry, and the first that needs no model.
    first: Option<&'a Entry>,
    passive: Option<&'a Entry>,
    hold: Option<&'a Hold>,
    /// The prompt that may try again during a hold.
    trial: Option<MessageId>,
    /// The end of the day, if its turns without an operator are exhausted.
    exhausted: Option<Wall>,
    at: Wall,
}

/// Most urgent first.
fn urgency(priority: Priority) -> u8 {
    match priority {
        Priority::Interject => 0,
        Priority::Next => 1,
        Priority::Normal => 2,
        Priority::Background => 3,
    }
}

/// Whether a turn that was interrupted goes on with an entry, whatever it says itself.
fn goes_on(entry: &Entry) -> bool {
    !entry.interjected.is_empty() || !entry.carried.is_empty() || !entry.notes.is_empty()
}

/// Whether an entry has new content for its agent.
fn has_content(entry: &Entry) -> bool {
    if goes_on(entry) {
        return true;
    }
    let passive = [MessageKind::TaskStatus, MessageKind::BriefAck, MessageKind::BriefResult];
    !entry.known && !passive.contains(&entry.message.kind)
}

/// The items of a tick that are still as it reports; none if the entry is no tick of work.
fn reminded_items<'a>(agent: &'a Agent, entry: &Entry) -> Option<Vec<&'a WorkItem>> {
    let Origin::System { subsystem } = &entry.message.origin else { return None };
    let current = agent.work.current().map(|item| item.id);
    let in_focus = match subsystem.as_str() {
        "continue_active" => true,
        "queued_available" => false,
        _ => return None,
    };
    let reported = agent.work.open().filter(|item| item.debt.tick == Some(entry.message.id));
    let still =
        |item: &&WorkItem| item.state() == WorkState::Runnable && (current == Some(item.id)) == in_focus;
    Some(reported.filter(still).collect())
}

/// Whether an entry has content that still holds, or an operator has interjected into its turn.
fn has_news(agent: &Agent, entry: &Entry) -> bool {
    if goes_on(entry) {
        return true;
    }
    let Origin::System { subsystem } = &entry.message.origin else { return has_content(entry) };
    let holds = match subsystem.as_str() {
        "sleep_elapsed" => agent.sleep.as_ref().and_then(|sleep| sleep.tick) == Some(entry.message.id),
        "recheck" => rechecks(agent)
            .any(|(_, recheck)| recheck.recheck_at.is_some() && recheck.tick == Some(entry.message.id)),
        "child_needs_parent" => agent.tasks.active().any(|task| {
            let reported = task.need.as_ref().and_then(|need| need.delivered_by);
            reported == Some(entry.message.id)
        }),
        _ => true,
    };
    holds && has_content(entry) && reminded_items(agent, entry).is_none_or(|items| !items.is_empty())
}

/// Whether the agent chose to rest until later than now.
fn sleeps(agent: &Agent, at: Wall) -> bool {
    agent.sleep.as_ref().and_then(|sleep| sleep.until).is_some_and(|until| until > at)
}

/// The end of the day, if its turns without an operator are exhausted.
fn exhausted(agent: &Agent, at: Wall) -> Option<Wall> {
    agent.unattended.exhausted.map(|exhausted| exhausted.until).filter(|until| *until > at)
}

/// Whether somebody outside caused an entry.
fn is_from_others(entry: &Entry) -> bool {
    match &entry.message.origin {
        Origin::Channel { .. } | Origin::Webhook { .. } | Origin::Callback { .. } => true,
        Origin::System { subsystem } => subsystem == "wake_hint" && !entry.own,
        Origin::Operator { .. } | Origin::Timer { .. } | Origin::Task { .. } => false,
    }
}

/// Whether an entry has its turn later, although it is the first.
pub(crate) fn has_to_wait(agent: &Agent, entry: &Entry, at: Wall) -> bool {
    // An interjected entry has its turn with the message into whose turn it was taken, and that message does not wait.
    if entry.host.is_some() || !entry.interjected.is_empty() {
        return entry.host.is_some();
    }
    let reported = reminded_items(agent, entry).unwrap_or_default();
    let later = !reported.is_empty() && (sleeps(agent, at) || reported.iter().all(|item| waits(item, at)));
    let counted = &agent.unattended;
    let restrained = counted.self_hold || counted.self_deferred_until.is_some_and(|until| until > at);
    let asked = supervision::standing(&entry.message) == MessageKind::OperatorPrompt;
    let unattended = !asked && !is_from_others(entry) && exhausted(agent, at).is_some();
    later || (has_news(agent, entry) && ((entry.own && restrained) || unattended))
}

fn waits(item: &WorkItem, at: Wall) -> bool {
    item.debt.until.is_some_and(|until| until > at)
}

/// The owners and times of rechecks.
fn rechecks(agent: &Agent) -> impl Iterator<Item = (Option<WorkItemId>, &Recheck)> {
    let items = agent.work.open().filter_map(|item| Some((Some(item.id), item.recheck.as_ref()?)));
    items.chain(agent.waits.recheck.as_ref().map(|recheck| (None, recheck)))
}

/// Whether a message ends a wait.
fn ends(agent: &Agent, wait: &Wait, message: &Message) -> bool {
    let refers = |name: &str| message.source_refs.values().any(|value| value == name);
    let sender = |name: &str| match &message.origin {
        Origin::Channel { channel_id, sender_id } => channel_id == name || sender_id.as_deref() == Some(name),
        Origin::Webhook { source, event_type } => source == name || event_type.as_deref() == Some(name),
        Origin::Callback { descriptor_id, source } => {
            descriptor_id == name || source.as_deref() == Some(name)
        }
        Origin::Operator { .. } | Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => false,
    };
    let id = wait.id.to_string();
    let by_name = |name: Option<&String>| {
        let proven = message.admission_context != AdmissionContext::PublicUnauthenticated;
        name.is_some() && (name == wait.token.as_ref() || (proven && name == Some(&id)))
    };
    let by_id = by_name(message.correlation_id.as_ref()) || by_name(message.source_refs.get("wait_id"));
    let by_trigger = message.admission_context == AdmissionContext::ExternalTriggerCapability;
    match wait.kind {
        WaitKind::Operator => supervision::standing(message) == MessageKind::OperatorPrompt,
        WaitKind::Task => agent.tasks.ended().any(|task| {
            let delivered_by = task.end.as_ref().and_then(|end| end.delivered_by);
            Some(task.id) == wait.task_id && delivered_by == Some(message.id)
        }),
        WaitKind::Timer => match (&message.origin, wait.timer_id) {
            (Origin::Timer { timer_id }, Some(timer)) => *timer_id == timer.to_string(),
            (_, _) => false,
        },
        WaitKind::External => {
            let hinted = agent.hints.delivered_by(message.id).any(|pending| {
                let (hint, all) = (&pending.hint, &pending.about);
                let meant = wait.subject.as_ref().map_or(hint.external_trigger_id.is_some(), |it| {
                    hint.source == *it || hint.resource.as_ref() == Some(it) || all.resources.contains(it)
                });
                let named = hint.wait_id == Some(wait.id) || all.wait_ids.contains(&wait.id);
                meant || named || all.more > 0
            });
            let outside = matches!(
                message.origin,
                Origin::Channel { .. } | Origin::Webhook { .. } | Origin::Callback { .. }
            );
            hinted
                || outside
                    && (by_id || wait.subject.as_ref().map_or(by_trigger, |it| sender(it) || refers(it)))
        }
    }
}

/// The kind of event that is expected to end a wait.
fn expected(wait: &Wait) -> WaitKind {
    if wait.operator_must_act { WaitKind::Operator } else { wait.kind }
}

impl<'a> Facts<'a> {
    fn of(agent: &'a Agent, at: Wall, blind: bool) -> Self {
        let queue = || agent.inbox.queued().filter(|_| !blind);
        let order = |entry: &&Entry| (urgency(entry.message.priority), entry.message.id);
        let hold = agent.hold.as_ref().filter(|hold| hold.until.is_none_or(|until| at < until));
        let trial = hold.and_then(|hold| hold.trial);
        let host = |id| queue().find(|entry| entry.message.id == id).and_then(|entry| entry.host);
        let trial = trial.map(|id| host(id).unwrap_or(id));
        Self {
            agent,
            queued: queue().count() as u64,
            first: queue().filter(|entry| !has_to_wait(agent, entry, at)).min_by_key(order),
            passive: queue().filter(|entry| !has_content(entry)).min_by_key(order),
            hold,
            trial: trial.filter(|id| queue().any(|entry| entry.message.id == *id)),
            exhausted: exhausted(agent, at),
            at,
        }
    }

    /// Whether an entry has something that its agent has to deal with now.
    fn needs_a_model(&self, entry: &Entry) -> bool {
        has_news(self.agent, entry)
    }

    fn runnable(&self) -> bool {
        self.agent.work.open().any(|item| item.state() == WorkState::Runnable)
    }

    /// The wait that counts: of the item in focus, else of another one (operator before tasks, tasks before the
    /// outside, time last), else of the agent itself.
    fn awaited(&self) -> Option<(Option<&'a WorkItem>, WaitKind, Option<WaitId>)> {
        let by_item = |item: &'a WorkItem| {
            let needs_input = item.plan_status == PlanStatus::NeedsInput;
            match (&item.wait, item.blocked_by.is_some(), item.stalled.is_some()) {
                _ if needs_input => Some((Some(item), WaitKind::Operator, None)),
                (Some(wait), _, _) => Some((Some(item), expected(wait), Some(wait.id))),
                (None, false, true) => Some((Some(item), WaitKind::Operator, None)),
                (None, _, _) => None,
            }
        };
        let order = [WaitKind::Operator, WaitKind::Task, WaitKind::External, WaitKind::Timer];
        let others = || {
            let all: Vec<_> = self.agent.work.open().filter_map(by_item).collect();
            order.iter().find_map(|kind| all.iter().find(|(_, other, _)| other == kind).copied())
        };
        let own = || self.agent.waits.own.as_ref().map(|wait| (None, expected(wait), Some(wait.id)));
        self.agent.work.current().and_then(by_item).or_else(others).or_else(own)
    }

    /// Whether an item or the agent waits for this kind.
    fn waits_for(&self, kind: WaitKind) -> bool {
        let items = self.agent.work.open().filter_map(|item| item.wait.as_ref());
        items.chain(&self.agent.waits.own).any(|wait| expected(wait) == kind)
    }

    /// The first recheck that is due.
    fn recheck(&self) -> Option<(Option<WorkItemId>, Wall)> {
        let due = |recheck: &Recheck| recheck.recheck_at.filter(|at| *at <= self.at);
        rechecks(self.agent).find_map(|(owner, recheck)| Some((owner, due(recheck)?)))
    }

    /// The waits that a message ends.
    fn ended_by(&self, message: &Message) -> Vec<&'a Wait> {
        let items = self.agent.work.open().filter_map(|item| item.wait.as_ref());
        items.chain(&self.agent.waits.own).filter(|wait| ends(self.agent, wait, message)).collect()
    }

    /// The item in focus, or the first of the others, with an obligation that no message reports yet.
    fn obligation(&self, in_focus: bool) -> Option<&'a WorkItem> {
        let current = self.agent.work.current().map(|item| item.id);
        let inbox = &self.agent.inbox;
        let reported = |item: &WorkItem| {
            let tick = item.debt.tick;
            tick.is_some_and(|id| {
                inbox.claimed(id).is_some() || inbox.queued().any(|entry| entry.message.id == id)
            })
        };
        let mut open = self.agent.work.open().filter(|_| !sleeps(self.agent, self.at));
        open.find(|item| {
            let runs = item.state() == WorkState::Runnable && !waits(item, self.at) && !reported(item);
            runs && (current == Some(item.id)) == in_focus
        })
    }

    /// Row and outcome of the closure.
    fn closure(&self) -> (u8, ClosureOutcome) {
        let stuck = |item: &WorkItem| item.state() == WorkState::WaitingOperator || is_stalled(item);
        let focus_is_stuck = self.agent.work.current().is_some_and(stuck);
        let operator = focus_is_stuck || self.waits_for(WaitKind::Operator);
        match (self.agent.history.last_settled, self.hold) {
            (
                Some(
                    TurnKind::Failed
                    | TurnKind::ContextLengthExceeded
                    | TurnKind::BudgetExhausted
                    | TurnKind::LimitReached,
                ),
                _,
            ) => (1, ClosureOutcome::Failed),
            (_, _) if self.runnable() => (6, ClosureOutcome::Continuable),
            (_, _) if operator => (2, ClosureOutcome::Waiting),
            (_, _) if self.waits_for(WaitKind::Task) => (3, ClosureOutcome::Waiting),
            (_, _) if self.waits_for(WaitKind::External) => (4, ClosureOutcome::Waiting),
            (_, Some(_)) => (5, ClosureOutcome::Waiting),
            (_, None) if self.exhausted.is_some() => (5, ClosureOutcome::Waiting),
            (_, None) if sleeps(self.agent, self.at) => (5, ClosureOutcome::Waiting),
            (_, None) if self.waits_for(WaitKind::Timer) => (5, ClosureOutcome::Waiting),
            (Some(TurnKind::Completed | TurnKind::Aborted | TurnKind::Interrupted), None) => {
                (7, ClosureOutcome::Completed)
            }
            (None, None) => (8, ClosureOutcome::None),
        }
    }

    fn class(&self, entry: &Entry) -> ContinuationClass {
        let resumes = [MessageKind::OperatorPrompt, MessageKind::TaskResult].contains(&entry.message.kind);
        if !self.ended_by(&entry.message).is_empty() {
            ContinuationClass::ResumeExpectedWait
        } else if !self.needs_a_model(entry) {
            ContinuationClass::LivenessOnly
        } else if resumes && self.closure().1 == ClosureOutcome::Waiting {
            ContinuationClass::ResumeOverride
        } else {
            ContinuationClass::LocalContinuation
        }
    }

    /// Checks how a message continues after the last closure.
    fn continues(&self, fact: &ContinuationResolved) -> Result<(), Failure> {
        let entry = self.agent.inbox.queued().find(|entry| entry.message.id == fact.message_id);
        let (reported, prior) = (&fact.resolution, self.closure().1);
        let model = |entry| self.needs_a_model(entry);
        let awaits = |wait: &&Wait| match reported.prior_waiting_reason {
            Some(WaitingReason::AwaitingOperatorInput) => wait.kind == WaitKind::Operator,
            Some(WaitingReason::AwaitingTaskResult) => wait.kind == WaitKind::Task,
            Some(WaitingReason::AwaitingExternalChange) => wait.kind == WaitKind::External,
            Some(WaitingReason::AwaitingTimer) => wait.kind == WaitKind::Timer,
            None => false,
        };
        let matched = entry.is_some_and(|entry| self.ended_by(&entry.message).iter().any(awaits));
        let right = entry.map(|entry| (self.class(entry), model(entry), model(entry)));
        let same = right == Some((reported.class, reported.model_reentry, reported.model_visible))
            && reported.prior_closure_outcome == prior
            && reported.prior_waiting_reason.is_some() == (prior == ClosureOutcome::Waiting)
            && reported.matched_waiting_reason == matched;
        ensure!(same, "G6", "{} continues with {fact:?}, right is {right:?} after {prior:?}", self.agent.id);
        Ok(())
    }

    fn has_slept(&self) -> bool {
        self.agent.sleep.as_ref().and_then(|sleep| sleep.until).is_some_and(|until| until <= self.at)
    }

    fn is_hinted_by_others(&self) -> bool {
        let mut all = self.agent.hints.pending().chain(self.agent.hints.folded());
        all.any(|pending| !pending.hint.repeats) || self.agent.hints.others() > 0
    }

    fn table(&self, decision: &SchedulerDecision) -> Result<(), Failure> {
        let id = &self.agent.id;
        let came = Came::of(decision);
        ensure!(came.declared(), "G6", "{id}: the table has no row like {decision:?}");
        let stopped = self.agent.status == Status::Stopped;
        let runs_not = !stopped && self.agent.run.is_none();
        let (held, free) = (runs_not && self.hold.is_some(), runs_not && self.hold.is_none());
        let model = self.first.is_some_and(|entry| self.needs_a_model(entry));
        let has_text = self.first.is_some_and(has_content);
        let named_item =
            |item: Option<&WorkItem>| item.is_some() && item.map(|item| item.id) == decision.work_item_id;
        // An obligation without space in the queue stays open.
        let has_queued = self.agent.inbox.totals().0 > 0;
        let (turn, notice) = (self.obligation(true), self.obligation(false));
        let no_obligation = has_queued || (turn.is_none() && notice.is_none());
        let (self_hold, exhausted) = (self.agent.unattended.self_hold, self.exhausted.is_some());
        let empty = free && self.first.is_none();
        // In either case obligations are not reported.
        let idle = empty && !self_hold && !exhausted;
        let (slept, by_others) = (self.has_slept(), self.is_hinted_by_others());
        let hints = self.agent.hints.count() > 0;
        let quiet = idle && (has_queued || !hints);
        let looked = quiet && (has_queued || !slept);
        let recheck = self.recheck();
        let reported = looked && (has_queued || recheck.is_none());
        let rest = reported && no_obligation;
        let (first, passive) = (named(self.first), named(self.passive));
        let drains = decision.evidence.contains(&Evidence::Draining);
        let full = decision.evidence.contains(&Evidence::NoFreeSlot);
        let (fits, takes) = match (decision.row, decision.reason) {
            (1, Reason::Stopped) => (stopped, None),
            (1, Reason::Draining) => (!stopped && drains, None),
            (2, _) => (!stopped && self.agent.run.is_some(), None),
            (3, _) => (held && passive.is_some(), passive),
            (4, Reason::HoldTrial) => (held && passive.is_none() && self.trial.is_some(), self.trial),
            (4, _) => (held && full && passive.is_none() && self.trial.is_some(), None),
            (5, Reason::SelfHold) => (empty && self_hold, None),
            (5, Reason::UnattendedTurns) => {
                (empty && !self_hold && exhausted && (has_queued || !by_others), None)
            }
            (5, _) => {
                let ends = self.hold.is_some_and(|hold| hold.until.is_some());
                let right = ends == (decision.kind == Kind::WaitForTimer);
                (held && right && passive.is_none() && self.trial.is_none(), None)
            }
            (6, Reason::LivenessOnly) => (free && first.is_some() && !has_text, first),
            (6, Reason::Stale) => (free && first.is_some() && has_text && !model, first),
            (6, Reason::QueuedMessage) => (free && model, first),
            (6, _) => (free && full && model, None),
            (7, _) => (empty && !self_hold && hints && (!exhausted || by_others), None),
            (8, _) => (quiet && slept, None),
            (9, _) => {
                let first = recheck.is_some_and(|(owner, _)| owner == decision.work_item_id);
                (looked && first, None)
            }
            (10, _) => (reported && named_item(turn), None),
            (11, _) => (reported && (has_queued || turn.is_none()) && named_item(notice), None),
            (12, _) => (rest && self.rests_for(decision), None),
            (13, _) => (rest && self.awaited().is_none() && self.next_deadline().is_some(), None),
            (14, Reason::NothingPending) => {
                (rest && self.is_idle() && self.agent.status != Status::Asleep, None)
            }
            _ => (rest && self.is_idle() && self.agent.status == Status::Asleep, None),
        };
        ensure!(fits, "G6", "{id} decides {decision:?}, with {} in its queue", self.queued);
        let model = decision.kind == Kind::StartModelTurn;
        let passes = decision.kind == Kind::ReduceMessageOnly;
        let same =
            (decision.message_id, decision.model_reentry, decision.liveness_only) == (takes, model, passes);
        ensure!(same, "G6", "{id} decides for {:?}, {takes:?} is next", decision.message_id);
        let next = self.next_deadline().map(|(at, _)| at);
        ensure!(decision.next_deadline == next, "G6", "{id} looks again at {next:?}: {decision:?}");
        Ok(())
    }

    /// Row 12: the decision names the wait that counts.
    fn rests_for(&self, decision: &SchedulerDecision) -> bool {
        let Some((item, kind, wait)) = self.awaited() else { return false };
        let stalled = item.is_some_and(is_stalled);
        let right = match kind {
            WaitKind::Operator if wait.is_some() => Reason::OperatorInput,
            WaitKind::Operator if stalled => Reason::Stalled,
            WaitKind::Operator => Reason::NeedsInput,
            WaitKind::Task => Reason::TaskResult,
            WaitKind::External => Reason::External,
            WaitKind::Timer => Reason::Timer,
        };
        let same = (decision.work_item_id, decision.wait_id) == (item.map(|item| item.id), wait);
        let task = self.agent.active_waits().find(|one| Some(one.id) == wait).and_then(|wait| wait.task_id);
        same && decision.task_id == task && decision.reason == right
    }

    fn is_idle(&self) -> bool {
        self.first.is_none() && self.awaited().is_none() && self.next_deadline().is_none()
    }

    /// The next deadline, and its reason.
    fn next_deadline(&self) -> Option<(Wall, DeadlineReason)> {
        let hold = self.hold.and_then(|hold| Some((hold.until?, DeadlineReason::Hold)));
        let timers = self.agent.timers.armed().filter_map(|timer| timer.next_fire_at);
        let timer = timers.min().map(|at| (at, DeadlineReason::Timer));
        let runnable = self.agent.work.open().filter(|item| item.state() == WorkState::Runnable);
        let later = runnable
            .filter(|item| waits(item, self.at) && !sleeps(self.agent, self.at))
            .filter_map(|item| item.debt.until);
        let work = later.min().map(|at| (at, DeadlineReason::Work));
        let counted = &self.agent.unattended;
        let own = self.agent.inbox.queued().any(|entry| entry.own);
        let deferred = counted.self_deferred_until.filter(|_| own);
        let day = counted.exhausted.map(|exhausted| exhausted.until);
        let deferred = deferred.map(|at| (at, DeadlineReason::SelfDeferral));
        let day = day.map(|at| (at, DeadlineReason::UnattendedTurns));
        let sleep = self.agent.sleep.as_ref().and_then(|sleep| sleep.until);
        let sleep = sleep.map(|at| (at, DeadlineReason::Sleep));
        let again = rechecks(self.agent).filter_map(|(_, recheck)| recheck.recheck_at);
        let again = again.filter(|at| *at > self.at).min().map(|at| (at, DeadlineReason::Recheck));
        let ahead = deferred.into_iter().chain(day).chain(sleep).chain(again).filter(|(at, _)| *at > self.at);
        let all = hold
            .into_iter()
            .chain(timer)
            .chain(work)
            .chain(ahead)
            .filter(|_| self.agent.status != Status::Stopped);
        all.min_by_key(|(at, _)| *at)
    }

    fn check_notice(&self, evidence: &Evidence, decision: &SchedulerDecision) -> Result<(), Failure> {
        let so = match evidence {
            Evidence::Status { status } => *status == self.agent.status,
            Evidence::Draining | Evidence::NoFreeSlot => true,
            Evidence::Run { run_id, message_id } => {
                self.agent.run.as_ref().is_some_and(|run| (run.id, run.message) == (*run_id, *message_id))
            }
            Evidence::Head { message_id, priority, class } => {
                let entry = self.agent.inbox.queued().find(|entry| entry.message.id == *message_id);
                decision.message_id == Some(*message_id)
                    && entry.is_some_and(|entry| {
                        (entry.message.priority, self.class(entry)) == (*priority, *class)
                    })
            }
            Evidence::Queued { entries } | Evidence::IgnoredQueue { entries } => *entries == self.queued,
            Evidence::Deadline { at, reason } => self.next_deadline() == Some((*at, *reason)),
            Evidence::WorkItem { work_item_id, state } => {
                let item = self.agent.work.open().find(|item| item.id == *work_item_id);
                decision.work_item_id == Some(*work_item_id)
                    && item.is_some_and(|item| item.state() == *state)
            }
            Evidence::SelfCausedTurns { turns } => self.agent.unattended.self_caused_turns == *turns,
            Evidence::Slept { until } => {
                let sleep = self.agent.sleep.as_ref();
                *until <= self.at && sleep.and_then(|sleep| sleep.until) == Some(*until)
            }
            Evidence::Hints { hints } => self.agent.hints.count() == *hints,
            Evidence::RecheckDue { owner, at } => self.recheck().is_some_and(|(due, when)| {
                let own = self.agent.waits.own.as_ref().map(|wait| wait.id.to_string());
                let right = due.map(|item| item.to_string()).or(own);
                when == *at && right.as_ref() == Some(owner)
            }),
            Evidence::Wait { wait_id, kind } => {
                let awaited = self.awaited().map(|(_, kind, wait)| (kind, wait));
                awaited == Some((*kind, Some(*wait_id))) && decision.wait_id == Some(*wait_id)
            }
            Evidence::UnattendedTurns { until } => self.exhausted == Some(*until),
            Evidence::Hold { until } => self.hold.is_some_and(|hold| hold.until == *until),
            Evidence::Budget { budget } => {
                self.hold.and_then(|hold| hold.budget).is_some_and(|held| held.budget == *budget)
            }
        };
        ensure!(so, "G6", "{} decides {decision:?}, and {evidence:?} is not so", self.agent.id);
        Ok(())
    }
}

fn named(entry: Option<&Entry>) -> Option<MessageId> {
    entry.map(|entry| entry.message.id)
}

/// Whether an item waits for somebody outside: it made no progress, or a turn about it was too long.
fn is_stalled(item: &WorkItem) -> bool {
    match item.state() {
        WorkState::Stalled => true,
        WorkState::Blocked => item.blocked_by.is_none(),
        WorkState::WaitingOperator
        | WorkState::WaitingTask
        | WorkState::WaitingExternal
        | WorkState::WaitingTimer
        | WorkState::Runnable
        | WorkState::Completed => false,
    }
}
