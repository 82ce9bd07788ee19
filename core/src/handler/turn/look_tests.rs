//! Calls that only look, together and beside others.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::{Event, TurnFact};
use holon_facts::receipt::Receipt;

use crate::testing::{World, calls, context, looked, prompt, tool_answers};

const LIST: (&str, &str, &str) = ("", "ListWorkItems", "{}");
const CREATE: (&str, &str, &str) = ("", "CreateWorkItem", r#"{"objective":"repair the build"}"#);

/// The model of a new agent makes these calls.
fn called(made: &[(&str, &str, &str)]) -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(made));
    world
}

/// Begins of calls by their tools, and results by what they show.
fn happened(world: &World) -> Vec<String> {
    let shown = |receipt: &Receipt| match &receipt.error {
        Some(error) => error.kind.name().to_string(),
        None => receipt.content.as_ref().unwrap().preview().to_string(),
    };
    let of_turn = world.log.iter().filter_map(|record| {
        let Event::Turn(fact) = &record.event else { return None };
        if let TurnFact::ToolStarted(fact) = fact {
            return Some(fact.tool.to_string());
        }
        if let TurnFact::ToolExecuted(fact) = fact {
            return Some(shown(&fact.receipt));
        }
        let TurnFact::ToolExecutionFailed(fact) = fact else { return None };
        Some(shown(&fact.receipt))
    });
    of_turn.collect()
}

#[test]
fn calls_that_only_look_are_answered_in_one_step() {
    let mut world = called(&[LIST; 8]);
    assert_eq!((world.views.len(), happened(&world)), (8, Vec::from(["ListWorkItems".into()])));
    let texts = ["a", "b", "c", "d", "e", "f", "g", "h"];
    world.complete("main", looked(texts));
    let expected: Vec<String> =
        texts.iter().flat_map(|text| ["ListWorkItems".into(), String::from(*text)]).collect();
    assert_eq!(happened(&world), expected);
    assert_eq!(world.requests.len(), 2, "the model is asked with all of them");
}

#[test]
fn what_changes_something_or_fails_has_its_turn_between_them() {
    let mut world = called(&[
        LIST,
        ("", "TaskList", "{}"),
        ("", "GetWorkItem", r#"{"work_item_id":"work_1"}"#),
        ("", "AgentGet", "{}"),
        CREATE,
        ("", "GetWorkItem", r#"{"work_item_id":"work_1"}"#),
    ]);
    world.complete("main", looked(["no items", "no tasks"]));
    world.complete("main", looked(["me"]));
    world.complete("main", tool_answers("made"));
    world.complete("main", looked(["the item"]));
    assert_eq!(
        happened(&world),
        [
            "ListWorkItems",
            "no items",
            "TaskList",
            "no tasks",
            "GetWorkItem",
            "unknown_work_item",
            "AgentGet",
            "me",
            "CreateWorkItem",
            "made",
            "GetWorkItem",
            "the item",
        ]
    );
}

#[test]
fn a_performer_that_shows_less_is_asked_for_the_rest_and_nothing_takes_what_is_too_much() {
    let mut world = called(&[LIST, LIST, CREATE]);
    world.complete("main", looked(["a"]));
    assert_eq!(world.views.len(), 3, "two, then the second one again");
    world.complete("main", looked(["b", "c"]));
    assert_eq!(happened(&world).last().unwrap(), "CreateWorkItem", "{:?}", happened(&world));
    let mut world = called(&[LIST]);
    world.complete("main", looked([]));
    assert_eq!(happened(&world).last().unwrap(), "tool_execution_failed", "an outcome of nothing");
}

#[test]
fn what_a_look_would_bring_is_no_result_of_another_call() {
    let mut world = called(&[("", "MemorySearch", r#"{"query":"x"}"#)]);
    world.complete("main", looked(["a"]));
    assert_eq!(happened(&world), ["MemorySearch", "tool_execution_failed"]);
}

#[test]
fn an_agent_that_only_looks_at_itself_repeats_itself_whatever_it_has_used_meanwhile() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    for used in ["1 token", "2 tokens", "3 tokens"] {
        world.complete("main", calls(&[("", "AgentGet", "{}")]));
        world.complete("main", looked([used]));
    }
    let repeats = |world: &World| world.agent("main").run.as_ref().unwrap().course.repeats.count;
    assert_eq!(repeats(&world), 3);
    for state in ["no tasks", "a task"] {
        world.complete("main", calls(&[("", "TaskList", "{}")]));
        world.complete("main", looked([state]));
        assert_eq!(repeats(&world), 1, "it shows something else");
    }
}
