//! Hints that wake an agent.

use holon_core::agent::wake::Hint;
use holon_core::event::WakeFact;

use super::{Category, Told, Visibility};

pub(super) fn told(fact: &WakeFact) -> Told {
    let (visibility, summary) = match fact {
        WakeFact::WakeHintRecorded(fact) => (Visibility::Info, said(&fact.hint)),
        WakeFact::WakeHintCoalesced(fact) => (Visibility::Verbose, format!("again: {}", said(&fact.hint))),
        WakeFact::WakeTickQueued(fact) => {
            let hints = if fact.hints == 1 { "a hint".to_owned() } else { format!("{} hints", fact.hints) };
            (Visibility::Verbose, format!("{} tells of {hints}", fact.message_id))
        }
        WakeFact::WakeHintsShown(fact) => {
            (Visibility::Verbose, format!("shown at once: {}", fact.sources.join(", ")))
        }
    };
    Told::new(visibility, Category::Message, "hint", &summary)
}

fn said(hint: &Hint) -> String {
    let about = hint.resource.as_ref().map(|resource| format!(" ({resource})")).unwrap_or_default();
    format!("{} hints{about}: {}", hint.source, hint.reason)
}
