//! Moves, drains, the end.

use super::*;
use crate::{Dropped, Standing};

const DROPPED: Ask = Ask::DropCell { cell: CELL, epoch: Epoch(5), why: Dropped::HandedOver };

fn release(to: Option<NodeId>) -> Statement {
    Statement::Release { node: NODE, cell: CELL, epoch: Epoch(5), to }
}

fn asks_for(node: &Node, statement: &Statement) -> bool {
    node.open.iter().any(|(_, open)| open == statement)
}

#[test]
fn a_move_waits_for_the_last_batch() {
    let mut node = Node::serving();
    node.input(Input::Move { cell: CELL, to: OTHER });
    assert_eq!(node.asked(), [Ask::DrainCell { cell: CELL, epoch: Epoch(5), until: Mono(500) }]);
    node.append(12, 3);
    node.input(Input::Drained { cell: CELL, epoch: Epoch(5) });
    assert_eq!(node.machine.effects_until(CELL), None);
    assert!(!node.is_open(Slot::Release(CELL)));
    node.append(13, 4);
    assert!(matches!(node.asked()[..], [Ask::Query { .. }, Ask::Refused { .. }]), "that was the last");
    node.answer(Slot::Append(0), landed());
    assert!(asks_for(&node, &release(Some(OTHER))));
    node.asks.clear();
    node.answer(Slot::Release(CELL), Answer::Done);
    assert_eq!(node.asked(), [DROPPED]);
    assert_eq!(node.machine.standing(CELL), Standing::Leaving);
    node.machine.poll_at = Mono(0);
    node.at(1);
    let nodes: Vec<_> = [node_row(NODE), node_row(OTHER)].into();
    node.polled(Poll { nodes, cells: [cell_row(Some(OTHER), 6)].into() });
    assert_eq!(node.machine.standing(CELL), Standing::NotOwned);
}

#[test]
fn a_cell_that_nobody_is_to_own_is_released_to_nobody() {
    let mut node = Node::serving();
    node.input(Input::Release { cell: CELL });
    assert_eq!(node.asked(), [Ask::DrainCell { cell: CELL, epoch: Epoch(5), until: Mono(500) }]);
    node.input(Input::Drained { cell: CELL, epoch: Epoch(5) });
    assert!(asks_for(&node, &release(None)));
    node.asks.clear();
    node.answer(Slot::Release(CELL), Answer::Done);
    assert_eq!(node.asked(), [DROPPED]);
    assert_eq!(node.machine.standing(CELL), Standing::NotOwned);
}

#[test]
fn an_offer_that_nobody_takes_is_for_everybody() {
    let mut node = Node::serving();
    node.input(Input::Move { cell: CELL, to: OTHER });
    node.input(Input::Drained { cell: CELL, epoch: Epoch(5) });
    node.answer(Slot::Release(CELL), Answer::Done);
    node.renewing_until(50);
    assert!(asks_for(&node, &release(None)));
    node.answer(Slot::Release(CELL), Answer::Done);
    assert_eq!(node.machine.standing(CELL), Standing::NotOwned);
    assert_eq!(node.asked().iter().filter(|ask| matches!(ask, Ask::DropCell { .. })).count(), 1);
}

#[test]
fn a_release_without_an_answer_is_asked_again() {
    let mut node = Node::serving();
    node.input(Input::Move { cell: CELL, to: OTHER });
    node.input(Input::Drained { cell: CELL, epoch: Epoch(5) });
    node.no_answer(Slot::Release(CELL));
    node.at(5);
    assert!(asks_for(&node, &release(Some(OTHER))));
    node.asks.clear();
    // The first one was executed, and the other node has claimed the cell since.
    node.answer(Slot::Release(CELL), Answer::Refused);
    assert_eq!(node.asked(), [DROPPED]);
}

#[test]
fn a_host_that_does_not_end_is_released_all_the_same() {
    let mut node = Node::serving();
    node.input(Input::Drain);
    node.renewing_until(500);
    assert!(asks_for(&node, &release(None)));
    assert!(node.is_open(Slot::Draining));
}

#[test]
fn a_node_that_drains_claims_nothing() {
    let mut node = Node::registered();
    node.input(Input::Drain);
    assert!(asks_for(&node, &Statement::MarkDraining { node: NODE }));
    node.no_answer(Slot::Draining);
    node.at(5);
    node.answer(Slot::Draining, Answer::Done);
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 4)].into() });
    assert!(!node.is_open(Slot::Claim) && !node.is_open(Slot::Draining));
}

#[test]
fn a_claim_that_a_drain_overtakes_is_given_back() {
    let mut node = Node::registered();
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 4)].into() });
    node.input(Input::Drain);
    node.asks.clear();
    node.answer(Slot::Claim, claimed(5));
    assert!(asks_for(&node, &release(None)));
    assert!(!node.asked().iter().any(|ask| matches!(ask, Ask::TakeOver { .. })));
}

#[test]
fn a_stop_hands_over_buries_and_ends() {
    let mut node = Node::serving();
    node.input(Input::Stop);
    assert!(!node.is_open(Slot::Leave));
    node.input(Input::Drained { cell: CELL, epoch: Epoch(5) });
    node.answer(Slot::Release(CELL), Answer::Done);
    assert!(node.asked().contains(&DROPPED));
    node.no_answer(Slot::Leave);
    node.at(5);
    node.answer(Slot::Leave, Answer::Done);
    assert!(node.asked().ends_with(&[Ask::Ended]));
    assert_eq!((node.machine.next_deadline(), node.machine.node()), (None, None));
}

#[test]
fn a_stop_without_a_database_ends_with_the_lease() {
    let mut node = Node::serving();
    node.input(Input::Stop);
    let mut steps = 0;
    while let Some(at) = node.machine.next_deadline() {
        node.at(at.0);
        steps += 1;
        assert!(steps < 100, "it never ends");
    }
    assert_eq!(node.now, 90);
    assert!(node.asked().ends_with(&[Ask::Ended]));
}

#[test]
fn a_cell_goes_to_a_node_that_has_too_few() {
    let mut node = Node::registered();
    let rows = |owner: Option<NodeId>, epoch| {
        (1..=4).map(move |cell| CellRow { cell: CellId(cell), ..cell_row(owner, epoch) }).collect::<Vec<_>>()
    };
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells: rows(None, 1) });
    let claims = (1..=4).map(|cell| claim(cell, 2));
    node.answer(Slot::Claim, Answer::Claimed(claims.collect()));
    for cell in 1..=4 {
        let (cell, batch) = (CellId(cell), BatchNumber(11));
        node.input(Input::Append { cell, epoch: Epoch(2), batch, link: link(2) });
        node.answer(Slot::Append(0), Answer::Appended { landed: [cell].into() });
        node.now += 1;
    }
    node.asks.clear();
    node.machine.poll_at = Mono(0);
    node.at(10);
    node.polled(Poll { nodes: [node_row(NODE), node_row(OTHER)].into(), cells: rows(Some(NODE), 2) });
    let drained = Ask::DrainCell { cell: CellId(1), epoch: Epoch(2), until: Mono(510) };
    assert!(node.asked().contains(&drained), "the one that has been quiet for longest");
    node.machine.poll_at = Mono(0);
    node.at(11);
    node.polled(Poll { nodes: [node_row(NODE), node_row(OTHER)].into(), cells: rows(Some(NODE), 2) });
    assert!(!node.asked().iter().any(|ask| matches!(ask, Ask::DrainCell { .. })), "one at a time");
}
