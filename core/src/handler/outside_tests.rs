use holon_facts::allowance::Allowance;
use holon_facts::config::{Config, UnattendedPolicy};
use holon_facts::content::Text;
use holon_facts::hint::Hint;
use holon_facts::message::{Ingress, Origin};
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::reject::Reject;
use holon_facts::time::{Millis, Wall};

use crate::agent::outside::SOURCES;
use crate::effect::Answer;
use crate::handler::unattended;
use crate::handler::wake_tests::{delivers, hint, hint_with_text, woken};
use crate::handler::work::tests::idle;
use crate::testing::{World, agent, config, ingress, prompt};

fn limited(policy: UnattendedPolicy) -> World {
    World::with_config("main", Config { unattended: policy, ..config() })
}

fn few() -> UnattendedPolicy {
    UnattendedPolicy { outside_turns_per_day: 5, source_turns_per_day: 3, ..UnattendedPolicy::default() }
}

fn event(source: &str) -> Ingress {
    let origin = Origin::Webhook { source: source.into(), event_type: None };
    Ingress { origin, ..ingress(MessageKind::WebhookEvent, Priority::Normal, "it was merged") }
}

/// What an event is refused for, and until when.
fn sends(world: &mut World, source: &str) -> Option<(Allowance, Wall)> {
    refused(world.send("main", event(source)))
}

fn refused(answer: Answer) -> Option<(Allowance, Wall)> {
    if matches!(answer, Answer::Admitted { .. } | Answer::Woken { .. }) {
        return None;
    }
    let Answer::Refused { reject: Reject::TooManyEvents { allowance, retry_at, .. } } = answer else {
        panic!("{answer:?}")
    };
    Some((allowance, retry_at))
}

#[test]
fn a_source_uses_up_its_own_day_and_then_that_of_all_sources() {
    let mut world = limited(few());
    let tomorrow = unattended::tomorrow(&agent("main"), world.now.wall);
    for _ in 0..3 {
        assert_eq!(sends(&mut world, "forge"), None);
    }
    assert_eq!(sends(&mut world, "forge"), Some((Allowance::SourceDay, tomorrow)));
    for _ in 0..2 {
        assert_eq!(sends(&mut world, "chat"), None, "another source has its own");
    }
    assert_eq!(sends(&mut world, "mail"), Some((Allowance::OutsideDay, tomorrow)));
    let mut turns = 0;
    while world.agent("main").run.is_some() {
        turns += 1;
        world.complete("main", crate::testing::context());
        world.complete("main", crate::testing::answers("done"));
    }
    assert_eq!(turns, 5, "what was taken has its turn");
    assert_eq!(
        (world.agent("main").unattended.turns_of_day, world.agent("main").unattended.outside_turns_of_day),
        (0, 5)
    );
    world.admit("main", prompt("go"));
    assert!(world.agent("main").run.is_some(), "an operator is counted by nobody");
    idle(&mut world);
    world.now.wall = tomorrow;
    assert_eq!(sends(&mut world, "forge"), None);
}

/// Strangers take nothing of the turns that the agent causes itself, nor the other way round.
#[test]
fn the_day_of_the_agent_itself_is_counted_apart() {
    let mut world = limited(UnattendedPolicy { turns_per_day: 1, ..few() });
    for _ in 0..3 {
        sends(&mut world, "forge");
        idle(&mut world);
    }
    assert_eq!(world.agent("main").unattended.exhausted, None);
    crate::handler::unattended_tests::follow_up(&mut world);
    idle(&mut world);
    assert!(world.agent("main").unattended.exhausted.is_some_and(|exhausted| exhausted.turns == 1));
    crate::handler::unattended_tests::follow_up(&mut world);
    assert!(world.agent("main").run.is_none(), "its own day is over");
    sends(&mut world, "chat");
    assert!(
        world
            .agent("main")
            .run
            .as_ref()
            .is_some_and(|run| run.about.incoming.kind == MessageKind::WebhookEvent)
    );
    idle(&mut world);
    delivers(&mut world, 1, hint_with_text("ci"));
    assert!(woken(&world), "what somebody hints at is no turn of its own either");
}

#[test]
fn a_source_has_so_many_events_in_a_minute() {
    let mut world = limited(UnattendedPolicy { source_events_per_minute: 2, ..UnattendedPolicy::default() });
    let minute = 60_000_000;
    let next = Wall((world.now.wall.0.div_euclid(minute) + 1) * minute);
    for _ in 0..2 {
        assert_eq!(sends(&mut world, "forge"), None);
        assert_eq!(refused(delivers(&mut world, 1, hint("web"))), None);
    }
    assert_eq!(sends(&mut world, "forge"), Some((Allowance::SourceMinute, next)));
    assert_eq!(refused(delivers(&mut world, 1, hint("web"))), Some((Allowance::SourceMinute, next)));
    world.pass(Millis(next.since(world.now.wall).0));
    assert_eq!(sends(&mut world, "forge"), None);
}

/// Hints cost a turn where they are told, however many they were; bare ones cost none.
#[test]
fn hints_use_up_a_day_by_the_turns_that_they_cause() {
    let mut world = limited(few());
    for number in 0..3 {
        let body = Some(Text::short(format!("build {number}")));
        assert_eq!(refused(delivers(&mut world, 1, Hint { body, ..hint("ci") })), None);
        assert_eq!(refused(delivers(&mut world, 1, hint("ci"))), None, "it is told with the next message");
        idle(&mut world);
    }
    let outside = &world.agent("main").outside;
    assert_eq!(
        (outside.sources["trigger:ci"].turns_of_day, outside.turns_of_day),
        (3, 3),
        "bare ones cost none"
    );
    assert!(matches!(
        refused(delivers(&mut world, 1, hint_with_text("ci"))),
        Some((Allowance::SourceDay, _))
    ));
    assert_eq!(refused(delivers(&mut world, 1, hint("ci"))), None, "a sign of life");
}

#[test]
fn sources_past_the_bound_share_one_allowance() {
    let mut world = limited(UnattendedPolicy {
        outside_turns_per_day: 10_000,
        source_turns_per_day: 2,
        ..UnattendedPolicy::default()
    });
    world.admit("main", prompt("a long turn"));
    for source in 0..SOURCES + 2 {
        assert_eq!(sends(&mut world, &format!("s{source}")), None);
    }
    assert_eq!(world.agent("main").outside.sources.len(), SOURCES);
    assert!(matches!(sends(&mut world, "one more"), Some((Allowance::SourceDay, _))));
    assert_eq!(sends(&mut world, "s0"), None, "who was there before keeps its own");
}
