//! One number for situations that behave alike. State is read through its serialisation, so a new field counts by
//! default; fields on which nothing depends are left out. Ids are numbered in the order of their appearance. A future
//! moment counts by its distance, a past one only by an age that a limit is compared with. In small worlds no
//! idempotency key expires, and there is no budget.

mod write;

use std::fmt::Write as _;

use holon_core::agent::Agent;
use holon_facts::Wall;
use serde::Serialize;

use crate::choices::splitmix64;

/// Reads state into a hash of 128 bits.
#[derive(Debug)]
pub(super) struct CanonicalState {
    low: u64,
    high: u64,
    now: Wall,
    /// The agent whose ids are read: ids are unique within one agent.
    agent: u64,
    ids: Vec<(u64, u64)>,
    /// The field that is being read is an age.
    ages: bool,
    buffer: String,
}

/// Fields that no decision depends on, by type.
const IGNORED: [(&str, &[&str]); 14] = [
    ("Agent", &["spec", "created_at", "event_seq", "last_at", "status_since", "next", "account", "episodes"]),
    (
        "History",
        &[
            "last_turn",
            "last_answer",
            "usage",
            "last_turn_usage",
            "model_rounds",
            "messages_settled",
            "last_brief",
        ],
    ),
    ("OpenOp", &["opened_at"]),
    ("Run", &["turn_index", "started_at", "models", "usage", "spent"]),
    ("LoadedContext", &["sources", "execution", "context_build_ms"]),
    ("AttemptRecord", &["started_at", "completed_at", "duration_ms", "backoff_ms", "message"]),
    ("SchedulerDecision", &["row", "boundary", "model_reentry", "liveness_only", "message_id", "evidence"]),
    ("Hold", &["since"]),
    ("Task", &["created_at", "updated_at", "parent_message_id"]),
    ("TaskEnd", &["duration_ms", "result", "failure_artifact", "spent"]),
    ("ChildEnd", &["spent"]),
    ("Result", &["spent"]),
    ("Supervision", &["progress", "result"]),
    ("Message", &["created_at", "origin", "delivery_surface", "admission_context"]),
];

/// Fields with past moments whose age a limit is compared with.
const AGES: [&str; 2] = ["held_since", "first_left_at"];

fn ignored(owner: &str, field: &str) -> bool {
    IGNORED.iter().any(|(name, fields)| *name == owner && fields.contains(&field))
}

impl CanonicalState {
    pub(super) fn new(now: Wall) -> Self {
        let (low, high) = (0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);
        Self { low, high, now, agent: 0, ids: Vec::new(), ages: false, buffer: String::new() }
    }

    pub(super) fn finish(&self) -> u128 {
        u128::from(splitmix64(self.high ^ self.low)) << 64 | u128::from(splitmix64(self.low))
    }

    pub(super) fn word(&mut self, word: u64) {
        self.low = splitmix64(self.low ^ word);
        self.high =
            (self.high.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.high >> 31);
    }

    /// The values that follow are about the agent of that number.
    pub(super) fn about(&mut self, agent: u64) {
        self.agent = agent;
        self.word(agent);
    }

    /// Reads an agent's durable state.
    pub(super) fn agent(&mut self, agent: &Agent) {
        self.value(agent);
        // A request refused as too long can be made shorter if there were turns before.
        let open = agent.episodes.open.as_ref();
        let shrinks = open.is_some_and(|open| !open.head.tight && !open.head.digests.is_empty());
        self.word(u64::from(agent.episodes.turns().is_empty()) << 1 | u64::from(shrinks));
    }

    pub(super) fn value(&mut self, value: &impl Serialize) {
        if value.serialize(&mut *self).is_err() {
            unreachable!("everything can be read");
        }
    }

    /// Reads a moment: how far ahead it is, or how long ago where that matters.
    pub(super) fn moment(&mut self, at: Wall) {
        let ahead = at.0.saturating_sub(self.now.0);
        let distance = if ahead < 0 && !self.ages { -1 } else { ahead };
        self.word(distance.cast_unsigned());
    }

    fn text(&mut self, text: &str) {
        if let Some(id) = id(text) {
            let known = self.ids.iter().position(|known| *known == (self.agent, id));
            let number = known.unwrap_or_else(|| {
                self.ids.push((self.agent, id));
                self.ids.len() - 1
            });
            // The agent's own number, whatever ids other agents have.
            let own = self.ids[..number].iter().filter(|(agent, _)| *agent == self.agent).count();
            return self.word(own as u64);
        }
        if let Some(at) = moment(text) {
            return self.moment(at);
        }
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            self.word(word);
        }
    }

    fn shown(&mut self, value: &(impl std::fmt::Display + ?Sized)) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        if write!(buffer, "{value}").is_ok() {
            self.text(&buffer);
        }
        self.buffer = buffer;
    }
}

/// A counted id as one number: its kind and its count.
fn id(text: &str) -> Option<u64> {
    let (kind, count) = text.split_once('_')?;
    let kind = ["msg", "run", "op", "brief", "task", "work", "timer", "wait", "letter"]
        .iter()
        .position(|name| *name == kind)?;
    let count: u64 = count.parse().ok()?;
    Some(count << 4 | kind as u64)
}

fn moment(text: &str) -> Option<Wall> {
    let looks = text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[0].is_ascii_digit();
    looks.then(|| Wall::parse(text)).flatten()
}

#[cfg(test)]
mod tests {
    use holon_facts::{MessageId, Millis, RunId, Wall};

    use super::CanonicalState;

    const NOW: Wall = Wall(1_767_225_600_000_000);

    fn read(values: &[&dyn Fn(&mut CanonicalState)]) -> u128 {
        let mut canonical = CanonicalState::new(NOW);
        values.iter().for_each(|read| read(&mut canonical));
        canonical.finish()
    }

    #[test]
    fn ids_count_by_their_order_alone() {
        let of = |first: u64, second: u64| {
            read(&[&|canonical| canonical.value(&(MessageId(first), RunId(second), MessageId(first)))])
        };
        assert_eq!(of(1, 1), of(7, 3));
        let other = read(&[&|canonical| canonical.value(&(MessageId(7), RunId(3), MessageId(8)))]);
        assert_ne!(of(7, 3), other);
    }

    #[test]
    fn what_is_over_is_over_and_what_is_ahead_is_so_far_ahead() {
        let at = |at: Wall| read(&[&|canonical| canonical.value(&at)]);
        let before = |ms: u64| Wall(NOW.0 - i64::try_from(ms).unwrap_or(0) * 1_000);
        assert_eq!(at(before(5)), at(before(900)));
        assert_ne!(at(NOW.after(Millis(5))), at(NOW.after(Millis(6))));
        assert_ne!(at(NOW), at(before(1)));
    }
}
