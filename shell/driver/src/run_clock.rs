//! The clock by which runs are measured: it is paused while the driver waits for the disk. An operation begins when its
//! record is durable, so the time before that does not count.

use std::time::Duration;

use holon_facts::{Millis, Mono};

/// A disk that takes no longer than this works as it should, and the clock is not paused.
const USUAL: Millis = Millis::seconds(1);

/// How much of the time of the process has not counted. The moments of this clock never go back.
#[derive(Debug, Default)]
pub(crate) struct RunClock {
    micros: u64,
}

impl RunClock {
    /// The moment of this clock at a reading of the process's. `oldest` is when the oldest step was made that is not durable.
    pub(crate) fn at(&self, clock: Mono, oldest: Option<Mono>) -> Mono {
        let counted = Mono(clock.0.saturating_sub(self.micros));
        oldest.map_or(counted, |oldest| counted.min(oldest.after(USUAL)))
    }

    /// The step that the driver waited for is durable, and the clock resumes. Returns whether it was paused.
    pub(crate) fn resume(&mut self, clock: Mono, oldest: Mono) -> bool {
        let paused = self.at(clock, None).0.saturating_sub(self.at(clock, Some(oldest)).0);
        self.micros = self.micros.saturating_add(paused);
        paused > 0
    }

    /// How long until a moment of this clock; none when the disk comes first.
    pub(crate) fn until(&self, clock: Mono, oldest: Option<Mono>, moment: Mono) -> Option<Duration> {
        let reached = oldest.is_none_or(|oldest| moment <= oldest.after(USUAL));
        reached.then(|| Duration::from_millis(self.at(clock, None).until(moment).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Mono {
        Mono(seconds * 1_000_000)
    }

    #[test]
    fn the_clock_is_paused_while_the_disk_is_slow_and_never_goes_back() {
        let mut run_clock = RunClock::default();
        assert_eq!(run_clock.at(seconds(10), None), seconds(10));
        let first = run_clock.at(seconds(10), None);
        assert_eq!(run_clock.at(seconds(11), Some(first)), seconds(11), "a second is usual");
        assert_eq!(run_clock.at(seconds(100), Some(first)), seconds(11));
        let second = run_clock.at(seconds(100), Some(first));
        assert!(run_clock.resume(seconds(500), first));
        assert_eq!(run_clock.at(seconds(500), Some(second)), seconds(11));
        assert_eq!(run_clock.at(seconds(600), Some(second)), seconds(12));
        assert!(run_clock.resume(seconds(600), second));
        assert_eq!(run_clock.at(seconds(601), None), seconds(13));
        assert!(!run_clock.resume(seconds(601), seconds(13)));
    }

    #[test]
    fn a_moment_after_the_pause_is_not_waited_for() {
        let mut run_clock = RunClock::default();
        let oldest = seconds(10);
        assert_eq!(run_clock.until(seconds(10), None, seconds(70)), Some(Duration::from_secs(60)));
        assert_eq!(run_clock.until(seconds(10), Some(oldest), seconds(11)), Some(Duration::from_secs(1)));
        assert_eq!(run_clock.until(seconds(10), Some(oldest), seconds(12)), None);
        assert!(run_clock.resume(seconds(1_000), oldest));
        assert_eq!(run_clock.until(seconds(1_000), None, seconds(70)), Some(Duration::from_secs(59)));
    }
}
