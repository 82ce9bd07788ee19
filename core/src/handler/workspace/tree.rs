//! The files where an agent works, on record as a turn finds and leaves them (contract: operations.md, What if). Somebody
//! else keeps them in their repository; where there is none, nothing is on record.

use holon_facts::event::workspace::{TreeMoment, WorkspaceTreeKept};
use holon_facts::workspace::{ExecutionBinding, WorkspaceTree};

use crate::effect::Effect;
use crate::tx::Tx;

/// The files as they are where the agent works, if they are others than are on record.
pub(crate) fn kept(tx: &mut Tx<'_>, execution: ExecutionBinding, kept: WorkspaceTree, moment: TreeMoment) {
    let agent = tx.agent();
    if agent.childhood.retired.is_none() && agent.workspaces.kept(&execution.execution_root) != Some(&kept) {
        tx.record(WorkspaceTreeKept { execution, kept, moment });
    }
}

/// Lets somebody keep the files as the turn leaves them, where they were kept as it found them.
pub(crate) fn probe(tx: &mut Tx<'_>) {
    let agent = tx.agent();
    let execution = agent.workspaces.active();
    if agent.workspaces.kept(&execution.execution_root).is_some() {
        let (agent, execution) = (agent.id.clone(), execution.clone());
        tx.effect(Effect::KeepTree { agent, execution });
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use holon_facts::event::{Event, WorkspaceFact};
    use holon_facts::outcome::Outcome;

    use super::*;
    use crate::input::Input;
    use crate::testing::{World, agent, answers, context, prompt};

    fn tree(name: &str) -> WorkspaceTree {
        WorkspaceTree { tree: name.to_string(), commit: None, dirty: true }
    }

    fn context_with(name: &str) -> Outcome {
        let Outcome::Context { mut context } = context() else { panic!() };
        context.tree = Some(Box::new(tree(name)));
        Outcome::Context { context }
    }

    fn recorded(world: &World) -> Vec<(&str, TreeMoment)> {
        let kept = world.log.iter().filter_map(|record| {
            let Event::Workspace(WorkspaceFact::WorkspaceTreeKept(fact)) = &record.event else { return None };
            Some((fact.kept.tree.as_str(), fact.moment))
        });
        kept.collect()
    }

    fn left(world: &mut World, name: &str) {
        let execution = world.trees.last().unwrap().clone();
        world.step(Input::TreeKept { agent: agent("main"), execution, kept: tree(name) });
    }

    #[test]
    fn files_are_on_record_as_a_turn_finds_and_leaves_them_and_once() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context_with("a"));
        assert_eq!(world.trees, [], "the turn goes on");
        world.complete("main", answers("done"));
        assert_eq!(world.trees.len(), 1);
        left(&mut world, "b");
        world.admit("main", prompt("go on"));
        world.complete("main", context_with("b"));
        world.complete("main", answers("done"));
        left(&mut world, "b");
        assert_eq!(recorded(&world), [("a", TreeMoment::TurnBegin), ("b", TreeMoment::TurnEnd)]);
    }

    #[test]
    fn where_nothing_is_kept_nobody_is_asked() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", answers("done"));
        assert_eq!((world.trees.len(), recorded(&world).len()), (0, 0));
    }
}
