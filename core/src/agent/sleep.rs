//! Sleep that an agent chose itself: what it is owed waits until then, and whatever else comes wakes it (contract:
//! tools.md, Sleep; scheduler.md, row 8).

use alloc::format;
use alloc::string::String;

use holon_facts::content::Text;
use holon_facts::event::scheduling::{SleepBegun, SleepElapsed};
use holon_facts::ids::MessageId;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::time::{Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{self, Evidence};
use super::timer::DELIBERATE;
use crate::host::tx::Tx;

/// Whose word the end of a sleep is.
const SUBSYSTEM: &str = "sleep_elapsed";

/// A sleep that no turn has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sleep {
    pub since: Wall,
    /// Its obligations wait until then; none when the sleep has no end, or has been delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Wall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Millis>,
    /// In the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The message that delivers its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    matches!(&message.origin, Origin::System { subsystem } if subsystem == SUBSYSTEM)
}

/// Queues the message that ends the sleep.
pub(super) fn tell(tx: &mut Tx<'_>) {
    let Some(sleep) = &tx.agent().sleep else { return };
    let Some(until) = sleep.over(tx.now()) else { return };
    let because = sleep.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let evidence = Evidence {
        kind: MessageKind::SystemTick,
        origin: Origin::System { subsystem: SUBSYSTEM.into() },
        priority: Priority::Background,
        surface: Surface::RuntimeSystem,
        text: Text::whole(format!("You slept from {} until {until}{because}", sleep.since)),
    };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(SleepElapsed { message_id, until });
    }
}
