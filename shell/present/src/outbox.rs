//! What one agent has for another.

use holon_facts::event::OutboxFact;
use holon_facts::outbox::Letter;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &OutboxFact) -> Rendered {
    let (visibility, summary) = match fact {
        OutboxFact::LetterPosted(fact) => {
            let what = match &fact.letter {
                Letter::Spawn { spec, .. } => format!("a {} agent, {}, begins", spec.visibility, fact.to),
                Letter::FollowUp { .. } => format!("{} gets a message", fact.to),
                Letter::Stop { .. } => format!("{} must end", fact.to),
                Letter::Needs { need } => format!("{} is asked for help: {}", fact.to, need.kind),
                Letter::Result { status, .. } => format!("{} gets the result: {status}", fact.to),
            };
            (Visibility::Verbose, what)
        }
        OutboxFact::LetterDelivered(fact) => (Visibility::Debug, format!("{} is delivered", fact.letter_id)),
        OutboxFact::LetterReturned(fact) => {
            (Visibility::Info, format!("{} came back: {}", fact.letter_id, fact.problem))
        }
        OutboxFact::LetterReceived(fact) => {
            (Visibility::Debug, format!("{} of {} was received", fact.letter_id, fact.from))
        }
    };
    Rendered::new(visibility, Category::Task, "letter", &summary)
}
