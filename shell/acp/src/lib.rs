//! Agents inside of editors, over the Agent Client Protocol (contract: protocols.md, ACP): an editor has sessions, and each is
//! an agent of the runtime. Everything that lasts is there; what is here ends with the editor.

mod diff;
mod follow;
mod history;
mod prompt;
mod server;
mod session;
mod update;

pub use server::Server;
