//! Attempts at models that fail: why is shown once and whole, however often it happens.

use std::collections::BTreeSet;

use holon_facts::Text;
use holon_facts::event::TurnFact;
use holon_facts::model::AttemptRecord;
use holon_text::time;

/// Different failures that are known again; one more begins anew.
const KNOWN: usize = 64;

/// Failures that were shown, and one that is shown only if the run goes on: otherwise its outcome tells it.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    shown: BTreeSet<String>,
    held: Option<String>,
}

impl Attempts {
    /// The line that a fact brings.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn see(&mut self, fact: &TurnFact) -> Option<String> {
        match fact {
            TurnFact::ProviderAttemptRecorded(fact) => self.attempt(&fact.attempt),
            TurnFact::TurnStarted(_) | TurnFact::ProvidersAwaited(_) => self.held(),
            TurnFact::RuntimeError(_) => {
                self.held = None;
                None
            }
            _ => None,
        }
    }

    /// What is to be shown after all, since the outcome does not tell it.
    pub(super) fn held(&mut self) -> Option<String> {
        self.held.take()
    }

    /// The line of an attempt, where it is not known yet.
    fn attempt(&mut self, attempt: &AttemptRecord) -> Option<String> {
        let kind = attempt.failure_kind?;
        let message = attempt.message.as_ref();
        let what = message.map_or("", Text::preview);
        let cut = if message.is_some_and(|message| message.content().is_some()) { "…" } else { "" };
        if self.shown.len() == KNOWN {
            self.shown.clear();
        }
        if self.shown.contains(what) {
            return None;
        }
        let then = match (attempt.backoff_ms, attempt.advanced_to_fallback) {
            (Some(wait), _) => format!(", again in {}", time::duration(wait)),
            (None, true) => ", trying the next model".to_owned(),
            (None, false) => {
                self.held = Some(format!("! {} {kind}: {what}{cut}", attempt.model_ref));
                return None;
            }
        };
        self.shown.insert(what.to_owned());
        Some(format!("! {} {kind}{then}: {what}{cut}", attempt.model_ref))
    }

    /// Whether these very words were shown.
    pub(super) fn told(&self, what: &str) -> bool {
        self.shown.contains(what)
    }
}
