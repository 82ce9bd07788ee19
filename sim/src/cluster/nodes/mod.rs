//! Worlds of two to five nodes and up to twelve cells, at random. For virtual minutes statements are lost, late or
//! executed after they were given up; nodes pause, die, are cut off and have clocks of another rate; the database
//! restarts; operators move cells, drain and stop nodes. Commands run for seconds under supervisors that outlive their
//! node.
//!
//! Everything follows from one number: [`run`] gives the same world for the same seed. Requests wait in the database
//! for the owner of their cell. The laws X1 to X7 and X11 are checked at each event that they are about, X8 at the end,
//! when only one node reaches the database.

mod chaos;
mod command;
mod deposit;
mod draw;
mod laws;
mod process;
mod quiet;
mod setting;
mod wire;
mod world;

use std::collections::BTreeMap;

use super::rules::Sabotage;
use crate::failure::Failure;

/// How to run a world.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub sabotage: Option<Sabotage>,
    /// Whether the report has a line for each event.
    pub trace: bool,
}

/// The result of a world.
#[derive(Debug, Clone)]
pub struct Report {
    pub seed: u64,
    /// The drawn setting, for a person.
    pub setting: String,
    pub virtual_ms: u64,
    pub steps: u64,
    /// How often each fault and each event of interest happened.
    pub counts: BTreeMap<&'static str, u64>,
    pub trace: Vec<String>,
    pub failure: Option<Failure>,
}

/// Runs the world of a seed.
pub fn run(seed: u64, options: Options) -> Report {
    world::play(seed, options)
}
