use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::brief::{BriefKind, BriefVisibility};
use holon_facts::event::{BriefFact, Event, TurnFact};
use holon_facts::provenance::{MessageKind, Priority};

use crate::handler::work::tests::{idle, plays, turn};
use crate::testing::{World, agent, answers, calls, context, prompt, tool_answers};

const LATER: (&str, &str) = ("Enqueue", r#"{"text":"look again","priority":"background"}"#);
const TELL: (&str, &str) = ("NotifyOperator", r#"{"message":"it is red","urgency":"action_required"}"#);

fn errors(world: &World) -> Vec<&'static str> {
    let failed = world.log.iter().filter_map(|record| {
        let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
        fact.receipt.error.as_ref().map(|error| error.kind.name())
    });
    failed.collect()
}

fn results(world: &World) -> Vec<String> {
    let answered = world.log.iter().filter_map(|record| {
        let Event::Turn(TurnFact::ToolExecuted(fact)) = &record.event else { return None };
        fact.receipt.content.as_ref().map(|content| content.preview().into())
    });
    answered.collect()
}

#[test]
fn a_message_to_itself_has_a_turn_of_its_own() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[LATER]]);
    let run = world.agent("main").run.as_ref().expect("the next turn");
    assert_eq!(
        (run.about.incoming.kind, run.about.incoming.priority),
        (MessageKind::InternalFollowup, Priority::Background)
    );
    assert_eq!(run.about.incoming.body.text.preview(), "look again");
    assert!(run.about.own, "it is counted as its own");
    assert_eq!(results(&world), [r#"{"message_id":"msg_2"}"#]);
    let asked = world.agent("main").run.as_ref().map(|run| run.id);
    world.complete("main", context());
    let shown = world.requests.last().unwrap();
    assert!(alloc::format!("{shown:?}").contains("look again"), "{asked:?}");
}

/// However urgent it makes its own: whoever waits comes before what is sent later.
#[test]
fn a_message_to_itself_does_not_pass_an_operator() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.admit("main", prompt("stop that"));
    world.complete("main", calls(&[("", "Enqueue", r#"{"text":"go on","priority":"next"}"#)]));
    world.complete("main", answers("done"));
    let next = world.agent("main").run.as_ref().map(|run| run.about.incoming.body.text.preview());
    assert_eq!(next, Some("stop that"));
}

/// As much as the fields take is told, not the beginning of it.
#[test]
fn long_words_are_told_whole() {
    let (note, reason) = ("x".repeat(4_096), "y".repeat(512));
    let enqueue = alloc::format!(r#"{{"text":"{note}"}}"#);
    let notify = alloc::format!(r#"{{"message":"{note}"}}"#);
    let wait = alloc::format!(r#"{{"reason":"{reason}","wake":"operator_input"}}"#);
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let all = [("", "Enqueue", enqueue.as_str()), ("", "NotifyOperator", &notify), ("", "WaitFor", &wait)];
    world.complete("main", calls(&all));
    assert_eq!(
        world.agent("main").run.as_ref().unwrap().about.incoming.body.text.preview().len(),
        note.len()
    );
    assert!(world.briefs().iter().any(|brief| brief.ends_with(&note)));
    assert!(world.briefs().iter().any(|brief| brief.ends_with(&reason)));
}

#[test]
fn an_agent_that_only_talks_to_itself_comes_to_an_end() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[LATER]]);
    let mut turns = 0;
    while world.agent("main").run.is_some() || world.pass_to_deadline() {
        plays(&mut world, &[&[LATER]]);
        turns += 1;
        assert!(turns <= 6, "it goes on and on");
    }
    assert_eq!(turns, 6);
    assert!(world.agent("main").unattended.self_hold);
    assert_eq!(world.agent("main").inbox.queued_entries(), 1, "nothing is lost");
    world.admit("main", prompt("what is it?"));
    plays(&mut world, &[]);
    idle(&mut world);
    assert_eq!(world.agent("main").inbox.queued_entries(), 0);
}

#[test]
fn an_operator_is_told_in_the_middle_of_a_turn() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("watch it"));
    world.complete("main", context());
    world.complete("main", calls(&[("", TELL.0, TELL.1)]));
    assert!(world.agent("main").run.is_some(), "it goes on");
    let brief = world.log.iter().find_map(|record| {
        let Event::Brief(BriefFact::BriefCreated(fact)) = &record.event else { return None };
        Some((fact.kind, fact.visibility, fact.text.preview()))
    });
    assert_eq!(brief, Some((BriefKind::Ack, BriefVisibility::ActionRequired, "it is red")));
    assert_eq!(results(&world), [r#"{"brief_id":"brief_1"}"#]);
}

#[test]
fn a_turn_says_only_so_much_and_a_crash_gives_no_more() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("watch it"));
    world.complete("main", context());
    world.complete("main", calls(&[("", TELL.0, TELL.1); 5]));
    world.crash();
    world.complete("main", context());
    world.complete("main", calls(&[("", TELL.0, TELL.1); 5]));
    assert_eq!(errors(&world), ["limit_reached"; 2]);
    assert_eq!(world.briefs().len(), super::itself::NOTES);
}

#[test]
fn what_says_nothing_is_refused() {
    let mut world = World::with_agent("main");
    let long = alloc::format!(r#"{{"text":"{}"}}"#, "x".repeat(4_097));
    let urgent = r#"{"message":"look","urgency":"panic"}"#;
    let bad = [("Enqueue", r#"{"text":" "}"#), ("Enqueue", &long), ("NotifyOperator", urgent)];
    turn(&mut world, &[&bad, &[("Enqueue", r#"{"text":"x","priority":"interject"}"#)]]);
    assert_eq!(errors(&world), ["invalid_tool_input"; 4]);
    assert!(world.agent("main").run.is_none());
}

#[test]
fn an_agent_sees_itself_as_its_operator_does_and_nobody_else() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete(
        "main",
        calls(&[
            ("c1", "AgentGet", "{}"),
            ("c2", "AgentGet", r#"{"agent_id":"main"}"#),
            ("c3", "AgentGet", r#"{"agent_id":"other"}"#),
        ]),
    );
    for _ in 0..2 {
        let view = world.seen.pop().expect("what it is shown");
        let seen = world.host.view().summary(&agent("main")).expect("an agent");
        let itself = view.summary.expect("itself");
        assert_eq!((view.waits_left_out, &itself.run.is_some()), (0, &true));
        assert_eq!((&itself.queue, itself.external_trigger), (&seen.queue, seen.external_trigger));
        world.complete("main", tool_answers("itself"));
    }
    assert_eq!(errors(&world), ["unknown_agent"]);
    let answered = results(&world);
    assert_eq!(answered, ["itself", "itself"]);
}
