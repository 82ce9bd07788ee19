//! Recorded time: never goes back by itself (contract: agent.md, Clock).

use holon_facts::time::{Millis, Mono, Now, Wall};

/// A step back by more than this is believed and recorded; a smaller one is slept through.
const BELIEVED: Millis = Millis::hours(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clock {
    wall: Wall,
    /// None before the first reading: this clock starts anywhere, so nothing can have passed until then.
    mono: Option<Mono>,
    last_step: Option<StepBack>,
    /// Steps back that were believed.
    steps: u64,
}

/// A step back that was believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StepBack {
    /// What the clock would have shown without it.
    expected: Wall,
    to: Wall,
}

impl Default for Clock {
    /// Nothing is on record, and no reading can be behind it.
    fn default() -> Self {
        Self { wall: Wall(i64::MIN), mono: None, last_step: None, steps: 0 }
    }
}

impl Clock {
    /// Time that is already on record, before the first reading. Afterwards the readings count alone: an agent
    /// that comes back to memory may remember a time that a step of the clock has taken back.
    pub(super) fn floor(&mut self, wall: Wall) {
        if self.mono.is_none() {
            self.wall = self.wall.max(wall);
        }
    }

    pub(super) fn wall(&self) -> Wall {
        self.wall
    }

    pub(super) fn mono(&self) -> Mono {
        self.mono.unwrap_or_default()
    }

    /// What the clock would show without its last step back.
    pub(super) fn expected(&self) -> Option<Wall> {
        self.last_step.map(|step| step.expected.shifted(step.to, self.wall))
    }

    /// Whether a record of that time was made before the last step back. Of times that came twice it is not known.
    pub(super) fn was_before_step(&self, at: Wall) -> bool {
        self.last_step.is_some_and(|step| at < step.to)
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Reads both clocks. While the wall clock is a little behind what is on record, recorded time goes on
    /// at half speed until the clock has caught up, so that no wait lasts for ever.
    /// Says whether it went back, as far as is believed: seen from what it should show by now.
    pub(super) fn observe(&mut self, now: Now) -> bool {
        let passed = self.mono.map_or(0, |before| now.mono.0.saturating_sub(before.0));
        self.mono = self.mono.max(Some(now.mono));
        let expected = Wall(self.wall.0.saturating_add_unsigned(passed));
        let stepped = expected.since(now.wall) > BELIEVED;
        if stepped {
            self.last_step = Some(StepBack { expected, to: now.wall });
            self.steps += 1;
        }
        self.wall = if stepped || now.wall >= self.wall {
            now.wall
        } else {
            Wall(self.wall.0.saturating_add_unsigned(passed / 2))
        };
        stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_s: u64, wall_s: i64) -> Now {
        Now { mono: Mono(mono_s * 1_000_000), wall: Wall(wall_s * 1_000_000) }
    }

    #[test]
    fn a_small_step_back_slows_time_and_a_large_one_is_followed() {
        let mut clock = Clock::default();
        clock.observe(at(0, 10_000));
        clock.observe(at(10, 9_990));
        assert_eq!(clock.wall(), Wall(10_005_000_000));
        clock.observe(at(20, 10_006));
        assert_eq!(clock.wall(), Wall(10_006_000_000));
        clock.observe(at(30, 6_000));
        assert_eq!(clock.wall(), Wall(6_000_000_000));
    }

    /// It was not read for hours: what it shows is later than the last reading, and earlier than it should be.
    #[test]
    fn a_step_back_is_measured_from_what_the_clock_should_show() {
        let mut clock = Clock::default();
        clock.observe(at(0, 10_000));
        assert!(!clock.observe(at(10_000, 17_000)), "less than an hour");
        assert!(clock.observe(at(20_000, 22_000)));
        assert_eq!((clock.wall(), clock.expected()), (at(0, 22_000).wall, Some(at(0, 27_000).wall)));
        assert!(clock.was_before_step(at(0, 21_999).wall) && !clock.was_before_step(at(0, 22_000).wall));
        assert!(!clock.observe(at(20_100, 22_100)));
        assert_eq!(clock.expected(), Some(at(0, 27_100).wall));
    }

    #[test]
    fn a_first_reading_before_1970_is_no_step_back() {
        let mut clock = Clock::default();
        assert!(!clock.observe(at(0, -1)));
        assert_eq!(clock.wall(), Wall(-1_000_000));
    }

    #[test]
    fn the_first_reading_measures_nothing() {
        let mut clock = Clock::default();
        clock.floor(at(0, 10_000).wall);
        clock.observe(at(1_000_000, 9_990));
        assert_eq!(clock.wall(), Wall(10_000_000_000));
    }

    #[test]
    fn an_agent_that_comes_back_does_not_set_the_clock() {
        let mut clock = Clock::default();
        clock.floor(at(0, 10_000).wall);
        clock.observe(at(0, 1_000));
        clock.floor(at(0, 10_000).wall);
        assert_eq!(clock.wall(), Wall(1_000_000_000));
    }

    #[test]
    fn time_goes_on_however_often_it_is_read() {
        let mut clock = Clock::default();
        clock.observe(at(0, 10_000));
        for ms in 1..=10 {
            clock.observe(Now { mono: Mono(ms * 1_000), wall: at(0, 9_990).wall });
        }
        assert_eq!(clock.wall(), Wall(10_000_005_000));
    }
}
