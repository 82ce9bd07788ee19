//! The shell: performs what the core decides. The only crate that may name a clock, a socket, a process, a
//! file or a thread; it decides nothing that a user could notice.

#[macro_use]
extern crate holon_omit;

pub mod activity;
pub mod answer;
pub mod archive;
pub mod backup;
pub mod bundle;
pub mod changes;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod doctor;
pub mod driver;
pub mod envelope;
pub mod events;
pub mod exit;
pub mod home;
pub mod http;
pub mod images;
pub mod in_flight;
pub mod ledger_check;
pub mod lender;
pub mod live;
pub mod memory;
pub mod names;
#[cfg(test)]
mod network;
pub mod perform;
pub mod prompt_turn;
pub mod prune;
pub mod report;
pub mod run_stream;
pub mod runtime;
pub mod screen;
pub mod settings;
pub mod shared_roots;
pub mod shared_turns;
pub mod skills;
pub mod tasks;
pub mod telemetry;
pub mod templates;
pub mod temporary_runs;
pub mod trigger_address;
pub mod wait;
pub mod work;
pub mod work_items;
pub mod workplace;
