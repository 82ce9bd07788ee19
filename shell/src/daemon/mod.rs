//! The runtime that lives on: how it is reached, what it leaves in `run/` for those who look for it, and its
//! log (contract: surface.md, Files; the spec's daemon contract). Starting and stopping it is for the command
//! line; what it does is for `runtime` and `http`.

pub mod endpoint;
pub mod fingerprint;
pub mod journal;
pub mod last_failure;
pub mod log;
pub mod look;
pub mod metadata;
mod private;
pub mod service;
pub mod socket;
mod token;
pub mod watch;

pub use endpoint::{Endpoint, EndpointError};
pub use fingerprint::Fingerprint;
pub use last_failure::{LastFailure, Phase};
pub use look::{ProbeResult, clean, leftovers, look, sockets};
pub use metadata::Metadata;
pub use private::remove_drafts;
pub(crate) use private::{read as read_private, remove as remove_private, write as write_private};
pub use service::Unit;
pub use token::{Token, TokenError, VARIABLE as TOKEN_VARIABLE};
