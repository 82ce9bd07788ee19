//! Bundles: what one agent did, in one file that is looked at and replayed without its home ([docs/bundles.md]).
//!
//! [docs/bundles.md]: ../../../docs/bundles.md

mod arguments;
mod look;
mod make;
mod redact;
mod remake;

use holon_facts::{AgentId, EventSeq};
use serde::{Deserialize, Serialize};

pub use look::{LookError, Looked, Verified, inspect, replay, unpack, verify};
pub use make::{Made, MakeError, Request, make};

/// How archives of this kind are called.
const KIND: &str = "bundle";
/// What stands first in a bundle.
const DESCRIPTION: &str = "bundle.json";
/// Every call of the host with its records, as `ledger export --recorder` writes them.
const RECORDER: &str = "recorder.jsonl";
/// The records of the agent.
const RECORDS: &str = "records.jsonl";
const CONFIG: &str = "config.json";
const WHY: &str = "why.json";
/// Texts that records of the agent name, each under its hash.
const CONTENTS: &str = "contents";

/// How a bundle is laid out. Another number is another layout.
const FORMAT: u32 = 1;

/// How much of what was said is in a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redact {
    /// Nothing that anybody wrote, no path, and no hash that could be compared with a guess.
    Strict,
    /// No text; its hash and its length stand for it. Paths, names of agents, tools and models stay.
    Texts,
    /// Everything but secrets.
    None,
}

/// What a bundle says of itself. Nothing in it depends on when it was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    pub format: u32,
    pub agent_id: AgentId,
    /// The events of the agent that `records.jsonl` has.
    pub from: EventSeq,
    pub to: EventSeq,
    pub redact: Redact,
    /// The build that made it: its own decisions are replayed.
    pub build: String,
    pub environment: Environment,
    pub recorder: Recorded,
}

/// The machine that a bundle was made on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Environment {
    pub os: String,
    pub arch: String,
    pub kernel: String,
}

/// What of the flight recorder is in a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub records: u64,
    /// Calls that are made again by a replay, and those of which the records alone are there.
    pub calls: u64,
    pub folded_calls: u64,
    /// The last runtime of which a call is decided otherwise without its texts: of that one and those before it, records alone
    /// are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
}
