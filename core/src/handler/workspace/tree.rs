//! The files where an agent works, on record as a turn finds and leaves them (contract: operations.md, What if). Somebody
//! else keeps them in their repository; where there is none, nothing is on record.

use holon_facts::event::workspace::{TreeMoment, WorkspaceTreeKept};
use holon_facts::ids::RunId;
use holon_facts::workspace::{ExecutionBinding, WorkspaceKind, WorkspaceTree};

use crate::effect::Effect;
use crate::tx::Tx;

/// The files as they are where the agent works, if they are others than are on record.
pub(crate) fn kept(tx: &mut Tx<'_>, execution: ExecutionBinding, kept: WorkspaceTree, moment: TreeMoment) {
    let agent = tx.agent();
    if agent.childhood.retired.is_none() && agent.workspaces.kept(&execution.execution_root) != Some(&kept) {
        tx.record(WorkspaceTreeKept { execution, kept, moment });
    }
}

/// Lets somebody keep the files as the turn finds them, while its first request is under way. Git takes programs that the
/// repository may name: they are somebody's whom nobody trusts, maybe.
pub(crate) fn found(tx: &mut Tx<'_>, run: RunId) {
    let agent = tx.agent();
    let execution = agent.workspaces.active();
    if agent.run.as_ref().is_some_and(|under_way| under_way.id == run)
        && execution.kind != WorkspaceKind::AgentHome
        && !agent.workspaces.is_untrusted_at(execution)
    {
        keep(tx, TreeMoment::TurnBegin);
    }
}

/// Lets somebody keep the files as the turn leaves them, where they were kept as it found them.
pub(crate) fn left(tx: &mut Tx<'_>) {
    let workspaces = &tx.agent().workspaces;
    if workspaces.kept(&workspaces.active().execution_root).is_some() {
        keep(tx, TreeMoment::TurnEnd);
    }
}

fn keep(tx: &mut Tx<'_>, moment: TreeMoment) {
    let agent = tx.agent();
    let (agent, execution) = (agent.id.clone(), agent.workspaces.active().clone());
    tx.effect(Effect::KeepTree { agent, execution, moment });
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use holon_facts::event::{Event, WorkspaceFact};

    use super::*;
    use crate::input::Input;
    use crate::testing::{World, agent, answers, context, prompt};

    fn tree(name: &str) -> WorkspaceTree {
        WorkspaceTree { tree: name.to_string(), commit: None, dirty: true }
    }

    fn recorded(world: &World) -> Vec<(&str, TreeMoment)> {
        let kept = world.log.iter().filter_map(|record| {
            let Event::Workspace(WorkspaceFact::WorkspaceTreeKept(fact)) = &record.event else { return None };
            Some((fact.kept.tree.as_str(), fact.moment))
        });
        kept.collect()
    }

    /// Somebody keeps the files as was asked for last.
    fn kept(world: &mut World, name: &str) -> TreeMoment {
        let (execution, moment) = world.trees.pop().unwrap();
        assert_eq!(world.trees, [], "each was answered");
        world.step(Input::TreeKept { agent: agent("main"), execution, kept: tree(name), moment });
        moment
    }

    #[test]
    fn files_are_on_record_as_a_turn_finds_and_leaves_them_and_once() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        assert_eq!(kept(&mut world, "a"), TreeMoment::TurnBegin, "the first request is under way");
        world.complete("main", answers("done"));
        assert_eq!(kept(&mut world, "b"), TreeMoment::TurnEnd);
        world.admit("main", prompt("go on"));
        world.complete("main", context());
        assert_eq!(kept(&mut world, "b"), TreeMoment::TurnBegin);
        world.complete("main", answers("done"));
        assert_eq!(kept(&mut world, "b"), TreeMoment::TurnEnd);
        assert_eq!(recorded(&world), [("a", TreeMoment::TurnBegin), ("b", TreeMoment::TurnEnd)]);
    }

    #[test]
    fn what_is_kept_late_is_on_record_in_the_next_turn() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", answers("done"));
        assert_eq!(kept(&mut world, "a"), TreeMoment::TurnBegin);
        assert_eq!(recorded(&world), [("a", TreeMoment::TurnBegin)]);
    }

    #[test]
    fn where_nothing_is_kept_nobody_is_asked_at_the_end() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        assert_eq!(world.trees.len(), 1);
        world.complete("main", answers("done"));
        assert_eq!((world.trees.len(), recorded(&world).len()), (1, 0));
    }
}
