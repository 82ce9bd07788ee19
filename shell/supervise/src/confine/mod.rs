//! Confinement by the kernel: what a process and all that it starts may change (contract: decisions.md, 25). Writes are
//! held back by Landlock; sockets, and calls that no file stands for, by seccomp filters. Nothing of it can be taken back
//! by whoever is confined.
//!
//! It holds for one thread and what that starts. A runtime is confined itself only where it does for an agent what a
//! command could do as well: see [`within`].

mod calls;
mod capabilities;
mod hidden;
mod machine;
mod network;
mod others;
pub mod peer;
mod profile;
mod readable;
mod report;
mod writes;

use std::path::PathBuf;
use std::{fmt, io, thread};

use serde::{Deserialize, Serialize};

pub use hidden::Hidden;
pub use profile::{Confinement, Unconfinable};
pub use readable::Readable;
pub use report::Report;

/// Whether confined commands have a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    On,
    /// They get sockets for addresses of the Internet Protocol alone: nobody who listens at a file of this machine is
    /// reached.
    Internet,
    /// They get no socket.
    Off,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Internet => "internet",
            Self::Off => "off",
        })
    }
}

/// What a confined process may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Folders below which it may change everything, as they really are. One that isn't there, or that a link has taken
    /// the place of, gives no right to anything.
    pub writable: Vec<PathBuf>,
    pub network: Network,
    /// What it can't read; none where everything can be read that its user may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Hidden>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error("this kernel does not hold back writes: it has no Landlock, or was started without it")]
    NoLandlock,
    #[error("the kernel refused to hold back writes: {0}")]
    Writes(#[from] landlock::RulesetError),
    #[error("the runtime's own files can't be hidden: {0}")]
    Hidden(io::Error),
    #[error("the kernel does not take capabilities of root back: {0}")]
    Capabilities(io::Error),
    #[error("the kernel refused to hold back the network: {0}")]
    Network(#[from] seccompiler::Error),
    #[error("the network can't be held back on this kind of processor ({})", std::env::consts::ARCH)]
    Processor,
    #[error("a thread could not be started: {0}")]
    Thread(#[from] io::Error),
    #[error("confined work has panicked")]
    Panicked,
}

impl Policy {
    /// Confines the calling thread, and whatever it starts from now on, for good.
    ///
    /// # Errors
    /// The kernel doesn't do it; then nothing may be started.
    pub fn enter(&self) -> Result<(), ConfineError> {
        let hidden = self.hidden.as_ref();
        writes::hold_back(&self.writable, writes::Neighbours::Spared, hidden)?;
        capabilities::give_up().map_err(ConfineError::Capabilities)?;
        if calls_can_be_refused() {
            others::hold_back()?;
        }
        network::hold_back(self.network)
    }
}

/// Whether there are filters for this kind of processor.
fn calls_can_be_refused() -> bool {
    seccompiler::TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

/// Confines the writes of the calling process alone: it still has whoever it has started.
///
/// # Errors
/// As for [`Policy::enter`].
pub fn hold_back_writes(writable: &[PathBuf]) -> Result<(), ConfineError> {
    writes::hold_back(writable, writes::Neighbours::Known, None).map(drop)
}

/// Does something that writes into folders of an agent. Where those are all that it may write to, that is done by a
/// thread of its own that can't leave them, whatever links the agent makes meanwhile.
///
/// # Errors
/// As for [`Policy::enter`].
pub fn within<T: Send>(
    writable: Option<&[PathBuf]>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, ConfineError> {
    match writable {
        Some(writable) => apart(|| hold_back_writes(writable), work),
        None => Ok(work()),
    }
}

/// The same for what also reads files of an agent: writes as its commands can, and reads nothing that is hidden from them.
/// What it starts would not be held back from the network.
///
/// # Errors
/// As for [`Policy::enter`].
pub fn under<T: Send>(policy: Option<&Policy>, work: impl FnOnce() -> T + Send) -> Result<T, ConfineError> {
    let Some(Policy { writable, hidden, network: _ }) = policy else { return Ok(work()) };
    let hold_back = || writes::hold_back(writable, writes::Neighbours::Known, hidden.as_ref()).map(drop);
    apart(hold_back, work)
}

/// In a thread of its own, which is confined for good.
fn apart<T: Send>(
    hold_back: impl FnOnce() -> Result<(), ConfineError> + Send,
    work: impl FnOnce() -> T + Send,
) -> Result<T, ConfineError> {
    thread::scope(|scope| {
        let confined = thread::Builder::new().name("confined".to_owned()).spawn_scoped(scope, || {
            hold_back()?;
            Ok(work())
        })?;
        confined.join().unwrap_or(Err(ConfineError::Panicked))
    })
}
