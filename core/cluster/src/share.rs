//! Who gets how many cells.

use alloc::collections::BTreeMap;

use crate::ids::{CellId, Label, NodeId};
use crate::input::{CellRow, NodeRow, Poll};

/// Nodes of one label (or of none) and the free cells that ask for it.
#[derive(Default)]
struct Group {
    nodes: usize,
    free: usize,
}

/// Cells to claim now: of those that are free a part, rounded up, and those that are offered to this node.
pub(crate) fn to_claim(poll: &Poll, node: NodeId, labels: &[Label]) -> usize {
    let takes = |row: &NodeRow, label: &Label| !row.draining && row.labels.contains(label);
    let mut groups: BTreeMap<Option<&Label>, Group> = BTreeMap::new();
    let mut offered = 0;
    for row in poll.cells.iter().filter(|row| row.label.as_ref().is_none_or(|label| labels.contains(label))) {
        if row.offered_to == Some(node) {
            offered += 1;
        } else if is_free(poll, row) {
            groups.entry(row.label.as_ref()).or_default().free += 1;
        }
    }
    for (label, group) in &mut groups {
        let nodes = poll.nodes.iter();
        group.nodes = match label {
            Some(label) => nodes.filter(|row| takes(row, label)).count(),
            None => nodes.filter(|row| !row.draining).count(),
        };
    }
    // A node that the look does not show yet counts itself.
    let parts = groups.values().map(|group| group.free.div_ceil(group.nodes.max(1)));
    parts.sum::<usize>() + offered
}

/// Of nobody, or of a node that is buried; one that is offered to somebody waits for them while its owner lives.
fn is_free(poll: &Poll, row: &CellRow) -> bool {
    row.owner.is_none_or(|owner| !poll.nodes.iter().any(|node| node.node == owner))
}

/// The node that should get a cell of this one, which has more than a fifth above its part: the one with the fewest of those
/// that may own any of the cells that it serves.
pub(crate) fn lighter(poll: &Poll, node: NodeId, served: &[CellId]) -> Option<NodeId> {
    let takes = |row: &NodeRow| row.node == node || served.iter().any(|cell| may_own(poll, row.node, *cell));
    let takers = poll.nodes.iter().filter(|row| !row.draining && takes(row));
    let mut owned: BTreeMap<NodeId, usize> = takers.map(|row| (row.node, 0)).collect();
    for owner in poll.cells.iter().filter_map(|row| row.offered_to.or(row.owner)) {
        if let Some(cells) = owned.get_mut(&owner) {
            *cells += 1;
        }
    }
    let mine = *owned.get(&node)?;
    let fair = owned.values().sum::<usize>().div_ceil(owned.len());
    let (least, cells) = owned.iter().min_by_key(|(_, cells)| **cells)?;
    let heavy = mine.saturating_mul(5) > fair.saturating_mul(6);
    (heavy && mine >= cells + 2).then_some(*least)
}

/// Whether a node may own a cell with this label.
pub(crate) fn may_own(poll: &Poll, node: NodeId, cell: CellId) -> bool {
    let Some(row) = poll.cells.iter().find(|row| row.cell == cell) else { return false };
    let labels = poll.nodes.iter().find(|row| row.node == node).map(|row| &row.labels);
    row.label.as_ref().is_none_or(|label| labels.is_some_and(|labels| labels.contains(label)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::tests::head;
    use crate::ids::{Acceptance, Epoch};

    fn node(node: u64, labels: &[&str]) -> NodeRow {
        let labels = labels.iter().map(|label| Label((*label).into())).collect();
        NodeRow { node: NodeId(node), draining: false, labels }
    }

    fn cell(cell: u64, owner: Option<u64>, label: Option<&str>) -> CellRow {
        let (cell, owner, label) = (CellId(cell), owner.map(NodeId), label.map(|label| Label(label.into())));
        let (epoch, acceptance) = (Epoch(1), Acceptance(0));
        CellRow { cell, owner, offered_to: None, epoch, head: head(0, 0), acceptance, label }
    }

    fn claim(poll: &Poll, node: u64, labels: &[&str]) -> usize {
        let labels: alloc::vec::Vec<Label> = labels.iter().map(|label| Label((*label).into())).collect();
        to_claim(poll, NodeId(node), &labels)
    }

    #[test]
    fn free_cells_are_shared_among_the_living() {
        let cells = (0..7).map(|at| cell(at, if at < 5 { None } else { Some(9) }, None)).collect();
        let mut poll = Poll { nodes: alloc::vec![node(1, &[]), node(2, &[])], cells };
        assert_eq!(claim(&poll, 1, &[]), 4, "half of five free and two of a buried node");
        poll.nodes[1].draining = true;
        assert_eq!(claim(&poll, 1, &[]), 7);
        poll.nodes.push(node(9, &[]));
        assert_eq!(claim(&poll, 1, &[]), 3);
    }

    #[test]
    fn a_label_is_shared_among_those_that_have_it() {
        let cells = (0..4).map(|at| cell(at, None, (at < 2).then_some("disk"))).collect();
        let poll = Poll { nodes: alloc::vec![node(1, &["disk"]), node(2, &[])], cells };
        assert_eq!((claim(&poll, 1, &["disk"]), claim(&poll, 2, &[])), (3, 1));
    }

    #[test]
    fn what_is_offered_is_taken_by_the_one_it_is_offered_to() {
        let mut poll = Poll {
            nodes: alloc::vec![node(1, &[]), node(2, &[])],
            cells: alloc::vec![cell(1, Some(1), None)],
        };
        poll.cells[0].offered_to = Some(NodeId(2));
        assert_eq!((claim(&poll, 1, &[]), claim(&poll, 2, &[])), (0, 1));
    }

    #[test]
    fn a_cell_moves_only_if_it_helps() {
        let poll = |owned: [usize; 2]| {
            let cells = (0..owned[0] + owned[1]).map(|at| {
                let owner = if at < owned[0] { 1 } else { 2 };
                cell(at as u64, Some(owner), None)
            });
            Poll { nodes: alloc::vec![node(1, &[]), node(2, &[])], cells: cells.collect() }
        };
        let of = |owned, node| lighter(&poll(owned), NodeId(node), &[CellId(0)]);
        assert_eq!(of([4, 0], 1), Some(NodeId(2)));
        assert_eq!(of([4, 0], 2), None);
        assert_eq!(of([1, 0], 1), None, "nothing would be better");
        assert_eq!(of([6, 5], 1), None);
        assert_eq!(of([12, 9], 1), None, "within a fifth");
        assert_eq!(of([14, 8], 1), Some(NodeId(2)));
    }

    #[test]
    fn a_node_that_may_own_none_of_the_cells_keeps_none_from_others() {
        let cells = (0..8).map(|at| cell(at, Some(1), Some("disk"))).collect();
        let nodes = alloc::vec![node(1, &["disk"]), node(2, &[]), node(3, &["disk"])];
        let mut poll = Poll { nodes, cells };
        let served: alloc::vec::Vec<CellId> = (0..8).map(CellId).collect();
        assert_eq!(lighter(&poll, NodeId(1), &served), Some(NodeId(3)));
        poll.cells[0].label = None;
        assert_eq!(lighter(&poll, NodeId(1), &served), Some(NodeId(2)), "it may own one");
        for row in &mut poll.cells[4..] {
            row.owner = Some(NodeId(3));
        }
        assert_eq!(lighter(&poll, NodeId(1), &served[1..4]), None, "the parts are those of two nodes");
    }
}
