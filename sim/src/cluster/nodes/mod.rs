//! Worlds of two to five nodes and up to twelve cells, at random: virtual minutes in which statements are lost, late and
//! executed after they were given up, nodes pause, die, are cut off and have clocks of another rate, the database restarts,
//! and operators move cells, drain and stop nodes. Commands run for seconds under supervisors that outlive their node.
//!
//! Everything follows from one number: [`run`] gives the same world for the same seed. Requests wait in the database for
//! whoever owns their cell. The laws X1 to X7 and X11 are checked at each event that they are about, X8 at the end, when one node alone reaches the database.

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

/// How a world is played.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub sabotage: Option<Sabotage>,
    /// Whether the report has a line for each thing that happened.
    pub trace: bool,
}

/// What a world came to.
#[derive(Debug, Clone)]
pub struct Report {
    pub seed: u64,
    /// What was drawn, for a person.
    pub setting: String,
    pub virtual_ms: u64,
    pub steps: u64,
    /// How often each fault and each thing of interest happened.
    pub counts: BTreeMap<&'static str, u64>,
    pub trace: Vec<String>,
    pub failure: Option<Failure>,
}

/// Plays the world of a seed.
pub fn run(seed: u64, options: Options) -> Report {
    world::play(seed, options)
}
