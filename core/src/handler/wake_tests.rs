use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::decision::DecisionReason;
use holon_facts::event::{Event, InboxFact, WakeFact};
use holon_facts::hint::{Hint, SOURCES, SUBJECTS, WakeDisposition};
use holon_facts::ids::{ExternalTriggerId, WaitId};
use holon_facts::message::Origin;
use holon_facts::time::Millis;
use holon_facts::trigger::{Delivery, DeliveryMode};

use crate::agent::wake::is_tick;
use crate::effect::Answer;
use crate::handler::wait::tests::{EXTERNAL, item_waits, makes, waits};
use crate::handler::work::tests::idle;
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, context, long, prompt};

pub(super) fn hint(source: &str) -> Hint {
    Hint::new(source, "it moved")
}

pub(super) fn hint_with_text(source: &str) -> Hint {
    Hint { body: Some(Text::short("all passed")), ..hint(source) }
}

fn wakes(world: &mut World, hint: Hint) -> Answer {
    world.ask(|reply| Input::Wake { agent: agent("main"), hint, reply })
}

fn taken(world: &mut World, hint: Hint) -> WakeDisposition {
    let answer = wakes(world, hint);
    let Answer::Woken { disposition } = answer else { panic!("not taken: {answer:?}") };
    disposition
}

/// The answer to something that was sent to the address of a generation.
pub(super) fn delivers(world: &mut World, generation: u64, hint: Hint) -> Answer {
    let delivery = Delivery { generation, delivery_mode: DeliveryMode::WakeHint, hint };
    world.ask(|reply| Input::Deliver { agent: agent("main"), delivery, reply })
}

/// How many hints each tick told of, and whether the model had to look.
fn ticks(world: &World) -> Vec<(u64, bool)> {
    let delivered = world.log.iter().filter_map(|record| {
        let Event::Wake(WakeFact::WakeTickQueued(fact)) = &record.event else { return None };
        Some((fact.hints, fact.contentful))
    });
    delivered.collect()
}

pub(super) fn woken(world: &World) -> bool {
    let run = world.agent("main").run.as_ref();
    run.is_some_and(
        |run| matches!(&run.about.incoming.origin, Origin::System { subsystem } if subsystem == "wake_hint"),
    )
}

#[test]
fn a_bare_hint_wakes_no_model_and_one_that_says_something_does() {
    let mut world = World::with_agent("main");
    assert_eq!(taken(&mut world, hint("ci")), WakeDisposition::Triggered);
    assert!(world.agent("main").run.is_none());
    assert_eq!(ticks(&world), [(1, false)]);
    assert_eq!(taken(&mut world, hint_with_text("ci")), WakeDisposition::Triggered, "the first was told");
    assert!(woken(&world));
    world.complete("main", context());
    let shown = format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(
        shown.contains("[hint | class integration_signal")
            && shown.contains("source: ci\\nreason: it moved\\n"),
        "{shown}"
    );
    assert!(shown.contains("all passed"), "{shown}");
    world.complete("main", answers("seen"));
    assert_eq!(
        world.agent("main").hints.delivered_by(holon_facts::MessageId(2)).count(),
        0,
        "nothing is kept of it"
    );
}

#[test]
fn hints_of_a_turn_are_told_together_after_it_by_source() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    for (source, disposition) in [
        ("ci", WakeDisposition::Triggered),
        ("mail", WakeDisposition::Triggered),
        ("ci", WakeDisposition::Coalesced),
    ] {
        assert_eq!(taken(&mut world, hint_with_text(source)), disposition);
    }
    assert_eq!(
        taken(&mut world, hint("ci")),
        WakeDisposition::Coalesced,
        "one that says nothing takes nothing away"
    );
    assert!(ticks(&world).is_empty());
    world.crash();
    idle(&mut world);
    assert_eq!(ticks(&world), [(4, true)]);
    assert_eq!(world.agent("main").last_decision.as_ref().unwrap().row, 14);
}

#[test]
fn a_hint_that_is_waited_for_ends_the_wait_also_without_a_body() {
    let about = [
        hint("ci"),
        Hint { resource: Some("ci".into()), ..hint("other") },
        Hint { wait_id: Some(WaitId(1)), ..hint("other") },
    ];
    for hint in about {
        let mut world = item_waits(EXTERNAL);
        taken(&mut world, hint);
        assert!(woken(&world) && world.agent("main").active_waits().next().is_none());
    }
    let mut world = item_waits(EXTERNAL);
    taken(&mut world, hint("other"));
    assert!(world.agent("main").run.is_none() && world.agent("main").active_waits().count() == 1);
    let mut world = waits(("WaitFor", r#"{"reason":"anything","wake":"external"}"#));
    taken(&mut world, Hint { external_trigger_id: Some(ExternalTriggerId(1)), ..hint("web") });
    assert!(!woken(&world), "it came through no trigger, whatever it says");
    delivers(&mut world, 1, hint("web"));
    assert!(woken(&world));
}

#[test]
fn a_delivery_names_a_wait_by_its_token_alone() {
    let mut world = item_waits(EXTERNAL);
    let named = |correlation: &str| Hint { correlation_id: Some(correlation.into()), ..hint("web") };
    delivers(&mut world, 1, Hint { wait_id: Some(WaitId(1)), ..named("wait_1") });
    assert_eq!(world.agent("main").active_waits().count(), 1);
    let token = world.agent("main").active_waits().next().and_then(|wait| wait.token.clone()).unwrap();
    world.admit("main", prompt("what do you wait for?"));
    delivers(&mut world, 1, named(&token));
    delivers(&mut world, 1, hint("web"));
    idle(&mut world);
    assert!(world.agent("main").active_waits().next().is_none(), "nor is it lost to a later one");
}

#[test]
fn what_was_hinted_in_the_turn_is_not_waited_for() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    taken(&mut world, hint_with_text("ci"));
    assert!(makes(&mut world, &[EXTERNAL]), "the turn goes on");
    let shown = format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(shown.contains("already_hinted") && shown.contains("all passed"), "{shown}");
    world.complete("main", answers("it passed"));
    assert!(ticks(&world).is_empty() && world.agent("main").run.is_none(), "it was told");
    // One that is too long for a result comes by its message.
    world.admit("main", prompt("again"));
    taken(&mut world, Hint { body: Some(long(7, 2_000)), ..hint("ci") });
    assert!(!makes(&mut world, &[EXTERNAL]));
    assert!(woken(&world) && world.agent("main").active_waits().next().is_none());
}

fn about(resource: &str) -> Hint {
    Hint { resource: Some(resource.into()), ..hint("events") }
}

/// Whoever sends them need not know who waits: callbacks share a source.
#[test]
fn a_hint_that_is_waited_for_is_not_lost_to_later_ones_of_its_source() {
    let later = [about("moon"), hint("events"), Hint { wait_id: Some(WaitId(7)), ..about("moon") }];
    for first in [about("ci"), Hint { wait_id: Some(WaitId(1)), ..about("build") }] {
        for second in later.clone() {
            let mut world = item_waits(EXTERNAL);
            world.admit("main", prompt("what do you wait for?"));
            taken(&mut world, first.clone());
            taken(&mut world, second);
            idle(&mut world);
            assert_eq!(ticks(&world), [(2, true)], "the model has to look");
            assert!(world.agent("main").active_waits().next().is_none());
            let shown = format!("{:?}", world.requests);
            assert!(shown.contains(first.resource.as_ref().unwrap()), "{shown}");
        }
    }
    let mut world = waits(("WaitFor", r#"{"reason":"anything","wake":"external"}"#));
    world.admit("main", prompt("what do you wait for?"));
    delivers(&mut world, 1, hint("web"));
    taken(&mut world, hint("web"));
    idle(&mut world);
    assert!(world.agent("main").active_waits().next().is_none(), "one of them came through the trigger");
}

#[test]
fn what_was_hinted_before_the_last_of_a_source_is_not_waited_for_either() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    taken(&mut world, about("ci"));
    taken(&mut world, about("moon"));
    assert!(makes(&mut world, &[EXTERNAL]), "the turn goes on");
    let shown = format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(shown.contains("already_hinted") && shown.contains("about: moon\\nbefore about: ci"), "{shown}");
}

#[test]
fn more_than_are_told_apart_are_about_whatever_is_waited_for() {
    for (others, ends) in [(SUBJECTS, false), (SUBJECTS + 1, true)] {
        let mut world = item_waits(EXTERNAL);
        world.admit("main", prompt("what do you wait for?"));
        for other in (0..others).chain(0..others) {
            taken(&mut world, about(&format!("thing {other}")));
        }
        let pending = world.agent("main").hints.pending().next().unwrap();
        assert_eq!(pending.about.resources.len(), SUBJECTS);
        assert_eq!(pending.about.more, if ends { 2 } else { 0 });
        idle(&mut world);
        assert_eq!(world.agent("main").active_waits().next().is_none(), ends);
    }
}

/// Only a message ends a wait: what one owner is shown would be taken from the other.
#[test]
fn what_somebody_waits_for_already_comes_by_its_message() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("what do you wait for?"));
    taken(&mut world, hint("ci"));
    assert!(!makes(&mut world, &[EXTERNAL]), "it waits");
    idle(&mut world);
    assert_eq!(ticks(&world), [(1, true)]);
    assert!(world.agent("main").active_waits().next().is_none());
}

#[test]
fn of_too_many_sources_the_oldest_is_only_counted() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    for source in 0..=SOURCES {
        taken(&mut world, hint(&format!("source {source}")));
    }
    let hints = &world.agent("main").hints;
    assert_eq!((hints.pending().count(), hints.count()), (SOURCES, SOURCES as u64 + 1));
    assert!(hints.pending().all(|pending| pending.hint.source != "source 0"));
    idle(&mut world);
    assert_eq!(ticks(&world), [(SOURCES as u64 + 1, false)]);
}

/// Hints of that many further sources, all alike.
fn flood(world: &mut World, sources: usize, alike: &Hint) {
    for source in 0..sources {
        taken(world, Hint { source: format!("source {source}"), ..alike.clone() });
    }
}

/// What the message that reports hints says.
fn tick_text(world: &World) -> String {
    let admitted = world.log.iter().rev().find_map(|record| {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return None };
        is_tick(&fact.message).then_some(fact)
    });
    admitted.unwrap().message.body.text.preview().into()
}

#[test]
fn a_hint_that_is_waited_for_is_not_lost_to_bare_ones_of_others() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("what do you wait for?"));
    taken(&mut world, hint("ci"));
    flood(&mut world, SOURCES, &hint(""));
    let hints = &world.agent("main").hints;
    assert!(hints.pending().any(|pending| pending.hint.source == "ci"));
    assert_eq!((hints.others(), hints.count()), (1, SOURCES as u64 + 1));
    idle(&mut world);
    assert_eq!(ticks(&world), [(SOURCES as u64 + 1, true)], "the model has to look");
    assert!(world.agent("main").active_waits().next().is_none());
}

#[test]
fn a_bare_hint_of_one_more_folds_none_that_says_something() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    flood(&mut world, SOURCES, &hint_with_text(""));
    assert_eq!(taken(&mut world, hint("bare")), WakeDisposition::Triggered);
    assert!(world.agent("main").hints.pending().all(|pending| pending.hint.source != "bare"));
    assert_eq!((world.agent("main").hints.others(), world.agent("main").hints.folded().count()), (1, 0));
    let correlated = Hint { correlation_id: Some("build 7".into()), ..hint("correlated") };
    taken(&mut world, correlated);
    let folded: Vec<_> = world.agent("main").hints.folded().map(|one| one.hint.source.clone()).collect();
    assert_eq!(folded, ["source 0"]);
    idle(&mut world);
    assert_eq!(ticks(&world), [(SOURCES as u64 + 2, true)]);
    let text = tick_text(&world);
    assert!(text.ends_with("54 more sources, 2 others (of source 0)."), "{text}");
}

/// What a folded hint was about is known, what it said is not.
#[test]
fn a_folded_hint_ends_the_wait_that_is_for_it() {
    let first = [hint_with_text("ci"), Hint { resource: Some("ci".into()), ..hint_with_text("build") }];
    for first in first {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        taken(&mut world, first.clone());
        flood(&mut world, SOURCES, &hint_with_text(""));
        assert_eq!(world.agent("main").hints.folded().count(), 1);
        world.crash();
        assert!(!makes(&mut world, &[EXTERNAL]), "it waits: the hint can't be shown whole");
        assert_eq!(world.agent("main").active_waits().count(), 0, "and its message has ended the wait");
        world.complete("main", context());
        let shown = format!("{:?}", world.requests.last().unwrap().conversation);
        assert!(shown.contains("its text was not kept") && shown.contains("[ends wait_1]"), "{shown}");
    }
}

#[test]
fn what_only_the_number_is_known_of_is_looked_at_by_who_waits_since() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    flood(&mut world, SOURCES + 1, &hint(""));
    assert!(!makes(&mut world, &[EXTERNAL]));
    assert_eq!(ticks(&world), [(SOURCES as u64 + 1, true)], "nobody knows whether it was that");
    assert_eq!(world.agent("main").active_waits().count(), 1, "nor that it was");
    idle(&mut world);
    world.admit("main", prompt("and now?"));
    flood(&mut world, SOURCES + 1, &hint(""));
    idle(&mut world);
    assert_eq!(
        ticks(&world).last(),
        Some(&(SOURCES as u64 + 1, false)),
        "none of those is what is waited for"
    );
}

#[test]
fn folded_hints_are_bounded_and_none_of_them_is_forgotten() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("what do you wait for?"));
    flood(&mut world, 4 * SOURCES, &hint_with_text(""));
    let hints = &world.agent("main").hints;
    assert_eq!((hints.pending().count(), hints.folded().count()), (SOURCES, SOURCES));
    assert_eq!((hints.others(), hints.count()), (0, 4 * SOURCES as u64));
    idle(&mut world);
    assert_eq!(ticks(&world), [(4 * SOURCES as u64, true)]);
    assert_eq!(world.agent("main").active_waits().count(), 1, "no more than can be told apart");
}

#[test]
fn a_stopped_agent_takes_none_and_keeps_no_bare_one() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    taken(&mut world, hint("ci"));
    world.control("main", ControlRequest::Stop);
    assert_eq!(world.agent("main").hints.count(), 0);
    let refused = |world: &mut World, hint| {
        let Answer::Refused { reject } = wakes(world, hint) else { panic!("it was taken") };
        reject.code().to_string()
    };
    assert_eq!(refused(&mut world, hint("ci")), "agent_stopped");
    world.control("main", ControlRequest::Start);
    assert!(ticks(&world).is_empty());
    assert_eq!(refused(&mut world, hint("")), "out_of_range");
    assert_eq!(refused(&mut world, Hint { reason: String::new(), ..hint("ci") }), "out_of_range");
    assert_eq!(refused(&mut world, Hint { reason: "x".repeat(2_000), ..hint("ci") }), "too_large");
    assert_eq!(refused(&mut world, Hint { body: Some(long(7, 120_000)), ..hint("ci") }), "too_large");
}

/// Bare ones are cleared; what says something, or is waited for, is told after the next start, in one message.
#[test]
fn a_stop_keeps_the_hints_that_matter_as_one_message() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("what do you wait for?"));
    taken(&mut world, hint("ci"));
    taken(&mut world, hint_with_text("mail"));
    taken(&mut world, hint("bare"));
    let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
    assert_eq!(outcome.lost_hints, ["bare"]);
    assert_eq!((ticks(&world), world.agent("main").hints.count()), ([(2, true)].into(), 0));
    world.crash();
    assert!(world.agent("main").run.is_none() && world.agent("main").active_waits().count() == 1);
    world.control("main", ControlRequest::Start);
    assert!(woken(&world) && world.agent("main").active_waits().next().is_none());
    world.complete("main", context());
    let shown = format!("{:?}", world.requests.last().unwrap().conversation);
    assert!(shown.contains("source: ci") && shown.contains("all passed"), "{shown}");
    assert!(!shown.contains("bare"), "{shown}");
}

#[test]
fn what_says_something_ends_a_self_hold_and_what_does_not_waits() {
    let mut world = World::held("main");
    taken(&mut world, hint_with_text("ci"));
    assert_eq!(world.agent("main").hints.count(), 1, "providers are away");
    assert_eq!(world.agent("main").last_decision.as_ref().unwrap().reason, DecisionReason::Hold);
    while ticks(&world).is_empty() {
        assert!(world.pass_to_deadline());
        if world.agent("main").run.is_some() {
            world.complete("main", context());
            world.complete("main", answers("they are back"));
        }
    }
    assert!(woken(&world), "{:?}", world.agent("main").last_decision);
    world.pass(Millis::seconds(1));
    let names: Vec<String> = world.agent("main").hints.pending().map(|one| one.hint.source.clone()).collect();
    assert!(names.is_empty());
}
