//! Skills as requests show them: the catalogue that is on offer, what has changed in it, and which of them are in use.
//! Bodies are read by whoever uses them.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;
use holon_facts::skill::{GivenSkill, Skill, SkillCatalogue};

use super::fence::line;
use super::sections::PATH_BYTES;
use crate::agent::skills::ActiveSkill;

/// Characters that the lines of a catalogue take together.
const CATALOGUE_CHARS: u64 = 8_000;
/// Characters of a description, where there is room for that of each skill, and where there is not.
const DESCRIPTIONS: [u32; 2] = [250, 120];
const NAME_BYTES: usize = 256;

const HEADING: &str = "Skills are folders of instructions for particular tasks. When one of these fits what you are about to \
                       do, read its SKILL.md with ExecCommand before you begin, and follow it; paths in it are relative to \
                       its folder.\n";

const GIVEN: &str = "\n[skill | the operator wants it to be used for this message: follow its instructions, as far as they fit \
                     what is asked for; paths in it are relative to its folder]\n";

/// The block of a catalogue.
pub(crate) fn catalogue(catalogue: &SkillCatalogue) -> Vec<Part> {
    let mut parts = alloc::vec![Part::Rendered(HEADING.into())];
    let shown = lines(&mut parts, &catalogue.skills.iter().collect::<Vec<_>>());
    let left_out = u64::from(catalogue.left_out) + (catalogue.skills.len() - shown) as u64;
    parts.extend(note(left_out, "more skills are not shown: there are too many"));
    parts.extend(note(
        catalogue.untrusted.into(),
        "skills of this workspace are not offered: no operator trusts it",
    ));
    parts
}

/// What is another one in the catalogue, under a heading each.
pub(super) fn changes(old: &SkillCatalogue, new: &SkillCatalogue) -> Vec<(&'static str, Vec<Part>)> {
    let mut changes = Vec::new();
    let same = |skill: &&Skill| old.get(&skill.skill_id).is_some_and(|before| before.reads_like(skill));
    let news: Vec<&Skill> = new.skills.iter().filter(|skill| !same(skill)).collect();
    if !news.is_empty() {
        let mut parts = Vec::new();
        let shown = lines(&mut parts, &news);
        parts.extend(note((news.len() - shown) as u64, "more skills are not shown: there are too many"));
        changes.push(("skills that are new, or are as follows now", parts));
    }
    let gone = |skill: &&Skill| new.get(&skill.skill_id).is_none();
    let gone: String = old.skills.iter().filter(gone).map(|skill| format!("- {}\n", name(skill))).collect();
    if !gone.is_empty() {
        changes.push(("skills that are no longer there", alloc::vec![Part::Rendered(gone)]));
    }
    changes
}

/// Skills that an operator wants to be used for a message: the heading says so, and whatever they say themselves is
/// quoted.
pub(super) fn given(skills: &[GivenSkill], place: Place, fence: Fence) -> impl Iterator<Item = Part> {
    skills.iter().flat_map(move |skill| {
        let (name, path) = (line(&skill.name, NAME_BYTES), line(&skill.entrypoint_path, PATH_BYTES));
        let about = Part::Rendered(format!("name: {name}\nfile: {path}\n\n"));
        let quoted = fence.quoted(place, alloc::vec![about, Part::Given(skill.body.clone())]);
        [Part::Rendered(GIVEN.into()), quoted]
    })
}

/// The block of those in use.
pub(super) fn active(active: &[ActiveSkill]) -> Vec<Part> {
    let one = |skill: &ActiveSkill| {
        let (name, path) = (line(&skill.name, NAME_BYTES), line(&skill.entrypoint_path, PATH_BYTES));
        format!("- {name}: {path}\n")
    };
    let lines: String = active.iter().map(one).collect();
    let heading = "Skills that you were using when this part of the conversation began; where a SKILL.md is not in it, read it \
                   again before you go on with it:\n";
    alloc::vec![Part::Rendered(format!("{heading}{lines}"))]
}

/// Skills of a catalogue for which its block has no space.
pub fn unshown(catalogue: &SkillCatalogue) -> Vec<&Skill> {
    let skills: Vec<&Skill> = catalogue.skills.iter().collect();
    let (shown, _) = fitting(&skills);
    skills.into_iter().zip(shown).filter(|(_, shown)| !shown).map(|(skill, _)| skill).collect()
}

/// A line for each skill, as far as there is space; for how many there was.
fn lines(parts: &mut Vec<Part>, skills: &[&Skill]) -> usize {
    let (shown, chars) = fitting(skills);
    let mut count = 0;
    for (skill, _) in skills.iter().zip(shown).filter(|(_, shown)| *shown) {
        count += 1;
        parts.push(Part::Rendered(format!("- {}: ", name(skill))));
        parts.push(description(skill, chars));
        parts.push(Part::Rendered(format!(" ({})\n", path(skill))));
    }
    count
}

/// For which skills there is space, and for how many characters of a description. Those of the workspace come before those of
/// the agent before those of the user, and in each scope the first by name.
fn fitting(skills: &[&Skill]) -> (Vec<bool>, u32) {
    let [long, short] = DESCRIPTIONS;
    let all = |chars| skills.iter().map(|skill| size(skill, chars)).sum::<u64>();
    let chars = if all(long) <= CATALOGUE_CHARS { long } else { short };
    let mut order: Vec<(usize, &&Skill)> = skills.iter().enumerate().collect();
    order.sort_by_key(|(_, skill)| skill.scope);
    let mut shown = alloc::vec![false; skills.len()];
    let mut left = CATALOGUE_CHARS;
    for (at, skill) in order {
        let Some(rest) = left.checked_sub(size(skill, chars)) else { break };
        left = rest;
        shown[at] = true;
    }
    (shown, chars)
}

/// The characters of its line, at most.
fn size(skill: &Skill, chars: u32) -> u64 {
    let around = "- :  ()\n".len() + name(skill).chars().count() + path(skill).chars().count();
    around as u64 + skill.description.bytes().min(chars.into())
}

fn description(skill: &Skill, chars: u32) -> Part {
    let text = &skill.description;
    if let Text::Inline(short) = text
        && short.chars().count() <= chars as usize
    {
        return Part::Rendered(short.clone());
    }
    Part::Excerpt { text: text.clone(), chars }
}

fn name(skill: &Skill) -> String {
    line(&skill.name, NAME_BYTES)
}

fn path(skill: &Skill) -> String {
    line(&skill.entrypoint_path, PATH_BYTES)
}

fn note(count: u64, what: &str) -> Option<Part> {
    (count > 0).then(|| Part::Rendered(format!("[{count} {what}]\n")))
}
