//! Timers, as far as a law looks back.

use super::Seen;
use crate::agent::timer::Misfire;
use crate::event::TimerFact;
use crate::ids::{MessageId, TimerId};
use crate::time::{Millis, Wall};

/// A timer that fires again, or has something to tell.
#[derive(Debug, Clone)]
pub(in crate::law) struct Timer {
    /// None when no occurrence comes any more.
    pub(in crate::law) next: Option<Wall>,
    pub(in crate::law) interval: Option<Millis>,
    pub(in crate::law) misfire: Misfire,
    /// Number of the last occurrence.
    pub(in crate::law) occurrence: u64,
    pub(in crate::law) untold: u64,
    /// The last message that told of some.
    pub(in crate::law) tick: Option<MessageId>,
}

impl Seen {
    /// The armed timer that fires next.
    pub(in crate::law) fn next_timer(&self) -> Option<(Wall, TimerId)> {
        self.timers.iter().filter_map(|(id, timer)| Some((timer.next?, *id))).min()
    }

    pub(super) fn timer(&mut self, fact: &TimerFact) {
        self.owed.skipped = None;
        match fact {
            TimerFact::TimerCreated(fact) => {
                self.next.timer = fact.timer_id.next();
                let timer = Timer {
                    next: Some(fact.next_fire_at),
                    interval: fact.interval_ms,
                    misfire: fact.misfire,
                    occurrence: 0,
                    untold: 0,
                    tick: None,
                };
                self.timers.insert(fact.timer_id, timer);
            }
            TimerFact::TimerFired(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = fact.next_fire_at;
                timer.occurrence += fact.occurrences;
                timer.untold += fact.occurrences;
            }
            TimerFact::TimerSkipped(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = fact.next_fire_at;
                timer.occurrence += fact.occurrences;
                self.owed.skipped = Some(fact.timer_id);
            }
            TimerFact::TimerTickQueued(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                (timer.untold, timer.tick) = (0, Some(fact.message_id));
            }
            TimerFact::TimerCancelled(fact) => {
                let Some(timer) = self.timers.get_mut(&fact.timer_id) else { return };
                timer.next = None;
            }
        }
        self.timers.retain(|_, timer| timer.next.is_some() || timer.untold > 0);
    }

    pub(super) fn timers_stepped(&mut self, from: Wall, to: Wall) {
        for timer in self.timers.values_mut() {
            timer.next = timer.next.map(|at| at.shifted(from, to));
        }
    }
}

/// How many occurrences are not after `now`, of those of which the first is due at `due`.
pub(in crate::law) fn come(due: Wall, interval: Option<Millis>, now: Wall) -> u64 {
    interval.map_or(1, |interval| now.0.abs_diff(due.0) / (interval.0 * 1_000) + 1)
}
