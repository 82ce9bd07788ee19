//! D6: replayed calls bring the same records and the same effects. The core's own replay makes the calls, as for a real
//! ledger; effects are known to the simulated disk only.

use holon_core::record::Step;
use holon_core::replay::Replay;
use holon_law::replay::again;

use crate::disk::{Disk, Row, effects_of};
use crate::failure::{Failure, Kind};
use crate::options::Sabotage;

fn differs(problem: String) -> Failure {
    Failure { kind: Kind::Nondeterminism, law: "D6".into(), problem }
}

/// Replays every call of the ledger.
pub(super) fn check(disk: &Disk, sabotage: Option<Sabotage>) -> Result<(), Failure> {
    let mut replay = Replay::default();
    let forgotten = disk.rows().iter().rposition(|row| !row.records.is_empty());
    for (at, row) in disk.rows().iter().enumerate() {
        if sabotage == Some(Sabotage::ForgetCall) && forgotten == Some(at + 1) {
            continue;
        }
        let step = again(&mut replay, &row.call, &row.records).map_err(|error| differs(error.to_string()))?;
        step.map_or(Ok(()), |step| same_effects(row, step))?;
    }
    Ok(())
}

/// Whether a replayed step has the recorded effects; a crash may have come before they left.
fn same_effects(row: &Row, step: Step) -> Result<(), Failure> {
    let Some(recorded) = &row.effects else { return Ok(()) };
    let seq = step.seq();
    let effects = effects_of(step);
    if *recorded == effects {
        return Ok(());
    }
    let at = recorded.iter().zip(&effects).position(|(then, now)| then != now);
    let at = at.unwrap_or(recorded.len().min(effects.len()));
    Err(differs(format!("step {seq}, effect {at}: then {:?}, now {:?}", recorded.get(at), effects.get(at))))
}
