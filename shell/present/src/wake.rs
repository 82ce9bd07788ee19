//! Hints that wake an agent.

use holon_facts::event::WakeFact;
use holon_facts::event::wake::WakeHintRecorded;
use holon_facts::hint::Hint;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &WakeFact) -> Rendered {
    let (visibility, summary) = match fact {
        WakeFact::WakeHintRecorded(fact) => (Visibility::Info, said(&fact.hint) + &folded(fact)),
        WakeFact::WakeHintCoalesced(fact) => (Visibility::Verbose, format!("again: {}", said(&fact.hint))),
        WakeFact::WakeTickQueued(fact) => {
            let hints = if fact.hints == 1 { "a hint".to_owned() } else { format!("{} hints", fact.hints) };
            let left = match fact.left.as_slice() {
                [] => String::new(),
                left => format!("; bare ones are cleared: {}", left.join(", ")),
            };
            (Visibility::Verbose, format!("{} delivers {hints}{left}", fact.message_id))
        }
        WakeFact::WakeHintsShown(fact) => {
            (Visibility::Verbose, format!("shown at once: {}", fact.sources.join(", ")))
        }
        WakeFact::ExternalTriggerDelivered(fact) => {
            (Visibility::Debug, format!("{} delivers to {}", fact.source, fact.external_trigger_id))
        }
        WakeFact::ExternalTriggerProvisioned(fact) => {
            let (trigger, generation) = (fact.external_trigger_id, fact.generation);
            (Visibility::Debug, format!("{trigger} has the address of generation {generation}"))
        }
        WakeFact::ExternalTriggerRevoked(fact) => {
            let (trigger, generation) = (fact.external_trigger_id, fact.generation);
            (Visibility::Info, format!("the address of generation {generation} of {trigger} is revoked"))
        }
    };
    Rendered::new(visibility, Category::Message, "hint", &summary)
}

/// The source that was folded for it.
fn folded(fact: &WakeHintRecorded) -> String {
    let weight = fact.folded_as.map(|weight| format!(" ({weight})")).unwrap_or_default();
    fact.folded.as_ref().map(|source| format!("; folded: {source}{weight}")).unwrap_or_default()
}

fn said(hint: &Hint) -> String {
    let about = hint.resource.as_ref().map(|resource| format!(" ({resource})")).unwrap_or_default();
    format!("{} hints{about}: {}", hint.source, hint.reason)
}
