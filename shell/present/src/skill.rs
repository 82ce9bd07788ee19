//! Skills on offer, and in use.

use holon_facts::event::SkillFact;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &SkillFact) -> Rendered {
    match fact {
        SkillFact::SkillsCatalogued(fact) => {
            let catalogue = &fact.catalogue;
            let names: Vec<&str> = catalogue.skills.iter().map(|skill| skill.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let more = [
                (catalogue.left_out, "are too many"),
                (catalogue.untrusted, "are of an untrusted workspace"),
            ];
            let more = more.iter().filter(|(count, _)| *count > 0);
            let more: String = more.map(|(count, why)| format!("; {count} more {why}")).collect();
            let summary = format!("skills on offer: {names}{more}");
            Rendered::new(Visibility::Verbose, Category::Runtime, "skills", &summary)
        }
        SkillFact::SkillActivated(fact) => {
            let summary = format!("skill {} is in use ({}): {}", fact.name, fact.load_reason, fact.path);
            Rendered::new(Visibility::Info, Category::Runtime, "skill", &summary)
        }
    }
}
