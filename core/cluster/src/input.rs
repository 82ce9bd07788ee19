//! What the machine is given: answers of the database, and what hosts and operators want.

use alloc::vec::Vec;

use crate::ask::AskId;
use crate::ids::{Acceptance, BatchNumber, CellId, Epoch, Head, Label, Link, NodeId};
use crate::time::Wall;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// Time has passed; due by `Ownership::next_deadline`.
    Tick,
    Answer {
        ask: AskId,
        answer: Answer,
    },
    /// The connection was lost, or the server does not say what came of the statement: it may have been executed, or still be.
    NoAnswer {
        ask: AskId,
    },
    /// The host gives its next batch. The bytes stay with the caller until the batch is durable or the cell is dropped.
    Append {
        cell: CellId,
        epoch: Epoch,
        batch: BatchNumber,
        link: Link,
    },
    /// The host has given its last batch.
    Drained {
        cell: CellId,
        epoch: Epoch,
    },
    /// The host can't be loaded, or can't go on.
    HostFailed {
        cell: CellId,
        epoch: Epoch,
    },
    /// An operator moves a cell of this node to another one.
    Move {
        cell: CellId,
        to: NodeId,
    },
    /// An operator wants nobody to own a cell of this node for a while.
    Release {
        cell: CellId,
    },
    /// An operator accepts why a cell of this node works no more: it begins again in a new epoch, at the head that there is.
    Accept {
        cell: CellId,
    },
    /// Hand over all cells, and claim none.
    Drain,
    /// Drain, then leave.
    Stop,
}

/// What the database answers. An answer that does not fit its statement counts as none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// To `Register`, with the database's time.
    Registered { node: NodeId, wall: Wall },
    /// To `Renew`.
    Renewed { wall: Wall },
    /// To `Renew` and `Release`: there was no such row to change.
    Refused,
    /// To `Poll`.
    Polled(Poll),
    /// To `Claim`.
    Claimed(Vec<Claimed>),
    /// To `Append`: the cells whose batch was written by this very statement.
    Appended { landed: Vec<CellId> },
    /// To any statement: it failed and was rolled back, so nothing of it was written.
    RolledBack { defect: bool },
    /// To `Settle`.
    Settled { epoch: Epoch, head: Head },
    /// To `Release`, `MarkDraining` and `Leave`.
    Done,
}

/// Nodes and cells at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Poll {
    /// Nodes that are not buried.
    pub nodes: Vec<NodeRow>,
    pub cells: Vec<CellRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeRow {
    pub node: NodeId,
    pub draining: bool,
    pub labels: Vec<Label>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CellRow {
    pub cell: CellId,
    pub owner: Option<NodeId>,
    pub offered_to: Option<NodeId>,
    pub epoch: Epoch,
    pub head: Head,
    pub acceptance: Acceptance,
    pub label: Option<Label>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claimed {
    pub cell: CellId,
    pub epoch: Epoch,
    pub head: Head,
    pub acceptance: Acceptance,
}
