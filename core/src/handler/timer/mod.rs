//! Handlers of timers (contract: work.md, Timers).

pub(crate) mod fire;
pub(crate) mod operator;
#[cfg(test)]
mod tests;
