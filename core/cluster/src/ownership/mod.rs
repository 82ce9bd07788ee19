//! The machine: what one node knows of its lease and its cells, and the one door through which it changes.

mod appending;
mod claiming;
mod leasing;
mod leaving;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::ask::{Ask, AskId, Dropped, Slot, Statement, Stopped};
use crate::asked::Asked;
use crate::cell::{Cell, Phase};
use crate::ids::{BatchNumber, CellId, Epoch, Head, Label, NodeId};
use crate::input::{Answer, Input};
use crate::lease::Lease;
use crate::memory::Memory;
use crate::terms::{BadTerms, Terms};
use crate::time::{Mono, Wall};

/// What one node knows. See the crate's page for how it is driven.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ownership {
    terms: Terms,
    labels: Vec<Label>,
    now: Mono,
    life: Life,
    intent: Intent,
    /// Whether `Effects` was the last that was asked, and not `HoldEffects`.
    effects: Option<Mono>,
    cells: BTreeMap<CellId, Cell>,
    memory: Memory,
    asked: Asked,
    /// When the lease, and nodes and cells, are next to be looked after.
    lease_at: Mono,
    poll_at: Mono,
    /// From when on the row of a node that has stopped may be buried.
    leave_at: Mono,
    /// Where the last look at the database has seen each cell.
    routes: BTreeMap<CellId, NodeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    /// No node yet, or none any more: to be registered as another one.
    Nobody,
    Node(Lease),
    Ended,
}

/// What an operator wants of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Intent {
    Work,
    /// The node's row is to be marked from this moment on, unless it is.
    Drain {
        mark_from: Option<Mono>,
    },
    Stop {
        mark_from: Option<Mono>,
    },
}

/// How a cell of this node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Another node's, or nobody's.
    NotOwned,
    TakingOver,
    Serving,
    /// On its way to another owner.
    Leaving,
    Stopped(Stopped),
}

impl Intent {
    /// When the node's row is to be marked, if it is not.
    fn mark_from(self) -> Option<Mono> {
        match self {
            Self::Work => None,
            Self::Drain { mark_from } | Self::Stop { mark_from } => mark_from,
        }
    }
}

impl Ownership {
    /// A node that is still to be registered, with the labels of its machine.
    pub fn new(terms: Terms, labels: Vec<Label>) -> Result<Self, BadTerms> {
        terms.check()?;
        Ok(Self {
            terms,
            labels,
            now: Mono(0),
            life: Life::Nobody,
            intent: Intent::Work,
            effects: None,
            cells: BTreeMap::new(),
            memory: Memory::default(),
            asked: Asked::default(),
            lease_at: Mono(0),
            poll_at: Mono(0),
            leave_at: Mono(0),
            routes: BTreeMap::new(),
        })
    }

    /// Takes an input, and does what is due. Time that goes back stands for the latest so far.
    pub fn step(&mut self, now: Mono, input: Input) -> Vec<Ask> {
        let mut asks = Vec::new();
        self.now = self.now.max(now);
        match input {
            Input::Tick => {}
            Input::Answer { ask, answer } => self.on_answer(ask, answer, &mut asks),
            Input::NoAnswer { ask } => {
                if self.asked.close(ask) {
                    self.on_no_answer(ask);
                }
            }
            Input::Append { cell, epoch, batch, link } => self.on_append(cell, epoch, batch, link, &mut asks),
            Input::Drained { cell, epoch } => self.on_drained(cell, epoch),
            Input::HostFailed { cell, epoch } => self.on_host_failed(cell, epoch, &mut asks),
            Input::Move { cell, to } => self.on_move(cell, to, &mut asks),
            Input::Release { cell } => self.leave(cell, None, &mut asks),
            Input::Accept { cell } => self.on_accept(cell),
            Input::Drain => self.on_drain(false, &mut asks),
            Input::Stop => self.on_drain(true, &mut asks),
        }
        self.do_what_is_due(&mut asks);
        asks
    }

    /// By when the machine wants its next step; later than the last one. Nothing after its end.
    pub fn next_deadline(&self) -> Option<Mono> {
        let (poll, mark) = match self.life {
            Life::Ended => return None,
            Life::Nobody => (None, None),
            Life::Node(_) => (Some(self.poll_at), self.intent.mark_from()),
        };
        let free = |slot, at: Option<Mono>| at.filter(|_| self.asked.is_free(slot));
        let own = [
            free(Slot::Lease, Some(self.lease_at)),
            free(Slot::Poll, poll),
            free(Slot::Draining, mark),
            free(Slot::Leave, Some(self.leave_at)),
            self.effects,
        ];
        let cells = self
            .cells
            .iter()
            .filter(|(cell, _)| self.is_idle(**cell))
            .filter_map(|(_, cell)| cell.deadline());
        let all = own.into_iter().flatten().chain(self.asked.deadline(&self.terms)).chain(cells);
        // What is due already waits for a connection, and goes when an answer makes one free.
        all.filter(|at| *at > self.now).min()
    }

    /// This node's name in the database, while it has one.
    pub fn node(&self) -> Option<NodeId> {
        match self.life {
            Life::Node(lease) => Some(lease.node),
            Life::Nobody | Life::Ended => None,
        }
    }

    /// Effects of the cell may begin before this moment; none if it is not this node's, or has not written its first batch.
    pub fn effects_until(&self, cell: CellId) -> Option<Mono> {
        let Life::Node(lease) = self.life else { return None };
        let performs = self.cells.get(&cell).is_some_and(Cell::performs);
        performs.then(|| lease.until(&self.terms))
    }

    /// Wall time by the clock of the database, for the core; none before the first answer.
    pub fn wall(&self, now: Mono) -> Option<Wall> {
        match self.life {
            Life::Node(lease) => Some(lease.wall(now)),
            Life::Nobody | Life::Ended => None,
        }
    }

    pub fn standing(&self, cell: CellId) -> Standing {
        match self.cells.get(&cell).map(|cell| cell.phase) {
            None => Standing::NotOwned,
            Some(Phase::TakingOver { .. }) => Standing::TakingOver,
            Some(Phase::Serving) => Standing::Serving,
            Some(Phase::Draining { .. } | Phase::Releasing { .. } | Phase::Offered { .. }) => {
                Standing::Leaving
            }
            Some(Phase::Stopped(why)) => Standing::Stopped(why),
        }
    }

    /// The cells of this node, those on their way to another owner among them.
    pub fn cells(&self) -> impl Iterator<Item = (CellId, Epoch, Head)> + '_ {
        self.cells.iter().map(|(id, cell)| (*id, cell.epoch, cell.chain.head()))
    }

    /// The number of the next batch that the host of a cell may give now, if there is space for one.
    pub fn next_batch(&self, cell: CellId) -> Option<BatchNumber> {
        let cell = self.cells.get(&cell).filter(|cell| cell.takes_batches())?;
        let has_space = cell.chain.len() < self.terms.batches_per_cell;
        has_space.then(|| cell.chain.next())
    }

    /// Which node a request for a cell goes to, as of the last look at the database.
    pub fn route(&self, cell: CellId) -> Option<NodeId> {
        self.routes.get(&cell).copied()
    }

    /// All of [`Self::route`].
    pub fn routes(&self) -> impl Iterator<Item = (CellId, NodeId)> + '_ {
        self.routes.iter().map(|(cell, node)| (*cell, *node))
    }

    fn on_answer(&mut self, ask: AskId, answer: Answer, asks: &mut Vec<Ask>) {
        if !self.asked.close(ask) {
            return;
        }
        match (ask.slot, answer) {
            (Slot::Lease, Answer::Registered { node, wall }) => self.on_registered(node, wall, ask.sent),
            (Slot::Lease, Answer::Renewed { wall }) => self.on_renewed(wall, ask.sent),
            (Slot::Lease, Answer::Refused) => self.lose_lease(asks),
            (Slot::Poll, Answer::Polled(poll)) => self.on_polled(&poll, asks),
            (Slot::Claim, Answer::Claimed(claimed)) => self.on_claimed(&claimed, asks),
            (Slot::Append(connection), Answer::Appended { landed }) => {
                self.on_appended(connection, &landed, asks)
            }
            (Slot::Append(connection), Answer::RolledBack { defect }) => {
                self.on_append_rolled_back(connection, defect, asks);
            }
            (Slot::Settle(cell), Answer::Settled { epoch, head }) => self.on_settled(cell, epoch, head, asks),
            (Slot::Release(cell), Answer::Done) => self.on_released(cell, asks),
            (Slot::Release(cell), Answer::Refused) => self.on_release_refused(cell, asks),
            (Slot::Draining, Answer::Done) => self.mark_from(None),
            (Slot::Leave, Answer::Done) => self.end(asks),
            // Rolled back, or no answer to this statement: all but appends are simply asked again.
            (_, _) => self.on_no_answer(ask),
        }
    }

    /// The statement may have been executed, or may be later.
    fn on_no_answer(&mut self, ask: AskId) {
        // Whoever has waited long enough for the answer has waited long enough for the repetition.
        let again = ask.sent.after(self.terms.retry_after).max(self.now);
        match ask.slot {
            Slot::Lease => self.lease_at = again,
            Slot::Poll => self.poll_at = again,
            // What was claimed is in the answer to the next poll.
            Slot::Claim => {}
            Slot::Draining => self.mark_from(Some(again)),
            Slot::Leave => self.leave_at = again,
            Slot::Append(connection) => self.append_unknown(connection, again),
            Slot::Settle(cell) => self.settle_again(cell, again),
            Slot::Release(cell) => self.release_from(cell, again),
        }
    }

    fn do_what_is_due(&mut self, asks: &mut Vec<Ask>) {
        for ask in self.asked.late(&self.terms, self.now) {
            asks.push(Ask::Abandon { id: ask });
            self.asked.close(ask);
            self.on_no_answer(ask);
        }
        self.look_after_lease(asks);
        self.look_after_leaving(asks);
        self.settle(asks);
        self.send_appends(asks);
        self.look_around(asks);
    }

    /// Nothing of the cell waits for an answer of its own.
    fn is_idle(&self, cell: CellId) -> bool {
        self.asked.is_free(Slot::Release(cell))
    }

    fn query(&mut self, slot: Slot, statement: Statement, asks: &mut Vec<Ask>) {
        let id = self.asked.open(slot, self.now);
        asks.push(Ask::Query { id, statement });
    }

    /// The cell in this epoch, if it is this node's.
    fn cell_in(&mut self, cell: CellId, epoch: Epoch) -> Option<&mut Cell> {
        self.cells.get_mut(&cell).filter(|cell| cell.epoch == epoch)
    }

    fn drop_cell(&mut self, id: CellId, why: Dropped, asks: &mut Vec<Ask>) {
        let Some(mut cell) = self.cells.remove(&id) else { return };
        self.memory.remember(id, cell.known(), self.terms.remembered);
        leaving::drop_host(id, &mut cell, why, asks);
    }

    fn stop_cell(&mut self, id: CellId, why: Stopped, asks: &mut Vec<Ask>) {
        let Some(cell) = self.cells.get_mut(&id) else { return };
        (cell.phase, cell.hosted) = (Phase::Stopped(why), false);
        asks.push(Ask::StopCell { cell: id, epoch: cell.epoch, why });
    }
}
