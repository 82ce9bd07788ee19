//! Both clocks and the driver's timer, and what goes wrong with them.

use holon_core::host::Host;
use holon_facts::{Mono, Now, Wall};

use super::World;
use super::agenda::Happening;

/// The wall clock at the beginning: 2026-01-01.
const BEGINNING: i64 = 1_767_225_600_000_000;

/// Extra rings of the timer that may be planned at once.
const RINGS: u32 = 32;

impl World<'_> {
    /// Both clocks at this moment.
    pub(super) fn now(&self) -> Now {
        // The wall clock stops at its upper end. It can't start below its lower end, but it goes on from there.
        let began = i128::from(self.scenario.began.unwrap_or(BEGINNING));
        let least = i128::from(i64::MIN) + i128::from(self.at);
        let wall = (began + i128::from(self.at) + i128::from(self.skew)).max(least);
        let wall = i64::try_from(wall).unwrap_or(i64::MAX);
        let lived = (self.at - self.life.began).saturating_sub(self.life.slept);
        Now { mono: Mono(self.life.mono + lived), wall: Wall(wall) }
    }

    pub(super) fn clock_jumps(&mut self, micros: i64) {
        let before = self.now().wall;
        self.skew = self.skew.saturating_add(micros);
        let after = self.now().wall;
        self.injector.saw(if micros < 0 { "clock goes back" } else { "clock goes forward" });
        if after == Wall(i64::MAX) || after == Wall(i64::MIN) {
            self.injector.saw("the clock is at an end");
        }
        if let Some(deadline) = self.life.host().and_then(Host::next_deadline) {
            if micros < 0 {
                self.injector.saw("the clock goes back while something is due");
            } else if (before..after).contains(&deadline.at) {
                self.injector.saw("the clock jumps over a deadline");
            }
        }
        self.patterns.clock(micros < 0, &mut self.injector);
        self.trace.note(self.at, &format!("the wall clock jumps by {micros} µs"));
    }

    /// Suspends the machine: nothing happens, the wall clock goes on, the monotonic clock stops. Missed happenings come
    /// right after.
    pub(super) fn sleep(&mut self, micros: u64) {
        self.injector.saw("the machine sleeps");
        if !self.outside.inflight.is_empty() {
            self.injector.saw("the machine sleeps during a turn");
        }
        self.life.slept += if self.life.engine.is_some() { micros } else { 0 };
        self.pass_by(micros);
        self.trace.note(self.at, &format!("the machine has slept for {micros} µs"));
    }

    /// Halts the process: nothing happens, and both clocks go on. Whatever was due meanwhile comes right after, all of it
    /// at one moment.
    pub(super) fn freeze(&mut self, micros: u64) {
        self.injector.saw("the process is halted");
        let next = self.life.host().and_then(Host::next_deadline);
        if next.is_some_and(|next| next.wait.0.saturating_mul(1_000) <= micros) {
            self.injector.saw("the process is halted beyond a deadline");
        }
        self.pass_by(micros);
        self.halts.took(self.at, micros);
        self.trace.note(self.at, &format!("the process was halted for {micros} µs"));
    }

    fn pass_by(&mut self, micros: u64) {
        self.at += micros;
        self.slept += micros;
        self.waits.took(self.at, micros);
    }

    /// When the timer rings that was set for this moment.
    pub(super) fn timer(&mut self, at: u64) -> u64 {
        let per_mille = if self.quiet { 0 } else { self.scenario.faults.timer_odd };
        let twice = if self.quiet { 0 } else { self.often(per_mille) };
        // Each ring sets the timer again, which may add rings: without a bound they multiply.
        if twice == 0 || self.life.rings >= RINGS {
            return at;
        }
        let site = self.site("timer", 0, "");
        let faults = &self.scenario.faults;
        let mut strikes =
            |fault, often| self.injector.strikes(faults, &mut *self.choices, site, fault, often);
        let (doubled, early, late) =
            (strikes("twice", twice), strikes("early", per_mille), strikes("late", per_mille));
        let before = at - (at - self.at.min(at)) / 2;
        for (rings, when) in [(doubled, at), (early, before)] {
            if rings {
                self.life.rings += 1;
                self.agenda.plan(when, 0, Happening::Ring(Some(self.life.number)));
            }
        }
        let delay = u64::from(self.choices.below(site.about("delay"), 5_000_000));
        if late { at.saturating_add(delay) } else { at }
    }
}
