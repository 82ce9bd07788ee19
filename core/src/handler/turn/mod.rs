//! Handlers of a turn, from its begin to its end (contract: agent.md, Turns).

pub(crate) mod begin;
#[cfg(test)]
mod chain_tests;
pub(crate) mod cut_off;
pub(crate) mod end;
pub(crate) mod interject;
pub(crate) mod itself;
#[cfg(test)]
mod itself_tests;
pub(crate) mod limits;
pub(crate) mod look;
#[cfg(test)]
mod look_tests;
pub(crate) mod model_round;
pub(crate) mod outage;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod tools;
