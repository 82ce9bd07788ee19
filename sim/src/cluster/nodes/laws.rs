//! The laws, each checked at the event that it is about.

use holon_cluster::{CellId, Dropped, Epoch};

use super::process::Host;
use super::wire::content;
use super::world::World;
use crate::failure::{Failure, ensure};

/// X1, X2, X6: what an append has written, from this position of the log on.
pub(super) fn landed(world: &World, cell: CellId, from: usize) -> Result<(), Failure> {
    let Some(log) = world.db.log.get(&cell) else { return Ok(()) };
    for (at, batch) in log.iter().enumerate().skip(from) {
        let before = at.checked_sub(1).and_then(|at| log.get(at)).map_or(Epoch(0), |before| before.epoch);
        ensure!(batch.epoch >= before, "X1", "{batch:?} of {cell:?} is behind a batch of {before:?}");
        ensure!(
            batch.epoch == batch.landed_in,
            "X1",
            "a batch of a fenced epoch of {cell:?} has landed: {batch:?}"
        );
        let claimed = world.db.epochs.contains_key(&(cell, batch.epoch));
        ensure!(claimed, "X1", "nobody has claimed {:?} of {cell:?}", batch.epoch);
        let content = content(batch.link);
        let again = world.contents.get(&content).is_some_and(|known| known.landed.is_some());
        ensure!(!again, "X2", "a batch is in the log of {cell:?} twice: {batch:?}");
        let hosts = world.processes.iter().filter_map(|process| process.hosts.get(&cell));
        for host in hosts.filter(|host| host.epoch == batch.epoch) {
            let given = host.given.get(&batch.number);
            ensure!(
                given == Some(&content),
                "X6",
                "{batch:?} of {cell:?} has landed, and its owner gave {given:?}"
            );
        }
        // The first batch of an epoch writes off what earlier ones have begun.
        let runs = world.commands.iter().find(|command| command.cell == cell && command.epoch < batch.epoch);
        ensure!(runs.is_none(), "X4", "{runs:?} runs, and {:?} has written it off", batch.epoch);
    }
    Ok(())
}

/// X2, X3: what is acknowledged is in the log, in an epoch that had not ended.
pub(super) fn acknowledges(world: &World, cell: CellId, epoch: Epoch, content: u64) -> Result<(), Failure> {
    let landed = world.contents.get(&content).and_then(|known| known.landed);
    ensure!(landed.is_some(), "X2", "batch {content} of {cell:?} is acknowledged and not in the log");
    ensure!(
        landed == Some(epoch),
        "X3",
        "batch {content} of {cell:?} landed in {landed:?}, and {epoch:?} acknowledges it"
    );
    Ok(())
}

/// X3, X4, X5: an effect begins.
pub(super) fn begins(world: &mut World, cell: CellId, epoch: Epoch, content: u64) -> Result<(), Failure> {
    let now = world.db.cells.get(&cell).map_or(Epoch(0), |cell| cell.epoch);
    let Some(known) = world.contents.get_mut(&content) else { return Ok(()) };
    ensure!(
        known.landed.is_some(),
        "X3",
        "the effect of batch {content} begins, which is not in the log of {cell:?}"
    );
    ensure!(!known.begun, "X5", "the effect of batch {content} of {cell:?} begins twice");
    ensure!(
        now == epoch,
        "X4",
        "the effect of batch {content} of {cell:?} begins in {epoch:?}, and {now:?} has begun"
    );
    known.begun = true;
    Ok(())
}

/// X11: a node whose lease is in force gives a cell up in good order, with all that its host gave in the log.
pub(super) fn drops(
    world: &World,
    of: usize,
    cell: CellId,
    host: Option<&Host>,
    why: Dropped,
) -> Result<(), Failure> {
    let node = world.processes[of].machine.node();
    let row = node.and_then(|node| world.db.nodes.get(&node));
    let holds = row.is_some_and(|row| !row.buried && row.lease_until > world.db.now);
    let open = host.and_then(|host| host.given.iter().find(|(number, _)| **number > host.durable));
    match why {
        // A node whose release is not answered may learn of the next owner first.
        Dropped::Fenced { own, found } => {
            let left = host.is_some_and(|host| host.drained) && open.is_none();
            ensure!(
                left || !holds,
                "X11",
                "{cell:?} of {own:?} is fenced by {found:?}, and the lease of its owner is in force"
            );
        }
        // A host that was still being loaded has answered nobody: the next owner reads its first batch.
        Dropped::HandedOver if host.is_some_and(|host| host.drained) => {
            ensure!(
                open.is_none(),
                "X11",
                "{cell:?} is handed over, and {open:?} is not known to be durable"
            );
        }
        Dropped::HandedOver | Dropped::LeaseLost | Dropped::TookTooLong => {}
    }
    Ok(())
}

/// X7: a batch takes a deposit of its own cell that no batch has taken.
pub(super) fn takes(world: &World, cell: CellId, number: u64, content: u64) -> Result<(), Failure> {
    let Some(deposit) = world.deposits.get(&number) else { return Ok(()) };
    ensure!(deposit.cell == cell, "X7", "batch {content} of {cell:?} takes {deposit:?}");
    ensure!(
        deposit.taken.is_none(),
        "X7",
        "batch {content} of {cell:?} takes deposit {number} again: {deposit:?}"
    );
    Ok(())
}

/// X2: at the end, everything acknowledged is in the log.
pub(super) fn keeps(world: &World) -> Result<(), Failure> {
    let all: std::collections::BTreeSet<u64> =
        world.db.log.values().flatten().map(|batch| content(batch.link)).collect();
    let lost = world.contents.iter().find(|(content, known)| known.acknowledged && !all.contains(content));
    ensure!(lost.is_none(), "X2", "acknowledged and not in the log: {lost:?}");
    Ok(())
}
