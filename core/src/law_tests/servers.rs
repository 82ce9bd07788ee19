//! Turns that are offered tools of other programs, as a host has written them; and ways to break the law about them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::Record;
use holon_facts::call::ToolName;
use holon_facts::event::turn::{ToolsCatalogued, TurnStarted};
use holon_facts::event::{Event, TurnFact};
use holon_facts::ids::RunId;

use super::sabotage::{Case, Script};
use crate::testing::{World, answers, calls, context, context_offering, prompt, tool_answers};

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        catalogued("a tool is on no record", 0, |fact| {
            Arc::make_mut(&mut fact.catalogue).tools.pop();
        }),
        catalogued("it has one name twice", 0, |fact| {
            let tools = &mut Arc::make_mut(&mut fact.catalogue).tools;
            tools[1] = tools[0].clone();
        }),
        catalogued("its names are in no order", 0, |fact| {
            Arc::make_mut(&mut fact.catalogue).tools.reverse();
        }),
        catalogued("tools are offered in no order", 0, |fact| {
            let tools = fact.tools_offered.iter().flat_map(|tools| tools.iter().rev().cloned());
            fact.tools_offered = Some(tools.collect());
        }),
        catalogued("it belongs to another run", 0, |fact| fact.run_id = RunId(9)),
        catalogued("they are offered in the middle of an episode", 1, |fact| {
            fact.tools_offered = Some([ToolName::new("files__write")].into());
        }),
        case("it is the one before", |s| {
            let first = catalogue(s, 0);
            s.replace("tools_catalogued", 1, ToolsCatalogued { tools_offered: None, ..first });
        }),
        case("it comes after the context", |s| {
            let fact = catalogue(s, 0);
            s.remove("tools_catalogued", 0);
            s.after("turn_context_built", 0, fact);
        }),
        case("a run offers what nobody has", |s| {
            let Event::Turn(TurnFact::TurnStarted(fact)) = s.event("turn_started", 2) else { panic!() };
            let tools_offered = Some([ToolName::new("files__format_disk")].into());
            let fact = TurnStarted { tools_offered, ..(**fact).clone() };
            s.replace("turn_started", 2, fact);
        }),
    ]
}

fn case(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("CX35", what, Script::of(life()), sabotage)
}

fn catalogued(what: &'static str, nth: usize, sabotage: impl FnOnce(&mut ToolsCatalogued)) -> Case {
    case(what, |s| {
        let mut fact = catalogue(s, nth);
        sabotage(&mut fact);
        s.replace("tools_catalogued", nth, fact);
    })
}

fn catalogue(script: &Script, nth: usize) -> ToolsCatalogued {
    let Event::Turn(TurnFact::ToolsCatalogued(fact)) = script.event("tools_catalogued", nth) else {
        panic!()
    };
    (**fact).clone()
}

/// A turn that calls a tool of another program, one that finds another tool, and one that is offered it.
fn life() -> Vec<Record> {
    world().log
}

pub(super) fn world() -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("read"));
    world.complete("main", context_offering(&["files__list", "files__read"]));
    world.complete("main", calls(&[("", "files__read", r#"{"path":"a"}"#)]));
    world.complete("main", tool_answers("it is there"));
    world.complete("main", answers("done"));
    for _ in 0..2 {
        world.admit("main", prompt("write"));
        world.complete("main", context_offering(&["files__list", "files__read", "files__write"]));
        world.complete("main", answers("done"));
    }
    world
}

#[test]
fn tools_count_for_a_whole_episode_and_calls_go_to_their_server() {
    let mut world = world();
    let offered: Vec<usize> = world
        .requests
        .iter()
        .map(|request| request.tools.iter().filter(|name| name.as_str().contains("__")).count())
        .collect();
    assert_eq!(offered, [2, 2, 2, 3], "in the episode that has begun nothing changes");
    let servers: Vec<_> =
        world.server_calls.iter().map(|call| (call.server.as_str(), call.tool.as_str())).collect();
    assert_eq!(servers, [("files", "read")]);
    // What is gone is offered no more.
    for _ in 0..2 {
        world.admit("main", prompt("again"));
        world.complete("main", context());
        world.complete("main", answers("done"));
    }
    let last = world.requests.last().expect("a request");
    assert!(last.tools.iter().all(|name| !name.as_str().contains("__")), "{:?}", last.tools);
    assert!(world.agent("main").servers.offered.is_none());
}
