//! Handlers of background tasks (contract: tasks.md).

pub(crate) mod child;
pub(crate) mod command;
pub(crate) mod deliver;
pub(crate) mod end;
pub(crate) mod operator;
pub(crate) mod promote;
pub(crate) mod recovery;
pub(crate) mod stop;
#[cfg(test)]
mod tests;
pub(crate) mod tools;
