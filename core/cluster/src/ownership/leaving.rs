//! Cells that go to another owner in good order, cells that stop, and the end of the node.

use alloc::vec::Vec;

use super::{Intent, Life, Ownership};
use crate::ask::{Ask, Dropped, Slot, Statement, Stopped};
use crate::cell::{Cell, Phase};
use crate::chain::Chain;
use crate::ids::{CellId, Epoch, NodeId};
use crate::time::Mono;

impl Ownership {
    pub(super) fn on_drain(&mut self, stop: bool, asks: &mut Vec<Ask>) {
        let mark_from = Some(self.now);
        self.intent = match (self.intent, stop) {
            (Intent::Work, false) => Intent::Drain { mark_from },
            (Intent::Work, true) => Intent::Stop { mark_from },
            (Intent::Drain { mark_from } | Intent::Stop { mark_from }, true) => Intent::Stop { mark_from },
            (before @ (Intent::Drain { .. } | Intent::Stop { .. }), false) => before,
        };
        let cells: Vec<_> = self.cells.keys().copied().collect();
        for cell in cells {
            self.leave(cell, None, asks);
        }
    }

    pub(super) fn on_move(&mut self, cell: CellId, to: NodeId, asks: &mut Vec<Ask>) {
        if self.node() != Some(to) {
            self.leave(cell, Some(to), asks);
        }
    }

    /// Whoever leaves already goes on; what was not begun, or works no more, has no last batch to wait for.
    pub(super) fn leave(&mut self, id: CellId, to: Option<NodeId>, asks: &mut Vec<Ask>) {
        let until = self.now.after(self.terms.drain_within);
        let Some(cell) = self.cells.get_mut(&id) else { return };
        match cell.phase {
            Phase::Serving => {
                cell.phase = Phase::Draining { to, until };
                asks.push(Ask::DrainCell { cell: id, epoch: cell.epoch, until });
            }
            Phase::TakingOver { .. } | Phase::Stopped(_) => self.give_up(id, to, Dropped::HandedOver, asks),
            Phase::Draining { .. } | Phase::Releasing { .. } | Phase::Offered { .. } => {}
        }
    }

    /// Releases a cell without its last batches. Whether they land or not is for the next owner to see: its epoch ends theirs.
    fn give_up(&mut self, id: CellId, to: Option<NodeId>, why: Dropped, asks: &mut Vec<Ask>) {
        let from = self.now;
        let Some(cell) = self.cells.get_mut(&id) else { return };
        cell.phase = Phase::Releasing { to, from };
        cell.chain = Chain::new(cell.chain.head());
        drop_host(id, cell, why, asks);
    }

    pub(super) fn on_drained(&mut self, id: CellId, epoch: Epoch) {
        let from = self.now;
        let Some(cell) = self.cell_in(id, epoch) else { return };
        if let Phase::Draining { to, .. } = cell.phase {
            cell.phase = Phase::Releasing { to, from };
        }
    }

    pub(super) fn on_host_failed(&mut self, id: CellId, epoch: Epoch, asks: &mut Vec<Ask>) {
        let hosted = self.cell_in(id, epoch).is_some_and(|cell| cell.hosted);
        if hosted {
            self.stop_cell(id, Stopped::HostFailed, asks);
        }
    }

    /// Another epoch begins at the head that there is: a batch of this one that may still land never does after its claim.
    pub(super) fn on_accept(&mut self, id: CellId) {
        let from = self.now;
        let Some(cell) = self.cells.get_mut(&id) else { return };
        let Phase::Stopped(why) = cell.phase else { return };
        let head = match why {
            Stopped::HistoryLost { found, .. } | Stopped::Conflict { found, .. } => found,
            Stopped::Defect | Stopped::HostFailed => cell.chain.head(),
        };
        cell.phase = Phase::Releasing { to: None, from };
        cell.chain = Chain::new(head);
        self.memory.accept(id, head);
    }

    pub(super) fn on_released(&mut self, id: CellId, asks: &mut Vec<Ask>) {
        let until = self.now.after(self.terms.offer_within);
        let Some(cell) = self.cells.get_mut(&id) else { return };
        let Phase::Releasing { to, .. } = cell.phase else { return };
        if to.is_some() {
            drop_host(id, cell, Dropped::HandedOver, asks);
            cell.phase = Phase::Offered { until };
        } else {
            self.drop_cell(id, Dropped::HandedOver, asks);
        }
    }

    /// The row is another's, or in another epoch.
    pub(super) fn on_release_refused(&mut self, id: CellId, asks: &mut Vec<Ask>) {
        if self.cells.get(&id).is_some_and(|cell| matches!(cell.phase, Phase::Releasing { .. })) {
            self.drop_cell(id, Dropped::HandedOver, asks);
        }
    }

    pub(super) fn release_from(&mut self, id: CellId, from: Mono) {
        let Some(cell) = self.cells.get_mut(&id) else { return };
        if let Phase::Releasing { to, .. } = cell.phase {
            cell.phase = Phase::Releasing { to, from };
        }
    }

    pub(super) fn mark_from(&mut self, from: Option<Mono>) {
        match &mut self.intent {
            Intent::Work => {}
            Intent::Drain { mark_from } | Intent::Stop { mark_from } => *mark_from = from,
        }
    }

    pub(super) fn look_after_leaving(&mut self, asks: &mut Vec<Ask>) {
        self.end_waits(asks);
        let Life::Node(lease) = self.life else { return };
        let (node, now) = (lease.node, self.now);
        if self.intent.mark_from().is_some_and(|from| from <= now) && self.asked.is_free(Slot::Draining) {
            self.query(Slot::Draining, Statement::MarkDraining { node }, asks);
        }
        let released = self.cells.iter().filter_map(|(id, cell)| {
            let Phase::Releasing { to, from } = cell.phase else { return None };
            (from <= now && cell.chain.is_empty()).then_some((*id, cell.epoch, to))
        });
        let released = released.filter(|(id, ..)| self.asked.is_free(Slot::Release(*id)));
        for (cell, epoch, to) in released.collect::<Vec<_>>() {
            self.query(Slot::Release(cell), Statement::Release { node, cell, epoch, to }, asks);
        }
        if matches!(self.intent, Intent::Stop { .. }) {
            self.leave_database(node, lease.until(&self.terms), asks);
        }
    }

    /// What has had its time: a host that gives no first or no last batch, an offer that nobody takes.
    fn end_waits(&mut self, asks: &mut Vec<Ask>) {
        let now = self.now;
        let mut late = Vec::new();
        for (id, cell) in &mut self.cells {
            match cell.phase {
                Phase::TakingOver { until } if until <= now => late.push(*id),
                Phase::Draining { to, until } if until <= now => {
                    cell.phase = Phase::Releasing { to, from: now }
                }
                Phase::Offered { until } if until <= now => {
                    cell.phase = Phase::Releasing { to: None, from: now };
                }
                Phase::TakingOver { .. }
                | Phase::Serving
                | Phase::Draining { .. }
                | Phase::Releasing { .. }
                | Phase::Offered { .. }
                | Phase::Stopped(_) => {}
            }
        }
        for id in late {
            self.give_up(id, None, Dropped::TookTooLong, asks);
        }
    }

    /// Once every cell is released or offered. A node that can't prove its lease any more ends anyway: others bury it.
    fn leave_database(&mut self, node: NodeId, until: Mono, asks: &mut Vec<Ask>) {
        if self.now >= until {
            self.lose_lease(asks);
            return;
        }
        let offered = |cell: &Cell| matches!(cell.phase, Phase::Offered { .. });
        if self.cells.values().all(offered) && self.now >= self.leave_at && self.asked.is_free(Slot::Leave) {
            self.query(Slot::Leave, Statement::Leave { node }, asks);
        }
    }
}

/// The cell's host goes, if there is one.
pub(super) fn drop_host(id: CellId, cell: &mut Cell, why: Dropped, asks: &mut Vec<Ask>) {
    if core::mem::take(&mut cell.hosted) {
        asks.push(Ask::DropCell { cell: id, epoch: cell.epoch, why });
    }
}
