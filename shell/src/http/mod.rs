//! The control surface over HTTP: one table of routes, served on the home's socket and on TCP (contract:
//! surface.md, HTTP). `docs/http.md` explains it to its users.
//!
//! A request passes, in this order: who asks ([`auth`]), whom it is about, the query, the body with its bound
//! and its time; then its handler, which asks the [`Runtime`] or reads the ledger. Handlers decide nothing.

mod app;
pub mod auth;
mod body;
mod connection_peak;
mod console;
mod cors;
mod error_bodies;
mod failure;
mod field;
mod front;
mod guard;
mod header;
mod ids;
mod in_process;
mod local;
mod mcp;
mod metrics;
mod openapi;
mod peer;
mod reply;
mod resource;
mod rest;
mod route;
mod server;
mod shutdown;
pub mod signature;
mod stream_tokens;
mod table;
#[cfg(test)]
pub(crate) mod tests;

pub use app::{About, App, Parts, Process, WAITS};
pub use console::Console;
pub use front::{AboutFront, Connector, Front, Link, across, to_other_nodes};
pub use in_process::InProcess;
pub use local::{LocalAllEvents, LocalEvents, LocalOutput};
pub use metrics::{Metrics, report};
pub use peer::{OtherEnd, Peer, Peers};
pub use server::{CONNECTIONS, Listener, serve};
pub use shutdown::Shutdown;
pub use stream_tokens::StreamTokens;
pub use table::router;
