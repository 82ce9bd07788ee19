//! What is used up when an event from outside is refused.

use alloc::string::String;

use crate::config::UnattendedPolicy;

names! {
    /// What is used up when an event from outside is refused.
    Allowance {
        /// Events of one source in a minute.
        SourceMinute "source_minute",
        /// Turns that one source causes in a day of UTC.
        SourceDay "source_day",
        /// Turns that all sources together cause in a day of UTC.
        OutsideDay "outside_day",
    }
}

impl Allowance {
    pub fn limit(self, policy: &UnattendedPolicy) -> u32 {
        match self {
            Self::SourceMinute => policy.source_events_per_minute,
            Self::SourceDay => policy.source_turns_per_day,
            Self::OutsideDay => policy.outside_turns_per_day,
        }
    }

    /// The setting that says how much it is.
    pub fn setting(self) -> &'static str {
        match self {
            Self::SourceMinute => "limits.source_events_per_minute",
            Self::SourceDay => "limits.source_turns_per_day",
            Self::OutsideDay => "limits.outside_turns_per_day",
        }
    }

    /// What has come already, in words.
    pub fn used(self, limit: u32) -> String {
        match self {
            Self::SourceMinute => format!("{limit} events of one source in one minute"),
            Self::SourceDay => format!("{limit} turns in one day because of one source"),
            Self::OutsideDay => format!("{limit} turns in one day because of events from outside"),
        }
    }
}
