//! Timers, as far as a law looks back.

use holon_facts::event::TimerFact;
use holon_facts::ids::{MessageId, TimerId, WaitId};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::Misfire;

use super::Past;

/// A timer that fires again, or has something to tell.
#[derive(Debug, Clone)]
pub(crate) struct Timer {
    /// None when no occurrence comes any more.
    pub(crate) next: Option<Wall>,
    pub(crate) interval: Option<Millis>,
    pub(crate) misfire: Misfire,
    /// Number of the last occurrence.
    pub(crate) occurrence: u64,
    pub(crate) undelivered: u64,
    /// The last message that told of some.
    pub(crate) tick: Option<MessageId>,
    /// The wait that it ends.
    pub(crate) wait: Option<WaitId>,
    duration: Millis,
    /// It is for a time of the clock.
    named: bool,
}

impl Past {
    /// The armed timer that fires next.
    pub(crate) fn next_timer(&self) -> Option<(Wall, TimerId)> {
        self.timers.iter().filter_map(|(id, timer)| Some((timer.next?, *id))).min()
    }

    pub(super) fn timer(&mut self, fact: &TimerFact) {
        self.promised.skipped = None;
        match fact {
            TimerFact::TimerCreated(fact) => {
                self.next.timer = fact.timer_id.next();
                let timer = Timer {
                    next: Some(fact.next_fire_at),
                    interval: fact.interval_ms,
                    misfire: fact.misfire,
                    occurrence: 0,
                    undelivered: 0,
                    tick: None,
                    wait: fact.wait_id,
                    duration: fact.duration_ms,
                    named: fact.at.is_some(),
                };
                self.timers.insert(fact.timer_id, timer);
            }
            TimerFact::TimerFired(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = fact.next_fire_at;
                timer.occurrence += fact.occurrences;
                timer.undelivered += fact.occurrences;
            }
            TimerFact::TimerSkipped(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = fact.next_fire_at;
                timer.occurrence += fact.occurrences;
                self.promised.skipped = Some(fact.timer_id);
            }
            TimerFact::TimerTickQueued(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                (timer.undelivered, timer.tick) = (0, Some(fact.message_id));
                let (wait, duration) = (timer.wait, timer.duration);
                self.wait_fired(fact.message_id, wait, duration);
            }
            TimerFact::TimerCancelled(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = None;
            }
        }
        self.timers.retain(|_, timer| timer.next.is_some() || timer.undelivered > 0);
    }

    /// A message tells that the timer of a wait has fired.
    fn wait_fired(&mut self, message: MessageId, wait: Option<WaitId>, duration: Millis) {
        let Some(wait) = wait else { return };
        if !self.waits.active.values().any(|active| active.id == wait) {
            self.queue.known(message);
        }
        if let Some(entry) = self.queue.live.get_mut(&message) {
            // Whoever waits for ten minutes does so deliberately.
            entry.own = duration < Millis::minutes(10);
        }
    }

    /// Whether a live message reports a timer.
    pub(crate) fn delivers(&self, timer: TimerId) -> bool {
        self.queue.live.keys().any(|message| self.tick_of(*message) == Some(timer))
    }

    pub(super) fn timers_stepped(&mut self, from: Wall, to: Wall) {
        for timer in self.timers.values_mut().filter(|timer| !timer.named) {
            timer.next = timer.next.map(|at| at.shifted(from, to));
        }
    }
}

/// How many occurrences are not after `now`, of those of which the first is due at `due`.
pub(crate) fn come(due: Wall, interval: Option<Millis>, now: Wall) -> u64 {
    interval.map_or(1, |interval| now.0.abs_diff(due.0) / (interval.0 * 1_000) + 1)
}
