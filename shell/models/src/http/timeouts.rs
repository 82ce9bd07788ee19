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
    pub(super) fn begin(options: &ProviderOptions, whole: Millis) -> Self {
        let ProviderOptions { first_byte_timeout, idle_timeout, .. } = options;
        Self { started: clock::now(), first_byte: *first_byte_timeout, idle: *idle_timeout, whole }
    }

    /// How long to wait for the head, and for the first byte of the body: servers that send their head at once
    /// think afterwards.
    pub(super) fn until_first_byte(self) -> (Duration, Late) {
        let passed = clock::since(self.started).0;
        sooner(self.first_byte.0.saturating_sub(passed), Late::FirstByte, self.whole.0.saturating_sub(passed))
    }

    /// How long to wait for the next piece.
    pub(super) fn until_next(self) -> (Duration, Late) {
        let passed = clock::since(self.started).0;
        sooner(self.idle.0, Late::Idle, self.whole.0.saturating_sub(passed))
    }

    pub(super) fn failure(self, late: Late, url: &Url) -> Failure {
        let from = shown(url);
        let (first_byte, idle) = (exactly(self.first_byte), exactly(self.idle));
        let (stage, message) = match late {
            Late::FirstByte => ("first_byte", format!("nothing came from {from} within {first_byte}")),
            Late::Idle => ("idle", format!("the answer of {from} stopped: nothing for {idle}")),
            Late::Whole => ("whole", format!("no complete answer from {from} within {}", self.whole)),
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
