//! Handlers: each decides about one agent on a transaction, and writes nothing but the facts that it records.

pub(crate) mod admission;
pub(crate) mod asks;
pub(crate) mod budget;
#[cfg(test)]
mod budget_tests;
pub(crate) mod child;
#[cfg(test)]
mod child_tests;
pub(crate) mod control;
pub(crate) mod episode;
pub(crate) mod evidence;
pub(crate) mod external_trigger;
#[cfg(test)]
mod external_trigger_tests;
mod keyed;
pub(crate) mod label;
pub(crate) mod memory;
#[cfg(test)]
mod memory_tests;
pub(crate) mod model;
pub(crate) mod outbox;
pub(crate) mod outside;
#[cfg(test)]
mod outside_tests;
pub(crate) mod recovery;
pub(crate) mod servers;
pub(crate) mod settle;
pub(crate) mod skills;
#[cfg(test)]
mod skills_tests;
pub(crate) mod sleep;
#[cfg(test)]
mod sleep_tests;
pub(crate) mod task;
pub(crate) mod timer;
pub(crate) mod turn;
pub(crate) mod unattended;
#[cfg(test)]
mod unattended_tests;
pub(crate) mod wait;
pub(crate) mod wake;
#[cfg(test)]
mod wake_tests;
pub(crate) mod work;
pub(crate) mod workspace;
