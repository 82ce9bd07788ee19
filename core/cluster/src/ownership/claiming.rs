//! Looking at nodes and cells: burying the late, claiming a share, taking over.

use alloc::vec::Vec;

use super::{Intent, Life, Ownership};
use crate::ask::{Ask, Dropped, Slot, Statement, Stopped};
use crate::cell::{Cell, Phase};
use crate::ids::NodeId;
use crate::input::{CellRow, Claimed, Poll};
use crate::share;

impl Ownership {
    pub(super) fn look_around(&mut self, asks: &mut Vec<Ask>) {
        let Life::Node(lease) = self.life else { return };
        if self.now >= self.poll_at && self.asked.is_free(Slot::Poll) {
            let bury = lease.is_fresh(&self.terms, self.now);
            self.query(Slot::Poll, Statement::Poll { node: lease.node, bury }, asks);
        }
    }

    pub(super) fn on_polled(&mut self, poll: &Poll, asks: &mut Vec<Ask>) {
        self.poll_at = self.now.after(self.terms.poll_every);
        let Life::Node(lease) = self.life else { return };
        let lives = |owner: &NodeId| poll.nodes.iter().any(|node| node.node == *owner);
        let routes = poll.cells.iter().filter_map(|row| Some((row.cell, row.owner.filter(lives)?)));
        self.routes = routes.take(self.terms.remembered).collect();
        for row in &poll.cells {
            self.compare(row, lease.node, asks);
        }
        if self.intent != Intent::Work {
            return;
        }
        let space = self.terms.cells.saturating_sub(self.cells.len());
        let at_most = share::to_claim(poll, lease.node, &self.labels).min(space);
        if at_most > 0 && self.asked.is_free(Slot::Claim) && lease.is_fresh(&self.terms, self.now) {
            self.query(Slot::Claim, Statement::Claim { node: lease.node, at_most }, asks);
        }
        self.balance(poll, lease.node, asks);
    }

    /// What a row says about a cell. It may be older than what this node knows, so only what can't be undone is believed: a higher epoch.
    fn compare(&mut self, row: &CellRow, node: NodeId, asks: &mut Vec<Ask>) {
        let mine = row.owner == Some(node);
        if let Some(cell) = self.cells.get(&row.cell) {
            if row.epoch > cell.epoch {
                let why = Dropped::Fenced { own: cell.epoch, found: row.epoch };
                self.drop_cell(row.cell, why, asks);
            } else if matches!(cell.phase, Phase::Offered { .. }) && row.epoch == cell.epoch && !mine {
                self.drop_cell(row.cell, Dropped::HandedOver, asks);
            }
        }
        if !mine || self.cells.contains_key(&row.cell) {
            return;
        }
        // This node has claimed it, and the answer was lost.
        if self.memory.of(row.cell).is_none_or(|before| before.epoch < row.epoch) {
            let CellRow { cell, epoch, head, acceptance, .. } = *row;
            self.take_over(Claimed { cell, epoch, head, acceptance }, asks);
        }
    }

    pub(super) fn on_claimed(&mut self, claimed: &[Claimed], asks: &mut Vec<Ask>) {
        for claim in claimed {
            let newer = self.cells.get(&claim.cell).is_none_or(|cell| cell.epoch < claim.epoch);
            if newer {
                self.drop_cell(claim.cell, Dropped::HandedOver, asks);
                self.take_over(*claim, asks);
            }
        }
    }

    fn take_over(&mut self, claim: Claimed, asks: &mut Vec<Ask>) {
        let Claimed { cell: id, epoch, head, acceptance } = claim;
        let until = self.now.after(self.terms.take_over_within);
        let mut cell = Cell::taking_over(claim, self.now, until);
        let remembered = self.memory.of(id).filter(|before| before.acceptance >= acceptance);
        let lost = remembered.map(|before| before.head).filter(|remembered| remembered.contradicts(head));
        if self.intent != Intent::Work {
            (cell.phase, cell.hosted) = (Phase::Releasing { to: None, from: self.now }, false);
            self.cells.insert(id, cell);
            return;
        }
        let known = cell.known();
        self.cells.insert(id, cell);
        match lost {
            Some(remembered) => self.stop_cell(id, Stopped::HistoryLost { remembered, found: head }, asks),
            None => {
                self.memory.remember(id, known, self.terms.remembered);
                asks.push(Ask::TakeOver { cell: id, epoch, head, acceptance });
            }
        }
    }

    /// One cell at a time moves to a node that has too few, the one that has been quiet for longest.
    fn balance(&mut self, poll: &Poll, node: NodeId, asks: &mut Vec<Ask>) {
        if self.cells.values().any(Cell::leaves) {
            return;
        }
        let serves = |cell: &Cell| cell.phase == Phase::Serving;
        let served: Vec<_> = self.cells.iter().filter(|(_, cell)| serves(cell)).map(|(id, _)| *id).collect();
        let Some(to) = share::lighter(poll, node, &served) else { return };
        let serving = self
            .cells
            .iter()
            .filter(|(id, cell)| serves(cell) && cell.chain.is_empty() && share::may_own(poll, to, **id));
        if let Some(id) = serving.min_by_key(|(_, cell)| cell.active).map(|(id, _)| *id) {
            self.on_move(id, to, asks);
        }
    }
}
