//! The words of Holon: ids, time, content, messages, events by family and their wire form, statuses, limits.
//!
//! This crate holds plain data and the rules that belong to one value alone. It knows no agent, no state, no
//! decision; everything else in the project may know it.

#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;
#[macro_use]
extern crate holon_omit;
#[cfg(test)]
extern crate std;

#[macro_use]
mod macros;

pub mod allowance;
pub mod budget;
pub mod call;
pub mod closure;
pub mod config;
pub mod content;
pub mod continuation;
pub mod decision;
pub mod delivery;
pub mod episode;
pub mod event;
pub mod execution;
pub mod fence;
pub mod frame;
pub mod hash;
pub mod hint;
pub mod identity;
pub mod ids;
pub mod image;
pub mod json;
pub mod label;
pub mod lifecycle;
pub mod made;
pub mod memory;
pub mod message;
pub mod model;
pub mod model_ref;
pub mod outbox;
pub mod outcome;
pub mod price;
pub mod provenance;
pub mod receipt;
pub mod record;
pub mod reject;
pub mod replay;
pub mod request;
pub mod shared;
pub mod skill;
pub mod subsystem;
pub mod task;
pub mod template;
pub mod terminal;
pub mod time;
pub mod timer;
pub mod tokens;
pub mod tool;
pub mod trigger;
pub mod usage;
pub mod wait;
pub mod work;
pub mod workspace;

pub use config::Config;
pub use content::{Content, ContentId, Text};
pub use event::Event;
pub use ids::{AgentId, EventSeq, MessageId, OpId, ReplyId, RunId, Seed, StepSeq};
pub use outcome::Outcome;
pub use record::Record;
pub use reject::Reject;
pub use time::{Millis, Mono, Now, Wall};

/// Whether a field has the value that its absence stands for.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
