//! X8: from a state on, only one process lives and reaches the database, and nothing is lost. Within a lease, the grace
//! and two polls it owns the cell, and a request becomes durable.

use holon_cluster::Standing;

use super::process::terms;
use super::state::{CELL, Sent, Setting, Stage, State, Wire};
use crate::failure::{Failure, liveness};

/// Steps at one moment before they count as endless.
const ENDLESS: usize = 200;

/// Drives a copy of the state until this process serves.
pub(super) fn serves(state: &State, setting: Setting, of: u8) -> Result<(), Failure> {
    let process = &state.processes[usize::from(of)];
    let mut state = state.clone();
    state.left.crashes = 0;
    // A process that an operator has stopped, or that does not poll, need not serve.
    if process.ended || process.stopping || (of == 0 && !setting.world.looks) {
        return Ok(());
    }
    let (terms, acknowledged) = (terms(), state.acknowledged);
    let offered = if setting.world.bounds.moves > 0 { terms.offer_within.0 } else { 0 };
    // Earlier statements may still have to be given up.
    let before = terms.answer_within.0.max(terms.append_within.0) + terms.retry_after.0;
    let within = before + terms.lease.0 + terms.grace.0 + 1 + 2 * terms.poll_every.0 + offered;
    for _ in 0..=within {
        drive(&mut state, setting, of)?;
        if owns(&state, of) && state.processes[usize::from(of)].machine.next_batch(CELL).is_some() {
            state.give(of, true, setting.sabotage)?;
            drive(&mut state, setting, of)?;
        }
        // A request of its own, or an earlier one, in the epoch that it owns now.
        if owns(&state, of) && state.acknowledged != acknowledged {
            return Ok(());
        }
        state.db.now += 1;
    }
    let standing = state.processes[usize::from(of)].machine.standing(CELL);
    Err(liveness(
        "X8",
        format!("process {of} does not serve a request within {within} ticks alone: {standing:?}"),
    ))
}

/// Whether the process serves, and the database agrees: a process that was silent may not know yet that it is late or
/// buried.
fn owns(state: &State, of: u8) -> bool {
    let machine = &state.processes[usize::from(of)].machine;
    let row = state.db.cells.get(&CELL);
    let node = machine.node().and_then(|node| state.db.nodes.get(&node));
    let lives = node.is_some_and(|row| !row.buried && row.lease_until > state.db.now);
    let mine = row.is_some_and(|row| row.owner == machine.node() && row.offered_to.is_none());
    lives && mine && machine.standing(CELL) == Standing::Serving
}

/// Everything in flight happens, and only this process takes steps.
pub(super) fn drive(state: &mut State, setting: Setting, of: u8) -> Result<(), Failure> {
    repeat(state, setting, of, |_| true)
}

/// Only this process takes steps, and only its statements are executed.
pub(super) fn run(state: &mut State, setting: Setting, of: u8) -> Result<(), Failure> {
    repeat(state, setting, of, |wire| wire.process == of && wire.awaited)
}

fn repeat(state: &mut State, setting: Setting, of: u8, which: impl Fn(&Wire) -> bool) -> Result<(), Failure> {
    for _ in 0..ENDLESS {
        if !one(state, setting, of, &which)? {
            return Ok(());
        }
        state.sort();
    }
    Err(liveness("X8", format!("process {of} never comes to rest")))
}

fn one(state: &mut State, setting: Setting, of: u8, which: &impl Fn(&Wire) -> bool) -> Result<bool, Failure> {
    let begun = state.wire.iter().position(|wire| which(wire) && matches!(wire.stage, Stage::Begun(_)));
    let sent = state.wire.iter().position(|wire| {
        let Stage::Sent(Sent(statement)) = &wire.stage else { return false };
        which(wire) && state.db.clone().execute(statement).is_some()
    });
    let answered =
        state.wire.iter().position(|wire| wire.process == of && matches!(wire.stage, Stage::Answered(_)));
    if let Some(at) = begun {
        state.commit(at);
    } else if let Some(at) = sent {
        state.execute(at);
    } else if let Some(at) = answered {
        state.deliver(at, setting.sabotage)?;
    } else if state.processes[usize::from(of)].loads.is_some() {
        state.load(of, setting.sabotage)?;
    } else if state.processes[usize::from(of)].host.as_ref().is_some_and(|host| host.draining) {
        state.act(setting, super::Move::Drained(of))?;
    } else if state.is_due(of) {
        state.step(of, holon_cluster::Input::Tick, setting.sabotage)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}
