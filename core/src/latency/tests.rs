use alloc::vec::Vec;

use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::model::FailureKind;
use holon_facts::record::Record;
use holon_facts::time::Millis;

use super::*;
use crate::testing::{World, agent, answers, calls, context, fails, prompt, tool_answers};

fn sum(turn: &TurnLatency) -> u64 {
    turn.parts.all().iter().map(|part| part.0).sum()
}

/// Of every turn in a log of one agent.
fn turns(log: &[Record]) -> Vec<TurnLatency> {
    let mut admitted = Vec::new();
    let mut found = Vec::new();
    let mut clock: Option<TurnClock> = None;
    for record in log {
        if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
            admitted.push((fact.message.id, record.at));
        }
        if let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event {
            let at = admitted.iter().find(|(id, _)| *id == fact.message_id).map(|(_, at)| *at);
            clock = TurnClock::new(at.unwrap_or(record.at), record);
        } else if let Some(clock) = &mut clock {
            clock.step(record);
        }
        if let Event::Turn(TurnFact::TurnTerminal(_)) = &record.event {
            found.extend(clock.take().map(TurnClock::finish));
        }
    }
    found.extend(clock.map(TurnClock::finish));
    found
}

#[test]
fn parts_of_each_turn_add_up_to_its_total() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("one"));
    world.admit("main", prompt("two"));
    world.pass(Millis(30));
    world.complete("main", context());
    world.pass(Millis(500));
    world.complete("main", fails(FailureKind::Server));
    world.pass_to_deadline();
    world.pass(Millis(400));
    world.complete("main", calls(&[("c1", "ApplyPatch", r#"{"patch":"x"}"#)]));
    world.pass(Millis(70));
    world.complete("main", tool_answers("done"));
    world.pass(Millis(20));
    world.complete("main", answers("done"));
    world.complete("main", context());
    world.complete("main", answers("done"));
    let turns = turns(&world.log);
    assert_eq!(turns.len(), 2);
    for turn in &turns {
        assert_eq!(sum(turn), turn.total_ms.0, "{turn:?}");
    }
    let first = &turns[0];
    assert_eq!((first.parts.queue_wait_ms, first.parts.context_build_ms), (Millis(0), Millis(30)));
    assert_eq!(first.parts.tool_ms, Millis(70));
    assert!(first.parts.backoff_ms > Millis(0), "{first:?}");
    let attempts: Vec<(u32, bool)> = first.rounds.iter().map(|one| (one.attempts, one.answered)).collect();
    assert_eq!(attempts, [(2, true), (1, true)]);
    assert_eq!(first.rounds[0].backoff_ms, first.parts.backoff_ms);
    let calls: Vec<(&str, Millis)> = first.tools.iter().map(|one| (one.tool.as_str(), one.ms)).collect();
    assert_eq!(calls, [("ApplyPatch", Millis(70))]);
    // The second prompt waited for the end of the first turn.
    assert_eq!(turns[1].parts.queue_wait_ms, first.total_ms);
    let many = LatencyQuantiles::of(&turns);
    assert_eq!((many.turns, many.total_ms.max), (2, turns[0].total_ms.max(turns[1].total_ms)));
}

#[test]
fn a_turn_that_is_cut_off_or_goes_on_adds_up_too() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("one"));
    world.complete("main", context());
    world.pass(Millis(200));
    world.crash();
    world.pass(Millis(1_000));
    world.complete("main", context());
    world.pass(Millis(40));
    let turns = turns(&world.log);
    let [cut, goes_on] = &turns[..] else { panic!("{turns:?}") };
    assert_eq!((sum(cut), sum(goes_on)), (cut.total_ms.0, goes_on.total_ms.0));
    assert!(cut.end.is_some() && goes_on.end.is_none());
    assert_eq!(cut.parts.provider_ms, Millis(0), "nobody knows how long the request went on");
    assert_eq!(LatencyQuantiles::of(&turns).turns, 1);
    assert!(world.agent("main").run.is_some() && agent("main") == world.agent("main").id);
}

#[test]
fn quantiles_are_values_that_there_were() {
    let of = |values: &[u64]| Quantiles::of(values.iter().copied().map(Millis));
    assert_eq!(of(&[]), Quantiles::default());
    assert_eq!(of(&[7]), Quantiles { p50: Millis(7), p90: Millis(7), max: Millis(7) });
    let ten: Vec<u64> = (1..=10).rev().collect();
    assert_eq!(of(&ten), Quantiles { p50: Millis(5), p90: Millis(9), max: Millis(10) });
}

#[test]
fn kinds_that_are_read_are_kinds_that_there_are() {
    let kinds: Vec<&str> = Event::kinds().map(|(kind, _)| kind).collect();
    assert!(TurnClock::KINDS.iter().all(|kind| kinds.contains(kind)));
}
