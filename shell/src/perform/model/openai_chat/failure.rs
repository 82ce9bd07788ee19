//! What an answer that is no answer means (contract: providers.md, Retry and fallback).

use holon_core::content::clip;
use holon_core::model::FailureKind;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::super::Failure;
use super::super::http::{Answer, located, shown};
use super::answer::Malformed;
use crate::clock;
use crate::text::Texts;

/// How much of a body is quoted, in bytes.
const EXCERPT: usize = 400;

/// A status that is not success.
pub(super) fn of_status(texts: &Texts, answer: &Answer, url: &Url) -> Failure {
    of_code(texts, answer.status, answer, url)
}

/// A body that can't be used although its status is success.
pub(super) fn of_answer(texts: &Texts, problem: Malformed, answer: &Answer, url: &Url) -> Failure {
    let problem = match problem {
        Malformed::Reported(code) => {
            let status = code.and_then(|code| StatusCode::from_u16(code).ok());
            if let Some(status) = status.filter(|status| status.is_client_error() || status.is_server_error())
            {
                return of_code(texts, status, answer, url);
            }
            "it reports an error".to_owned()
        }
        Malformed::Shape(problem) => problem,
    };
    let message = format!(
        "the answer of {} is not one of chat completions: {problem}: {}",
        shown(url),
        excerpt(texts, &answer.body)
    );
    placed(Failure::new(FailureKind::InvalidResponse, message), answer.status, url)
}

fn of_code(texts: &Texts, status: StatusCode, answer: &Answer, url: &Url) -> Failure {
    let kind = classify(status, &answer.body);
    let mut message = format!("{} answered {}", shown(url), status.as_u16());
    if let Some(reason) = status.canonical_reason() {
        message = format!("{message} {reason}");
    }
    if status.is_redirection() {
        let to = answer.headers.get(LOCATION).and_then(|value| Url::parse(value.to_str().ok()?).ok());
        let to = to.map(|to| format!(" to {}", shown(&to))).unwrap_or_default();
        message = format!("{message}{to}; redirects are not followed, set the base URL to the new address");
    }
    let said = excerpt(texts, &answer.body);
    if !said.is_empty() {
        message = format!("{message}: {said}");
    }
    let mut failure = Failure::new(kind, message);
    failure.retry_after_ms = retry_after(&answer.headers);
    placed(failure, status, url)
}

fn classify(status: StatusCode, body: &[u8]) -> FailureKind {
    let body = String::from_utf8_lossy(&body[..body.len().min(64 << 10)]).to_lowercase();
    let says = |needles: &[&str]| needles.iter().any(|needle| body.contains(needle));
    let too_long = ["context_length_exceeded", "context length", "maximum context", "context window"];
    match status.as_u16() {
        429 if says(&["insufficient_quota"]) => FailureKind::Quota,
        429 => FailureKind::RateLimited,
        401 | 403 => FailureKind::Auth,
        400 | 413 | 422 if says(&too_long) => FailureKind::ContextLength,
        501 => FailureKind::Client,
        500..=599 => FailureKind::Server,
        _ => FailureKind::Client,
    }
}

fn placed(failure: Failure, status: StatusCode, url: &Url) -> Failure {
    let mut failure = located(failure, "response", url);
    if let Some(found) = &mut failure.diagnostics {
        found.status = Some(status.as_u16());
    }
    failure
}

/// What the server says in words: the message of its error where it has the usual shape, otherwise the
/// beginning of the body on one line.
fn excerpt(texts: &Texts, body: &[u8]) -> String {
    let found = serde_json::from_slice::<Value>(body).ok().and_then(|root| {
        let said = ["/error/message", "/error", "/message", "/detail"];
        said.iter().find_map(|path| root.pointer(path)?.as_str().map(ToOwned::to_owned))
    });
    let text = found.unwrap_or_else(|| String::from_utf8_lossy(&body[..body.len().min(4_096)]).into_owned());
    let words: Vec<&str> = text.split_whitespace().collect();
    clip(&texts.redact(&words.join(" ")), EXCERPT)
}

/// How long to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = header("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Some(whole(ms));
    }
    let value = header("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Some(whole(seconds * 1_000.0));
    }
    let at = DateTimeParser::new().parse_timestamp(value).ok()?;
    let left = at.as_microsecond().saturating_sub(clock::now().wall.0);
    Some(u64::try_from(left).unwrap_or(0).div_ceil(1_000))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, which is what is wanted"
)]
fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn after(value: &str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", HeaderValue::from_str(value).unwrap());
        retry_after(&headers)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(after("7"), Some(7_000));
        assert_eq!(after("0.5"), Some(500));
        assert_eq!(after("-3"), Some(0));
        assert_eq!(after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0));
        assert!(after("Wed, 21 Oct 2415 07:28:00 GMT").unwrap() > 1_000_000_000);
        assert_eq!(after("soon"), None);
    }

    #[test]
    fn statuses_have_their_kinds() {
        let kind = |code: u16, body: &str| classify(StatusCode::from_u16(code).unwrap(), body.as_bytes());
        let long = r#"{"error":{"code":"context_length_exceeded"}}"#;
        for (code, body, expected) in [
            (429, "", FailureKind::RateLimited),
            (429, r#"{"error":{"type":"insufficient_quota"}}"#, FailureKind::Quota),
            (401, "", FailureKind::Auth),
            (403, "", FailureKind::Auth),
            (400, long, FailureKind::ContextLength),
            (413, "This model's Maximum Context is 8k", FailureKind::ContextLength),
            (500, long, FailureKind::Server),
            (400, "no", FailureKind::Client),
            (404, "", FailureKind::Client),
            (302, "", FailureKind::Client),
            (501, "", FailureKind::Client),
            (503, "", FailureKind::Server),
            (529, "", FailureKind::Server),
        ] {
            assert_eq!(kind(code, body), expected, "{code} {body}");
        }
    }
}
