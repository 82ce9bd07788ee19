//! The files with the plans of work items, as far as their agent has seen them (contract: work.md, Work items): an edit
//! by any tool is progress.

use holon_facts::content::ContentId;
use holon_facts::event::work::WorkPlanSeen;
use holon_facts::ids::WorkItemId;
use holon_facts::work::PlanSeen;

use crate::effect::Effect;
use crate::tx::Tx;

/// Lets somebody look at the plan of the item that a turn was bound to.
pub(crate) fn probe(tx: &mut Tx<'_>, id: WorkItemId) {
    let agent = tx.agent().id.clone();
    let Some(item) = tx.agent().work.get(id).filter(|item| item.completed_at.is_none()) else { return };
    let known = item.plan;
    tx.effect(Effect::ProbePlan { agent, item: id, known });
}

/// Somebody has looked, and the plan is another than was known then.
pub(crate) fn probed(tx: &mut Tx<'_>, id: WorkItemId, hash: Option<ContentId>) {
    let ended = tx.agent().childhood.retired.is_some() || !tx.agent().work.is_open(id);
    let Some(item) = tx.agent().work.get(id).filter(|_| !ended) else { return };
    if item.plan != PlanSeen::of(hash) {
        let edited = item.plan != PlanSeen::Unseen;
        tx.record(WorkPlanSeen { work_item_id: id, hash, edited });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::work::tests::{CREATE, FIRST, PICK, idle, turn};
    use crate::input::Input;
    use crate::testing::{World, agent};

    fn probed(world: &mut World, content: u8) {
        let hash = Some(ContentId([content; 32]));
        world.step(Input::PlanProbed { agent: agent("main"), item: FIRST, hash });
    }

    fn debt(world: &World) -> (u32, bool) {
        let debt = &world.agent("main").work.get(FIRST).unwrap().debt;
        (debt.turns, debt.until.is_some())
    }

    #[test]
    fn an_edited_plan_is_progress_whoever_edits_it() {
        let mut world = World::with_agent("main");
        turn(&mut world, &[&[CREATE], &[PICK]]);
        assert_eq!(world.plans, [], "the turn was about nothing yet");
        idle(&mut world);
        assert_eq!(world.plans, [(FIRST, PlanSeen::Absent)]);
        assert_eq!(debt(&world), (1, true));
        probed(&mut world, 1);
        assert_eq!(debt(&world), (0, false), "a turn that wrote its plan brought something on");
        let from = world.log.len();
        probed(&mut world, 1);
        assert!(!world.kinds(from).contains(&"work_plan_seen"), "it is known");
        idle(&mut world);
        let seen = PlanSeen::of(Some(ContentId([1; 32])));
        assert_eq!(world.plans.last(), Some(&(FIRST, seen)));
        assert_eq!(debt(&world), (1, true), "nothing was written");
    }

    #[test]
    fn what_came_with_an_item_is_no_edit() {
        let mut world = World::with_agent("main");
        let create = ("CreateWorkItem", r#"{"objective":"repair the build","plan":"first look, then mend"}"#);
        turn(&mut world, &[&[create], &[PICK]]);
        idle(&mut world);
        assert_eq!(world.plans.last(), Some(&(FIRST, PlanSeen::Unseen)));
        probed(&mut world, 1);
        assert_eq!(debt(&world), (1, true));
        probed(&mut world, 2);
        assert_eq!(debt(&world), (0, false));
    }

    #[test]
    fn nobody_looks_at_what_is_done() {
        let mut world = World::with_agent("main");
        let done = ("CompleteWorkItem", r#"{"work_item_id":"work_1"}"#);
        turn(&mut world, &[&[CREATE], &[PICK]]);
        turn(&mut world, &[&[done]]);
        let (from, plans) = (world.log.len(), world.plans.len());
        probed(&mut world, 1);
        assert_eq!((world.log.len(), world.plans.len()), (from, plans));
    }
}
