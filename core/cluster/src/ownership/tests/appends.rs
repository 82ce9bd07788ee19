//! Appends, and what becomes of them.

use super::*;
use crate::{Dropped, Refusal, Standing, Stopped};

const THROUGH_12: Ask = Ask::Durable { cell: CELL, epoch: Epoch(5), through: BatchNumber(12) };

#[test]
fn one_batch_of_a_cell_is_on_its_way() {
    let mut node = Node::serving();
    node.append(12, 3);
    node.append(13, 4);
    let part = Part { cell: CELL, epoch: Epoch(5), after: head(11, 2), link: link(3) };
    assert_eq!(node.parts(0), [part]);
    assert!(!node.is_open(Slot::Append(1)));
    node.append(14, 5);
    let refused = Ask::Refused { cell: CELL, epoch: Epoch(5), batch: BatchNumber(14), why: Refusal::Full };
    assert!(node.asked().contains(&refused));
    assert_eq!(node.machine.next_batch(CELL), None);
    node.answer(Slot::Append(0), landed());
    assert!(node.asked().contains(&THROUGH_12));
    assert_eq!((node.parts(0)[0].after, node.parts(0)[0].link), (head(12, 3), link(4)));
}

#[test]
fn cells_that_are_ready_together_share_a_statement() {
    let mut node = Node::registered();
    let cells: Vec<_> = (1..=4).map(|cell| CellRow { cell: CellId(cell), ..cell_row(None, 1) }).collect();
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells });
    let claims = (1..=4).map(|cell| claim(cell, 2));
    node.answer(Slot::Claim, Answer::Claimed(claims.collect()));
    for cell in 1..=4 {
        let (cell, batch) = (CellId(cell), BatchNumber(11));
        node.input(Input::Append { cell, epoch: Epoch(2), batch, link: link(2) });
    }
    assert_eq!((node.parts(0).len(), node.parts(1).len()), (1, 1), "two connections");
    node.answer(Slot::Append(1), Answer::Appended { landed: [CellId(2)].into() });
    let sent: Vec<_> = node.parts(1).iter().map(|part| part.cell.0).collect();
    assert_eq!(sent, [3, 4]);
    // A rule was broken by one of them: each goes by itself, and the one with the defect stops.
    node.answer(Slot::Append(1), Answer::RolledBack { defect: true });
    assert_eq!(node.parts(1).iter().map(|part| part.cell.0).collect::<Vec<_>>(), [3]);
    node.answer(Slot::Append(1), Answer::RolledBack { defect: true });
    assert_eq!(node.machine.standing(CellId(3)), Standing::Stopped(Stopped::Defect));
    node.answer(Slot::Append(1), Answer::Appended { landed: [CellId(4)].into() });
    assert_eq!(node.machine.standing(CellId(4)), Standing::Serving);
}

#[test]
fn an_unknown_outcome_is_settled_before_anything_else_of_the_cell_leaves() {
    let mut node = Node::serving();
    node.append(12, 3);
    node.append(13, 4);
    node.no_answer(Slot::Append(0));
    assert!(!node.is_open(Slot::Settle(CELL)) && !node.is_open(Slot::Append(0)), "a moment later");
    node.at(5);
    assert!(!node.is_open(Slot::Append(0)));
    node.answer(Slot::Settle(CELL), Answer::Settled { epoch: Epoch(5), head: head(11, 2) });
    assert_eq!((node.parts(0)[0].after, node.parts(0)[0].link), (head(11, 2), link(3)), "the same batch");
    // The lost statement was executed between the look and the repetition.
    node.answer(Slot::Append(0), Answer::Appended { landed: Vec::new() });
    node.answer(Slot::Settle(CELL), Answer::Settled { epoch: Epoch(5), head: head(12, 3) });
    assert!(node.asked().contains(&THROUGH_12));
    assert_eq!(node.parts(0)[0].link, link(4));
}

#[test]
fn a_batch_that_landed_before_another_epoch_has_no_effects_here() {
    let mut node = Node::serving();
    node.append(12, 3);
    node.no_answer(Slot::Append(0));
    node.at(5);
    node.asks.clear();
    node.answer(Slot::Settle(CELL), Answer::Settled { epoch: Epoch(6), head: head(12, 3) });
    let why = Dropped::Fenced { own: Epoch(5), found: Epoch(6) };
    assert_eq!(node.asked(), [Ask::DropCell { cell: CELL, epoch: Epoch(5), why }]);
}

#[test]
fn an_append_that_is_never_answered_is_given_up_and_not_cancelled() {
    let mut node = Node::serving();
    node.append(12, 3);
    let id = node.open.iter().find(|(id, _)| id.slot == Slot::Append(0)).unwrap().0;
    node.renewing_until(200);
    assert!(node.asked().contains(&Ask::Abandon { id }));
    node.renewing_until(205);
    assert!(node.is_open(Slot::Settle(CELL)));
    node.asks.clear();
    node.input(Input::Answer { ask: id, answer: landed() });
    assert_eq!(node.asked(), [], "its answer comes too late; the row decides");
    // A look that gets no answer is made again.
    node.no_answer(Slot::Settle(CELL));
    node.renewing_until(215);
    node.answer(Slot::Settle(CELL), Answer::Settled { epoch: Epoch(5), head: head(12, 3) });
    assert!(node.asked().contains(&THROUGH_12));
}

#[test]
fn a_rolled_back_statement_goes_again_a_little_later() {
    let mut node = Node::serving();
    node.append(12, 3);
    node.answer(Slot::Append(0), Answer::RolledBack { defect: false });
    assert!(!node.is_open(Slot::Append(0)));
    assert_eq!(node.machine.next_deadline(), Some(Mono(5)));
    node.at(5);
    assert_eq!(node.parts(0)[0].link, link(3));
}

#[test]
fn refusals_at_the_expected_head_stop_the_cell() {
    let mut node = Node::serving();
    node.append(12, 3);
    for _ in 0..2 {
        node.answer(Slot::Append(0), Answer::Appended { landed: Vec::new() });
        node.answer(Slot::Settle(CELL), Answer::Settled { epoch: Epoch(5), head: head(11, 2) });
    }
    let why = Stopped::Conflict { expected: head(11, 2), found: head(11, 2) };
    assert_eq!(node.machine.standing(CELL), Standing::Stopped(why));
}

#[test]
fn a_batch_of_an_older_host_is_refused() {
    let mut node = Node::serving();
    node.input(Input::Append { cell: CELL, epoch: Epoch(4), batch: BatchNumber(12), link: link(9) });
    let why = Refusal::NotOwner;
    assert_eq!(node.asked(), [Ask::Refused { cell: CELL, epoch: Epoch(4), batch: BatchNumber(12), why }]);
}
