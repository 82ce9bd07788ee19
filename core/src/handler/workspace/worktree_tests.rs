//! Worktrees over their whole life: made, left, removed or retained, whatever a crash cuts short.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::config::{Config, TurnLimits};
use holon_facts::event::operation::OpKind;
use holon_facts::outcome::{Outcome, Removal};
use holon_facts::time::Millis;
use holon_facts::workspace::{
    ExecutionBinding, ProjectionKind, RetainReason, Retained, WorkspaceChange, WorktreeState,
};

use crate::effect::Answer;
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, calls, config, context, prompt, template, tool_answers};

const BASE: &str = "c0ffee";

fn in_worktree(world: &World) -> ExecutionBinding {
    let path = world.agent("main").worktrees().next().unwrap().plan.path.clone();
    ExecutionBinding {
        workspace_anchor: "/w".into(),
        projection_kind: ProjectionKind::GitWorktreeRoot,
        ..ExecutionBinding::project(path.clone(), path)
    }
}

fn made(execution: ExecutionBinding) -> Outcome {
    Outcome::Workspace { execution, base: Some(BASE.into()) }
}

fn removed() -> Outcome {
    Outcome::Worktree { removal: Removal::Removed }
}

fn stays() -> Outcome {
    let retained = Retained {
        reason: RetainReason::Changed,
        detail: None,
        changed_files: ["a".to_string()].into(),
        more_files: 0,
    };
    Outcome::Worktree { removal: Removal::Retained { retained } }
}

/// A parent that has begun a child in a worktree, and rests.
fn delegated() -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let spawn = ("", "SpawnAgent", r#"{"initial_message":"look into it","workspace_mode":"worktree"}"#);
    world.complete("main", calls(&[spawn]));
    assert_eq!(world.waits_for("main"), Some(OpKind::FindWorkspace));
    let made = made(in_worktree(&world));
    world.complete("main", made);
    world.complete("main", answers("delegated"));
    world
}

fn states(world: &World) -> Vec<WorktreeState> {
    world.agent("main").worktrees().map(|worktree| worktree.state).collect()
}

fn task(world: &World) -> String {
    let main = world.agent("main");
    let task = main.tasks.active().chain(main.tasks.ended()).next().unwrap();
    let kept = task.end.as_ref().and_then(|end| end.worktree.as_ref());
    format!("{}{}", task.status, kept.map_or(String::new(), |kept| format!(", {}", kept.reason)))
}

#[test]
fn a_child_works_in_its_worktree_and_its_result_waits_for_the_end_of_that() {
    for (outcome, ended, left) in [
        (removed(), "completed", Vec::new()),
        (stays(), "completed, changed", [WorktreeState::Retained].into()),
    ] {
        let mut world = delegated();
        let child = world.agent("main--1");
        assert!(child.execution().execution_root.starts_with("/worktrees/main/"), "{:?}", child.execution());
        world.complete("main--1", context());
        world.complete("main--1", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.complete("main--1", tool_answers("made"));
        world.complete("main--1", answers("done"));
        assert!(world.agent("main--1").childhood.archived);
        assert_eq!((task(&world).as_str(), states(&world)), ("running", [WorktreeState::Leaving].into()));
        // A crash in the middle begins the removal again.
        world.crash();
        assert_eq!(states(&world), [WorktreeState::Leaving]);
        world.complete_one("main", OpKind::RemoveWorktree, outcome);
        assert_eq!((task(&world).as_str(), states(&world)), (ended, left));
        assert!(world.agent("main").run.is_some(), "the result begins a turn");
    }
}

#[test]
fn a_stop_removes_the_worktrees_of_children_too() {
    let mut world = delegated();
    world.complete("main--1", context());
    world.control("main", ControlRequest::Stop);
    assert_eq!(states(&world), [WorktreeState::Leaving]);
    world.complete_one("main", OpKind::RemoveWorktree, removed());
    assert_eq!((task(&world).as_str(), states(&world).len()), ("cancelled", 0));
}

#[test]
fn what_nobody_heard_of_is_removed() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let goes = ("", "UseWorkspace", r#"{"path":"/w","mode":"isolated"}"#);
    world.complete("main", calls(&[goes]));
    assert_eq!(states(&world), [WorktreeState::Making]);
    world.crash();
    assert_eq!(world.waits_for("main"), Some(OpKind::RemoveWorktree));
    world.complete_one("main", OpKind::RemoveWorktree, removed());
    assert!(states(&world).is_empty());
}

#[test]
fn an_agent_goes_back_into_its_worktree_until_an_operator_tidies_up() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let goes = ("", "UseWorkspace", r#"{"path":"/w","mode":"isolated","isolation_label":"try"}"#);
    world.complete("main", calls(&[goes]));
    let there = in_worktree(&world);
    world.complete("main", made(there.clone()));
    assert_eq!(world.agent("main").execution(), &there);
    let home = ("", "UseWorkspace", r#"{"workspace_id":"agent_home"}"#);
    world.complete("main", calls(&[home]));
    world.complete("main", Outcome::found(ExecutionBinding::agent_home("/agents/main")));
    // The performer is shown what there is, and says that nothing new was made.
    world.complete("main", calls(&[goes]));
    world.complete("main", Outcome::found(there.clone()));
    assert_eq!((states(&world), world.agent("main").execution()), ([WorktreeState::InUse].into(), &there));
    let prune = |world: &mut World| {
        let change = WorkspaceChange::Prune;
        let answer = world.ask(|reply| Input::ChangeWorkspace { agent: agent("main"), change, reply });
        let Answer::Workspaces { changed, .. } = answer else { panic!("{answer:?}") };
        changed
    };
    assert!(!prune(&mut world), "it works there");
    world.complete("main", calls(&[home]));
    world.complete("main", Outcome::found(ExecutionBinding::agent_home("/agents/main")));
    world.complete("main", answers("done"));
    assert!(prune(&mut world));
    world.complete_one("main", OpKind::RemoveWorktree, stays());
    assert_eq!(states(&world), [WorktreeState::Retained]);
    assert!(prune(&mut world), "it may be another now");
    world.complete_one("main", OpKind::RemoveWorktree, removed());
    assert!(states(&world).is_empty() && !prune(&mut world));
}

#[test]
fn what_a_child_leaves_is_listed_with_its_parent() {
    let mut world = delegated();
    world.complete("main--1", context());
    let spawn = ("", "SpawnAgent", r#"{"initial_message":"you do it","workspace_mode":"worktree"}"#);
    world.complete("main--1", calls(&[spawn]));
    let child = world.agent("main--1");
    let path = child.worktrees().next().unwrap().plan.path.clone();
    let there =
        ExecutionBinding { workspace_anchor: "/w".into(), ..ExecutionBinding::project(path.clone(), path) };
    world.complete("main--1", made(there));
    world.complete("main--1", answers("delegated, too"));
    world.complete("main--1--1", context());
    world.complete("main--1--1", answers("done"));
    world.complete_one("main--1", OpKind::RemoveWorktree, stays());
    world.complete("main--1", context());
    world.complete("main--1", answers("it is done"));
    world.complete_one("main", OpKind::RemoveWorktree, removed());
    let main = world.agent("main");
    let left: Vec<_> = main.worktrees().collect();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].state, left[0].left_by.as_ref()), (WorktreeState::Retained, Some(&agent("main--1"))));
}

/// Who is stopped while a worktree is made for his own child leaves nothing of it, also in the middle of a shutdown.
#[test]
fn a_child_is_archived_when_nothing_is_left_of_its_worktrees() {
    for drains in [false, true] {
        let mut world = delegated();
        world.complete("main--1", context());
        let spawn = ("", "SpawnAgent", r#"{"initial_message":"you do it","workspace_mode":"worktree"}"#);
        world.complete("main--1", calls(&[spawn]));
        if drains {
            world.drain();
        }
        world.control("main", ControlRequest::Stop);
        assert!(!world.agent("main--1").childhood.archived, "its worktree may be there");
        if drains {
            world.crash();
        }
        world.complete_one("main--1", OpKind::RemoveWorktree, removed());
        assert!(world.agent("main--1").childhood.archived);
        world.complete_one("main", OpKind::RemoveWorktree, removed());
        assert_eq!((task(&world).as_str(), states(&world).len()), ("cancelled", 0));
    }
}

/// A child that ends while something of its worktrees is still to go says what stays of them when that is known.
#[test]
fn what_a_child_can_t_remove_after_its_end_is_left_to_its_parent() {
    let turn = TurnLimits { wall_time: Millis::seconds(60), ..config().turn };
    let mut world = World::with_config("main", Config { turn, ..config() });
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "SpawnAgent", r#"{"initial_message":"look into it"}"#)]));
    world.complete("main", answers("delegated"));
    world.complete("main--1", context());
    let spawn = ("", "SpawnAgent", r#"{"initial_message":"you do it","workspace_mode":"worktree"}"#);
    world.complete("main--1", calls(&[spawn]));
    world.pass(Millis::seconds(60));
    let child = &world.agent("main--1").childhood;
    assert!(child.retired.is_some() && !child.archived, "its worktree may be there");
    let stuck = Retained::because(RetainReason::Stuck, "git was killed".into());
    let stays = Outcome::Worktree { removal: Removal::Retained { retained: stuck } };
    world.complete_one("main--1", OpKind::RemoveWorktree, stays);
    assert!(world.agent("main--1").childhood.archived);
    let left: Vec<_> = world.agent("main").worktrees().collect();
    assert_eq!(left.len(), 1, "somebody knows of it");
    assert_eq!((left[0].state, left[0].left_by.as_ref()), (WorktreeState::Retained, Some(&agent("main--1"))));
    assert_eq!(task(&world), "failed", "its end is told then");
}

#[test]
fn a_child_in_a_worktree_begins_with_the_template_that_its_call_names() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let child = r#"{"initial_message":"review it","template":"holon-reviewer","workspace_mode":"worktree"}"#;
    world.complete("main", calls(&[("", "SpawnAgent", child)]));
    world.complete("main", template("holon-reviewer"));
    assert_eq!(world.waits_for("main"), Some(OpKind::FindWorkspace));
    let made = made(in_worktree(&world));
    world.complete("main", made);
    let spec = &world.agent("main--1").spec;
    let template = spec.template.as_ref().map(|template| template.selector.as_str());
    assert!(spec.isolated && template == Some("holon-reviewer"), "{spec:?}");
}
