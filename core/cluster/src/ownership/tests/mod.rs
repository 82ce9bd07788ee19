//! The machine against a database that a test plays by hand.

mod appends;
mod leases;
mod moves;

use alloc::vec::Vec;

use super::Ownership;
use crate::ids::tests::head;
use crate::{
    Acceptance, Answer, Ask, AskId, BatchNumber, CellId, CellRow, Claimed, Epoch, Input, Link, Mono, NodeId,
    NodeRow, Part, Poll, Slot, Span, Statement, Terms, Wall,
};

const CELL: CellId = CellId(7);
const NODE: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);

fn terms() -> Terms {
    Terms {
        lease: Span(100),
        margin: Span(10),
        renew_every: Span(30),
        poll_every: Span(1_000_000),
        fresh_within: Span(40),
        answer_within: Span(25),
        append_within: Span(200),
        retry_after: Span(5),
        take_over_within: Span(1_000),
        drain_within: Span(500),
        offer_within: Span(50),
        refusals: 2,
        ..Terms::default()
    }
}

fn link(byte: u8) -> Link {
    Link([byte; 32])
}

fn node_row(node: NodeId) -> NodeRow {
    NodeRow { node, draining: false, labels: Vec::new() }
}

fn cell_row(owner: Option<NodeId>, epoch: u64) -> CellRow {
    let (epoch, head) = (Epoch(epoch), head(10, 1));
    CellRow { cell: CELL, owner, offered_to: None, epoch, head, acceptance: Acceptance(0), label: None }
}

/// The machine, what it has asked, and which statements wait for an answer.
struct Node {
    machine: Ownership,
    now: u64,
    open: Vec<(AskId, Statement)>,
    asks: Vec<Ask>,
}

impl Node {
    fn new(terms: Terms) -> Self {
        let machine = Ownership::new(terms, Vec::new()).unwrap();
        let mut node = Self { machine, now: 0, open: Vec::new(), asks: Vec::new() };
        node.input(Input::Tick);
        node
    }

    /// Registered, with its first look at the database still to be answered.
    fn registered() -> Self {
        let mut node = Self::new(terms());
        node.answer(Slot::Lease, Answer::Registered { node: NODE, wall: Wall(1_000) });
        node
    }

    /// The owner of the cell in epoch 5, which has not written its first batch.
    fn taking_over() -> Self {
        let mut node = Self::registered();
        node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 4)].into() });
        node.answer(Slot::Claim, claimed(5));
        node
    }

    /// The owner of the cell in epoch 5, whose first batch (11) is in the log.
    fn serving() -> Self {
        let mut node = Self::taking_over();
        node.append(11, 2);
        node.answer(Slot::Append(0), landed());
        node.asks.clear();
        node
    }

    fn input(&mut self, input: Input) {
        let asks = self.machine.step(Mono(self.now), input);
        for ask in &asks {
            match ask {
                Ask::Query { id, statement } => self.open.push((*id, statement.clone())),
                Ask::Abandon { id } => self.open.retain(|(open, _)| open != id),
                Ask::TakeOver { .. }
                | Ask::Serve { .. }
                | Ask::Durable { .. }
                | Ask::Refused { .. }
                | Ask::DrainCell { .. }
                | Ask::DropCell { .. }
                | Ask::StopCell { .. }
                | Ask::Effects { .. }
                | Ask::HoldEffects
                | Ask::Ended => {}
            }
        }
        self.asks.extend(asks);
        let next = self.machine.next_deadline();
        assert!(next.is_none_or(|at| at > Mono(self.now)), "{next:?} is not after {}", self.now);
    }

    fn at(&mut self, now: u64) {
        self.now = now;
        self.input(Input::Tick);
    }

    fn take(&mut self, slot: Slot) -> AskId {
        let at = self.open.iter().position(|(id, _)| id.slot == slot);
        self.open.remove(at.unwrap_or_else(|| panic!("nothing open in {slot:?}: {:?}", self.open))).0
    }

    fn answer(&mut self, slot: Slot, answer: Answer) {
        let ask = self.take(slot);
        self.input(Input::Answer { ask, answer });
    }

    fn no_answer(&mut self, slot: Slot) {
        let ask = self.take(slot);
        self.input(Input::NoAnswer { ask });
    }

    fn polled(&mut self, poll: Poll) {
        self.answer(Slot::Poll, Answer::Polled(poll));
    }

    /// Lets time pass with a renewal that goes through whenever one is due.
    fn renewing_until(&mut self, until: u64) {
        while self.now < until {
            let next = self.machine.next_deadline().map_or(until, |at| at.0.min(until));
            self.at(next);
            if self.is_open(Slot::Lease) {
                self.answer(Slot::Lease, Answer::Renewed { wall: Wall(0) });
            }
        }
    }

    fn is_open(&self, slot: Slot) -> bool {
        self.open.iter().any(|(id, _)| id.slot == slot)
    }

    fn append(&mut self, batch: u64, byte: u8) {
        let (batch, link) = (BatchNumber(batch), link(byte));
        self.input(Input::Append { cell: CELL, epoch: Epoch(5), batch, link });
    }

    /// The parts of the append that waits for its answer on a connection.
    fn parts(&self, connection: u8) -> &[Part] {
        let open = self.open.iter().find(|(id, _)| id.slot == Slot::Append(connection));
        let Some((_, Statement::Append { parts })) = open else { panic!("no append: {:?}", self.open) };
        parts
    }

    fn asked(&mut self) -> Vec<Ask> {
        core::mem::take(&mut self.asks)
    }
}

fn claim(cell: u64, epoch: u64) -> Claimed {
    Claimed { cell: CellId(cell), epoch: Epoch(epoch), head: head(10, 1), acceptance: Acceptance(0) }
}

fn claimed(epoch: u64) -> Answer {
    Answer::Claimed([claim(CELL.0, epoch)].into())
}

fn landed() -> Answer {
    Answer::Appended { landed: [CELL].into() }
}
