//! Handlers, one file per resource.

pub(super) mod agents;
pub(super) mod all_events;
pub(super) mod control;
pub(super) mod debug;
pub(super) mod events;
pub(super) mod fork;
pub(super) mod history;
pub(super) mod inbox;
pub(super) mod ingress;
pub(super) mod labels;
pub(super) mod latency;
mod look;
pub(super) mod models;
pub(super) mod prompt;
pub(super) mod runtime;
pub(super) mod scheduler_fixture;
mod sse;
pub(super) mod stream;
pub(super) mod tasks;
mod texts;
pub(super) mod timers;
pub(super) mod triggers;
pub(super) mod wake;
mod why;
pub(super) mod work_items;
mod workspace;
pub(super) mod workspaces;
