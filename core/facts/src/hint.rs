//! Wake hints (contract: work.md, Wake hints): signals from outside.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::ids::{DepositId, ExternalTriggerId, WaitId};

/// Sources of which hints wait; then one of them is folded: bare hints that nobody waits for first.
pub const SOURCES: usize = 64;

/// Longest body, in bytes: 256 KiB as they come, or as base64 where they are no text.
pub const BODY_BYTES: u64 = (256_u64 << 10).div_ceil(3) * 4;

/// Resources, and waits, that are told apart among the hints of a source; beyond, they are only counted.
pub const SUBJECTS: usize = 16;

names! {
    /// What became of a hint.
    WakeDisposition {
        /// It is the first of its source that waits.
        Triggered "triggered",
        /// A hint of its source is pending already; both are coalesced.
        Coalesced "coalesced",
    }
}

/// Content of an external sender.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hint {
    pub source: String,
    pub reason: String,
    pub description: Option<String>,
    /// Its subject.
    pub resource: Option<String>,
    /// The trigger that it came through.
    pub external_trigger_id: Option<ExternalTriggerId>,
    /// Repeats the previous delivery: the agent may have sent it itself.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeats: bool,
    /// The wait that it addresses, named by an operator, or by the wait's token as `correlation_id`.
    pub wait_id: Option<WaitId>,
    pub body: Option<Text>,
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
    /// It was kept while nobody owned its agent: it counts as judged with the record that has it.
    pub deposit: Option<DepositId>,
}

impl Hint {
    /// One that says who gives it and why, and nothing else.
    pub fn new(source: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            reason: reason.into(),
            description: None,
            resource: None,
            external_trigger_id: None,
            repeats: false,
            wait_id: None,
            body: None,
            content_type: None,
            correlation_id: None,
            causation_id: None,
            deposit: None,
        }
    }

    /// Whether it is about what a wait for the outside is for.
    pub fn is_about(&self, wait: WaitId, subject: Option<&str>) -> bool {
        let about = |subject: &str| self.source == subject || self.resource.as_deref() == Some(subject);
        self.wait_id == Some(wait) || subject.map_or(self.external_trigger_id.is_some(), about)
    }

    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let always = [("source", self.source.as_str()), ("reason", self.reason.as_str())];
        let may = [
            ("description", &self.description),
            ("resource", &self.resource),
            ("content_type", &self.content_type),
            ("correlation_id", &self.correlation_id),
            ("causation_id", &self.causation_id),
        ];
        always.into_iter().chain(may.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?))))
    }
}

names! {
    /// What the hints of a source mean to their agent; the least is folded first.
    HintWeight {
        /// Nothing but a sign of life.
        Bare "bare",
        /// A body, a correlation, or the number of a wait.
        Contentful "contentful",
        /// An active wait is for it.
        Awaited "awaited",
    }
}
