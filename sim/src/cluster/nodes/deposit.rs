//! Requests that wait in the database for the owner of their cell. The owner lists them now and then, and gives one
//! batch for each of them per epoch. The append marks the request.

use holon_cluster::{CellId, Epoch};

use super::laws;
use super::setting::SECOND;
use super::world::{Event, World};
use crate::cluster::rules::Sabotage;
use crate::failure::Failure;

/// Time between two requests for a cell.
const COME: [u64; 2] = [SECOND / 5, 4 * SECOND];
/// Time between two reads of an owner.
const LOOK: u64 = SECOND / 4;
/// One way over a network, and a slow one, in microseconds.
const WAY: [u64; 2] = [200, 8_000];
const SLOW: [u64; 2] = [300_000, 6_000_000];

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deposit {
    pub(super) cell: CellId,
    /// The content of the batch that took it.
    pub(super) taken: Option<u64>,
    /// Whether readers see that it was taken.
    marked: bool,
}

/// The requests that an owner has read.
#[derive(Debug, Clone)]
pub(super) struct List {
    of: usize,
    life: u32,
    cell: CellId,
    epoch: Epoch,
    deposits: Vec<u64>,
}

impl World {
    pub(super) fn begin_deposits(&mut self) {
        for cell in (1..=self.setting.cells).map(CellId) {
            self.after(SECOND, Event::Deposit { cell });
            self.after(SECOND, Event::Look { cell });
        }
    }

    /// Adds a request from outside, if the database is up.
    pub(super) fn deposit(&mut self, cell: CellId) {
        if self.quiet.is_some() {
            return;
        }
        let after = self.draw.span("deposit", usize::try_from(cell.0).unwrap_or(0), COME);
        self.after(after, Event::Deposit { cell });
        if self.now >= self.down_until {
            let number = self.deposits.len() as u64 + 1;
            self.deposits.insert(number, Deposit { cell, taken: None, marked: false });
            self.count("deposited");
        }
    }

    /// Every process that believes to serve the cell reads the waiting requests.
    pub(super) fn look(&mut self, cell: CellId) {
        self.after(LOOK, Event::Look { cell });
        for of in 0..self.processes.len() {
            if !self.serves(of, cell) || self.processes[of].cut || self.now < self.down_until {
                continue;
            }
            let epoch = self.processes[of].hosts.get(&cell).map_or(Epoch(0), |host| host.epoch);
            let waiting = self.deposits.iter().filter(|(_, deposit)| deposit.cell == cell && !deposit.marked);
            let deposits: Vec<u64> = waiting.map(|(number, _)| *number).collect();
            if deposits.is_empty() {
                continue;
            }
            let slow = self.draw.chance("list is late", of, self.setting.rates.late);
            let after = self.draw.span("list", of, if slow { SLOW } else { WAY });
            let (life, list) = (self.processes[of].life, self.order);
            self.lists.insert(list, List { of, life, cell, epoch, deposits });
            self.after(after, Event::Found { list });
        }
    }

    /// A list arrives. A list of another epoch is ignored.
    pub(super) fn found(&mut self, list: u64) -> Result<(), Failure> {
        let Some(List { of, life, cell, epoch, deposits }) = self.lists.remove(&list) else { return Ok(()) };
        for deposit in deposits {
            let own = self.processes[of].life == life && self.serves(of, cell);
            let process = &mut self.processes[of];
            let has_space = process.machine.next_batch(cell).is_some();
            let Some(host) = process.hosts.get_mut(&cell).filter(|_| own && has_space) else {
                return Ok(());
            };
            if host.epoch != epoch {
                return Ok(());
            }
            if host.batched.insert(deposit) || self.sabotage == Some(Sabotage::JudgeAgain) {
                self.count("judged");
                self.give(of, cell, false, Some(deposit))?;
            }
        }
        Ok(())
    }

    /// A batch that takes a request has landed.
    pub(super) fn takes(&mut self, cell: CellId, content: u64) -> Result<(), Failure> {
        let Some(number) = self.contents.get(&content).and_then(|known| known.takes) else { return Ok(()) };
        laws::takes(self, cell, number, content)?;
        let marks = self.sabotage != Some(Sabotage::MarkLater);
        if let Some(deposit) = self.deposits.get_mut(&number) {
            (deposit.taken, deposit.marked) = (Some(content), marks);
        }
        self.count("deposit_taken");
        Ok(())
    }

    /// Marks a request once its batch is known to be durable.
    pub(super) fn mark_later(&mut self, content: u64) {
        let number = self.contents.get(&content).and_then(|known| known.takes);
        if let Some(deposit) = number.and_then(|number| self.deposits.get_mut(&number)) {
            deposit.marked = true;
        }
    }
}
