//! What a writer has to say to the driver.

use std::fmt;

use holon_core::Durable;
use holon_facts::{AgentId, StepSeq};

use crate::load::Load;

/// What became of what was handed over.
#[derive(Debug)]
pub enum Report<E> {
    /// Every step through this one is on disk.
    Durable(Durable),
    /// Nothing can be written; the writer goes on trying. New input is to be refused until
    /// [`Report::Recovered`]; on a full disk a batch that is urgent still finds room.
    Stalled(Stall),
    /// The steps through this one were handed over, and there is no room for them: they wait.
    Waits(StepSeq),
    /// The state of an agent goes to the disk, which takes so many bytes as text.
    Packed { agent: AgentId, bytes: usize },
    /// It can be written again, and the reserve is back.
    Recovered,
    /// The ledger takes nothing more; the runtime ends. Nothing that was not reported is durable for sure.
    Failed(E),
}

/// A report, and how much it takes off what is under way.
#[derive(Debug)]
pub struct Message<E> {
    pub report: Report<E>,
    pub done: Load,
}

/// Why nothing can be written for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    /// The disk has no room.
    Full,
    /// Other processes hold locks on the ledger.
    Locked { by: Holders },
    /// The database of the ledger gives no answer.
    Away { problem: String },
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the disk of the ledger is full; waiting for free space"),
            Self::Locked { by } => {
                write!(f, "the ledger is locked by {by}; waiting until it releases the lock")
            }
            Self::Away { problem } => {
                write!(f, "the database of the ledger gives no answer ({problem}); waiting for it")
            }
        }
    }
}

/// Processes that hold a lock that keeps others from writing, each with its name where that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders(pub Vec<(u32, Option<String>)>);

impl fmt::Display for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("a process that the kernel does not name");
        }
        for (at, (pid, name)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            match name {
                Some(name) => write!(f, "{comma}process {pid} ({name})")?,
                None => write!(f, "{comma}process {pid}")?,
            }
        }
        Ok(())
    }
}
