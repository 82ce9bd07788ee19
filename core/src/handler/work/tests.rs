use alloc::vec::Vec;

use holon_facts::content::{ContentId, Text};
use holon_facts::event::{Event, TurnFact, WorkFact};
use holon_facts::ids::WorkItemId;
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::model::AnswerBlock;
use holon_facts::outcome::Outcome;
use holon_facts::reject::Reject;
use holon_facts::time::Millis;
use holon_facts::work::{NewWorkItem, NoReport, PlanStatus, TodoState, WorkState};

use crate::effect::{Answer, WorkShown};
use crate::input::Input;
use crate::testing::{World, agent, answers, calls, context, prompt, tool_answers};

pub(super) const FIRST: WorkItemId = WorkItemId(1);

/// Turns that work is owed now bring nothing.
pub(crate) fn idle(world: &mut World) {
    while world.agent("main").run.is_some() {
        world.complete("main", context());
        world.complete("main", answers("nothing to be done"));
    }
}

/// A turn in which the model makes these calls, a round for each.
pub(crate) fn turn(world: &mut World, rounds: &[&[(&str, &str)]]) {
    idle(world);
    world.admit("main", prompt("go"));
    plays(world, rounds);
}

/// What the model does in the turn that has begun.
pub(crate) fn plays(world: &mut World, rounds: &[&[(&str, &str)]]) {
    plays_into(world, rounds);
    world.complete("main", answers("done"));
}

/// The same, without its end.
pub(super) fn plays_into(world: &mut World, rounds: &[&[(&str, &str)]]) {
    world.complete("main", context());
    for round in rounds {
        let made: Vec<_> = round.iter().map(|(tool, arguments)| ("", *tool, *arguments)).collect();
        world.complete("main", calls(&made));
        while world
            .agent("main")
            .run
            .as_ref()
            .is_some_and(|run| !run.conversation.rounds.last().unwrap().complete())
        {
            world.complete("main", tool_answers("shown"));
        }
    }
}

pub(crate) const CREATE: (&str, &str) =
    ("CreateWorkItem", r#"{"objective":"repair the build","todo_list":[{"text":"look","state":"pending"}]}"#);
pub(crate) const PICK: (&str, &str) = ("PickWorkItem", r#"{"work_item_id":"work_1"}"#);

pub(super) fn facts(world: &World) -> Vec<&WorkFact> {
    let work = world.log.iter().filter_map(|record| {
        let Event::Work(fact) = &record.event else { return None };
        Some(fact)
    });
    work.collect()
}

/// What the results of calls about work items were made of.
fn views(world: &World) -> &[crate::effect::WorkView] {
    &world.views
}

fn errors(world: &World) -> Vec<&'static str> {
    let failed = world.log.iter().filter_map(|record| {
        let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
        fact.receipt.error.as_ref().map(|error| error.kind.name())
    });
    failed.collect()
}

#[test]
fn an_item_is_made_picked_and_bound_to_the_next_turn() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[CREATE], &[PICK]]);
    let item = world.agent("main").work.current().unwrap();
    assert_eq!((item.id, item.state(), item.todo_list.len()), (FIRST, WorkState::Runnable, 1));
    assert_eq!(item.todo_list[0].state, TodoState::Pending);
    idle(&mut world);
    world.admit("main", prompt("go on"));
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.work_item, Some(FIRST));
    let first = views(&world).first().unwrap();
    assert!(first.changed && first.current.is_none(), "to be made is not to be picked");
}

#[test]
fn a_change_that_changes_nothing_is_none() {
    let mut world = World::with_agent("main");
    let same = (
        "UpdateWorkItem",
        r#"{"work_item_id":"work_1","plan_status":"draft","objective":"repair the build"}"#,
    );
    let blocks = ("UpdateWorkItem", r#"{"work_item_id":"work_1","blocked_by":"no key"}"#);
    turn(&mut world, &[&[CREATE], &[PICK], &[PICK], &[same], &[blocks]]);
    assert_eq!(facts(&world).len(), 3, "made, picked, blocked: nothing is owed to it");
    let item = world.agent("main").work.get(FIRST).unwrap();
    assert_eq!((item.revision, item.state()), (2, WorkState::Blocked));
    let frees = ("PickWorkItem", r#"{"work_item_id":"work_1","clear_blocker":true}"#);
    turn(&mut world, &[&[frees]]);
    assert_eq!(world.agent("main").work.get(FIRST).unwrap().state(), WorkState::Runnable);
    let asks = ("UpdateWorkItem", r#"{"work_item_id":"work_1","plan_status":"needs_input"}"#);
    turn(&mut world, &[&[asks], &[asks]]);
    assert_eq!(world.agent("main").work.get(FIRST).unwrap().state(), WorkState::WaitingOperator);
    let asked = |world: &World| {
        world
            .briefs()
            .iter()
            .filter(|brief| *brief == "ack: work_1 (repair the build) needs your input.")
            .count()
    };
    idle(&mut world);
    assert_eq!(asked(&world), 1, "the operator is told once: {:?}", world.briefs());
    turn(&mut world, &[&[("UpdateWorkItem", r#"{"work_item_id":"work_1","plan_status":"ready"}"#)], &[asks]]);
    idle(&mut world);
    assert_eq!(asked(&world), 2);
}

/// Of several calls those count that complete something.
#[test]
fn a_report_is_for_the_one_completion_of_its_round() {
    let done = |id| ("", "CompleteWorkItem", id);
    let (first, second) = (r#"{"work_item_id":"work_1"}"#, r#"{"work_item_id":"work_2"}"#);
    let none = r#"{"work_item_id":"work_99"}"#;
    for (ids, warning) in [
        (&[first, none][..], None),
        (&[none, first], None),
        (&[first, first], None),
        (&[first, second], Some(NoReport::Several)),
    ] {
        let mut world = World::with_agent("main");
        turn(&mut world, &[&[CREATE], &[CREATE]]);
        idle(&mut world);
        world.admit("main", prompt("and on"));
        world.complete("main", context());
        let completes: Vec<_> = ids.iter().map(|id| done(*id)).collect();
        let Outcome::Answer { mut answer } = calls(&completes) else { panic!("calls") };
        answer.blocks.insert(0, AnswerBlock::Text { text: Text::short("It is done.") });
        world.complete("main", Outcome::Answer { answer });
        while world
            .agent("main")
            .run
            .as_ref()
            .is_some_and(|run| !run.conversation.rounds.last().unwrap().complete())
        {
            world.complete("main", tool_answers("shown"));
        }
        let made = views(&world).iter().rev().find(|view| view.changed).map(|view| view.warning);
        assert_eq!(made, Some(warning), "{ids:?}");
    }
}

#[test]
fn what_is_completed_leaves_the_focus_and_stays_as_it_is() {
    let mut world = World::with_agent("main");
    let done = ("CompleteWorkItem", r#"{"work_item_id":"work_1"}"#);
    turn(&mut world, &[&[CREATE], &[PICK], &[done], &[done], &[PICK]]);
    let work = &world.agent("main").work;
    assert!(work.current().is_none() && !work.is_open(FIRST));
    assert_eq!(work.get(FIRST).unwrap().state(), WorkState::Completed);
    assert_eq!(errors(&world), ["invalid_tool_input", "invalid_tool_input"]);
    assert_eq!(views(&world).last().unwrap().warning, Some(NoReport::NoText));
    assert!(world.agent("main").work.get(FIRST).unwrap().result_summary.is_none());
}

#[test]
fn the_text_beside_one_completion_is_what_is_delivered() {
    use holon_facts::content::Text;
    use holon_facts::model::{ProposedCall, StopReason};
    let complete = |item: u64| {
        AnswerBlock::ToolCall(ProposedCall {
            call_id: "".into(),
            tool_name: "CompleteWorkItem".into(),
            arguments: Text::short(alloc::format!(r#"{{"work_item_id":"work_{item}"}}"#)),
            inline: None,
        })
    };
    let text = || AnswerBlock::Text { text: Text::short("the build is green again") };
    for (blocks, delivered) in
        [(alloc::vec![text(), complete(1)], 1), (alloc::vec![text(), complete(1), complete(2)], 0)]
    {
        let mut world = World::with_agent("main");
        turn(&mut world, &[&[CREATE, CREATE]]);
        idle(&mut world);
        world.admit("main", prompt("finish"));
        world.complete("main", context());
        let calls = blocks.len() - 1;
        world.complete("main", crate::testing::answer(blocks, StopReason::ToolUse));
        for _ in 0..calls {
            world.complete("main", tool_answers("shown"));
        }
        world.complete("main", answers("bye"));
        let summaries = facts(&world)
            .into_iter()
            .filter(|fact| matches!(fact, WorkFact::DeliverySummaryRecorded(_)))
            .count();
        assert_eq!(summaries, delivered);
        let briefs = world.briefs();
        assert_eq!(briefs.iter().any(|brief| brief == "result: the build is green again"), delivered == 1);
        assert!(briefs.iter().any(|brief| brief == "result: bye"));
    }
}

pub(crate) fn new(objective: &str) -> NewWorkItem {
    let (objective, plan_status) = (objective.into(), PlanStatus::Ready);
    NewWorkItem { objective, plan_status, todo_list: Vec::new(), plan: false }
}

#[test]
fn an_operator_makes_and_completes_items_without_a_turn() {
    let mut world = World::with_agent("main");
    let make = |world: &mut World, objective: &str| {
        let item = new(objective);
        world.ask(|reply| Input::CreateWorkItem { agent: agent("main"), item, key: None, reply })
    };
    assert!(matches!(make(&mut world, "rotate the keys"), Answer::WorkItem { changed: true, .. }));
    assert!(world.agent("main").work.current().is_none(), "the focus stays where it is");
    for nothing in ["", " \n"] {
        assert!(matches!(make(&mut world, nothing), Answer::Refused { .. }));
    }
    let complete = |world: &mut World, item: u64| {
        let item = WorkItemId(item);
        world.ask(|reply| Input::CompleteWorkItem { agent: agent("main"), item, reply })
    };
    assert!(matches!(complete(&mut world, 1), Answer::WorkItem { changed: true, .. }));
    assert!(matches!(complete(&mut world, 1), Answer::WorkItem { changed: false, .. }));
    assert!(matches!(complete(&mut world, 2), Answer::Refused { .. }));
}

#[test]
fn a_key_makes_one_item() {
    let mut world = World::with_agent("main");
    let make = |world: &mut World, objective: &str, key: (&str, u8)| {
        let item = new(objective);
        let key = Some(Idempotency { key: key.0.into(), payload: ContentId([key.1; 32]) });
        world.ask(|reply| Input::CreateWorkItem { agent: agent("main"), item, key, reply })
    };
    let made = |answer: Answer| {
        let Answer::WorkItem { item, changed } = answer else { panic!("{answer:?}") };
        (item.id.0, changed)
    };
    assert_eq!(made(make(&mut world, "one", ("a", 1))), (1, true));
    world.crash();
    assert_eq!(made(make(&mut world, "one", ("a", 1))), (1, false));
    let taken = Answer::Refused { reject: Reject::KeyTaken { made: Made::WorkItem(WorkItemId(1)) } };
    assert_eq!(make(&mut world, "two", ("a", 2)), taken);
    assert_eq!(made(make(&mut world, "two", ("b", 2))), (2, true));
    assert_eq!(world.agent("main").work.open_count(), 2);
    world.pass(Millis::hours(25));
    assert_eq!(made(make(&mut world, "one", ("a", 1))), (3, true), "a key is kept for a day");
}

#[test]
fn lists_have_a_filter_and_a_bound() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[CREATE, CREATE, CREATE], &[PICK]]);
    for (arguments, shown, more) in [
        ("{}", &[1, 2, 3][..], false),
        (r#"{"limit":2}"#, &[1, 2], true),
        (r#"{"filter":"current"}"#, &[1], false),
        (r#"{"filter":"queued"}"#, &[2, 3], false),
        (r#"{"filter":"completed"}"#, &[], false),
    ] {
        turn(&mut world, &[&[("ListWorkItems", arguments)]]);
        let Some(WorkShown::Many { items, more: further, .. }) =
            views(&world).last().map(|view| view.shown.clone())
        else {
            panic!("a list")
        };
        let named: Vec<u64> = items.iter().map(|item| item.id.0).collect();
        assert_eq!((named.as_slice(), further), (shown, more), "{arguments}");
    }
}
