//! Leases, burials, claims.

use super::*;
use crate::{Dropped, Standing, Stopped};

#[test]
fn effects_end_before_the_lease_counted_from_before_it_was_sent() {
    let mut node = Node::new(terms());
    node.now = 20;
    node.answer(Slot::Lease, Answer::Registered { node: NODE, wall: Wall(1_000) });
    assert!(node.asked().contains(&Ask::Effects { until: Mono(90) }), "sent at 0, 100 less 10");
    node.at(30);
    let renewal = node.take(Slot::Lease);
    node.at(54);
    node.input(Input::Answer { ask: renewal, answer: Answer::Renewed { wall: Wall(1_040) } });
    assert!(node.asked().contains(&Ask::Effects { until: Mono(120) }), "sent at 30");
    assert_eq!(node.machine.wall(Mono(54)), Some(Wall(1_052)), "the database read its clock at 42");
}

#[test]
fn effects_are_held_while_the_lease_can_not_be_proven() {
    let mut node = Node::serving();
    assert_eq!(node.machine.effects_until(CELL), Some(Mono(90)));
    node.at(30);
    let first = node.take(Slot::Lease);
    node.at(55);
    assert!(node.asked().contains(&Ask::Abandon { id: first }), "no answer for 25");
    for at in [60, 85, 90] {
        node.at(at);
    }
    assert_eq!(node.asked().iter().filter(|ask| **ask == Ask::HoldEffects).count(), 1);
    assert_eq!(node.machine.effects_until(CELL), Some(Mono(90)));
    // The lease had not ended by the database's clock when the renewal came: nobody has claimed anything.
    let second = node.take(Slot::Lease);
    node.input(Input::Answer { ask: second, answer: Answer::Renewed { wall: Wall(2_000) } });
    assert!(node.asked().contains(&Ask::Effects { until: Mono(second.sent.0 + 90) }));
    assert_eq!(node.machine.standing(CELL), Standing::Serving);
}

#[test]
fn a_node_without_a_lease_owns_nothing_and_goes_on_as_another() {
    let mut node = Node::serving();
    node.append(12, 3);
    node.at(30);
    node.answer(Slot::Lease, Answer::Refused);
    let asked = node.asked();
    let dropped = Ask::DropCell { cell: CELL, epoch: Epoch(5), why: Dropped::LeaseLost };
    let position = |ask: &Ask| asked.iter().position(|one| one == ask).expect("it was asked");
    assert!(position(&Ask::HoldEffects) < position(&dropped));
    let abandoned =
        asked.iter().filter(|ask| matches!(ask, Ask::Abandon { id } if id.slot == Slot::Append(0)));
    assert_eq!(abandoned.count(), 1);
    assert_eq!((node.machine.node(), node.machine.effects_until(CELL)), (None, None));
    let registers = Statement::Register { labels: Vec::new() };
    assert!(node.open.iter().any(|(_, statement)| *statement == registers));
    node.answer(Slot::Lease, Answer::Registered { node: OTHER, wall: Wall(0) });
    assert_eq!(node.machine.node(), Some(OTHER));
}

#[test]
fn only_who_has_just_renewed_buries_and_claims() {
    let mut node = Node::registered();
    let buries = |node: &Node| {
        node.open.iter().any(|(_, statement)| matches!(statement, Statement::Poll { bury: true, .. }))
    };
    assert!(buries(&node));
    node.now = 20;
    node.no_answer(Slot::Poll);
    node.at(25);
    assert!(buries(&node));
    let free = Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 4)].into() };
    node.now = 41;
    node.polled(free.clone());
    assert!(!node.is_open(Slot::Claim), "its last renewal was sent 41 ago");
    node.answer(Slot::Lease, Answer::Renewed { wall: Wall(0) });
    node.machine.poll_at = Mono(0);
    node.at(42);
    node.polled(free);
    assert!(node.is_open(Slot::Claim));
}

#[test]
fn a_cell_serves_once_its_first_batch_is_in_the_log() {
    let mut node = Node::taking_over();
    let take_over =
        Ask::TakeOver { cell: CELL, epoch: Epoch(5), head: head(10, 1), acceptance: Acceptance(0) };
    assert!(node.asked().contains(&take_over));
    assert_eq!(node.machine.effects_until(CELL), None, "not before it has written something");
    node.append(11, 2);
    assert_eq!(node.machine.effects_until(CELL), None);
    node.answer(Slot::Append(0), landed());
    let durable = Ask::Durable { cell: CELL, epoch: Epoch(5), through: BatchNumber(11) };
    assert!(node.asked().ends_with(&[durable, Ask::Serve { cell: CELL, epoch: Epoch(5) }]));
    assert_eq!(node.machine.effects_until(CELL), Some(Mono(90)));
}

#[test]
fn a_claim_whose_answer_was_lost_is_seen_by_the_next_look() {
    let mut node = Node::registered();
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 4)].into() });
    let claim = node.take(Slot::Claim);
    node.input(Input::NoAnswer { ask: claim });
    node.machine.poll_at = Mono(0);
    node.at(6);
    let mine = Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(Some(NODE), 5)].into() };
    node.polled(mine.clone());
    assert_eq!(node.machine.standing(CELL), Standing::TakingOver);
    node.asks.clear();
    node.input(Input::Answer { ask: claim, answer: claimed(5) });
    node.machine.poll_at = Mono(0);
    node.at(7);
    node.polled(mine);
    assert!(!node.asked().iter().any(|ask| matches!(ask, Ask::TakeOver { .. })), "once");
}

#[test]
fn a_look_from_before_takes_nothing_back_and_a_later_epoch_takes_the_cell() {
    let mut node = Node::serving();
    let look = |node: &mut Node, row| {
        node.machine.poll_at = Mono(0);
        node.at(node.now + 1);
        node.polled(Poll { nodes: [node_row(NODE), node_row(OTHER)].into(), cells: [row].into() });
    };
    look(&mut node, cell_row(Some(OTHER), 4));
    assert_eq!(node.machine.standing(CELL), Standing::Serving);
    look(&mut node, cell_row(Some(OTHER), 6));
    let why = Dropped::Fenced { own: Epoch(5), found: Epoch(6) };
    assert!(node.asked().contains(&Ask::DropCell { cell: CELL, epoch: Epoch(5), why }));
    assert_eq!(node.machine.route(CELL), Some(OTHER));
    look(&mut node, cell_row(Some(NODE), 5));
    assert_eq!(node.machine.standing(CELL), Standing::NotOwned, "an epoch of its own that is over");
}

#[test]
fn a_head_behind_the_remembered_one_stops_the_cell_until_it_is_accepted() {
    let mut node = Node::serving();
    let look = |node: &mut Node, row| {
        node.machine.poll_at = Mono(0);
        node.at(node.now + 1);
        node.polled(Poll { nodes: [node_row(NODE), node_row(OTHER)].into(), cells: [row].into() });
    };
    look(&mut node, cell_row(Some(OTHER), 6));
    let free = Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 6)].into() };
    node.machine.poll_at = Mono(0);
    node.at(3);
    node.polled(free);
    node.answer(Slot::Claim, claimed(7));
    let why = Stopped::HistoryLost { remembered: head(11, 2), found: head(10, 1) };
    assert_eq!(node.machine.standing(CELL), Standing::Stopped(why));
    assert!(node.asked().contains(&Ask::StopCell { cell: CELL, epoch: Epoch(7), why }));
    node.append(11, 2);
    assert!(matches!(node.asked()[..], [Ask::Refused { .. }]));

    node.input(Input::Accept { cell: CELL });
    node.answer(Slot::Release(CELL), Answer::Done);
    node.machine.poll_at = Mono(0);
    node.at(4);
    node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, 7)].into() });
    node.answer(Slot::Claim, claimed(8));
    assert_eq!(node.machine.standing(CELL), Standing::TakingOver);
}

#[test]
fn a_loss_that_was_accepted_holds_for_every_node_and_a_later_one_does_not() {
    let claims = |remembered: u64, accepted: u64| {
        let mut node = Node::registered();
        let mut claims = |epoch: u64, claim: Claimed| {
            node.machine.poll_at = Mono(0);
            node.at(node.now + 1);
            node.polled(Poll { nodes: [node_row(NODE)].into(), cells: [cell_row(None, epoch)].into() });
            node.answer(Slot::Claim, Answer::Claimed([claim].into()));
            let standing = node.machine.standing(CELL);
            node.machine.drop_cell(CELL, Dropped::HandedOver, &mut Vec::new());
            standing
        };
        let before = Claimed { head: head(11, 2), acceptance: Acceptance(remembered), ..claim(CELL.0, 5) };
        assert_eq!(claims(4, before), Standing::TakingOver);
        claims(6, Claimed { acceptance: Acceptance(accepted), ..claim(CELL.0, 7) })
    };
    assert_eq!(claims(3, 4), Standing::TakingOver, "it was accepted while another node owned the cell");
    let why = Stopped::HistoryLost { remembered: head(11, 2), found: head(10, 1) };
    assert_eq!(claims(3, 3), Standing::Stopped(why), "what is lost since");
    assert_eq!(claims(3, 2), Standing::Stopped(why), "the database is back before it was accepted");
}

#[test]
fn a_host_that_never_comes_up_gives_the_cell_back() {
    let mut node = Node::taking_over();
    node.renewing_until(1_000);
    let why = Dropped::TookTooLong;
    assert!(node.asked().contains(&Ask::DropCell { cell: CELL, epoch: Epoch(5), why }));
    node.answer(Slot::Release(CELL), Answer::Done);
    assert_eq!(node.machine.standing(CELL), Standing::NotOwned);
}
