use alloc::vec::Vec;

use holon_facts::decision::{DecisionKind, DecisionReason};
use holon_facts::event::{Event, WaitFact};
use holon_facts::ids::WorkItemId;
use holon_facts::message::Origin;
use holon_facts::time::{Millis, Wall};
use holon_facts::work::{PlanStatus, WorkState};

use crate::handler::wait::tests::{EXTERNAL, does, item_waits, makes, waits};
use crate::handler::work::tests::{CREATE, PICK, idle};
use crate::testing::{World, agent, answers, context, prompt};

const BLOCK: (&str, &str) =
    ("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":"a review","recheck_after_ms":60000}"#);

fn blocked() -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    does(&mut world, &[CREATE, PICK, BLOCK]);
    world.complete("main", answers("blocked"));
    world
}

/// Lets time pass until a turn begins, and says how long that took in seconds.
fn until_turn(world: &mut World) -> u64 {
    let before = world.now.wall;
    while world.agent("main").run.is_none() {
        assert!(world.pass_to_deadline(), "nothing is armed");
    }
    before.until(world.now.wall).0 / 1_000
}

fn rechecks(world: &World) -> bool {
    let run = world.agent("main").run.as_ref().unwrap();
    matches!(&run.about.incoming.origin, Origin::System { subsystem } if subsystem == "recheck")
}

fn due(world: &World) -> Vec<(u32, Wall)> {
    let delivered = world.log.iter().filter_map(|record| {
        let Event::Wait(WaitFact::WorkItemRecheckDue(fact)) = &record.event else { return None };
        Some((fact.due[0].count, fact.due[0].next_at))
    });
    delivered.collect()
}

#[test]
fn a_blocker_is_looked_at_again_each_time_twice_as_late_and_then_by_an_operator() {
    let mut world = blocked();
    let item = |world: &World| world.agent("main").work.get(WorkItemId(1)).unwrap().clone();
    let (before, mut waited) = (item(&world).revision, Vec::new());
    for _ in 0..7 {
        assert_eq!(item(&world).state(), WorkState::Blocked);
        waited.push(until_turn(&mut world));
        assert!(rechecks(&world));
        assert!(!world.agent("main").run.as_ref().unwrap().about.own, "it has a ladder of its own");
        idle(&mut world);
    }
    assert_eq!(waited, [60, 120, 240, 480, 960, 1_920, 3_840]);
    assert_eq!((item(&world).plan_status, item(&world).revision), (PlanStatus::NeedsInput, before + 1));
    assert_eq!(item(&world).recheck.unwrap().recheck_at, None);
    assert!(world.host.next_deadline().is_none(), "nobody looks again");
    assert!(world.briefs().last().unwrap().contains("work_1"), "{:?}", world.briefs());
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    assert_eq!((decision.kind, decision.reason), (DecisionKind::WaitForOperator, DecisionReason::NeedsInput));
    // Whoever answers sets it going again.
    world.admit("main", prompt("wait for the review"));
    does(&mut world, &[("UpdateWorkItem", r#"{"work_item_id":"work_1","plan_status":"ready"}"#)]);
    world.complete("main", answers("I wait"));
    assert_eq!(until_turn(&mut world), 60);
}

/// The turn was begun with it: its requests go on from what they have shown.
#[test]
fn what_is_to_be_looked_at_again_is_shown_as_it_stood() {
    let mut world = blocked();
    until_turn(&mut world);
    does(&mut world, &[("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":""}"#)]);
    let item = world.agent("main").work.get(WorkItemId(1)).unwrap();
    assert_eq!(item.blocked_by, None);
    let inputs = world.requests.iter().flat_map(|request| &request.conversation);
    let shown = inputs.filter_map(|input| {
        let holon_facts::model::Item::User { parts } = input else { return None };
        let shown: alloc::string::String = parts.iter().map(holon_facts::frame::Part::preview).collect();
        shown.contains("from system (recheck)").then_some(shown)
    });
    let shown: Vec<_> = shown.collect();
    assert!(shown[0].contains("work_1 is blocked by: a review"), "{shown:?}");
    assert!(shown.len() > 1 && shown.iter().all(|input| *input == shown[0]), "{shown:?}");
}

#[test]
fn what_changes_begins_anew() {
    let mut world = blocked();
    for _ in 0..3 {
        until_turn(&mut world);
        idle(&mut world);
    }
    until_turn(&mut world);
    does(&mut world, &[("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":"another review"}"#)]);
    world.complete("main", answers("still blocked"));
    assert_eq!(until_turn(&mut world), 3_600, "another blocker has another time");
    does(&mut world, &[("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":""}"#)]);
    world.complete("main", answers("it can go on"));
    assert!(!rechecks(&world), "it is owed a turn");
    let item = world.agent("main").work.get(WorkItemId(1)).unwrap();
    assert_eq!(item.recheck.as_ref().unwrap().recheck_at, None);
}

#[test]
fn a_word_from_outside_makes_the_next_one_early_and_the_ladder_short() {
    let mut world = blocked();
    for _ in 0..4 {
        until_turn(&mut world);
        idle(&mut world);
    }
    assert_eq!(due(&world).last().unwrap().0, 4);
    world.admit("main", prompt("how is it?"));
    idle(&mut world);
    assert_eq!(until_turn(&mut world), 60);
    assert_eq!(due(&world).last().unwrap().0, 1);
}

#[test]
fn the_ladder_survives_another_wait() {
    let mut world = waits(EXTERNAL);
    let mut waited = Vec::new();
    for _ in 0..7 {
        waited.push(until_turn(&mut world) / 3_600);
        assert!(rechecks(&world));
        assert!(!makes(&mut world, &[EXTERNAL]), "it waits again");
    }
    assert_eq!(waited, [1, 2, 4, 8, 16, 24, 24]);
    let wait = world.agent("main").waits.own.clone().unwrap();
    assert!(wait.operator_must_act && world.host.next_deadline().is_none());
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    assert_eq!(decision.reason, DecisionReason::OperatorInput);
    assert_eq!(decision.wait_id, Some(wait.id));
    world.admit("main", prompt("it will come"));
    idle(&mut world);
    assert!(!world.agent("main").waits.own.as_ref().unwrap().operator_must_act);
    assert_eq!(until_turn(&mut world), 3_600);
}

#[test]
fn one_tick_tells_of_all_that_is_due_and_a_crash_takes_nothing_from_it() {
    let mut world = item_waits(EXTERNAL);
    world.admit("main", prompt("another"));
    let second = r#"{"work_item_id":"work_2","blocked_by":"the same"}"#;
    does(&mut world, &[CREATE, ("UpdateWorkItem", second)]);
    world.complete("main", answers("both wait"));
    world.crash();
    world.pass(Millis::hours(3));
    assert!(rechecks(&world));
    let body = world.agent("main").run.as_ref().unwrap().about.incoming.body.text.preview();
    assert!(body.contains("work_1, work_2"), "{body}");
    world.crash();
    assert!(rechecks(&world), "its message comes again");
    world.complete("main", context());
    let shown = alloc::format!("{:?}", world.requests.last().unwrap().conversation);
    let delivered = shown.contains("work_1 waits (wait_1): the build")
        && shown.contains("work_2 is blocked by: the same");
    assert!(delivered, "{shown}");
    world.complete("main", answers("it stands"));
    idle(&mut world);
    assert_eq!(due(&world).len(), 1);
}

#[test]
fn a_recheck_of_what_is_gone_needs_no_model() {
    let mut world = blocked();
    world.admit("main", prompt("go on"));
    world.complete("main", context());
    world.pass(Millis::minutes(2));
    assert!(due(&world).is_empty(), "a turn is in progress");
    let free = ("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":""}"#);
    does(&mut world, &[free]);
    world.complete("main", answers("free"));
    assert!(due(&world).is_empty());
    assert!(
        world
            .host
            .view()
            .explain(&agent("main"))
            .unwrap()
            .deadlines
            .iter()
            .all(|deadline| deadline.at > world.now.wall)
    );
}
