//! Timers of one agent, as far as anything was promised: when each fires, and that this is reported to the agent.

use std::collections::BTreeMap;

use holon_facts::event::{LifecycleFact, TimerFact};
use holon_facts::ids::TimerId;
use holon_facts::timer::TimerSpec;
use holon_facts::{Event, Millis, Record, Wall};

use super::Reply;
use super::made::CONFLICT;

/// Ended timers that callers may still ask about.
const REMEMBERED: usize = 64;
/// Most armed timers.
const ARMED: usize = 256;
/// Most bytes of a summary.
const SUMMARY: usize = 200;
/// Shortest and longest time of a timer, in milliseconds.
const LEAST: u64 = 1_000;
const MOST: u64 = 876_600 * 3_600_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Timers {
    all: BTreeMap<TimerId, Timer>,
    /// In the order of their ends.
    ended: Vec<TimerId>,
    /// The time of the agent's last record.
    now: Option<Wall>,
    /// Sabotage: every timer should have fired.
    pub(super) hasty: bool,
}

#[derive(Debug, Clone)]
struct Timer {
    next: Option<Wall>,
    fired: u64,
    delivered: u64,
    /// It is for a time of the clock.
    named: bool,
}

impl Timers {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record) {
        self.now = Some(record.at);
        match &record.event {
            Event::Timer(fact) => self.timer(fact),
            Event::Lifecycle(LifecycleFact::ClockStepped(fact)) => {
                let back = fact.expected.unwrap_or(fact.from).0.saturating_sub(fact.to.0);
                for timer in self.all.values_mut().filter(|timer| !timer.named) {
                    timer.next = timer.next.map(|next| Wall(next.0.saturating_sub(back)));
                }
            }
            _ => {}
        }
    }

    fn timer(&mut self, fact: &TimerFact) {
        match fact {
            TimerFact::TimerCreated(fact) => {
                let timer =
                    Timer { next: Some(fact.next_fire_at), fired: 0, delivered: 0, named: fact.at.is_some() };
                self.all.insert(fact.timer_id, timer);
            }
            TimerFact::TimerFired(fact) => {
                self.passes(fact.timer_id, fact.next_fire_at, fact.occurrences);
            }
            TimerFact::TimerSkipped(fact) => self.passes(fact.timer_id, fact.next_fire_at, 0),
            TimerFact::TimerTickQueued(fact) => {
                if let Some(timer) = self.all.get_mut(&fact.timer_id) {
                    timer.delivered += fact.occurrences;
                }
            }
            TimerFact::TimerCancelled(fact) => self.ends(fact.timer_id),
        }
    }

    /// Notes an occurrence that was due.
    fn passes(&mut self, id: TimerId, next: Option<Wall>, fired: u64) {
        if next.is_none() {
            self.ends(id);
        }
        if let Some(timer) = self.all.get_mut(&id) {
            timer.next = next;
            timer.fired += fired;
        }
    }

    fn ends(&mut self, id: TimerId) {
        if let Some(timer) = self.all.get_mut(&id)
            && timer.next.take().is_some()
        {
            self.ended.push(id);
        }
    }

    fn next_id(&self) -> TimerId {
        self.all.last_key_value().map_or(TimerId(1), |(id, _)| id.next())
    }

    /// A timer with occurrences that were not reported to its agent.
    pub(super) fn undelivered(&self) -> Option<TimerId> {
        self.all.iter().find(|(_, timer)| timer.delivered < timer.fired).map(|(id, _)| *id)
    }

    pub(super) fn overdue(&self) -> Option<TimerId> {
        let now = self.now?;
        let late = |timer: &Timer| timer.next.is_some_and(|next| next <= now || self.hasty);
        self.all.iter().find(|(_, timer)| late(timer)).map(|(id, _)| *id)
    }

    /// A timer that is overdue at another moment; nothing was recorded since.
    pub(super) fn overdue_at(&self, now: Wall) -> Option<TimerId> {
        let late = |timer: &Timer| timer.next.is_some_and(|next| next <= now);
        self.all.iter().find(|(_, timer)| late(timer)).map(|(id, _)| *id)
    }

    pub(super) fn make(&self, timer: &TimerSpec) -> Vec<Reply> {
        let fits = |length: Millis| (LEAST..=MOST).contains(&length.0);
        let armed = self.all.values().filter(|timer| timer.next.is_some()).count();
        let long = timer.summary.as_ref().is_some_and(|summary| summary.len() > SUMMARY);
        if !fits(timer.duration_ms) || !timer.interval_ms.is_none_or(fits) {
            vec![Reply::Refused("out_of_range")]
        } else if long {
            vec![Reply::Refused("too_large")]
        } else if armed >= ARMED {
            // Some timers may have fired for the last time at the beginning of the step.
            vec![Reply::Refused("too_many"), Reply::Timer { timer: self.next_id(), changed: true }]
        } else {
            vec![Reply::Timer { timer: self.next_id(), changed: true }]
        }
    }

    /// The answers to a request that has made a timer before. Its end may be long ago.
    pub(super) fn made(&self, id: TimerId) -> Vec<Reply> {
        let ended = self.all.get(&id).is_none_or(|timer| timer.next.is_none());
        let unknown = (ended && self.long_ago(id)).then_some(CONFLICT);
        unknown.into_iter().chain([Reply::Timer { timer: id, changed: false }]).collect()
    }

    /// Whether a timer may be forgotten by now.
    fn long_ago(&self, id: TimerId) -> bool {
        let armed = self.all.values().filter(|timer| timer.next.is_some()).count();
        self.ended.iter().rev().take(REMEMBERED.saturating_sub(armed)).all(|recent| *recent != id)
    }

    pub(super) fn cancel(&self, id: TimerId) -> Vec<Reply> {
        let Some(timer) = self.all.get(&id) else { return vec![Reply::Refused("unknown_timer")] };
        let ended = Reply::Timer { timer: id, changed: false };
        // This timer and others may have fired for the last time at the beginning of the step.
        let armed = self.all.values().filter(|timer| timer.next.is_some()).count();
        if timer.next.is_some() {
            let forgotten =
                (armed + self.ended.len() > REMEMBERED).then_some(Reply::Refused("unknown_timer"));
            return forgotten.into_iter().chain([Reply::Timer { timer: id, changed: true }, ended]).collect();
        }
        let unknown = self.long_ago(id).then_some(Reply::Refused("unknown_timer"));
        unknown.into_iter().chain([ended]).collect()
    }
}
