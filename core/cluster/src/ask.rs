//! What the machine asks of whoever drives it.

use alloc::vec::Vec;

use crate::ids::{Acceptance, BatchNumber, CellId, Epoch, Head, Label, Link, NodeId};
use crate::time::Mono;

/// One thing to be done, in the order of the list that a step returns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ask {
    /// A statement for the database. It is answered once, by `Input::Answer` or `Input::NoAnswer` with its id.
    Query { id: AskId, statement: Statement },
    /// The answer to this statement comes too late now: close its connection, and cancel nothing. The statement may still be
    /// executed; what is answered under this id is ignored.
    Abandon { id: AskId },
    /// Load the cell at this head, recover its agents, and append their first batch of this epoch. What the caller remembers of
    /// before this acceptance does not count.
    TakeOver { cell: CellId, epoch: Epoch, head: Head, acceptance: Acceptance },
    /// The first batch is durable: take requests.
    Serve { cell: CellId, epoch: Epoch },
    /// The log is durable through this batch: deliver its replies and events, and begin its effects while
    /// `Ownership::effects_until` allows it.
    Durable { cell: CellId, epoch: Epoch, through: BatchNumber },
    /// An append that can't be taken. Nothing of it is kept.
    Refused { cell: CellId, epoch: Epoch, batch: BatchNumber, why: Refusal },
    /// Begin no run, and give the last batch until this moment; then `Input::Drained`.
    DrainCell { cell: CellId, epoch: Epoch, until: Mono },
    /// This node no longer owns the cell. Drop its host: no reply, event or effect of it leaves any more.
    DropCell { cell: CellId, epoch: Epoch, why: Dropped },
    /// The cell is this node's and works no more, until an operator accepts or moves it. Drop its host.
    StopCell { cell: CellId, epoch: Epoch, why: Stopped },
    /// Effects may begin before this moment. Supervisors of running commands get it, too.
    Effects { until: Mono },
    /// The lease may be over: begin no effect until there is another `Effects`.
    HoldEffects,
    /// All cells were handed over and the node is buried: the process may end.
    Ended,
}

/// Names a statement by what it is for and when it was sent: of each kind one is in flight at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId {
    pub slot: Slot,
    pub sent: Mono,
}

/// What a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// `Register` and `Renew`, on the connection of the lease.
    Lease,
    Poll,
    Claim,
    /// On one of the connections for appends.
    Append(u8),
    Settle(CellId),
    Release(CellId),
    Draining,
    Leave,
}

/// A statement, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A row for a new node with these labels and a lease from now on.
    Register { labels: Vec<Label> },
    /// A lease from now on, if the lease is not over and the node is not buried.
    Renew { node: NodeId },
    /// First bury each node whose lease has been over for the grace, if `bury`; then read all nodes that are not buried, and all cells.
    Poll { node: NodeId, bury: bool },
    /// A new epoch for at most so many cells of nobody, of buried nodes, or offered to this node. It never compares times.
    Claim { node: NodeId, at_most: usize },
    /// Each part writes its batch if its cell has this epoch and this head; the answer names the cells that were written.
    /// No time-out of the server, and never cancelled.
    Append { parts: Vec<Part> },
    /// The row of the cell under its lock, in a transaction that commits.
    Settle { cell: CellId },
    /// If the node owns the cell in this epoch: offer it to a node, or give it to nobody.
    Release { node: NodeId, cell: CellId, epoch: Epoch, to: Option<NodeId> },
    /// Nodes that drain get no cells.
    MarkDraining { node: NodeId },
    /// Bury this node.
    Leave { node: NodeId },
}

/// One cell's part of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    pub cell: CellId,
    pub epoch: Epoch,
    /// The head that the batch follows.
    pub after: Head,
    /// The link of the batch, whose number is the next one.
    pub link: Link,
}

/// Why an append is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// This node does not own the cell in this epoch, or hands it over.
    NotOwner,
    /// The batch is not the next one of the cell.
    NotNext { expected: BatchNumber },
    /// As many batches as there may be are not durable yet.
    Full,
}

/// Why a cell is no longer this node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// Another epoch has begun.
    Fenced {
        own: Epoch,
        found: Epoch,
    },
    /// The node is late or buried.
    LeaseLost,
    HandedOver,
    /// The host did not give its first batch in time.
    TookTooLong,
}

/// Why a cell works no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// The database ends before what it had acknowledged to this node.
    HistoryLost { remembered: Head, found: Head },
    /// The log has a batch of this epoch that this node did not write, or takes none although it should.
    Conflict { expected: Head, found: Head },
    /// The statement of this cell alone breaks a rule of the database: a defect.
    Defect,
    /// The host can't go on.
    HostFailed,
}
