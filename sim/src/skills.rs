//! Skills of a simulated folder: they are added, changed and removed between turns, and commands name their files, even
//! of skills that do not exist.

use std::sync::Arc;

use holon_facts::content::{ContentId, Text};
use holon_facts::skill::{FILES, GivenSkill, Skill, SkillCatalogue, SkillScope};

use crate::performer::Circumstances;

const NAMES: [&str; 5] = ["csv", "notes", "pdf", "release", "review"];

/// The skills of a turn; none in worlds without skills.
pub(crate) fn found(here: &mut Circumstances<'_>, untrusted: bool) -> Option<Arc<SkillCatalogue>> {
    if here.faults.skills == 0 {
        return None;
    }
    let there = here.below("skills", 1 << NAMES.len());
    let changed = here.below("skills change", 1_000) < here.faults.skills;
    let version = if changed { here.below("version of skills", 3) } else { 0 };
    // A folder that an agent chose itself offers none.
    let of_workspace = !untrusted && here.below("whose skills", 4) == 0;
    let named = NAMES.iter().enumerate().filter(|(at, _)| there & (1 << at) != 0);
    let skills = named.map(|(_, name)| skill(name, version, of_workspace)).collect();
    Some(Arc::new(SkillCatalogue { skills, left_out: 0, untrusted: untrusted.into() }))
}

fn skill(name: &str, version: u32, of_workspace: bool) -> Skill {
    let scope = if of_workspace { SkillScope::Workspace } else { SkillScope::Agent };
    let byte = u8::try_from(version).unwrap_or(u8::MAX);
    Skill {
        skill_id: format!("{scope}:{name}"),
        name: name.to_owned(),
        scope,
        description: Text::short(format!("version {version}")),
        entrypoint_path: format!("/skills/{name}/SKILL.md"),
        digest: ContentId([byte; 32]),
    }
}

/// The skills of a prompt: the first so many as their agent has them, offered or not.
pub(crate) fn given(count: u32) -> Vec<GivenSkill> {
    let named = NAMES.iter().take(count as usize);
    let along = named.map(|name| {
        let Skill { skill_id, name, scope, entrypoint_path, digest, .. } = skill(name, 0, false);
        let body = Text::short(format!("How {name} is done."));
        GivenSkill { skill_id, name, scope, entrypoint_path, digest, body }
    });
    along.collect()
}

/// The files that a successful command names.
pub(crate) fn named(here: &mut Circumstances<'_>) -> Vec<String> {
    if here.faults.skills == 0 || here.below("names skills", 3) > 0 {
        return Vec::new();
    }
    let first = here.below("named skill", 6) as usize;
    let count = here.below("named skills", 3) as usize + 1;
    let file = |at: usize| {
        let name = NAMES.get(at % 6).copied().unwrap_or("nobody");
        if at.is_multiple_of(2) {
            format!("/skills/{name}/SKILL.md")
        } else {
            format!("/skills/{name}/scripts/go.sh")
        }
    };
    (first..first + count.min(FILES)).map(file).collect()
}
