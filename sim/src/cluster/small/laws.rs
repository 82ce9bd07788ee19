//! The laws that one state shows.

use holon_cluster::Epoch;

use super::process::Host;
use super::state::{CELL, State, bit, content};
use crate::failure::{Failure, ensure};

/// X1, X2, X6 over the log.
pub(super) fn check(state: &State) -> Result<(), Failure> {
    let Some(log) = state.db.log.get(&CELL) else { return Ok(()) };
    let mut contents = 0;
    let mut before = Epoch(0);
    for batch in log {
        ensure!(batch.epoch >= before, "X1", "{batch:?} stands behind a batch of {before:?}");
        ensure!(batch.epoch == batch.landed_in, "X1", "a batch of a fenced epoch has landed: {batch:?}");
        let known = state.db.epochs.contains_key(&(CELL, batch.epoch));
        ensure!(known, "X1", "nobody has claimed {:?}", batch.epoch);
        let own = bit(content(batch.link));
        ensure!(contents & own == 0, "X2", "a batch is in the log twice: {batch:?}");
        contents |= own;
        before = batch.epoch;
    }
    let lost = state.acknowledged & !contents;
    ensure!(lost == 0, "X2", "acknowledged and not in the log: {lost:b}");
    for host in state.processes.iter().filter_map(|process| process.host.as_ref()) {
        folds(state, host)?;
    }
    Ok(())
}

/// What has landed in the host's epoch is what the host has given, in its order.
fn folds(state: &State, host: &Host) -> Result<(), Failure> {
    let Some(log) = state.db.log.get(&CELL) else { return Ok(()) };
    let own = log.iter().filter(|batch| batch.epoch == host.epoch);
    let given = host.given.iter().map(|given| (given.number, given.content));
    for (at, (landed, given)) in own
        .map(|batch| (batch.number, content(batch.link)))
        .zip(given.map(Some).chain(std::iter::repeat(None)))
        .enumerate()
    {
        ensure!(
            Some(landed) == given,
            "X6",
            "{landed:?} has landed in {:?}, which has given {given:?} at {at}",
            host.epoch
        );
    }
    let foreign = log.iter().find(|batch| batch.number > host.base && batch.epoch < host.epoch);
    ensure!(
        foreign.is_none(),
        "X6",
        "{foreign:?} has landed behind the head that {:?} took over",
        host.epoch
    );
    Ok(())
}

/// X3: what is acknowledged is in the log, in an epoch that had not ended.
pub(super) fn acknowledges(state: &State, epoch: Epoch, acknowledged: u8) -> Result<(), Failure> {
    let log = state.db.log.get(&CELL).into_iter().flatten();
    let landed = log.into_iter().find(|batch| content(batch.link) == acknowledged);
    let Some(batch) = landed else {
        ensure!(false, "X2", "batch {acknowledged} is acknowledged and not in the log");
        return Ok(());
    };
    ensure!(batch.landed_in == epoch, "X3", "{batch:?} is acknowledged by {epoch:?}");
    Ok(())
}

/// X3, X4, X5: an effect begins.
pub(super) fn begins(state: &mut State, epoch: Epoch, begun: u8) -> Result<(), Failure> {
    let mut log = state.db.log.get(&CELL).into_iter().flatten();
    let durable = log.any(|batch| content(batch.link) == begun);
    ensure!(durable, "X3", "the effect of batch {begun} begins, which is not in the log");
    let now = state.db.cells.get(&CELL).map_or(Epoch(0), |cell| cell.epoch);
    ensure!(now == epoch, "X4", "the effect of batch {begun} begins in {epoch:?}, and {now:?} has begun");
    ensure!(state.begun & bit(begun) == 0, "X5", "the effect of batch {begun} begins twice");
    state.begun |= bit(begun);
    Ok(())
}
