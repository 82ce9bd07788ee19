//! Drives the core through virtual time with injected faults, and checks invariants.
//!
//! ```text
//! seed ──► Scenario (data) ──► World ──► Trace (records, effects, answers) ──► laws + reference ──► Report
//! ```
//!
//! [`swarm::scenario`] draws a scenario from a seed, [`world::run`] runs it, [`crash`] crashes at every boundary of
//! one. The world performs effects as a shell would; the disk, not the core, decides what is durable. [`explore`] draws
//! nothing: it visits every state of a few small worlds. [`cluster`] does so for several nodes over one database.

pub mod bounds;
pub mod checks;
pub mod choices;
pub mod cluster;
pub mod codec;
pub mod commands;
pub mod crash;
pub mod crowd;
pub mod decisions;
pub mod diary;
pub mod disk;
mod ends;
pub mod explore;
pub mod failure;
mod families;
pub mod fault;
pub mod ingress;
pub mod isolation;
pub mod laws;
pub mod lender;
pub mod life;
pub mod options;
pub mod performer;
pub mod places;
mod promise;
pub mod provider;
pub mod ratchet;
mod readers;
pub mod recorded;
pub mod reference;
mod remembered;
pub mod report;
mod retries;
pub mod scenario;
mod scheduling;
pub mod script;
mod servers;
mod shown;
pub mod shrink;
mod skills;
pub mod spending;
mod stops;
pub mod story;
mod supervision;
pub mod swarm;
pub mod tally;
pub mod tools;
mod totals;
pub mod trace;
mod trees;
pub mod turns;
pub mod verdict;
mod waits;
mod wire;
pub mod witness;
pub mod world;
