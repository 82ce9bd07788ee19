//! Where agents work, and who else may not meanwhile, on whole worlds.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::Event;
use holon_facts::event::operation::OpKind;
use holon_facts::outcome::{CommandEnd, Outcome};
use holon_facts::reject::Reject;
use holon_facts::time::Millis;
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange, WorkspaceId};

use crate::effect::Answer;
use crate::input::{ControlRequest, Input};
use crate::recovery::Found;
use crate::summary::workspaces::WorkspaceState;
use crate::testing::{World, agent, answers, calls, command_ends, context, prompt, tool_answers};

const LIST: (&str, &str, &str) = ("", "ExecCommand", r#"{"cmd":"ls"}"#);

fn begin(world: &mut World, name: &str) {
    world.admit(name, prompt("go"));
    world.complete(name, context());
}

fn change(world: &mut World, name: &str, change: WorkspaceChange) -> Result<(WorkspaceState, bool), Reject> {
    let answer = world.ask(|reply| Input::ChangeWorkspace { agent: agent(name), change, reply });
    if let Answer::Refused { reject } = answer {
        return Err(reject);
    }
    let Answer::Workspaces { state, changed } = answer else { panic!("{answer:?}") };
    Ok((*state, changed))
}

fn at(root: &str) -> ExecutionBinding {
    ExecutionBinding::project(root, root)
}

fn uses(root: &str) -> WorkspaceChange {
    WorkspaceChange::Use { execution: at(root) }
}

/// What occupancy the log reports, from there on.
fn occupancy(world: &World, from: usize) -> Vec<String> {
    let of = |event: &Event| event.kind().starts_with("occupancy").then(|| event.payload().unwrap());
    world.log[from..].iter().filter_map(|record| of(&record.event)).collect()
}

/// The last error that a call brought.
fn error(world: &World, name: &str) -> String {
    let run = world.agent(name).run.as_ref().expect("a run");
    let receipt = run.conversation.rounds.last().and_then(|round| round.results.last()).expect("a result");
    let error = receipt.error.as_ref().expect("an error");
    alloc::format!("{}: {}", error.kind, error.message.preview())
}

#[test]
fn one_tree_at_a_time_works_in_a_folder() {
    let mut world = World::with_agent("main");
    world.create("other");
    begin(&mut world, "main");
    assert!(occupancy(&world, 0).is_empty(), "who only thinks occupies nothing");
    world.complete("main", calls(&[LIST]));
    begin(&mut world, "other");
    world.complete("other", calls(&[LIST]));
    assert_eq!(
        error(&world, "other"),
        "workspace_occupied: /w is occupied by the agent main: only one works in a folder at a time"
    );
    // Elsewhere there is room, and the end of the turn makes room here.
    world.complete("other", calls(&[("", "UseWorkspace", r#"{"path":"/x"}"#)]));
    assert_eq!(world.waits_for("other"), Some(OpKind::FindWorkspace));
    world.complete("other", Outcome::found(at("/x")));
    world.complete("other", calls(&[LIST]));
    world.complete("other", tool_answers("a b"));
    world.complete("main", tool_answers("a b"));
    world.complete("main", answers("done"));
    world.complete("other", calls(&[("", "UseWorkspace", r#"{"path":"/w"}"#)]));
    world.complete("other", Outcome::found(at("/w")));
    world.complete("other", answers("done"));
    let all = occupancy(&world, 0);
    let expected = [
        r#"{"execution_root":"/w","run_id":"run_1"}"#,
        r#"{"execution_root":"/x","run_id":"run_1"}"#,
        r#"{"execution_root":"/w","cause":"unused"}"#,
        r#"{"execution_root":"/w","run_id":"run_1"}"#,
        r#"{"execution_root":"/w","cause":"unused"}"#,
        r#"{"execution_root":"/x","cause":"unused"}"#,
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_family_shares_its_folder() {
    let mut world = World::with_agent("main");
    begin(&mut world, "main");
    let spawn = ("", "SpawnAgent", r#"{"initial_message":"look into it"}"#);
    world.complete("main", calls(&[spawn, LIST]));
    world.complete("main--1", context());
    world.complete("main--1", calls(&[LIST]));
    assert_eq!(world.waits_for("main--1"), Some(OpKind::RunCommand));
    world.create("other");
    world.complete("main", tool_answers("a b"));
    world.complete("main", answers("done"));
    begin(&mut world, "other");
    world.complete("other", calls(&[LIST]));
    assert!(error(&world, "other").contains("the agent main--1"), "its child still works there");
}

#[test]
fn a_command_keeps_its_folder_until_it_has_ended_also_after_a_stop() {
    for stops in [false, true] {
        let mut world = World::with_agent("main");
        begin(&mut world, "main");
        world.complete("main", calls(&[LIST]));
        world.pass(Millis::seconds(10));
        world.complete_one("main", OpKind::PromoteCommand, tool_answers("so far"));
        world.complete_one("main", OpKind::CallModel, answers("it goes on"));
        assert!(world.agent("main").run.is_none());
        // An operator sends the agent elsewhere; the command stays where it is.
        change(&mut world, "main", uses("/x")).unwrap();
        assert_eq!(world.agent("main").workspaces.occupied().count(), 1);
        world.found = [(agent("main"), Found::Running)].into();
        world.crash();
        assert_eq!(world.agent("main").workspaces.occupied().count(), 1);
        if stops {
            let answer = world.control("main", ControlRequest::Stop);
            let Answer::Controlled(outcome) = answer else { panic!("{answer:?}") };
            assert_eq!((outcome.stopping_roots, outcome.released_roots.len()), (["/w".into()].into(), 0));
            assert_eq!(world.agent("main").workspaces.occupied().count(), 1, "it may still write");
        }
        let end = if stops { (CommandEnd::Stopped, None) } else { (CommandEnd::Exited, Some(0)) };
        world.complete_one("main", OpKind::RunCommand, command_ends(end.0, end.1));
        assert_eq!(world.agent("main").workspaces.occupied().count(), 0);
    }
}

#[test]
fn a_run_stays_where_it_began_unless_it_goes_itself() {
    let mut world = World::with_agent("main");
    begin(&mut world, "main");
    let (state, changed) = change(&mut world, "main", uses("/x")).unwrap();
    assert!(changed && state.active_workspace_id == WorkspaceId::of_anchor("/x"));
    assert_eq!(world.agent("main").execution().execution_root, "/w");
    let refused =
        change(&mut world, "main", WorkspaceChange::Detach { workspace_id: WorkspaceId::of_anchor("/w") });
    assert_eq!(refused.unwrap_err().code(), "workspace_active");
    world.complete("main", answers("done"));
    begin(&mut world, "main");
    assert_eq!(world.agent("main").execution().execution_root, "/x");
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"workspace_id":"agent_home"}"#)]));
    world.complete("main", Outcome::found(ExecutionBinding::agent_home("/agents/main")));
    assert_eq!(world.agent("main").execution().execution_root, "/agents/main");
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"workspace_id":"nowhere"}"#)]));
    assert!(error(&world, "main").starts_with("invalid_tool_input"), "{}", error(&world, "main"));
}

#[test]
fn what_an_agent_knows_is_changed_by_operators() {
    let mut world = World::with_agent("main");
    let (state, changed) =
        change(&mut world, "main", WorkspaceChange::Attach { execution: at("/x") }).unwrap();
    assert!(changed && state.attached_workspaces.len() == 2 && state.execution.execution_root == "/w");
    let (_, changed) = change(&mut world, "main", WorkspaceChange::Attach { execution: at("/x") }).unwrap();
    assert!(!changed, "it is known");
    let detach = |root| WorkspaceChange::Detach { workspace_id: WorkspaceId::of_anchor(root) };
    let (state, _) = change(&mut world, "main", detach("/x")).unwrap();
    assert_eq!(state.attached_workspaces.len(), 1);
    assert_eq!(change(&mut world, "main", detach("/x")).unwrap_err().code(), "unknown_workspace");
    assert_eq!(change(&mut world, "main", detach("/w")).unwrap_err().code(), "workspace_active");
    let home = WorkspaceChange::Detach { workspace_id: WorkspaceId::agent_home() };
    assert_eq!(change(&mut world, "main", home).unwrap_err().code(), "workspace_active");
    let home = ExecutionBinding::agent_home("/agents/main");
    change(&mut world, "main", WorkspaceChange::Use { execution: home }).unwrap();
    change(&mut world, "main", detach("/w")).unwrap();
    for number in 0..crate::agent::workspace::ATTACHED {
        change(&mut world, "main", WorkspaceChange::Attach { execution: at(&alloc::format!("/p{number}")) })
            .unwrap();
    }
    assert_eq!(change(&mut world, "main", uses("/one-more")).unwrap_err().code(), "too_many");
}
