//! Laws about skills.

use alloc::collections::BTreeSet;

use holon_facts::event::{Event, InboxFact, SkillActivated, SkillFact, SkillsCatalogued};
use holon_facts::provenance::MessageKind;
use holon_facts::record::Record;
use holon_facts::skill::{GIVEN, GIVEN_BYTES, LoadReason, OFFERED, SkillScope};
use holon_facts::workspace::ExecutionBinding;

use super::past::Past;
use super::{Checked, rule};

/// A skill becomes active by a file of it that a command has named which succeeded, or by a message of the turn that brings
/// it along, and it is one on offer.
pub(super) fn k1(past: &Past, record: &Record) -> Checked {
    let Event::Skill(SkillFact::SkillActivated(fact)) = &record.event else { return Ok(false) };
    let SkillActivated { skill_id, path, load_reason, run_id, .. } = &**fact;
    let skills = &past.skills;
    let offered = skills.catalogue.get(skill_id);
    let Some(offered) = offered else { return Err(format!("{skill_id} is not on offer")) };
    let facts = (&fact.name, fact.scope, &fact.entrypoint_path, fact.digest);
    rule(facts == (&offered.name, offered.scope, &offered.entrypoint_path, offered.digest), || {
        format!("{skill_id} is active as {facts:?}, on offer is {offered:?}")
    })?;
    let run = past.run.as_ref();
    rule(*run_id == run.map(|run| run.id), || format!("{skill_id} is active in {run_id:?}"))?;
    let turn = run.map_or(past.next.turn.0.saturating_sub(1), |run| run.turn_index.0);
    rule(fact.turn_index.0 == turn, || format!("{skill_id} is active in turn {}", fact.turn_index.0))?;
    if *load_reason == LoadReason::PromptInjection {
        let brought = skills.taken && run.is_some_and(|run| skills.brings(run.message, offered));
        return rule(brought && *path == offered.entrypoint_path, || {
            format!("no message that is taken in brings {skill_id} along, {path} is active")
        });
    }
    rule(offered.reason(path) == Some(*load_reason), || {
        format!("{path} makes {skill_id} active by {load_reason}")
    })?;
    rule(skills.task_ended || skills.named.contains(path), || {
        format!("{path} is none of {:?}, which a command has named", skills.named)
    })
}

/// What is on offer is on record as it changes, before the context of a turn.
pub(super) fn k2(past: &Past, record: &Record) -> Checked {
    let Event::Skill(SkillFact::SkillsCatalogued(fact)) = &record.event else { return Ok(false) };
    let SkillsCatalogued { run_id, catalogue } = &**fact;
    let run = past.run.as_ref().map(|run| run.id);
    rule(run == Some(*run_id) && !past.skills.loaded, || {
        format!("a catalogue of {run_id} in {run:?}, whose context is there: {}", past.skills.loaded)
    })?;
    rule(past.skills.catalogue != *catalogue, || "the catalogue is the one before".into())?;
    let names: BTreeSet<_> = catalogue.skills.iter().map(|skill| &skill.name).collect();
    let ids: BTreeSet<_> = catalogue.skills.iter().map(|skill| &skill.skill_id).collect();
    let ordered = catalogue.skills.is_sorted_by(|one, next| one.name < next.name);
    let count = catalogue.skills.len();
    rule(ordered && names.len() == count && ids.len() == count && count <= OFFERED, || {
        format!("{count} skills with {} names and {} ids", names.len(), ids.len())
    })?;
    let users = catalogue.skills.iter().find(|skill| skill.scope == SkillScope::User);
    rule(past.skills.has_user || users.is_none() || past.is_copied(record), || {
        format!("{:?} is the user's, and for the default agent alone", users.map(|skill| &skill.skill_id))
    })?;
    let workspaces = &past.workspaces;
    let here = workspaces.here.as_ref().map(ExecutionBinding::workspace_id);
    let untrusted = here.is_some_and(|id| workspaces.untrusted.contains(&id));
    let untrusted = (untrusted || catalogue.untrusted > 0)
        && catalogue.skills.iter().any(|skill| skill.scope == SkillScope::Workspace);
    rule(!untrusted, || "skills of a workspace that nobody trusts are on offer".into())
}

/// Prompts of operators alone bring skills along: few, each once, and none that is long.
pub(super) fn k3(_: &Past, record: &Record) -> Checked {
    let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return Ok(false) };
    let (id, kind, skills) = (fact.message.id, fact.message.kind, &fact.message.skills);
    if skills.is_empty() {
        return Ok(false);
    }
    rule(kind == MessageKind::OperatorPrompt, || format!("{id} of kind {kind} brings skills along"))?;
    let ids: BTreeSet<_> = skills.iter().map(|skill| &skill.skill_id).collect();
    let long = skills.iter().map(|skill| skill.body.bytes()).find(|bytes| *bytes > GIVEN_BYTES);
    rule(ids.len() == skills.len() && ids.len() <= GIVEN && long.is_none(), || {
        format!("{id} brings {} skills of {ids:?} along, one of {long:?} bytes", skills.len())
    })
}

/// Nothing else comes before what a command has named, or a message has brought along, is active.
pub(super) fn k4(past: &Past, record: &Record) -> Checked {
    if matches!(record.event, Event::Skill(SkillFact::SkillActivated(_))) {
        return Ok(false);
    }
    let skills = &past.skills;
    let due = skills.due(past.run.as_ref().map(|run| run.message));
    let missing = due.iter().find(|(id, reason)| !skills.used.contains(&((*id).into(), *reason)));
    rule(missing.is_none(), || format!("{missing:?} is not active, although the turn uses it"))?;
    Ok(!due.is_empty())
}
