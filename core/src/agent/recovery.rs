//! Runs that end because their process does: by a shutdown, in good order, or by a crash, found at the next
//! start (contract: agent.md, Recovery).

use crate::agent::turn::end::{self, End};
use crate::event::lifecycle::RuntimeRecovered;
use crate::event::operation::Settlement;
use crate::host::tx::Tx;

/// Shutdown: the run is interrupted, its message comes again, nothing is written as stopped.
pub(crate) fn shut_down(tx: &mut Tx<'_>) {
    end::end(tx, End::ShutDown);
}

/// A start of the runtime. Recovering an agent that was at rest records nothing.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    let interrupted_run_id = tx.agent().run.as_ref().map(|run| run.id);
    if interrupted_run_id.is_none() {
        return;
    }
    let lost_ops = tx.cancel_ops(Settlement::Lost);
    tx.record(RuntimeRecovered { interrupted_run_id, lost_ops });
    end::end(tx, End::Crashed);
}
