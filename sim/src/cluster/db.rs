//! The database: nodes, cells and the log of their batches. Statements are atomic, except renewals, which hold the lock
//! of their row from their beginning to their commit. The clock is the database's own.

use std::collections::BTreeMap;

use holon_cluster::{
    Acceptance, Answer, BatchNumber, CellId, CellRow, Claimed, Epoch, Head, Label, Link, NodeId, NodeRow,
    Part, Poll, Statement, Wall,
};

use super::rules::Sabotage;

/// The time spans that statements use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spans {
    pub lease: u64,
    pub grace: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Db {
    pub now: u64,
    pub spans: Spans,
    pub sabotage: Option<Sabotage>,
    pub nodes: BTreeMap<NodeId, Node>,
    pub cells: BTreeMap<CellId, Cell>,
    /// The batches of each cell, in the order in which they landed.
    pub log: BTreeMap<CellId, Vec<Batch>>,
    /// Every claim: the node that began each epoch.
    pub epochs: BTreeMap<(CellId, Epoch), NodeId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    pub lease_until: u64,
    pub buried: bool,
    pub draining: bool,
    pub labels: Vec<Label>,
    /// A renewal that has begun and is not committed: others still see the old lease.
    renewal: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    pub owner: Option<NodeId>,
    pub offered_to: Option<NodeId>,
    pub epoch: Epoch,
    pub head: Head,
    pub label: Option<Label>,
}

/// One batch in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    pub number: BatchNumber,
    pub link: Link,
    /// The epoch that the append named, and the one of the cell when it landed.
    pub epoch: Epoch,
    pub landed_in: Epoch,
}

impl Db {
    pub fn new(spans: Spans, cells: impl IntoIterator<Item = CellId>, sabotage: Option<Sabotage>) -> Self {
        let head = Head { batch: BatchNumber(0), link: Link([0; 32]) };
        let cell = Cell { owner: None, offered_to: None, epoch: Epoch(0), head, label: None };
        let cells: BTreeMap<_, _> = cells.into_iter().map(|id| (id, cell.clone())).collect();
        let log = cells.keys().map(|id| (*id, Vec::new())).collect();
        Self { now: 0, spans, sabotage, nodes: BTreeMap::new(), cells, log, epochs: BTreeMap::new() }
    }

    /// Executes a statement; none if it has to wait for a row's lock. A renewal begins and commits at once.
    pub fn execute(&mut self, statement: &Statement) -> Option<Answer> {
        Some(match statement {
            Statement::Register { labels } => self.register(labels),
            Statement::Renew { node } => match self.begin_renewal(*node)? {
                Some(refused) => refused,
                None => self.commit_renewal(*node),
            },
            Statement::Poll { bury, .. } => self.poll(*bury)?,
            Statement::Claim { node, at_most } => self.claim(*node, *at_most),
            Statement::Append { parts } => {
                let landed = parts.iter().filter(|part| self.append(part)).map(|part| part.cell).collect();
                Answer::Appended { landed }
            }
            Statement::Settle { cell } => {
                let cell = self.cells.get(cell)?;
                Answer::Settled { epoch: cell.epoch, head: cell.head }
            }
            Statement::Release { node, cell, epoch, to } => self.release(*node, *cell, *epoch, *to),
            Statement::MarkDraining { node } => {
                self.nodes.entry(*node).and_modify(|row| row.draining = true);
                Answer::Done
            }
            Statement::Leave { node } => self.leave(*node)?,
        })
    }

    fn register(&mut self, labels: &[Label]) -> Answer {
        let last = self.nodes.keys().next_back().map_or(0, |node| node.0);
        let (node, lease_until) = (NodeId(last + 1), self.now + self.spans.lease);
        let labels = labels.to_vec();
        let row = Node { lease_until, buried: false, draining: false, labels, renewal: None };
        self.nodes.insert(node, row);
        Answer::Registered { node, wall: self.wall() }
    }

    /// Locks the row of a node for a renewal, or returns a refusal. None if another statement has the lock.
    pub fn begin_renewal(&mut self, node: NodeId) -> Option<Option<Answer>> {
        let (now, until) = (self.now, self.now + self.spans.lease);
        let Some(row) = self.nodes.get_mut(&node) else { return Some(Some(Answer::Refused)) };
        if row.renewal.is_some() {
            return None;
        }
        if row.buried || row.lease_until <= now {
            return Some(Some(Answer::Refused));
        }
        row.renewal = Some(until);
        Some(None)
    }

    pub fn commit_renewal(&mut self, node: NodeId) -> Answer {
        if let Some(row) = self.nodes.get_mut(&node) {
            row.lease_until = row.renewal.take().unwrap_or(row.lease_until);
        }
        Answer::Renewed { wall: self.wall() }
    }

    /// Rolls back everything uncommitted.
    pub fn restart(&mut self) {
        self.nodes.values_mut().for_each(|row| row.renewal = None);
    }

    fn poll(&mut self, bury: bool) -> Option<Answer> {
        let late = |row: &Node| !row.buried && row.lease_until + self.spans.grace < self.now;
        let buries = !matches!(self.sabotage, Some(Sabotage::NoBurial | Sabotage::ClaimByTime));
        if bury && buries {
            let late: Vec<_> =
                self.nodes.iter().filter(|(_, row)| late(row)).map(|(node, _)| *node).collect();
            if late.iter().any(|node| self.nodes[node].renewal.is_some()) {
                return None;
            }
            for node in late {
                self.nodes.entry(node).and_modify(|row| row.buried = true);
            }
        }
        let alive = self.nodes.iter().filter(|(_, row)| !self.is_gone(row));
        let nodes = alive.map(|(node, row)| NodeRow {
            node: *node,
            draining: row.draining,
            labels: row.labels.clone(),
        });
        let cells = self.cells.iter().map(|(id, cell)| CellRow {
            cell: *id,
            owner: cell.owner,
            offered_to: cell.offered_to,
            epoch: cell.epoch,
            head: cell.head,
            acceptance: Acceptance::default(),
            label: cell.label.clone(),
        });
        Some(Answer::Polled(Poll { nodes: nodes.collect(), cells: cells.collect() }))
    }

    /// Whether the cells of a node may be claimed.
    fn is_gone(&self, node: &Node) -> bool {
        if self.sabotage == Some(Sabotage::ClaimByTime) { node.lease_until < self.now } else { node.buried }
    }

    fn claim(&mut self, node: NodeId, at_most: usize) -> Answer {
        let Some(labels) = self.nodes.get(&node).map(|row| row.labels.clone()) else {
            return Answer::Claimed(Vec::new());
        };
        let free = |cell: &Cell| {
            let owner = cell.owner.and_then(|owner| self.nodes.get(&owner));
            let gone = owner.is_none_or(|owner| self.is_gone(owner));
            (gone || cell.offered_to == Some(node))
                && cell.label.as_ref().is_none_or(|label| labels.contains(label))
        };
        let mut free: Vec<_> = self.cells.iter().filter(|(_, cell)| free(cell)).map(|(id, _)| *id).collect();
        free.sort_by_key(|id| crate::choices::splitmix64(id.0 ^ node.0.rotate_left(32)));
        free.truncate(at_most);
        let mut claimed = Vec::new();
        for id in free {
            let Some(cell) = self.cells.get_mut(&id) else { continue };
            (cell.owner, cell.offered_to, cell.epoch) = (Some(node), None, Epoch(cell.epoch.0 + 1));
            self.epochs.insert((id, cell.epoch), node);
            let (epoch, head, acceptance) = (cell.epoch, cell.head, Acceptance::default());
            claimed.push(Claimed { cell: id, epoch, head, acceptance });
        }
        Answer::Claimed(claimed)
    }

    /// Appends a batch; returns whether it was written.
    fn append(&mut self, part: &Part) -> bool {
        let Some(cell) = self.cells.get_mut(&part.cell) else { return false };
        let epoch = cell.epoch == part.epoch || self.sabotage == Some(Sabotage::NoEpoch);
        let head = cell.head == part.after || self.sabotage == Some(Sabotage::NoHead);
        if !epoch || !head {
            return false;
        }
        let number = part.after.batch.next();
        cell.head = Head { batch: number, link: part.link };
        let batch = Batch { number, link: part.link, epoch: part.epoch, landed_in: cell.epoch };
        self.log.entry(part.cell).or_default().push(batch);
        true
    }

    fn release(&mut self, node: NodeId, cell: CellId, epoch: Epoch, to: Option<NodeId>) -> Answer {
        let Some(row) = self.cells.get_mut(&cell) else { return Answer::Refused };
        if row.owner != Some(node) || row.epoch != epoch {
            return Answer::Refused;
        }
        row.offered_to = to;
        row.owner = row.owner.filter(|_| to.is_some());
        Answer::Done
    }

    /// Binds a cell without a label to its owner's label; returns whether it did.
    pub fn bind(&mut self, node: NodeId, cell: CellId, label: Label) -> bool {
        let owned = |row: &&mut Cell| row.owner == Some(node) && row.offered_to.is_none();
        let row = self.cells.get_mut(&cell).filter(|row| owned(row) && row.label.is_none());
        row.map(|row| row.label = Some(label)).is_some()
    }

    fn leave(&mut self, node: NodeId) -> Option<Answer> {
        let Some(row) = self.nodes.get_mut(&node) else { return Some(Answer::Done) };
        if row.renewal.is_some() {
            return None;
        }
        row.buried = true;
        Some(Answer::Done)
    }

    fn wall(&self) -> Wall {
        Wall(i64::try_from(self.now).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: CellId = CellId(1);

    fn owned() -> (Db, NodeId) {
        let mut db = Db::new(Spans { lease: 10, grace: 2 }, [CELL], None);
        db.execute(&Statement::Register { labels: Vec::new() });
        db.execute(&Statement::Claim { node: NodeId(1), at_most: 1 });
        (db, NodeId(1))
    }

    fn append(db: &mut Db, epoch: u64, after: u64, link: u8) -> Option<Answer> {
        let link_of = |number: u64| Link([u8::try_from(number).unwrap_or(0); 32]);
        let after = Head { batch: BatchNumber(after), link: link_of(after) };
        let part = Part { cell: CELL, epoch: Epoch(epoch), after, link: Link([link; 32]) };
        db.execute(&Statement::Append { parts: vec![part] })
    }

    #[test]
    fn an_append_names_the_epoch_and_the_head() {
        let (mut db, _) = owned();
        let (yes, no) =
            (Some(Answer::Appended { landed: vec![CELL] }), Some(Answer::Appended { landed: vec![] }));
        assert_eq!(append(&mut db, 0, 0, 1), no);
        assert_eq!(append(&mut db, 1, 0, 1), yes);
        assert_eq!(append(&mut db, 1, 0, 2), no);
        assert_eq!(append(&mut db, 1, 1, 2), yes);
        assert_eq!(db.log[&CELL].len(), 2);
    }

    #[test]
    fn a_burial_waits_for_a_renewal_and_looks_again() {
        let (mut db, node) = owned();
        db.now = 9;
        assert_eq!(db.begin_renewal(node), Some(None));
        db.now = 13;
        let poll = Statement::Poll { node: NodeId(2), bury: true };
        assert_eq!(db.execute(&poll), None, "it waits for the row");
        db.commit_renewal(node);
        let Some(Answer::Polled(poll)) = db.execute(&poll) else { panic!("an answer") };
        assert_eq!(poll.nodes.len(), 1);
        assert_eq!(db.nodes[&node].lease_until, 19);
    }

    #[test]
    fn who_is_buried_stays_so() {
        let (mut db, node) = owned();
        db.now = 13;
        db.execute(&Statement::Poll { node: NodeId(2), bury: true });
        assert_eq!(db.execute(&Statement::Renew { node }), Some(Answer::Refused));
        db.execute(&Statement::Register { labels: Vec::new() });
        let claimed = db.execute(&Statement::Claim { node: NodeId(2), at_most: 1 });
        assert!(matches!(claimed, Some(Answer::Claimed(cells)) if cells[0].epoch == Epoch(2)));
        assert_eq!(append(&mut db, 1, 0, 1), Some(Answer::Appended { landed: vec![] }));
    }

    #[test]
    fn a_lease_that_is_over_is_not_renewed() {
        let (mut db, node) = owned();
        db.now = 10;
        assert_eq!(db.execute(&Statement::Renew { node }), Some(Answer::Refused));
    }
}
