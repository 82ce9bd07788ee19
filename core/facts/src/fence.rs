//! The secret of a run, and the tags that are derived from it: they mark what text in a prompt is not the runtime's own
//! (contract: context.md, Provider lowering). How that is written, the prompt knows.
//!
//! A tag is SipHash-2-4 of the place where the text stands, keyed by a secret of the run, which is SipHash of agent and
//! run, keyed by the seed of the runtime. A tag that a model repeats gives away neither the secret nor another tag, and no
//! text can be written after its own tag was shown: each place names what its text is fixed by. The secret is on record
//! with the start of the run and goes along with its message, so a restart renders the same bytes.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hash::{Fnv, sip};
use crate::ids::{AgentId, EpisodeId, MessageId, RunId, Seed};

/// The secret from which the tags of one run, and of those that go on with its message, are derived. Written as 16 hex
/// digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fence(u64);

/// What the two lines of a fence carry. Written as 16 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(u64);

/// Where a quoted text stands, and what fixes it: another text has another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// What a message says, and whatever is told with it.
    Message(MessageId),
    /// A note in the middle of the turn: the round whose request shows it first, over all runs of the message, and its
    /// position before that round.
    Note { round: u32, index: u32 },
    /// Work items, with what stands for the text that is shown of them.
    Work(u64),
    /// The first so many rounds of the turn, shortened.
    Recap(u32),
    /// What stands for an episode that is over.
    Digest(EpisodeId),
    /// What a model made of such an episode.
    Summary(EpisodeId),
    /// What the agent had in mind, after so many changes.
    Memory(u64),
    /// The files that it wrote down for itself.
    MemoryFiles,
}

impl JsonSchema for Fence {
    fn schema_name() -> Cow<'static, str> {
        "Fence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{16}$" })
    }
}

impl Fence {
    pub fn of(seed: Seed, agent: &AgentId, run: RunId) -> Self {
        let agent = Fnv::START.piece(agent.as_str().as_bytes()).0;
        Self(sip((seed.0, agent), &[run.0]))
    }

    /// For a prompt that is looked at and not sent.
    pub const PREVIEW: Self = Self(0);

    pub fn tag(self, place: Place) -> Tag {
        let (kind, first, second) = match place {
            Place::Message(id) => (1, id.0, 0),
            Place::Note { round, index } => (2, round.into(), index.into()),
            Place::Work(text) => (4, text, 0),
            Place::Recap(rounds) => (5, rounds.into(), 0),
            Place::Digest(episode) => (6, episode.0, 0),
            Place::Summary(episode) => (8, episode.0, 0),
            Place::Memory(revision) => (7, revision, 0),
            Place::MemoryFiles => (8, 0, 0),
        };
        Tag(sip((self.0, 0), &[kind, first, second]))
    }

    /// Where such a text about work items stands.
    pub fn work(self, text: &str) -> Place {
        let words = text
            .as_bytes()
            .chunks(8)
            .map(|bytes| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        let words: Vec<u64> = words.chain([text.len() as u64]).collect();
        Place::Work(sip((self.0, 1), &words))
    }
}

macro_rules! hex {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                u64::from_str_radix(&text, 16)
                    .map(Self)
                    .map_err(|_| D::Error::custom("expected 16 hex digits"))
            }
        }
    };
}
hex!(Fence);
hex!(Tag);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn each_place_of_each_run_has_a_tag_of_its_own() {
        let agent = AgentId::new("main").unwrap();
        let other = AgentId::new("other").unwrap();
        let fences = [(1, &agent, 1), (1, &agent, 2), (2, &agent, 1), (1, &other, 1)];
        let places = [
            Place::Message(MessageId(1)),
            Place::Message(MessageId(2)),
            Place::Note { round: 1, index: 0 },
            Place::Note { round: 0, index: 1 },
            Place::Work(1),
            Place::Recap(1),
            Place::Digest(EpisodeId(1)),
            Place::Summary(EpisodeId(1)),
            Place::Memory(1),
            Place::MemoryFiles,
        ];
        let tags = fences.map(|(seed, agent, run)| {
            places.map(|place| Fence::of(Seed(seed), agent, RunId(run)).tag(place))
        });
        let different: BTreeSet<Tag> = tags.into_iter().flatten().collect();
        assert_eq!(different.len(), fences.len() * places.len());
    }

    #[test]
    fn a_secret_reads_back() {
        let fence = Fence::of(Seed(7), &AgentId::new("main").unwrap(), RunId(3));
        let text = serde_json::to_string(&fence).unwrap();
        assert_eq!(text.len(), 18);
        assert_eq!(serde_json::from_str::<Fence>(&text).unwrap(), fence);
    }
}
