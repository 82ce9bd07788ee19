//! Events from outside for one agent: how often each source may send some, and how many turns these cause in a day.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::config::UnattendedPolicy;
use holon_facts::event::WakeFact;
use holon_facts::hint::{Hint, HintWeight};
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::AdmissionContext;
use holon_facts::{MessageId, Wall};

use crate::failure::{Failure, ensure};

const DAY: i64 = 86_400_000_000;
const MINUTE: i64 = 60_000_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    day: i64,
    turns: u32,
    sources: BTreeMap<String, Counted>,
    /// Pending hints by source: whether one came through the trigger, and whether all are repeats.
    pending: BTreeMap<String, (bool, bool)>,
    /// The same for folded sources; below, whether hints without content were folded.
    folded: BTreeMap<String, (bool, bool)>,
    others: bool,
    /// Messages that report hints from outside.
    ticks: BTreeSet<MessageId>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    turns: u32,
    minute: i64,
    events: u32,
}

/// The outside source of a message.
pub(super) fn source(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Channel { channel_id, .. } => Some(format!("channel {channel_id}")),
        Origin::Webhook { source, .. } => Some(format!("webhook {source}")),
        Origin::Callback { descriptor_id, .. } => Some(format!("callback {descriptor_id}")),
        Origin::Operator { .. } | Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => None,
    }
}

pub(super) fn source_of_hint(hint: &Hint) -> String {
    format!("hint {}", hint.source)
}

impl Outside {
    pub(super) fn hinted_by_others(&self, message: MessageId) -> bool {
        self.ticks.contains(&message)
    }

    /// Whether another event is refused now; one without a turn uses up no day.
    pub(super) fn refuses(&self, now: Wall, source: &str, turn: bool, policy: &UnattendedPolicy) -> bool {
        if self.day != now.0.div_euclid(DAY) {
            return false;
        }
        let counted = self.sources.get(source).copied().unwrap_or_default();
        let events = if counted.minute == now.0.div_euclid(MINUTE) { counted.events } else { 0 };
        let over = self.turns >= policy.outside_turns_per_day || counted.turns >= policy.source_turns_per_day;
        events >= policy.source_events_per_minute || (turn && over)
    }

    fn event(&mut self, at: Wall, source: &str, policy: &UnattendedPolicy) -> Result<(), Failure> {
        self.roll(at);
        let minute = at.0.div_euclid(MINUTE);
        let counted = self.sources.entry(source.to_owned()).or_default();
        if counted.minute != minute {
            (counted.minute, counted.events) = (minute, 0);
        }
        counted.events += 1;
        let most = policy.source_events_per_minute;
        ensure!(counted.events <= most, "S9", "{source} has sent {counted:?}, {most} are enough");
        Ok(())
    }

    fn roll(&mut self, at: Wall) {
        let day = at.0.div_euclid(DAY);
        if self.day != day {
            (self.day, self.turns) = (day, 0);
            self.sources.clear();
        }
    }

    pub(super) fn admitted(
        &mut self,
        at: Wall,
        message: &Message,
        policy: &UnattendedPolicy,
    ) -> Result<(), Failure> {
        let Some(source) = source(&message.origin) else { return Ok(()) };
        if message.admission_context == AdmissionContext::RuntimeOwned {
            return Ok(());
        }
        self.event(at, &source, policy)?;
        self.turns += 1;
        let counted = self.sources.entry(source.clone()).or_default();
        counted.turns += 1;
        let fits = counted.turns <= policy.source_turns_per_day && self.turns <= policy.outside_turns_per_day;
        ensure!(fits, "S9", "{source} causes {counted:?}, all of outside {}", self.turns);
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn hinted(
        &mut self,
        at: Wall,
        fact: &WakeFact,
        policy: &UnattendedPolicy,
    ) -> Result<(), Failure> {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                self.hint(at, &fact.hint, policy)?;
                let Some(folded) = &fact.folded else { return Ok(()) };
                let Some(pending) = self.pending.remove(folded) else { return Ok(()) };
                if fact.folded_as == Some(HintWeight::Bare) {
                    self.others = true;
                } else {
                    let kept = self.folded.entry(folded.clone()).or_insert(pending);
                    *kept = (kept.0 | pending.0, kept.1 & pending.1);
                }
            }
            WakeFact::WakeHintCoalesced(fact) => self.hint(at, &fact.hint, policy)?,
            WakeFact::WakeTickQueued(fact) => {
                let mut delivered = std::mem::take(&mut self.folded);
                let left: BTreeMap<_, _> =
                    self.pending.extract_if(.., |source, _| fact.left.contains(source)).collect();
                delivered.append(&mut self.pending);
                self.pending = left;
                let by_others =
                    std::mem::take(&mut self.others) || delivered.values().any(|(_, repeats)| !repeats);
                if by_others {
                    self.ticks.insert(fact.message_id);
                }
                let through_trigger = delivered.iter().filter(|(_, (trigger, _))| *trigger);
                let sources: Vec<String> =
                    through_trigger.map(|(source, _)| format!("hint {source}")).collect();
                if by_others && fact.contentful && !sources.is_empty() {
                    self.roll(at);
                    self.turns += 1;
                    sources.into_iter().for_each(|source| self.sources.entry(source).or_default().turns += 1);
                }
            }
            WakeFact::WakeHintsShown(fact) => {
                self.pending.retain(|source, _| !fact.sources.contains(source));
            }
            _ => {}
        }
        Ok(())
    }

    fn hint(&mut self, at: Wall, hint: &Hint, policy: &UnattendedPolicy) -> Result<(), Failure> {
        let through_trigger = hint.external_trigger_id.is_some();
        let pending = self.pending.entry(hint.source.clone()).or_insert((false, true));
        *pending = (pending.0 | through_trigger, pending.1 & hint.repeats);
        if through_trigger { self.event(at, &source_of_hint(hint), policy) } else { Ok(()) }
    }

    /// A stop drops pending hints.
    pub(super) fn stopped(&mut self) {
        self.pending.clear();
        self.folded.clear();
        self.others = false;
    }
}
