//! Turns that are offered tools of other programs, as a host has written them; and ways to break the law about them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::Record;
use holon_facts::call::ToolName;
use holon_facts::event::operation::{OpKind, OperationOpened, OperationSettled, Settlement};
use holon_facts::event::turn::{ToolExecuted, ToolExecutionFailed, ToolsCatalogued, TurnStarted};
use holon_facts::event::{Event, OperationFact, TurnFact};
use holon_facts::ids::RunId;
use holon_facts::outcome::Outcome;
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};

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
    .into_iter()
    .chain(of_calls())
    .collect()
}

/// Ways to break what holds of calls.
fn of_calls() -> Vec<Case> {
    let cx33 = |what, sabotage: fn(&mut Script)| Case::of("CX33", what, Script::of(life()), sabotage);
    let cx37 = |what, sabotage: fn(&mut ToolFacts)| {
        Case::of("CX37", what, Script::of(life()), |s| {
            let Event::Turn(TurnFact::ToolExecuted(fact)) = s.event("tool_executed", 0) else { panic!() };
            let (mut fact, mut receipt) = ((**fact).clone(), (*fact.receipt).clone());
            sabotage(&mut receipt.facts);
            fact.receipt = Arc::new(receipt);
            s.replace("tool_executed", 0, fact);
        })
    };
    alloc::vec![
        cx33("it is sent again", |s| {
            let (at, fact) = call_opened(s);
            s.after("operation_opened", at, OperationOpened { op: fact.op.next(), ..fact });
        }),
        cx33("it has a result and was never sent", |s| {
            let (at, _) = call_opened(s);
            s.remove("operation_opened", at);
        }),
        cx33("it has a result while it is under way", |s| s.remove("operation_settled", 2)),
        cx33("its end is lost, and it goes on", |s| {
            let Event::Operation(OperationFact::OperationSettled(fact)) = s.event("operation_settled", 2)
            else {
                panic!()
            };
            let fact = OperationSettled { settlement: Settlement::Lost, ..(**fact).clone() };
            s.replace("operation_settled", 2, fact);
        }),
        cx33("it ends, and nobody says that it was interrupted", |s| {
            let Event::Turn(TurnFact::ToolExecuted(fact)) = s.event("tool_executed", 0) else { panic!() };
            let ToolExecuted { run_id, round, index, call_id, tool_name, duration_ms, .. } = (**fact).clone();
            let receipt = Receipt::failure(ToolError::new(ToolErrorKind::UnknownTool, "there is none"));
            let receipt = Arc::new(receipt);
            let fact = ToolExecutionFailed { run_id, round, index, call_id, tool_name, receipt, duration_ms };
            s.remove("operation_settled", 2);
            s.replace("tool_executed", 0, fact);
        }),
        cx37("it ends the turn", |facts| facts.ends_turn = true),
        cx37("it changes a file", |facts| facts.changed_files.push("a".into())),
        cx37("it makes a skill active", |facts| facts.skill_files.push("/skills/x/SKILL.md".into())),
    ]
}

/// The operation of the one call.
fn call_opened(script: &Script) -> (usize, OperationOpened) {
    let found = (0..).find_map(|at| {
        let Event::Operation(OperationFact::OperationOpened(fact)) = script.event("operation_opened", at)
        else {
            panic!()
        };
        (fact.kind == OpKind::CallTool).then(|| (at, (**fact).clone()))
    });
    found.expect("a call")
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

/// So many tools that requests can't have them all.
fn many() -> Vec<&'static str> {
    const MANY: [&str; 30] = [
        "files__00",
        "files__01",
        "files__02",
        "files__03",
        "files__04",
        "files__05",
        "files__06",
        "files__07",
        "files__08",
        "files__09",
        "files__10",
        "files__11",
        "files__12",
        "files__13",
        "files__14",
        "files__15",
        "files__16",
        "files__17",
        "files__18",
        "files__19",
        "files__20",
        "files__21",
        "files__22",
        "files__23",
        "files__24",
        "files__25",
        "files__26",
        "files__27",
        "files__28",
        "web__open",
    ];
    MANY.to_vec()
}

#[test]
fn many_tools_are_found_and_called_by_their_names() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("read"));
    world.complete("main", context_offering(&many()));
    let tools = &world.requests[0].tools;
    assert!(tools.iter().all(|name| !name.as_str().contains("__")), "{tools:?}");
    assert_eq!(
        tools.iter().rev().take(2).map(ToolName::as_str).collect::<Vec<_>>(),
        ["ToolCall", "ToolSearch"]
    );
    let blocks = &world.requests[0].frame.system_blocks;
    let servers = blocks.iter().find(|block| block.label == "tool_servers").expect("the block of servers");
    let text = alloc::format!("{:?}", servers.parts);
    assert!(text.contains("files: 29 tools") && text.contains("web: 1 tools"), "{text}");

    world.complete(
        "main",
        calls(&[
            ("", "ToolSearch", r#"{"query":"open a page"}"#),
            ("", "ToolCall", r#"{"tool":"web__open","arguments":"{\"url\":\"a\"}"}"#),
            ("", "ToolCall", r#"{"tool":"web__close","arguments":"{}"}"#),
            ("", "ToolCall", r#"{"tool":"ExecCommand","arguments":{"cmd":"ls"}}"#),
            ("", "files__00", "{}"),
        ]),
    );
    world.complete("main", tool_answers("web__open"));
    let [call] = &world.server_calls[..] else { panic!("{:?}", world.server_calls) };
    assert_eq!((call.server.as_str(), call.tool.as_str(), call.found), ("web", "open", true));
    let Outcome::Tool { mut outcome } = tool_answers("the page") else { panic!() };
    outcome.receipt.facts.ends_turn = true;
    world.complete("main", Outcome::Tool { outcome });
    world.complete("main", answers("done"));
    let failed = |record: &Record| {
        let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
        fact.receipt.error.as_ref().map(|error| error.kind)
    };
    let failed: Vec<ToolErrorKind> = world.log.iter().filter_map(failed).collect();
    use ToolErrorKind::{InvalidToolInput, UnknownTool};
    assert_eq!(failed, [UnknownTool, InvalidToolInput, UnknownTool]);
    assert_eq!(world.requests.len(), 2, "a result of another program ends no turn");
}
