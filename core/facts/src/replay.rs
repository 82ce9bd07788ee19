//! A state machine whose recorded calls can be made again: what a replay knows of it.

use alloc::string::String;
use core::error::Error;

use crate::ids::AgentId;
use crate::record::Record;

/// What takes recorded calls. Feed it the calls in order, with the records that each of them brought.
pub trait Machine: Default {
    /// One call, with everything that its answer depends on.
    type Call;
    /// What a call brings, effects included.
    type Step;
    type Error: Error;

    /// Reads a call as it was recorded.
    ///
    /// # Errors
    /// This build does not know the call.
    fn read(&self, call: &str) -> Result<Self::Call, serde_json::Error>;

    /// A call as it is recorded.
    fn written(call: &Self::Call) -> String;

    /// Makes a call; `recorded` are the records that it brought then. None where a call makes no step.
    ///
    /// # Errors
    /// The call can't be made.
    fn make(&mut self, call: &Self::Call, recorded: &[Record]) -> Result<Option<Self::Step>, Self::Error>;

    fn records(step: &Self::Step) -> &[Record];

    /// Takes records in without deciding them again.
    ///
    /// # Errors
    /// The records do not continue their agent's log.
    fn fold(&mut self, recorded: &[Record]) -> Result<(), Self::Error>;

    /// How an agent stands, in a line.
    fn stands(&self, agent: &AgentId) -> Option<String>;

    /// How many agents there are so far.
    fn agents(&self) -> usize;
}
