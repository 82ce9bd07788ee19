//! Where a command stands, and how long each phase may take.

use holon_facts::{Millis, Mono};

/// How long output and what was left behind is waited for after the command itself has ended.
pub(super) const DRAIN: Millis = Millis::seconds(2);
/// Time for what was left behind to end, once it is asked to.
pub(super) const SHORT_GRACE: Millis = Millis::seconds(1);
/// Time for the kernel to end what was killed.
pub(super) const KILLED: Millis = Millis::seconds(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Running {
        /// None: until it ends or is stopped.
        until: Option<Mono>,
    },
    /// It has ended; its output and those whom it left behind may still end by themselves.
    Draining {
        until: Mono,
    },
    /// Everybody was asked to end.
    Ending {
        until: Mono,
    },
    /// Everybody who comes up is killed.
    Killing {
        until: Mono,
    },
    /// Nobody is left; what they wrote is still read.
    Flushing {
        until: Mono,
    },
    Over,
}

impl Phase {
    pub(super) fn until(self) -> Option<Mono> {
        match self {
            Self::Running { until } => until,
            Self::Draining { until }
            | Self::Ending { until }
            | Self::Killing { until }
            | Self::Flushing { until } => Some(until),
            Self::Over => None,
        }
    }
}
