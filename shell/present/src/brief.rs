//! What the agent reports.

use holon_facts::event::BriefFact;
use holon_facts::event::brief::BriefVisibility;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &BriefFact) -> Rendered {
    match fact {
        // A turn without a word has an empty report.
        BriefFact::BriefCreated(fact) if fact.text.is_empty() => {
            let summary = format!("{}: no text", fact.kind);
            Rendered::new(Visibility::Debug, Category::Brief, fact.kind.name(), &summary)
        }
        BriefFact::AskClosed(fact) => {
            let summary = format!("{} was closed without an answer", fact.brief_id);
            Rendered::new(Visibility::Info, Category::Brief, "ask", &summary)
        }
        BriefFact::BriefCreated(fact) => {
            let visibility = match fact.visibility {
                BriefVisibility::ActionRequired => Visibility::ActionRequired,
                BriefVisibility::WorkDone => Visibility::WorkDone,
                BriefVisibility::TurnResult => Visibility::Info,
            };
            Rendered::said(visibility, Category::Brief, fact.kind.name(), fact.text.preview())
        }
    }
}
