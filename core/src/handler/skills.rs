//! What skills an agent is offered, and which of them its calls use. Which files a command names, the shell finds out: it
//! knows links and folders.

use alloc::string::String;
use alloc::sync::Arc;

use holon_facts::event::{SkillActivated, SkillsCatalogued};
use holon_facts::ids::{RunId, TurnIndex};
use holon_facts::skill::{FILES, SkillCatalogue};

use crate::tx::Tx;

/// A turn begins with these on offer: on record where they are others than before.
pub(crate) fn read(tx: &mut Tx<'_>, run_id: RunId, found: Option<Arc<SkillCatalogue>>) {
    let found = found.filter(|catalogue| !catalogue.is_empty());
    if tx.agent().skills.catalogue != found {
        tx.record(SkillsCatalogued { run_id, catalogue: found.unwrap_or_default() });
    }
}

/// A command has succeeded: the skills whose files it named are in use from now on.
pub(crate) fn used(tx: &mut Tx<'_>, files: &[String]) {
    for path in files.iter().take(FILES) {
        let agent = tx.agent();
        let run_id = agent.run.as_ref().map(|run| run.id);
        let turn_index = agent.run.as_ref().map_or(before(agent.next.turn), |run| run.turn_index);
        let Some(catalogue) = agent.skills.catalogue.clone() else { return };
        let Some((skill, load_reason)) = catalogue.of_file(path) else { continue };
        // Once a turn is enough.
        if agent.skills.is_used(&skill.skill_id, load_reason) {
            continue;
        }
        tx.record(SkillActivated {
            skill_id: skill.skill_id.clone(),
            name: skill.name.clone(),
            scope: skill.scope,
            path: path.clone(),
            entrypoint_path: skill.entrypoint_path.clone(),
            digest: skill.digest,
            load_reason,
            run_id,
            turn_index,
        });
    }
}

fn before(turn: TurnIndex) -> TurnIndex {
    TurnIndex(turn.0.saturating_sub(1))
}
