//! Small worlds of two nodes and one cell, exhaustively: every order of statements, answers, losses, pauses, ticks of
//! the clock and requests within a bound. There is no move for a pause: a node that takes no step while others do is
//! paused.
//!
//! [`search::explore`] visits each state once, checks the laws X1 to X6 after each move, and X8 from a sample of
//! states.

mod digest;
mod laws;
mod moves;
mod process;
mod quiet;
pub mod search;
mod state;
mod worlds;

pub use moves::Move;
pub use worlds::worlds;

/// What may happen in a world, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmallWorld {
    pub name: &'static str,
    pub about: &'static str,
    /// The second node is ideal: it does everything at once, with its statements and their answers, before the clock
    /// ticks. Only the first node is slow, silent and unlucky.
    pub prompt: bool,
    /// The first node polls nodes and cells all the time, not only at its start, and gives up answers that take too
    /// long: then X8 holds for it, too.
    pub looks: bool,
    pub bounds: Bounds,
}

/// How often unprovoked things may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Ticks of the database's clock after the start.
    pub ticks: u8,
    /// Requests of clients, each of which makes a batch with an effect.
    pub requests: u8,
    /// Answers that are lost; the statement may be executed before, later or never.
    pub losses: u8,
    /// Processes that die and start again.
    pub crashes: u8,
    /// Ticks that a node's clock falls behind.
    pub lags: u8,
    /// Moves to the other node, by an operator.
    pub moves: u8,
    /// Nodes that are stopped in good order.
    pub stops: u8,
}

impl SmallWorld {
    /// The same world with larger bounds.
    #[must_use]
    pub fn wider(self, by: u8) -> Self {
        let Bounds { ticks, requests, losses, crashes, lags, moves, stops } = self.bounds;
        let (ticks, requests, losses) = (ticks + by, requests + by, losses + by);
        Self { bounds: Bounds { ticks, requests, losses, crashes, lags, moves, stops }, ..self }
    }

    /// The bounds, for a person.
    pub fn bounds_text(&self) -> String {
        let Bounds { ticks, requests, losses, crashes, lags, moves, stops } = self.bounds;
        format!(
            "{ticks} ticks, {requests} requests, {losses} losses, {crashes} crashes, {lags} lags, {moves} moves, \
             {stops} stops"
        )
    }
}
