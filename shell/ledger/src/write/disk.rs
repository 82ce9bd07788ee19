//! What the writing thread writes to, whatever stores a ledger.

use holon_core::Durable;
use holon_facts::StepSeq;

use crate::error::{AppendError, LedgerError};
#[cfg(feature = "postgres")]
use crate::queue::Reserve;
use crate::quiet::Tidied;
use crate::report::Holders;
use crate::rows::batch::Batch;
use crate::rows::packed::Packed;

/// A store that is open for writing, as the thread sees it.
pub(crate) trait Disk: Send + 'static {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError>;
    fn tend(&mut self) -> Result<(), LedgerError>;
    fn close(self) -> Result<(), LedgerError>;
    /// Writes states of agents without a batch.
    fn keep(&mut self, _packed: &[Packed]) -> Result<(), AppendError> {
        Ok(())
    }
    /// Nobody has written for a while.
    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        Ok(Tidied::Done)
    }
    /// Who has it locked.
    fn holders(&self) -> Holders {
        Holders::default()
    }
}

/// No room is held back: that of a database is its operator's business.
#[cfg(feature = "postgres")]
#[derive(Debug)]
pub(super) struct NoReserve;

#[cfg(feature = "postgres")]
impl Reserve for NoReserve {
    type Error = LedgerError;

    fn hold(&mut self) -> Result<bool, LedgerError> {
        Ok(true)
    }

    fn release(&mut self) -> bool {
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "the transaction with these steps has been committed")]
pub(crate) fn attest(step: i64) -> Durable {
    Durable::attest(StepSeq(u64::try_from(step).unwrap_or(0)))
}
