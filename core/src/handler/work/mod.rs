//! Handlers of work items (contract: work.md, Work items).

pub(crate) mod obligation;
#[cfg(test)]
mod obligation_tests;
pub(crate) mod operator;
pub(crate) mod plan;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tools;
