//! What a server says about a failure, wherever in its JSON it says it. Nothing else of a body is looked at
//! when a failure is classified: servers quote requests in it.

use serde_json::Value;

use super::{json, wait};

/// Words that are looked at, in bytes.
const WORDS: usize = 8 << 10;

/// An error as a server describes it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ReportedError {
    /// Its own status, where it names one.
    pub(super) status: Option<u16>,
    /// What is written for people.
    pub(super) message: Option<String>,
    /// Message, code and type in lower case.
    words: String,
    /// When a quota is full again, in seconds since 1970.
    pub(super) resets_at: Option<i64>,
    /// In how many seconds a quota is full again.
    pub(super) resets_in: Option<u64>,
    /// In how many milliseconds it may be asked again, in a field or in words.
    pub(super) retry_in: Option<u64>,
}

impl ReportedError {
    /// The error that a document or an event reports, if it does.
    pub(crate) fn reported(root: &Value) -> Option<Self> {
        // Some servers write down that there is none.
        let none = [Value::Null, Value::Bool(false), "".into(), Value::Array(vec![])];
        let error = root.get("error").filter(|error| !none.contains(error));
        match error {
            Some(error) => Some(Self::of(error)),
            None if ["type", "object"].into_iter().any(|key| root.get(key) == Some(&"error".into())) => {
                Some(Self::of(root))
            }
            None => None,
        }
    }

    /// An error object, or its text.
    pub(crate) fn of(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let plain = error.as_str().or_else(|| ["message", "detail"].into_iter().find_map(text));
        // A list of what is wrong with the fields of a request, which it quotes.
        let listed = || {
            let each = error.get("detail")?.as_array()?.iter();
            Some(each.filter_map(|one| one.get("msg")?.as_str()).collect::<Vec<_>>().join("; "))
        };
        let message = plain.map(ToOwned::to_owned).or_else(listed);
        let mut words = String::new();
        for word in message
            .as_deref()
            .into_iter()
            .chain(["code", "type", "status", "reason"].into_iter().filter_map(text))
        {
            words.extend(word.chars().take(WORDS));
            words.push('\n');
        }
        let number = |key: &str| error.get(key).and_then(Value::as_u64);
        let words = words.to_lowercase();
        Self {
            retry_in: delay(error).or_else(|| wait::stated(&words)),
            status: ["code", "status", "http_code"]
                .into_iter()
                .find_map(|key| number(key).or_else(|| text(key)?.parse().ok()))
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (400..600).contains(code)),
            message,
            words,
            resets_at: error.get("resets_at").and_then(Value::as_i64),
            resets_in: number("resets_in_seconds"),
        }
    }

    /// The body of a refusal: the usual shapes of errors, otherwise its beginning as it is.
    pub(super) fn body(body: &[u8]) -> Self {
        let root = json::parse(body).ok();
        let root = root.as_ref().map(|root| root.get(0).unwrap_or(root));
        let said = root.map(|root| Self::reported(root).unwrap_or_else(|| Self::of(root)));
        match said {
            Some(said) if said.message.is_some() || !said.words.is_empty() => said,
            Some(_) | None => {
                let words = String::from_utf8_lossy(&body[..body.len().min(WORDS)]).to_lowercase();
                Self { retry_in: wait::stated(&words), words, ..Self::default() }
            }
        }
    }

    /// Whether it contains one of these, which are in lower case.
    pub(super) fn mentions(&self, needles: &[&str]) -> bool {
        needles.iter().any(|needle| self.words.contains(needle))
    }
}

/// Fields that say it in seconds, or as a time with its unit.
fn delay(error: &Value) -> Option<u64> {
    let seconds = ["retry_after", "retry_after_seconds"].into_iter().find_map(|key| error.get(key)?.as_f64());
    let details = || {
        let mut details = error.get("details")?.as_array()?.iter();
        wait::span(details.find_map(|detail| detail.get("retryDelay")?.as_str())?)
    };
    seconds.map(|seconds| wait::whole(seconds * 1_000.0)).or_else(details)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ReportedError;

    #[test]
    fn errors_are_found_in_their_usual_places() {
        for (body, message, status) in [
            (json!({"error": {"message": "m", "code": "rate_limit"}}), Some("m"), None),
            (json!({"error": {"message": "m", "code": 429}}), Some("m"), Some(429)),
            (json!({"error": {"message": "m", "code": "429"}}), Some("m"), Some(429)),
            (
                json!([{"error": {"message": "m", "status": "RESOURCE_EXHAUSTED", "code": 7}}]),
                Some("m"),
                None,
            ),
            (json!({"error": "m"}), Some("m"), None),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
                Some("m"),
                None,
            ),
            (json!({"type": "error", "code": "x", "message": "m"}), Some("m"), None),
            (json!({"object": "error", "message": "m", "code": 400}), Some("m"), Some(400)),
            (json!({"detail": "m"}), Some("m"), None),
            (json!({"detail": [{"input": "prompt is too long", "msg": "m"}]}), Some("m"), None),
            (json!({"detail": [{"input": "prompt is too long"}]}), Some(""), None),
            (json!(null), None, None),
        ] {
            let said = ReportedError::body(body.to_string().as_bytes());
            assert_eq!((said.message.as_deref(), said.status), (message, status), "{body}");
        }
        assert!(ReportedError::body(b"Bad Gateway").mentions(&["bad gateway"]));
        assert_eq!(ReportedError::reported(&json!({"error": null, "type": "response"})), None);
        for key in ["type", "object"] {
            let said = ReportedError::reported(&json!({key: "error", "message": "m", "code": 400}));
            assert_eq!(said.map(|said| (said.message, said.status)), Some((Some("m".to_owned()), Some(400))));
        }
    }
}
