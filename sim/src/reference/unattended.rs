//! Turns of one agent that no operator caused: how they are counted, and how long the next ones are deferred.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::config::UnattendedPolicy;
use holon_facts::event::scheduling::HoldEnd;
use holon_facts::event::work::WorkAuthor;
use holon_facts::event::{
    InboxFact, LifecycleFact, SchedulingFact, TaskFact, TurnFact, WaitFact, WakeFact, WorkFact,
};
use holon_facts::hint::Hint;
use holon_facts::ids::{TaskId, WaitId};
use holon_facts::lifecycle::ControlAction;
use holon_facts::provenance::MessageKind;
use holon_facts::wait::WaitKind;
use holon_facts::{Event, Millis, Record, Wall};

use crate::failure::{Failure, ensure};
use crate::supervision;

const DAY: i64 = 86_400_000_000;
/// Agents continue within this time after midnight.
const SPREAD: Millis = Millis::seconds(60);

#[derive(Debug, Clone, Default)]
pub(super) struct Unattended {
    /// Turns in a row that the agent caused and that made no progress.
    pub(super) turns: u32,
    /// The next such turn is deferred; its time may have come.
    waits: bool,
    /// The last day with an unattended turn, its number of own turns, and of turns because of others.
    day: (i64, u32, u32),
    /// The day's turns were exhausted after so many; that may be over.
    exhausted: Option<u32>,
    /// When the agent's chosen sleep ends; that may be over.
    sleeps: Option<Wall>,
    /// Tasks of repeated commands.
    repeated: BTreeSet<TaskId>,
    /// Waits for external activity, and the subject of each.
    external: BTreeMap<WaitId, Option<String>>,
}

impl Unattended {
    /// Whether a message may be deferred.
    pub(super) fn waits(&self, kind: Option<MessageKind>) -> bool {
        let own = [
            MessageKind::SystemTick,
            MessageKind::InternalFollowup,
            MessageKind::TaskResult,
            MessageKind::TimerTick,
        ];
        let caused = kind.is_some_and(|kind| own.contains(&kind));
        let sleeps = self.sleeps.is_some() && kind == Some(MessageKind::SystemTick);
        sleeps || (caused && self.waits) || (self.exhausted.is_some() && !kind.is_some_and(from_outside))
    }

    /// A turn begins; `by_others` tells whether hints from outside caused it.
    pub(super) fn started(&mut self, at: Wall, kind: Option<MessageKind>, by_others: bool) {
        self.sleeps = None;
        if kind != Some(MessageKind::OperatorPrompt) {
            let day = at.0.div_euclid(DAY);
            let (_, own, others) = if self.day.0 == day { self.day } else { (day, 0, 0) };
            let outside = by_others || kind.is_some_and(from_outside);
            self.day = if outside { (day, own, others + 1) } else { (day, own + 1, others) };
        }
    }

    /// Whether an external wait names it by its number or its subject.
    pub(super) fn is_named(&self, hint: &Hint) -> bool {
        self.external.iter().any(|(id, subject)| {
            let about = [Some(&hint.source), hint.resource.as_ref()];
            hint.wait_id.as_ref() == Some(id) || subject.as_ref().is_some_and(|it| about.contains(&Some(it)))
        })
    }

    /// Whether a hint is about an external wait, or has a body: then it makes the model look.
    pub(super) fn needs_turn(&self, hint: &Hint) -> bool {
        let about = |(id, subject): (&WaitId, &Option<String>)| {
            let meant = match subject {
                Some(subject) => [Some(&hint.source), hint.resource.as_ref()].contains(&Some(subject)),
                None => hint.external_trigger_id.is_some(),
            };
            meant || hint.wait_id.as_ref() == Some(id)
        };
        hint.body.is_some() || self.external.iter().any(about)
    }

    /// Such a hint counts as external activity.
    fn hinted(&mut self, hint: &Hint) {
        if !hint.repeats && self.needs_turn(hint) {
            self.anew();
        }
    }

    fn waited(&mut self, fact: &WaitFact) {
        match fact {
            WaitFact::WaitRegistered(fact) if fact.kind == WaitKind::External => {
                self.external.insert(fact.wait_id, fact.subject.clone());
            }
            WaitFact::WaitResolved(fact) => drop(self.external.remove(&fact.wait_id)),
            WaitFact::WaitCancelled(fact) => drop(self.external.remove(&fact.wait_id)),
            WaitFact::WaitRegistered(_) | WaitFact::WorkItemRecheckDue(_) | WaitFact::RecheckGivenUp(_) => {}
        }
    }

    fn anew(&mut self) {
        (self.turns, self.waits) = (0, false);
    }

    /// S9: deferrals are those of the configuration, in order; after the last one the agent is held until somebody
    /// outside acts.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record, policy: &UnattendedPolicy) -> Result<(), Failure> {
        match &record.event {
            Event::Scheduling(SchedulingFact::SelfTurnCounted(fact)) => {
                self.turns += 1;
                let position =
                    self.turns.checked_sub(policy.free_turns + 1).map(|position| position as usize);
                let wait = position.and_then(|position| policy.deferrals.get(position));
                let right = wait.map(|wait| record.at.after(*wait));
                let held = position.is_some_and(|position| position >= policy.deferrals.len());
                let same = (fact.turns, fact.deferred_until, fact.self_hold) == (self.turns, right, held);
                ensure!(same, "S9", "{fact:?}, right is turn {}: {right:?}, {held}", self.turns);
                self.waits = right.is_some() || held;
            }
            Event::Scheduling(SchedulingFact::UnattendedTurnsExhausted(fact)) => {
                let (day, turns, others) = self.day;
                let same = (fact.turns, fact.outside_turns) == (turns, Some(others));
                ensure!(same, "S9", "the day had {turns} turns and {others} because of others: {fact:?}");
                ensure!(turns >= policy.turns_per_day, "S9", "{turns} turns are enough for a day");
                let midnight = Wall((day + 1).saturating_mul(DAY));
                let right = midnight <= fact.until && fact.until.since(midnight) < SPREAD;
                ensure!(right, "S9", "{turns} turns are enough until {}", fact.until);
                self.exhausted = Some(turns);
            }
            Event::Scheduling(SchedulingFact::UnattendedTurnsRaised(fact)) => {
                let (most, had) = (policy.turns_per_day, self.exhausted.take());
                let right = fact.turns_per_day == most && had.is_some_and(|had| had < most);
                ensure!(right, "S9", "{fact:?} after {had:?}, a day may have {most}");
            }
            Event::Scheduling(SchedulingFact::SleepBegun(fact)) => {
                let right = fact.duration_ms.map(|duration| record.at.after(duration));
                ensure!(fact.until == right, "S10", "a sleep until {:?}, right is {right:?}", fact.until);
                self.sleeps = right;
            }
            Event::Inbox(InboxFact::MessageAdmitted(fact))
                if from_outside(supervision::standing(&fact.message)) =>
            {
                self.anew()
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if fact.action == ControlAction::Start => {
                self.sleeps = None;
                self.anew();
            }
            Event::Scheduling(SchedulingFact::HoldEnded(fact)) if fact.reason == HoldEnd::BudgetRaised => {
                self.anew()
            }
            Event::Work(WorkFact::WorkItemWritten(fact)) if fact.by == WorkAuthor::Operator => self.anew(),
            Event::Turn(TurnFact::TurnTerminal(fact)) if fact.progress => self.anew(),
            Event::Work(WorkFact::WorkPlanSeen(fact)) if fact.edited => self.anew(),
            Event::Task(TaskFact::TaskCreated(fact)) if fact.repeated => {
                self.repeated.insert(fact.task_id);
            }
            Event::Task(TaskFact::TaskResultQueued(fact))
                if !fact.known && !self.repeated.contains(&fact.task_id) =>
            {
                self.anew();
            }
            Event::Wake(WakeFact::WakeHintRecorded(fact)) => self.hinted(&fact.hint),
            Event::Wake(WakeFact::WakeHintCoalesced(fact)) => self.hinted(&fact.hint),
            Event::Wait(fact) => self.waited(fact),
            _ => {}
        }
        Ok(())
    }
}

fn from_outside(kind: MessageKind) -> bool {
    match kind {
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent => true,
        MessageKind::Control
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult => false,
    }
}
