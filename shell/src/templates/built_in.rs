//! The templates of this build.

use holon_facts::ids::TemplateId;

use super::content::Template;

/// A plain assistant: what an agent begins with for which nothing else was chosen.
pub(super) const DEFAULT: &str = include_str!("built_in/holon-default/AGENTS.md");

/// Their ids, with the `AGENTS.md` of each.
pub(super) const ALL: [(&str, &str); 4] = [
    ("holon-default", DEFAULT),
    ("holon-developer", include_str!("built_in/holon-developer/AGENTS.md")),
    ("holon-reviewer", include_str!("built_in/holon-reviewer/AGENTS.md")),
    ("holon-watcher", include_str!("built_in/holon-watcher/AGENTS.md")),
];

pub(super) fn ids() -> impl Iterator<Item = TemplateId> {
    ALL.iter().filter_map(|(id, _)| TemplateId::new(id).ok())
}

pub(super) fn of(id: &TemplateId) -> Option<Template> {
    let (_, instructions) = ALL.iter().find(|(known, _)| *known == id.as_str())?;
    Some(Template { instructions: (*instructions).to_owned(), skill_refs: Vec::new() })
}
