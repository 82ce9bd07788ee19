//! Tools of other programs (contract: protocols.md, MCP client): servers of the Model Context Protocol are started when they
//! are first needed, asked which tools they have, and called. A call is sent once, whatever becomes of it.
//!
//! Which servers there are and who may use them is the configuration's business; what is on record of their tools and calls
//! is the core's. Nothing here survives the process but what servers have written to their logs, and what they listed last.

#![cfg_attr(not(feature = "login"), expect(dead_code, reason = "the protocol and logins alone use it"))]

mod approval;
mod arguments;
#[cfg(feature = "client")]
mod bounded;
mod catalogue;
mod connection;
mod definition;
mod kept;
mod listing;
mod log;
#[cfg(feature = "login")]
mod login;
mod logins;
#[cfg(feature = "client")]
mod process;
mod proposal;
#[cfg(feature = "client")]
mod protocol;
mod servers;
#[cfg(feature = "client")]
mod unreached;

pub use approval::{Approval, Approvals, Standing};
pub use catalogue::{Catalogue, LeftOut, MOST_SCHEMA_BYTES, MOST_TOOLS, OfferedTool};
pub use connection::{CallError, CallResult, Part, Tool};
pub use definition::{Definition, Reach, Revision};
pub use log::Log;
#[cfg(feature = "login")]
pub use login::{Attempt, LoginError, Wish};
pub use logins::{Login, Logins};
pub use proposal::{PROPOSALS, Proposal, Proposed};
pub use servers::{Host, Listed, ServerState, Servers, Unavailable};
