//! The clock by which runs are measured: it stands still while the disk is waited for. An operation begins when its
//! record is durable, so the time before that is none of its own.

use std::time::Duration;

use holon_facts::{Millis, Mono};

/// A disk that takes no longer than this works as it should, and the clock goes on.
const USUAL: Millis = Millis::seconds(1);

/// How much of the time of the process has not counted. Moments that it gives are *paced*: they never go back.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    micros: u64,
}

impl Pace {
    /// The paced moment of a reading of the clock. `oldest` is when the oldest step was made that is not durable.
    pub(crate) fn at(&self, clock: Mono, oldest: Option<Mono>) -> Mono {
        let counted = Mono(clock.0.saturating_sub(self.micros));
        oldest.map_or(counted, |oldest| counted.min(oldest.after(USUAL)))
    }

    /// The step that was waited for is durable, and time goes on from where it stood. Says whether it stood.
    pub(crate) fn goes_on(&mut self, clock: Mono, oldest: Mono) -> bool {
        let stood = self.at(clock, None).0.saturating_sub(self.at(clock, Some(oldest)).0);
        self.micros = self.micros.saturating_add(stood);
        stood > 0
    }

    /// How long until a paced moment; none when the disk comes first.
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
    fn time_stands_still_while_the_disk_is_waited_for_and_never_goes_back() {
        let mut pace = Pace::default();
        assert_eq!(pace.at(seconds(10), None), seconds(10));
        let first = pace.at(seconds(10), None);
        assert_eq!(pace.at(seconds(11), Some(first)), seconds(11), "a second is usual");
        assert_eq!(pace.at(seconds(100), Some(first)), seconds(11));
        let second = pace.at(seconds(100), Some(first));
        assert!(pace.goes_on(seconds(500), first));
        assert_eq!(pace.at(seconds(500), Some(second)), seconds(11));
        assert_eq!(pace.at(seconds(600), Some(second)), seconds(12));
        assert!(pace.goes_on(seconds(600), second));
        assert_eq!(pace.at(seconds(601), None), seconds(13));
        assert!(!pace.goes_on(seconds(601), seconds(13)));
    }

    #[test]
    fn a_moment_after_the_clock_stands_still_is_not_waited_for() {
        let mut pace = Pace::default();
        let oldest = seconds(10);
        assert_eq!(pace.until(seconds(10), None, seconds(70)), Some(Duration::from_secs(60)));
        assert_eq!(pace.until(seconds(10), Some(oldest), seconds(11)), Some(Duration::from_secs(1)));
        assert_eq!(pace.until(seconds(10), Some(oldest), seconds(12)), None);
        assert!(pace.goes_on(seconds(1_000), oldest));
        assert_eq!(pace.until(seconds(1_000), None, seconds(70)), Some(Duration::from_secs(59)));
    }
}
