//! What an event means to people, as JSON beside its envelope: made once, and only while somebody asks for it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_facts::Record;
use holon_present::Presentation;

/// How many followers ask for it.
#[derive(Debug, Default)]
pub(super) struct Presenting(AtomicUsize);

impl Presenting {
    pub(super) fn join(&self, present: bool) {
        self.0.fetch_add(usize::from(present), Ordering::Relaxed);
    }

    pub(super) fn leave(&self, present: bool) {
        self.0.fetch_sub(usize::from(present), Ordering::Relaxed);
    }

    /// Whether anybody does. Who comes later reads what was made without from the ledger.
    pub(super) fn is_asked_for(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Of a record, as JSON, where it is asked for.
pub(super) fn of(record: &Record, present: bool) -> Result<Option<String>, serde_json::Error> {
    present.then(|| serde_json::to_string(&Presentation::of(record))).transpose()
}

/// An envelope, with the presentation in it where it is asked for and there is one.
pub(super) fn envelope<'a>(json: &'a str, presentation: Option<&str>, present: bool) -> Cow<'a, str> {
    match (json.strip_suffix('}'), presentation.filter(|shown| present && !shown.is_empty())) {
        (Some(open), Some(shown)) => format!(r#"{open},"presentation":{shown}}}"#).into(),
        (Some(_) | None, _) => json.into(),
    }
}
