//! Timers of one agent (contract: work.md, Timers).
//! An occurrence is known by its number, never by the clock: whatever the clock does, each comes once.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;

use holon_facts::event::TimerFact;
use holon_facts::event::timer::TimerCreated;
use holon_facts::ids::{MessageId, TimerId, WaitId};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::{Misfire, TimerOwner, TimerStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timers that an agent may have armed.
pub const ARMED: usize = 256;

/// Timers that have ended and stay in the state; older ones are in the log.
pub const KEPT: usize = 64;

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timer {
    pub id: TimerId,
    pub owner: TimerOwner,
    /// The wait that it ends.
    pub wait_id: Option<WaitId>,
    pub status: TimerStatus,
    pub created_at: Wall,
    pub duration_ms: Millis,
    pub interval_ms: Option<Millis>,
    pub misfire: Misfire,
    pub summary: Option<String>,
    /// None once the last occurrence has come, or none comes any more.
    pub next_fire_at: Option<Wall>,
    /// The time of the clock that it is for.
    pub at: Option<Wall>,
    pub last_fired_at: Option<Wall>,
    /// Occurrences that have fired.
    pub fire_count: u64,
    /// Occurrences that have fired or were skipped: the number of the last one.
    pub occurrence: u64,
    /// Occurrences that no message reports yet.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub undelivered: u64,
    /// The last message that told of some.
    pub tick: Option<MessageId>,
}

/// All timers of an agent that it knows of without reading its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    armed: BTreeMap<TimerId, Timer>,
    /// Of those, when each fires next.
    due: BTreeSet<(Wall, TimerId)>,
    /// In the order of their ends, the newest last.
    ended: VecDeque<Timer>,
    /// Armed or ended, with something to tell.
    undelivered: BTreeSet<TimerId>,
}

impl Timers {
    pub fn is_empty(&self) -> bool {
        self.armed.is_empty() && self.ended.is_empty()
    }

    /// Timers that will fire, in order.
    pub fn armed(&self) -> impl Iterator<Item = &Timer> {
        self.armed.values()
    }

    pub fn is_armed(&self, id: TimerId) -> bool {
        self.armed.contains_key(&id)
    }

    pub fn armed_count(&self) -> u64 {
        self.armed.len() as u64
    }

    /// Timers that have ended and are remembered, the newest first.
    pub fn ended(&self) -> impl Iterator<Item = &Timer> {
        self.ended.iter().rev()
    }

    pub fn get(&self, id: TimerId) -> Option<&Timer> {
        self.armed.get(&id).or_else(|| self.ended.iter().find(|timer| timer.id == id))
    }

    /// When one fires next, and which.
    pub fn next(&self) -> Option<(Wall, TimerId)> {
        self.due.first().copied()
    }

    /// Those with occurrences that no message reports.
    pub fn undelivered(&self) -> impl Iterator<Item = TimerId> {
        self.undelivered.iter().copied()
    }

    pub fn is_undelivered(&self) -> bool {
        !self.undelivered.is_empty()
    }

    pub(super) fn apply(&mut self, at: Wall, fact: &TimerFact) {
        match fact {
            TimerFact::TimerCreated(fact) => {
                self.due.insert((fact.next_fire_at, fact.timer_id));
                self.armed.insert(fact.timer_id, created(at, fact));
            }
            TimerFact::TimerFired(fact) => {
                let Some(timer) = self.armed.get_mut(&fact.timer_id) else { return };
                timer.last_fired_at = Some(at);
                timer.fire_count = timer.fire_count.saturating_add(fact.occurrences);
                timer.undelivered = timer.undelivered.saturating_add(fact.occurrences);
                self.undelivered.insert(fact.timer_id);
                self.passed(fact.timer_id, fact.occurrences, fact.next_fire_at);
            }
            TimerFact::TimerSkipped(fact) => {
                self.passed(fact.timer_id, fact.occurrences, fact.next_fire_at);
            }
            TimerFact::TimerTickQueued(fact) => {
                self.undelivered.remove(&fact.timer_id);
                if let Some(timer) = self.get_mut(fact.timer_id) {
                    (timer.undelivered, timer.tick) = (0, Some(fact.message_id));
                }
                self.forget();
            }
            TimerFact::TimerCancelled(fact) => self.end(fact.timer_id, TimerStatus::Cancelled),
        }
    }

    /// Every wait moves with the clock, but for those for a time of the clock.
    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        for timer in self.armed.values_mut().filter(|timer| timer.at.is_none()) {
            timer.next_fire_at = timer.next_fire_at.map(|at| at.shifted(from, to));
        }
        self.due = self.armed.values().filter_map(|timer| Some((timer.next_fire_at?, timer.id))).collect();
    }

    fn passed(&mut self, id: TimerId, occurrences: u64, next: Option<Wall>) {
        let Some(timer) = self.armed.get_mut(&id) else { return };
        timer.occurrence = timer.occurrence.saturating_add(occurrences);
        if let Some(before) = timer.next_fire_at {
            self.due.remove(&(before, id));
        }
        timer.next_fire_at = next;
        match next {
            Some(next) => {
                self.due.insert((next, id));
            }
            None => self.end(id, TimerStatus::Completed),
        }
    }

    fn end(&mut self, id: TimerId, status: TimerStatus) {
        let Some(mut timer) = self.armed.remove(&id) else { return };
        if let Some(next) = timer.next_fire_at.take() {
            self.due.remove(&(next, id));
        }
        timer.status = status;
        self.ended.push_back(timer);
        self.forget();
    }

    /// The oldest go first; those with something to tell stay, and so do the newest.
    fn forget(&mut self) {
        while let Some(old) = self.ended.len().checked_sub(KEPT) {
            let Some(at) = self.ended.iter().take(old).position(|timer| timer.undelivered == 0) else {
                return;
            };
            self.ended.remove(at);
        }
    }

    fn get_mut(&mut self, id: TimerId) -> Option<&mut Timer> {
        let ended = self.ended.iter_mut().find(|timer| timer.id == id);
        self.armed.get_mut(&id).or(ended)
    }
}

/// Whoever waits so long does so deliberately: the turn after it is not counted (contract: scheduler.md, Nothing spins).
pub(super) const DELIBERATE: Millis = Millis::seconds(600);

impl Timer {
    /// Whether what it brings is the agent's own doing.
    pub(super) fn is_own(&self) -> bool {
        self.owner == TimerOwner::Wait && self.duration_ms < DELIBERATE
    }

    pub fn repeats(&self) -> bool {
        self.interval_ms.is_some()
    }
}

fn created(at: Wall, fact: &TimerCreated) -> Timer {
    Timer {
        id: fact.timer_id,
        owner: fact.owner,
        wait_id: fact.wait_id,
        status: TimerStatus::Active,
        created_at: at,
        duration_ms: fact.duration_ms,
        interval_ms: fact.interval_ms,
        misfire: fact.misfire,
        summary: fact.summary.clone(),
        next_fire_at: Some(fact.next_fire_at),
        at: fact.at,
        last_fired_at: None,
        fire_count: 0,
        occurrence: 0,
        undelivered: 0,
        tick: None,
    }
}
