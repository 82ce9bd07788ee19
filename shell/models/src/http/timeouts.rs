//! How long an answer may take: until its first byte, between two pieces of it, and as a whole. Which of them
//! is over decides what is said; all of them are time-outs.

use std::time::Duration;

use holon_facts::model::FailureKind;
use holon_facts::{Millis, Now};
use holon_platform::clock;
use holon_text::time::exactly;
use url::Url;

use super::failure::located;
use crate::address::shown;
use crate::answer::Failure;
use crate::options::ProviderOptions;

#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    started: Now,
    /// Time of the whole that was over before.
    before: Millis,
    first_byte: Millis,
    idle: Millis,
    whole: Millis,
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    FirstByte,
    Idle,
    Whole,
}

impl Timeouts {
    pub(super) fn begin(options: &ProviderOptions, (before, whole): (Millis, Millis)) -> Self {
        let ProviderOptions { first_byte_timeout, idle_timeout, .. } = options;
        Self { started: clock::now(), before, first_byte: *first_byte_timeout, idle: *idle_timeout, whole }
    }

    fn left(self, passed: u64) -> u64 {
        self.whole.0.saturating_sub(self.before.0).saturating_sub(passed)
    }

    /// How long to wait for the head, and for the first byte of the body: servers that send their head at once
    /// think afterwards.
    pub(super) fn until_first_byte(self) -> (Duration, Late) {
        let passed = clock::since(self.started).0;
        sooner(self.first_byte.0.saturating_sub(passed), Late::FirstByte, self.left(passed))
    }

    /// How long to wait for the next piece.
    pub(super) fn until_next(self) -> (Duration, Late) {
        let passed = clock::since(self.started).0;
        sooner(self.idle.0, Late::Idle, self.left(passed))
    }

    pub(super) fn failure(self, late: Late, url: &Url) -> Failure {
        let from = shown(url);
        let (first_byte, idle) = (exactly(self.first_byte), exactly(self.idle));
        let (stage, message) = match late {
            Late::FirstByte => ("first_byte", format!("nothing came from {from} within {first_byte}")),
            Late::Idle => ("idle", format!("the answer of {from} stopped: nothing for {idle}")),
            Late::Whole => {
                ("whole", format!("no complete answer from {from} within {}", exactly(self.whole)))
            }
        };
        located(Failure::new(FailureKind::Timeout, message), stage, url)
    }
}

fn sooner(own: u64, late: Late, whole: u64) -> (Duration, Late) {
    if whole <= own {
        (Duration::from_millis(whole), Late::Whole)
    } else {
        (Duration::from_millis(own), late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_over_before_shortens_the_wait_and_not_the_words() {
        let timeouts = Timeouts::begin(&ProviderOptions::default(), (Millis(300), Millis(400)));
        let (left, late) = timeouts.until_next();
        assert_eq!(late, Late::Whole);
        assert!(left <= Duration::from_millis(100), "{left:?}");
        let url = Url::parse("http://127.0.0.1:1/v1").unwrap();
        assert!(timeouts.failure(late, &url).message.ends_with("within 400 ms"));
    }
}
