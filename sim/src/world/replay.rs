//! D6: the recorded calls, made again, bring the same records and the same effects. The core's own replay, which
//! a real ledger goes through, gets its turn now and then: it makes the same calls and sees no effects.

use holon_core::host::Host;
use holon_core::ids::EventSeq;
use holon_core::record::Step;
use holon_core::replay::{Call, Replay};

use super::Sabotage;
use crate::disk::{Disk, Row, effects_of, log};
use crate::failure::{Failure, Kind};

fn differs(problem: String) -> Failure {
    Failure { kind: Kind::Nondeterminism, law: "D6".into(), problem }
}

/// One in so many runs is replayed by the core, too.
const OWN_REPLAY: u64 = 4;

/// Makes every call of the ledger again.
pub(super) fn check(disk: &Disk, seed: u64, sabotage: Option<Sabotage>) -> Result<(), Failure> {
    let mut replay = seed.is_multiple_of(OWN_REPLAY).then(Replay::default);
    let mut host = None;
    let forgotten = disk.rows().iter().rposition(|row| !row.records.is_empty());
    for (at, row) in disk.rows().iter().enumerate() {
        if sabotage == Some(Sabotage::ForgetCall) && forgotten == Some(at + 1) {
            continue;
        }
        let before = &disk.rows()[..at];
        if let Some(replay) = &mut replay {
            replay.call(row.call.clone(), &row.records).map_err(|error| differs(error.to_string()))?;
        }
        let step = again(&mut host, row, before).map_err(differs)?;
        compare(row, step)?;
    }
    Ok(())
}

fn again(host: &mut Option<Host>, row: &Row, before: &[Row]) -> Result<Option<Step>, String> {
    if let Call::RuntimeStarted { config, seed, after, .. } = &row.call {
        let mut fresh = Host::new(config.clone(), *seed).map_err(|error| error.to_string())?;
        fresh.resume_after(*after);
        *host = Some(fresh);
        return Ok(None);
    }
    let host = host.as_mut().ok_or("the recorder does not begin with runtime_started")?;
    match &row.call {
        Call::RuntimeStarted { .. } => Ok(None),
        Call::Admit { agent, .. } => {
            let records = log(before, agent, EventSeq(0));
            host.admit(None, records).map(|_| None).map_err(|error| error.to_string())
        }
        Call::Park { agent } => {
            drop(host.park(agent));
            Ok(None)
        }
        Call::Recover { now, agent, report } => Ok(Some(host.recover(*now, agent, report.clone()))),
        Call::Step { now, input } => Ok(Some(host.step(*now, input.clone()))),
    }
}

fn compare(row: &Row, step: Option<Step>) -> Result<(), Failure> {
    let Some(step) = step else { return Ok(()) };
    let seq = step.seq();
    let at = step.records().iter().zip(&row.records).position(|(now, then)| now != then);
    if at.is_some() || step.records().len() != row.records.len() {
        let (now, then) = (step.records().len(), row.records.len());
        return Err(differs(format!(
            "step {seq}: then {then} records, now {now}, the first other is {at:?}"
        )));
    }
    let effects = effects_of(step);
    match &row.effects {
        Some(recorded) if *recorded != effects => {
            let at = recorded.iter().zip(&effects).position(|(then, now)| then != now);
            let at = at.unwrap_or(recorded.len().min(effects.len()));
            Err(differs(format!(
                "step {seq}, effect {at}: then {:?}, now {:?}",
                recorded.get(at),
                effects.get(at)
            )))
        }
        Some(_) | None => Ok(()),
    }
}
