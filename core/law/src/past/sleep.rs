//! A sleep that no turn has ended, as far as a law looks back.

use holon_facts::event::scheduling::{SleepBegun, SleepElapsed};
use holon_facts::ids::MessageId;
use holon_facts::time::{Millis, Wall};

use super::Past;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sleep {
    pub(crate) until: Option<Wall>,
    /// The message that delivers its end.
    pub(crate) tick: Option<MessageId>,
    duration: Millis,
}

impl Sleep {
    pub(super) fn begun(fact: &SleepBegun) -> Self {
        Self { until: fact.until, tick: None, duration: fact.duration_ms.unwrap_or_default() }
    }

    pub(super) fn stepped(&mut self, from: Wall, to: Wall) {
        self.until = self.until.map(|until| until.shifted(from, to));
    }

    pub(crate) fn lasts(&self, at: Wall) -> bool {
        self.until.is_some_and(|until| until > at)
    }
}

impl Past {
    pub(super) fn slept(&mut self, fact: &SleepElapsed) {
        self.queue.slept.insert(fact.message_id);
        let Some(sleep) = &mut self.sleep else { return };
        (sleep.until, sleep.tick) = (None, Some(fact.message_id));
        // Whoever sleeps for ten minutes does so deliberately.
        let long = sleep.duration >= Millis::minutes(10);
        if let Some(entry) = self.queue.live.get_mut(&fact.message_id) {
            entry.own &= !long;
        }
    }
}
