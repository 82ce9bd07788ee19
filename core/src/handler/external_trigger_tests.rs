use holon_facts::content::Text;
use holon_facts::hint::{Hint, WakeDisposition};
use holon_facts::trigger::{REMEMBERED, TriggerChange, TriggerStatus};

use crate::agent::external_trigger::ExternalTrigger;
use crate::effect::Answer;
use crate::handler::wait::tests::waits;
use crate::handler::wake_tests::{delivers, hint, hint_with_text, woken};
use crate::handler::work::tests::idle;
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, calls, context, prompt, tool_answers};

fn changes(world: &mut World, change: TriggerChange) -> (ExternalTrigger, bool) {
    let answer = world.ask(|reply| Input::ChangeTrigger { agent: agent("main"), change, reply });
    let Answer::ExternalTrigger { trigger, changed } = answer else { panic!("{answer:?}") };
    (*trigger, changed)
}

fn refused(answer: &Answer) -> Option<&'static str> {
    let Answer::Refused { reject } = answer else { return None };
    Some(reject.code())
}

#[test]
fn an_agent_has_a_trigger_from_its_beginning() {
    let mut world = World::with_agent("main");
    assert_eq!(world.kinds(0)[..2], ["agent_created", "external_trigger_provisioned"]);
    let from = world.log.len();
    world.crash();
    assert!(world.kinds(from).is_empty(), "and no other one later");
    let trigger = world.agent("main").external_trigger.as_ref().unwrap();
    assert_eq!((trigger.generation, trigger.status), (1, TriggerStatus::Active));
}

#[test]
fn only_the_address_in_force_wakes_it() {
    let mut world = World::with_agent("main");
    assert_eq!(
        delivers(&mut world, 1, hint_with_text("ci")),
        Answer::Woken { disposition: WakeDisposition::Triggered }
    );
    assert!(woken(&world));
    let (trigger, changed) = changes(&mut world, TriggerChange::Rotate);
    assert_eq!((trigger.generation, trigger.delivery_count, changed), (2, 1, true));
    assert_eq!(trigger.revoked_at, None);
    for generation in [0, 1, 3] {
        let from = world.log.len();
        assert_eq!(refused(&delivers(&mut world, generation, hint("ci"))), Some("unknown_trigger"));
        assert!(world.kinds(from).is_empty(), "nothing is told, and nothing recorded");
    }
    assert_eq!(refused(&delivers(&mut world, 2, hint("ci"))), None);
    let (trigger, changed) = changes(&mut world, TriggerChange::Revoke);
    assert_eq!((trigger.status, trigger.revoked_at.is_some(), changed), (TriggerStatus::Revoked, true, true));
    assert!(!changes(&mut world, TriggerChange::Revoke).1);
    assert_eq!(refused(&delivers(&mut world, 2, hint("ci"))), Some("unknown_trigger"));
    let (trigger, changed) = changes(&mut world, TriggerChange::Rotate);
    assert_eq!((trigger.generation, trigger.status, changed), (3, TriggerStatus::Active, true));
    assert_eq!(refused(&delivers(&mut world, 3, hint("ci"))), None);
}

#[test]
fn a_stopped_agent_is_not_woken_and_its_address_can_be_changed() {
    let mut world = World::with_agent("main");
    world.ask(|reply| Input::Control { agent: agent("main"), request: ControlRequest::Stop, reply });
    assert_eq!(refused(&delivers(&mut world, 1, hint_with_text("ci"))), Some("agent_stopped"));
    assert_eq!(refused(&delivers(&mut world, 2, hint_with_text("ci"))), Some("unknown_trigger"));
    assert_eq!(changes(&mut world, TriggerChange::Rotate).0.generation, 2);
}

/// What the agent may have sent itself wakes it less and less; what says something new clears that.
#[test]
fn the_same_body_again_counts_as_the_agents_own() {
    let mut world = World::with_agent("main");
    let turns = |world: &World| world.agent("main").unattended.self_caused_turns;
    for _ in 0..4 {
        delivers(&mut world, 1, hint_with_text("ci"));
        idle(&mut world);
    }
    assert_eq!(turns(&world), 3, "the first one was news");
    delivers(&mut world, 1, hint_with_text("ci"));
    assert!(!woken(&world), "it waits");
    let other = Hint { body: Some(Text::short("one failed")), ..hint("ci") };
    delivers(&mut world, 1, other);
    assert!(woken(&world) && turns(&world) == 0);
}

/// Builds of one server end the same way, and are news all the same.
#[test]
fn other_builds_with_the_same_body_are_news() {
    let mut world = World::with_agent("main");
    for build in 1..=8 {
        let resource = Some(format!("build-{build}"));
        delivers(&mut world, 1, Hint { resource, ..hint_with_text("ci") });
        idle(&mut world);
    }
    assert!(!world.kinds(0).contains(&"self_turn_counted"), "{:?}", world.kinds(0));
}

#[test]
fn another_source_with_the_same_body_is_news_and_ends_a_self_hold() {
    let mut world = World::with_agent("main");
    for _ in 0..9 {
        delivers(&mut world, 1, hint_with_text("ci"));
        if !woken(&world) {
            world.pass_to_deadline();
        }
        idle(&mut world);
    }
    assert!(world.agent("main").unattended.self_hold);
    delivers(&mut world, 1, hint_with_text("web"));
    assert!(woken(&world) && !world.agent("main").unattended.self_hold);
    idle(&mut world);
    delivers(&mut world, 1, hint_with_text("ci"));
    idle(&mut world);
    assert_eq!(world.agent("main").unattended.self_caused_turns, 1, "the first source is remembered");
}

#[test]
fn sources_beyond_those_that_are_remembered_are_news() {
    let mut world = World::with_agent("main");
    let digests = |world: &World| {
        let hints = &world.agent("main").hints;
        (hints.last_delivery("ci").is_some(), hints.last_delivery("s63").is_some())
    };
    delivers(&mut world, 1, hint_with_text("ci"));
    for nth in 0..REMEMBERED {
        assert!(digests(&world).0);
        delivers(&mut world, 1, hint_with_text(&format!("s{nth}")));
    }
    assert_eq!(digests(&world), (false, true));
}

/// Somebody outside calls an agent that waits for it, each time in the same words or without any.
#[test]
fn what_ends_a_wait_is_never_the_agents_own() {
    let bare = r#"{"reason":"a ping","wake":"external"}"#;
    let named = r#"{"reason":"a build","wake":"external","resource":"ci"}"#;
    for (wait, hint) in [(bare, hint("external_trigger")), (named, hint_with_text("ci"))] {
        let mut world = waits(("WaitFor", wait));
        for _ in 0..8 {
            delivers(&mut world, 1, hint.clone());
            assert!(woken(&world), "{hint:?}");
            world.complete("main", context());
            world.complete("main", calls(&[("", "WaitFor", wait)]));
        }
        assert!(!world.kinds(0).contains(&"self_turn_counted"));
    }
}

#[test]
fn what_is_waited_for_without_a_name_comes_through_the_trigger() {
    let mut world = waits(("WaitFor", r#"{"reason":"anything","wake":"external"}"#));
    delivers(&mut world, 1, hint("web"));
    assert!(woken(&world) && world.agent("main").active_waits().next().is_none());
}

#[test]
fn a_command_is_told_which_address_is_in_force_and_the_model_only_where_it_finds_it() {
    let mut world = World::with_agent("main");
    for revoked in [false, true] {
        if revoked {
            changes(&mut world, TriggerChange::Revoke);
        }
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let request = world.requests.last().unwrap();
        let frame = format!("{:?}", request.frame);
        assert!(frame.contains("$HOLON_EXTERNAL_TRIGGER_URL"), "{frame}");
        let input = format!("{:?}", request.conversation.last());
        assert_eq!(input.contains("your execution environment now"), revoked, "{input}");
        assert!(!input.contains("$HOLON_EXTERNAL_TRIGGER_URL"), "{input}");
        world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"true"}"#)]));
        assert_eq!(world.given_generations.last(), Some(&(!revoked).then_some(1)));
        world.complete("main", tool_answers("done"));
        world.complete("main", answers("done"));
    }
}
