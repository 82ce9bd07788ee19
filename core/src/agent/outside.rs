//! How much of an agent's day others may take (contract: decisions.md, 38). Events from outside are counted by their
//! source and all together, apart from what the agent causes itself; one that could have no turn is refused, and what
//! was accepted has its turn.

use alloc::collections::BTreeMap;
use alloc::string::String;

use holon_facts::allowance::Allowance;
use holon_facts::config::UnattendedPolicy;
use holon_facts::content::clip;
use holon_facts::hint::Hint;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::AdmissionContext;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::inbox::Entry;
use crate::agent::wake::{self, Pending};

/// Sources that are counted apart; further ones share one allowance.
pub const SOURCES: usize = 256;

/// Bytes of the name of a source.
const NAME_BYTES: usize = 128;

pub(crate) const MICROS_PER_MINUTE: i64 = 60_000_000;

/// What came from outside on the day of the last event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outside {
    /// So many days of UTC after 1970 began.
    #[serde(default)]
    pub day: i64,
    /// Turns that events of that day cause.
    #[serde(default)]
    pub turns_of_day: u32,
    /// By source: `channel:`, `webhook:`, `callback:` or `trigger:` and its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, SourceCount>,
    /// Of further sources together.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub others: SourceCount,
}

/// What came from one source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceCount {
    #[serde(default)]
    pub turns_of_day: u32,
    /// The minute of the last event, after 1970 began.
    #[serde(default)]
    pub minute: i64,
    #[serde(default)]
    pub events_of_minute: u32,
}

impl Outside {
    /// For those who look at it.
    pub(crate) fn shown(&self) -> Option<Self> {
        Some(self.clone()).filter(|counted| !holon_facts::is_default(counted))
    }

    fn of(&self, source: &str) -> &SourceCount {
        self.sources.get(source).unwrap_or(&self.others)
    }

    fn of_mut(&mut self, at: Wall, source: &str) -> &mut SourceCount {
        if self.day != at.day() {
            *self = Self { day: at.day(), ..Self::default() };
        }
        if self.sources.len() >= SOURCES && !self.sources.contains_key(source) {
            return &mut self.others;
        }
        self.sources.entry(source.into()).or_default()
    }

    fn event(&mut self, at: Wall, source: &str) {
        let counted = self.of_mut(at, source);
        let before = if counted.minute == minute(at) { counted.events_of_minute } else { 0 };
        (counted.minute, counted.events_of_minute) = (minute(at), before.saturating_add(1));
    }

    fn turn(&mut self, at: Wall, sources: impl Iterator<Item = String>) {
        for source in sources {
            let counted = self.of_mut(at, &source);
            counted.turns_of_day = counted.turns_of_day.saturating_add(1);
        }
        if self.day == at.day() {
            self.turns_of_day = self.turns_of_day.saturating_add(1);
        }
    }

    /// A message from outside is queued: it has its turn.
    pub(super) fn admitted(&mut self, at: Wall, message: &Message) {
        let owned = message.admission_context == AdmissionContext::RuntimeOwned;
        let Some(source) = source(message).filter(|_| !owned) else { return };
        self.event(at, &source);
        self.turn(at, core::iter::once(source));
    }

    /// A hint came through the trigger.
    pub(super) fn hinted(&mut self, at: Wall, hint: &Hint) {
        if hint.external_trigger_id.is_some() {
            self.event(at, &source_of_hint(hint));
        }
    }

    /// One message reports these hints, and has its turn.
    pub(super) fn delivered<'a>(&mut self, at: Wall, hints: impl Iterator<Item = &'a Pending>) {
        let sources = hints.filter(|pending| pending.hint.external_trigger_id.is_some());
        let mut sources = sources.map(|pending| source_of_hint(&pending.hint)).peekable();
        if sources.peek().is_some() {
            self.turn(at, sources);
        }
    }

    /// The first allowance that is used up for another event of a source.
    pub(crate) fn used_up(
        &self,
        now: Wall,
        source: &str,
        turn: bool,
        policy: &UnattendedPolicy,
    ) -> Option<Allowance> {
        let counted = Some(self.of(source)).filter(|_| self.day == now.day())?;
        let events = if counted.minute == minute(now) { counted.events_of_minute } else { 0 };
        let turns = |count: u32| if turn { count } else { 0 };
        let used = [
            (Allowance::SourceMinute, events),
            (Allowance::SourceDay, turns(counted.turns_of_day)),
            (Allowance::OutsideDay, turns(self.turns_of_day)),
        ];
        let over = used.into_iter().find(|(allowance, count)| *count >= allowance.limit(policy));
        over.map(|(allowance, _)| allowance)
    }
}

pub(crate) fn minute(at: Wall) -> i64 {
    at.0.div_euclid(MICROS_PER_MINUTE)
}

/// Where an event from outside comes from; none of what an operator or the runtime says.
fn source(message: &Message) -> Option<String> {
    source_of(&message.origin)
}

pub(crate) fn source_of(origin: &Origin) -> Option<String> {
    let (kind, name) = match origin {
        Origin::Channel { channel_id, .. } => ("channel", channel_id),
        Origin::Webhook { source, .. } => ("webhook", source),
        Origin::Callback { descriptor_id, .. } => ("callback", descriptor_id),
        Origin::Operator { .. } | Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => {
            return None;
        }
    };
    Some(format!("{kind}:{}", clip(name, NAME_BYTES)))
}

pub(crate) fn source_of_hint(hint: &Hint) -> String {
    format!("trigger:{}", clip(&hint.source, NAME_BYTES))
}

/// Whether somebody outside causes the turn of a message, and not the agent itself.
pub(crate) fn causes(entry: &Entry) -> bool {
    let message = &entry.message;
    source(message).is_some() || (wake::is_tick(message) && !entry.own)
}
