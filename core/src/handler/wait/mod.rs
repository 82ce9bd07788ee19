//! Handlers of waits (contract: work.md, Waits).

pub(crate) mod recheck;
#[cfg(test)]
mod recheck_tests;
pub(crate) mod register;
pub(crate) mod resolve;

#[cfg(test)]
pub(crate) mod tests;
