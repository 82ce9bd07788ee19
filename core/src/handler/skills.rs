//! What skills an agent is offered, and which of them its calls use. Which files a command names, the shell finds out: it
//! knows links and folders.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::{SkillActivated, SkillsCatalogued};
use holon_facts::ids::{MessageId, RunId, TurnIndex};
use holon_facts::skill::{FILES, GivenSkill, LoadReason, Skill, SkillCatalogue};

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
        let Some(catalogue) = agent.skills.catalogue.clone() else { return };
        let Some((skill, load_reason)) = catalogue.of_file(path) else { continue };
        // Once a turn is enough.
        if agent.skills.is_used(&skill.skill_id, load_reason) {
            continue;
        }
        activate(tx, skill, path.clone(), load_reason);
    }
}

/// The turn has its context: what its messages bring along is in use.
pub(crate) fn begun(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let taken: Vec<MessageId> =
        core::iter::once(run.message).chain(run.conversation.interjected.iter().copied()).collect();
    given(tx, &taken);
}

/// Messages are taken in: the skills that an operator has named in them are in use, unless they are not on offer, or have
/// changed since. What comes before the context waits for it.
pub(crate) fn given(tx: &mut Tx<'_>, messages: &[MessageId]) {
    let loaded = tx.agent().run.as_ref().is_some_and(|run| run.environment.context.is_some());
    let inbox = &tx.agent().inbox;
    let messages = if loaded { messages } else { &[] };
    let skills = messages.iter().filter_map(|id| inbox.claimed(*id)).flat_map(|entry| &entry.message.skills);
    let skills: Vec<GivenSkill> = skills.cloned().collect();
    for given in skills {
        let agent = tx.agent();
        let Some(catalogue) = agent.skills.catalogue.clone() else { return };
        let Some(skill) = catalogue.get(&given.skill_id).filter(|skill| given.is(skill)) else { continue };
        if !agent.skills.is_used(&skill.skill_id, LoadReason::PromptInjection) {
            activate(tx, skill, skill.entrypoint_path.clone(), LoadReason::PromptInjection);
        }
    }
}

fn activate(tx: &mut Tx<'_>, skill: &Skill, path: String, load_reason: LoadReason) {
    let agent = tx.agent();
    let run_id = agent.run.as_ref().map(|run| run.id);
    let turn_index = agent.run.as_ref().map_or(before(agent.next.turn), |run| run.turn_index);
    tx.record(SkillActivated {
        skill_id: skill.skill_id.clone(),
        name: skill.name.clone(),
        scope: skill.scope,
        path,
        entrypoint_path: skill.entrypoint_path.clone(),
        digest: skill.digest,
        load_reason,
        run_id,
        turn_index,
    });
}

fn before(turn: TurnIndex) -> TurnIndex {
    TurnIndex(turn.0.saturating_sub(1))
}
