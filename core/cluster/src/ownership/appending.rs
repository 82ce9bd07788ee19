//! Batches: sent together over few connections, one of each cell at a time, and settled where the outcome is unknown.

use alloc::vec::Vec;

use super::{Life, Ownership};
use crate::ask::{Ask, Dropped, Refusal, Slot, Statement, Stopped};
use crate::cell::{Cell, Phase};
use crate::chain::Settlement;
use crate::ids::{BatchNumber, CellId, Epoch, Head, Link};
use crate::time::Mono;

impl Ownership {
    pub(super) fn on_append(
        &mut self,
        id: CellId,
        epoch: Epoch,
        batch: BatchNumber,
        link: Link,
        asks: &mut Vec<Ask>,
    ) {
        let limit = self.terms.batches_per_cell;
        let cell = self.cell_in(id, epoch).filter(|cell| cell.takes_batches());
        let taken = cell.ok_or(Refusal::NotOwner).and_then(|cell| cell.chain.push(batch, link, limit));
        if let Err(why) = taken {
            asks.push(Ask::Refused { cell: id, epoch, batch, why });
        }
    }

    /// Those that are ready share one statement on each connection that is free.
    pub(super) fn send_appends(&mut self, asks: &mut Vec<Ask>) {
        if !matches!(self.life, Life::Node(_)) {
            return;
        }
        for connection in 0..self.terms.append_connections {
            let slot = Slot::Append(connection);
            if !self.asked.is_free(slot) {
                continue;
            }
            let now = self.now;
            let ready = |cell: &Cell| cell.writes() && cell.chain.is_ready(now);
            let mut chosen = self.cells.iter_mut().filter(|(_, cell)| ready(cell)).peekable();
            let alone = chosen.peek().is_some_and(|(_, cell)| cell.chain.goes_alone());
            let most = if alone { 1 } else { self.terms.cells_per_append };
            let together = chosen.filter(|(_, cell)| alone || !cell.chain.goes_alone()).take(most);
            let parts: Vec<_> =
                together.filter_map(|(id, cell)| cell.chain.send(*id, cell.epoch, connection)).collect();
            if parts.is_empty() {
                return;
            }
            self.query(slot, Statement::Append { parts }, asks);
        }
    }

    /// The cells whose first batch is in the statement on this connection.
    fn on_connection(&self, connection: u8) -> Vec<CellId> {
        let cells = self.cells.iter().filter(|(_, cell)| cell.chain.is_on(connection));
        cells.map(|(id, _)| *id).collect()
    }

    pub(super) fn on_appended(&mut self, connection: u8, landed: &[CellId], asks: &mut Vec<Ask>) {
        let now = self.now;
        for id in self.on_connection(connection) {
            let Some(cell) = self.cells.get_mut(&id) else { continue };
            if landed.contains(&id) {
                let through = cell.chain.landed();
                self.durable(id, through, asks);
            } else {
                cell.chain.refused(now);
            }
        }
    }

    pub(super) fn on_append_rolled_back(&mut self, connection: u8, defect: bool, asks: &mut Vec<Ask>) {
        let cells = self.on_connection(connection);
        let stops = defect && cells.len() == 1;
        // The defect is in one of them: each goes by itself, at once.
        let again = if defect { self.now } else { self.now.after(self.terms.retry_after) };
        for id in cells {
            if stops {
                self.stop_cell(id, Stopped::Defect, asks);
            } else if let Some(cell) = self.cells.get_mut(&id) {
                cell.chain.rolled_back(again, defect);
            }
        }
    }

    pub(super) fn append_unknown(&mut self, connection: u8, settle_from: Mono) {
        for id in self.on_connection(connection) {
            if let Some(cell) = self.cells.get_mut(&id) {
                cell.chain.unknown(settle_from);
            }
        }
    }

    pub(super) fn settle_again(&mut self, cell: CellId, from: Mono) {
        if let Some(cell) = self.cells.get_mut(&cell).filter(|cell| cell.chain.is_settling()) {
            cell.chain.unknown(from);
        }
    }

    /// Looks at the rows of cells whose first batch may be in the log or not.
    pub(super) fn settle(&mut self, asks: &mut Vec<Ask>) {
        let space = self.terms.settles.saturating_sub(self.asked.settles());
        let now = self.now;
        let unknown = self.cells.iter().filter(|(_, cell)| cell.writes() && cell.chain.to_settle(now));
        // A cell that was dropped and taken over again may still have the look of its former epoch in flight.
        let unknown = unknown.map(|(id, _)| *id).filter(|id| self.asked.is_free(Slot::Settle(*id)));
        for id in unknown.take(space).collect::<Vec<_>>() {
            if let Some(cell) = self.cells.get_mut(&id) {
                cell.chain.settling();
                self.query(Slot::Settle(id), Statement::Settle { cell: id }, asks);
            }
        }
    }

    pub(super) fn on_settled(&mut self, id: CellId, found: Epoch, head: Head, asks: &mut Vec<Ask>) {
        let refusals = self.terms.refusals;
        let Some(cell) = self.cells.get_mut(&id).filter(|cell| cell.chain.is_settling()) else { return };
        if found != cell.epoch {
            // Whether the batch landed before the other epoch or not: its effects are that epoch's to settle.
            let why = Dropped::Fenced { own: cell.epoch, found };
            self.drop_cell(id, why, asks);
            return;
        }
        match cell.chain.settle(head, refusals) {
            Settlement::Landed(through) => self.durable(id, through, asks),
            Settlement::Again => {}
            Settlement::Broken(why) => self.stop_cell(id, why, asks),
        }
    }

    fn durable(&mut self, id: CellId, through: BatchNumber, asks: &mut Vec<Ask>) {
        let now = self.now;
        let Some(cell) = self.cells.get_mut(&id) else { return };
        let epoch = cell.epoch;
        cell.active = now;
        let serves = matches!(cell.phase, Phase::TakingOver { .. });
        if serves {
            cell.phase = Phase::Serving;
        }
        self.memory.remember(id, cell.known(), self.terms.remembered);
        asks.push(Ask::Durable { cell: id, epoch, through });
        if serves {
            asks.push(Ask::Serve { cell: id, epoch });
        }
    }
}
