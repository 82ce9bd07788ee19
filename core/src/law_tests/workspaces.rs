//! A life in several folders, as a host lives it, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::event::lifecycle::ControlApplied;
use holon_facts::event::operation::OpKind;
use holon_facts::event::workspace::{
    OccupancyReleased, ReleaseCause, WorkspaceAttached, WorkspaceDetached, WorkspaceUsed,
};
use holon_facts::event::{Event, LifecycleFact};
use holon_facts::lifecycle::Status;
use holon_facts::outcome::{Outcome, Removal};
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange, WorkspaceId};

use super::sabotage::{Case, Script};
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, calls, context, prompt, tool_answers};

fn at(root: &str) -> ExecutionBinding {
    ExecutionBinding::project(root, root)
}

/// A command and a patch in two folders; a stop in the middle of a command; an operator who tidies up.
fn lived() -> World {
    let list = ("", "ExecCommand", r#"{"cmd":"ls"}"#);
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[list]));
    world.complete("main", tool_answers("a b"));
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"path":"/x"}"#)]));
    world.complete("main", Outcome::found(at("/x")));
    world.complete("main", calls(&[("", "ApplyPatch", r#"{"patch":"x"}"#)]));
    world.complete("main", tool_answers("changed"));
    world.complete("main", answers("done"));
    let detach = WorkspaceChange::Detach { workspace_id: WorkspaceId::of_anchor("/w") };
    world.ask(|reply| Input::ChangeWorkspace { agent: agent("main"), change: detach, reply });
    world.admit("main", prompt("and on"));
    world.complete("main", context());
    world.complete("main", calls(&[list]));
    world.control("main", ControlRequest::Stop);
    world
}

/// A worktree that is made, left by an operator's word, and removed.
fn isolated() -> World {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"path":"/w","mode":"isolated"}"#)]));
    let path = world.agent("main").worktrees().map(|one| one.plan.path.clone()).next().unwrap();
    let execution =
        ExecutionBinding { workspace_anchor: "/w".into(), ..ExecutionBinding::project(path.clone(), path) };
    world.complete("main", Outcome::Workspace { execution, base: Some("c0ffee".into()) });
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"workspace_id":"agent_home"}"#)]));
    world.complete("main", Outcome::found(ExecutionBinding::agent_home("/agents/main")));
    world.complete("main", answers("done"));
    let prune = WorkspaceChange::Prune;
    world.ask(|reply| Input::ChangeWorkspace { agent: agent("main"), change: prune, reply });
    world.complete_one("main", OpKind::RemoveWorktree, Outcome::Worktree { removal: Removal::Removed });
    world
}

fn applied(script: &Script) -> ControlApplied {
    let Event::Lifecycle(LifecycleFact::ControlApplied(applied)) = script.event("control_applied", 0) else {
        panic!("a stop");
    };
    (**applied).clone()
}

fn of_worktree(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("O5", what, Script::of(isolated().log), sabotage)
}

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(lived().log), sabotage)
}

fn detached(anchor: &str) -> WorkspaceDetached {
    WorkspaceDetached { workspace_id: WorkspaceId::of_anchor(anchor), workspace_anchor: anchor.into() }
}

fn used(execution: ExecutionBinding) -> WorkspaceUsed {
    let (workspace_id, execution_root_id) = (execution.workspace_id(), execution.execution_root_id());
    WorkspaceUsed { workspace_id, execution, execution_root_id, run_id: None }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_roots();
    cases.extend(of_stops());
    cases
}

fn released(root: &str, cause: ReleaseCause) -> OccupancyReleased {
    OccupancyReleased { execution_root: root.into(), cause }
}

fn of_stops() -> Vec<Case> {
    alloc::vec![
        case("L2", "a stop releases a root in which a command still runs", |s| {
            s.before("control_applied", 0, released("/x", ReleaseCause::Stopped));
        }),
        case("L2", "a stop does not say what it still holds", |s| {
            let mut applied = applied(s);
            applied.stopping_roots.clear();
            s.replace("control_applied", 0, applied);
        }),
        case("L2", "a stop does not say what it has released", |s| {
            let mut applied = applied(s);
            applied.stopping_roots.clear();
            s.replace("control_applied", 0, applied);
            s.before("control_applied", 0, released("/x", ReleaseCause::Stopped));
        }),
        case("S7", "a stop in the middle of a run says that the agent was idle", |s| {
            let applied = ControlApplied { previous: Status::AwakeIdle, ..applied(s) };
            s.replace("control_applied", 0, applied);
        }),
    ]
}

fn of_roots() -> Vec<Case> {
    alloc::vec![
        of_worktree("a worktree is there that nobody was to make", |s| {
            let again = s.event("worktree_created", 0).clone();
            s.after("worktree_created", 0, again);
        }),
        of_worktree("what is gone is left", |s| {
            let left = s.event("worktree_left", 0).clone();
            s.after("worktree_removed", 0, left);
        }),
        of_worktree("one that somebody needs is removed", |s| s.remove("worktree_left", 0)),
        of_worktree("one is gone that nobody has removed", |s| {
            let gone = s.event("worktree_removed", 0).clone();
            s.after("worktree_created", 0, gone);
        }),
        case("O2", "a root stays occupied after the turn", |s| s.remove("occupancy_released", 0)),
        case("O2", "what nobody has is released", |s| {
            s.after("occupancy_released", 0, released("/elsewhere", ReleaseCause::Unused));
        }),
        case("O2", "a root is released in the middle of its run", |s| {
            s.after("tool_executed", 0, released("/w", ReleaseCause::Unused));
        }),
        case("O2", "a root is released by a stop that nobody asked for", |s| {
            s.after("tool_executed", 0, released("/w", ReleaseCause::Stopped));
        }),
        case("O2", "a root is taken twice for one run", |s| {
            let again = s.event("occupancy_acquired", 0).clone();
            s.after("occupancy_acquired", 0, again);
        }),
        case("O3", "a command is executed where nothing is occupied", |s| {
            s.remove("occupancy_acquired", 0);
        }),
        case("O3", "a patch changes what was given back", |s| {
            s.replace("occupancy_acquired", 1, released("/w", ReleaseCause::Unused));
        }),
        case("O4", "what is known is attached again", |s| {
            let again = WorkspaceAttached {
                workspace_id: WorkspaceId::of_anchor("/x"),
                workspace_anchor: "/x".into(),
            };
            s.after("workspace_attached", 0, again);
        }),
        case("O4", "it works in what it does not know", |s| s.remove("workspace_attached", 0)),
        case("O4", "it works outside of its root", |s| {
            let outside = ExecutionBinding { cwd: "/xy".into(), ..at("/x") };
            s.after("workspace_attached", 0, used(outside));
        }),
        case("O4", "where it works is taken from it", |s| {
            s.replace("workspace_detached", 0, detached("/x"));
        }),
        case("O4", "what it does not know is taken from it", |s| {
            s.replace("workspace_detached", 0, detached("/elsewhere"));
        }),
    ]
}
