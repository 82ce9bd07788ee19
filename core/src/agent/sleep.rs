//! Sleep that an agent chose itself: what it is owed waits until then, and whatever else comes wakes it (contract:
//! tools.md, Sleep; scheduler.md, row 8).

use alloc::string::String;

use holon_facts::event::scheduling::{SleepBegun, SleepElapsed};
use holon_facts::ids::MessageId;
use holon_facts::message::Message;
use holon_facts::subsystem::SLEEP_ELAPSED;
use holon_facts::time::{Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::timer::DELIBERATE;

/// A sleep that no turn has ended.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sleep {
    pub since: Wall,
    /// Its obligations wait until then; none when the sleep has no end, or has been delivered.
    pub until: Option<Wall>,
    pub duration_ms: Option<Millis>,
    /// In the agent's own words.
    pub reason: Option<String>,
    /// The message that delivers its end.
    pub tick: Option<MessageId>,
}

impl Sleep {
    pub(super) fn begun(at: Wall, fact: &SleepBegun) -> Self {
        let SleepBegun { until, duration_ms, ref reason, .. } = *fact;
        Self { since: at, until, duration_ms, reason: reason.clone(), tick: None }
    }

    pub(super) fn elapsed(&mut self, fact: &SleepElapsed) {
        (self.until, self.tick) = (None, Some(fact.message_id));
    }

    /// Whether it was long enough to be no spinning.
    pub(super) fn is_deliberate(&self) -> bool {
        self.duration_ms.is_some_and(|duration| duration >= DELIBERATE)
    }

    /// Its end, while that is still to come.
    pub fn lasts(&self, now: Wall) -> Option<Wall> {
        self.until.filter(|until| *until > now)
    }

    /// Its end, once that has come and is not told.
    pub fn over(&self, now: Wall) -> Option<Wall> {
        self.until.filter(|until| *until <= now)
    }

    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        self.since = self.since.shifted(from, to);
        self.until = self.until.map(|until| until.shifted(from, to));
    }
}

/// Whether a message tells that a sleep is over.
pub(super) fn is_tick(message: &Message) -> bool {
    message.origin.is_of(SLEEP_ELAPSED)
}
