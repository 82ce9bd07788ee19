//! What an event means to people, as JSON beside its envelope: made once, sent to those who ask for it.

use std::borrow::Cow;

use holon_facts::Record;
use holon_present::Presentation;

/// Of a record, as JSON.
pub(super) fn of(record: &Record) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Presentation::of(record))
}

/// An envelope, with the presentation in it where it is asked for and there is one.
pub(super) fn envelope<'a>(json: &'a str, presentation: &str, present: bool) -> Cow<'a, str> {
    match json.strip_suffix('}') {
        Some(open) if present && !presentation.is_empty() => {
            format!(r#"{open},"presentation":{presentation}}}"#).into()
        }
        Some(_) | None => json.into(),
    }
}
