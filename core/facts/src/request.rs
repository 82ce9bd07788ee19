//! What is on record of a request to a model: enough to see whether it goes on with the one before, what it takes of the
//! model's window, and, rendered again from the records, whether it is the same.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model_ref::ModelRef;

/// A request, with the operation that sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestRecord {
    pub model: ModelRef,
    /// Where its parts end, by how long they stay as they are.
    pub layers: Layers,
    /// Elements of the conversation after the frame.
    pub items: u32,
    /// Bytes of its texts with which the request before begins, too.
    pub shared_bytes: u64,
    /// Why that is not all of the request before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<PrefixBreak>,
    pub size: RequestSize,
}

/// What a request takes of the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSize {
    /// Tokens, as estimated by classes of characters.
    pub est_tokens: u64,
    /// By how much the provider has counted more so far, in thousandths.
    pub ratio: Ratio,
    /// Tokens that fit, as the provider counts them.
    pub limit: u64,
}

/// The parts of a request, each with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layers {
    /// Policy and tools.
    pub surface: Prefix,
    /// Instructions, identity, environment.
    pub standing: Prefix,
    /// What the episode begins with.
    pub head: Prefix,
    /// The conversation: the whole request.
    pub conversation: Prefix,
}

/// A beginning of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prefix {
    pub fingerprint: PrefixHash,
    /// Of its texts.
    pub bytes: u64,
}

/// Stands for the content of a beginning of a request. Written as 16 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixHash(pub u64);

names! {
    /// What of a request is not what the request before has in its place. Nothing after it is shared.
    PrefixBreak {
        /// The agent's first request.
        First "first",
        /// Another model is asked, which has nothing of it.
        Model "model",
        /// Policy or tools.
        Surface "surface",
        /// Instructions, identity or environment.
        Standing "standing",
        /// What the episode begins with: it is another episode.
        Head "head",
        /// The conversation.
        Conversation "conversation",
    }
}

/// One number by another, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ratio(pub u32);

impl Ratio {
    /// None by nothing.
    pub fn new(number: u64, by: u64) -> Option<Self> {
        let thousandths = number.saturating_mul(1_000).checked_div(by)?;
        Some(Self(u32::try_from(thousandths).unwrap_or(u32::MAX)))
    }

    pub fn times(self, number: u64) -> u64 {
        number.saturating_mul(self.0.into()).div_ceil(1_000)
    }

    /// What is at most `number` once it is multiplied.
    pub fn divides(self, number: u64) -> u64 {
        number.saturating_mul(1_000) / u64::from(self.0.max(1))
    }
}

impl RequestSize {
    /// What its estimate may be short of.
    pub const MARGIN: Ratio = Ratio(1_030);
    /// Of a model that has not been counted, or hardly.
    pub const UNKNOWN: Ratio = Ratio(1_100);

    /// Tokens, as its provider is expected to count them.
    pub fn tokens(&self) -> u64 {
        self.ratio.times(self.est_tokens)
    }

    /// Whether that fits its model, with what the estimate may be short of.
    pub fn fits(&self) -> bool {
        Self::MARGIN.times(self.tokens()) <= self.limit
    }
}

impl fmt::Display for PrefixHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for PrefixHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PrefixHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16);
        number.map(Self).ok_or_else(|| D::Error::custom("expected 16 hex digits"))
    }
}

impl JsonSchema for PrefixHash {
    fn schema_name() -> Cow<'static, str> {
        "PrefixHash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{16}$" })
    }
}
