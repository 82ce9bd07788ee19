//! Recorded history, taken again: the calls of a flight recorder are made once more, and what they record must be the
//! same bytes. What makes them is a [`Machine`]; this module knows no other part of it.
//!
//! [`again`] is that and nothing else; the simulator's check D6 uses it as it is. [`Audit`] adds the laws, and passes over
//! what another build decided; `holon ledger replay` feeds it rows. [`ExportReader`] feeds it the lines of
//! `holon ledger export --recorder`, for `sim replay`.

mod audit;
mod difference;
mod export;
mod line;

use alloc::boxed::Box;
use core::error::Error;

use holon_facts::record::Record;
use holon_facts::replay::Machine;

pub use audit::{AGENTS_LEFT, Again, Audit, AuditError, AuditReport, REMOVED, RUNTIME_STARTED};
pub use difference::Difference;
pub use export::{ExportError, ExportProblem, ExportReader};
pub use line::{Line, LineError, call_line};

/// A call that now brings something else than was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError<E: Error> {
    /// The call can't be made, or the records can't be folded.
    #[error("{0}")]
    Machine(E),
    #[error("{0}")]
    Differs(Box<Difference>),
}

/// Makes one call again; `recorded` are the records that it brought then. A call that makes a step gives it back: its
/// records are the recorded ones, and its effects may be compared by whoever kept those, too.
///
/// # Errors
/// At the first difference, or when the call can't be made.
pub fn again<M: Machine>(
    machine: &mut M,
    call: &M::Call,
    recorded: &[Record],
) -> Result<Option<M::Step>, ReplayError<M::Error>> {
    let step = machine.make(call, recorded).map_err(ReplayError::Machine)?;
    let made = step.as_ref().map_or(&[][..], M::records);
    if made != recorded {
        let difference = Difference::between(M::written(call), |agent| machine.stands(agent), recorded, made);
        return Err(ReplayError::Differs(Box::new(difference)));
    }
    machine.fold(recorded).map_err(ReplayError::Machine)?;
    Ok(step)
}
