//! The runtime as a server of the Model Context Protocol (contract: protocols.md, MCP server): tools and resources with
//! which other agents and editors drive it. It asks whoever implements `Control`, the runtime of this process or one over HTTP,
//! and has no state that a restart could lose.

mod answer;
mod arguments;
mod bounded;
mod progress;
mod protocol;
mod resources;
mod server;
mod subscriptions;
mod tools;

pub use server::Server;
