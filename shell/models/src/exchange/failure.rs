//! What an answer that is no answer means.

use holon_facts::model::{FailureKind, TransportDiagnostics};
use holon_facts::model_ref::ModelRef;
use holon_facts::usage::TokenUsage;
use holon_text::Texts;
use http::StatusCode;
use http::header::LOCATION;
use url::Url;

use super::super::http::{Received, located};
use super::excerpt::excerpt;
use super::{Malformed, ReportedError, advice, classify, wait};
use crate::address::shown;
use crate::answer::Failure;
use crate::provider::ProviderSpec;

/// Where an attempt is made, for the messages about it.
pub(super) struct AttemptContext<'a> {
    pub(super) texts: &'a Texts,
    pub(super) url: &'a Url,
    pub(super) protocol: &'static str,
    pub(super) spec: &'a ProviderSpec,
    pub(super) model: &'a ModelRef,
}

impl AttemptContext<'_> {
    fn shown(&self) -> String {
        shown(self.url)
    }

    /// A status that is not success.
    pub(super) fn of_status(&self, received: &Received, body: &[u8], near: &[String]) -> Failure {
        let (status, said) = (received.status, ReportedError::body(body));
        let mut message = self.answered(status);
        if let (true, Some(to)) = (status.is_redirection(), received.headers.get(LOCATION)) {
            let to = to.to_str().ok().and_then(|to| Url::parse(to).ok());
            let to = to.map(|to| format!(" to {}", shown(&to))).unwrap_or_default();
            message =
                format!("{message}{to}; redirects are not followed, set the base URL to the new address");
        }
        let about = (self.url, self.spec, self.model);
        let message = match advice::refused(status, &said, about, near) {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        };
        let wait = wait::retry_after(&received.headers, &said);
        let kind = classify::status(status.as_u16(), &said, wait);
        let failure = self.refused((kind, wait), message, &said, received, body);
        self.located(failure, "response", received)
    }

    /// A whole answer that can't be used although its status is success.
    pub(super) fn of_document(&self, problem: &Malformed, received: &Received, body: &[u8]) -> Failure {
        match problem {
            Malformed::Reported(said) => {
                let failure = self.reported(said, received, FailureKind::InvalidResponse, body);
                self.located(failure, "response", received)
            }
            Malformed::Shape(problem) => self.invalid(problem, received, body),
            Malformed::TooLong(usage) => self.too_long(*usage, received),
        }
    }

    /// An event that ends a stream early. A server that fails after it has begun may not fail the next time.
    pub(super) fn of_event(&self, problem: &Malformed, received: &Received) -> Failure {
        match problem {
            Malformed::Reported(said) => {
                let failure = self.reported(said, received, FailureKind::Server, b"");
                self.located(failure, TransportDiagnostics::STREAM, received)
            }
            Malformed::Shape(problem) => self.invalid(problem, received, b""),
            Malformed::TooLong(usage) => self.too_long(*usage, received),
        }
    }

    /// An answer for whose rest the model's context window has no room: a shorter request leaves more.
    fn too_long(&self, usage: TokenUsage, received: &Received) -> Failure {
        let message = format!("the answer of {} reached the end of the context window", self.shown());
        let failure = Failure::new(FailureKind::ContextLength, message);
        self.located(Failure { usage: Some(usage), ..failure }, "response", received)
    }

    /// A stream that ended too early.
    pub(super) fn of_cut(&self, received: &Received) -> Failure {
        let message = format!("the stream of {} ended before its last event", shown(self.url));
        self.located(Failure::new(FailureKind::StreamCut, message), TransportDiagnostics::STREAM, received)
    }

    fn located(&self, failure: Failure, stage: &str, received: &Received) -> Failure {
        let mut failure = located(failure, stage, self.url);
        if let Some(found) = &mut failure.diagnostics {
            found.status = Some(received.status.as_u16());
        }
        failure
    }

    fn reported(
        &self,
        said: &ReportedError,
        received: &Received,
        otherwise: FailureKind,
        body: &[u8],
    ) -> Failure {
        let own = said.status.and_then(|status| StatusCode::from_u16(status).ok());
        let message = match own {
            Some(status) => self.answered(status),
            None => format!("{} reports an error", self.shown()),
        };
        let wait = wait::retry_after(&received.headers, said);
        let kind = classify::reported(said, wait).unwrap_or(otherwise);
        self.refused((kind, wait), message, said, received, body)
    }

    fn answered(&self, status: StatusCode) -> String {
        let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} answered {}{reason}", self.shown(), status.as_u16())
    }

    fn refused(
        &self,
        (kind, wait): (FailureKind, Option<u64>),
        message: String,
        said: &ReportedError,
        received: &Received,
        body: &[u8],
    ) -> Failure {
        let quoted = excerpt(self.texts, said, body);
        let message = match hint(said).filter(|_| kind == FailureKind::Client) {
            Some((option, value)) => {
                let option = format!("providers.{}.{option}", self.spec.id);
                format!("{message}; try `holon config set {option} {value}`")
            }
            None => message,
        };
        let message = if quoted.is_empty() { message } else { format!("{message}: {quoted}") };
        let mut failure = Failure::new(kind, message);
        failure.retry_after_ms = wait;
        if kind == FailureKind::Quota {
            failure.resets_at = wait::resets_at(&received.headers, said, wait);
        }
        failure
    }

    fn invalid(&self, problem: &str, received: &Received, body: &[u8]) -> Failure {
        let quoted = excerpt(self.texts, &ReportedError::default(), body);
        let quoted = if quoted.is_empty() { quoted } else { format!(": {quoted}") };
        let message =
            format!("the answer of {} is not one of {}: {problem}{quoted}", self.shown(), self.protocol);
        self.located(Failure::new(FailureKind::InvalidResponse, message), "response", received)
    }
}

/// The option that sends what the server asks for, or leaves out what it does not know.
fn hint(said: &ReportedError) -> Option<(&'static str, &'static str)> {
    const NEWER: [&str; 4] = [
        "use 'max_completion_tokens'",
        "use max_completion_tokens",
        "use `max_completion_tokens`",
        "'max_tokens' is not supported",
    ];
    if said.mentions(&NEWER) {
        return Some(("max_tokens_field", "max_completion_tokens"));
    }
    if said.mentions(&["max_completion_tokens"]) {
        return Some(("max_tokens_field", "max_tokens"));
    }
    said.mentions(&["prompt_cache_key"]).then_some(("prompt_cache_key", "false"))
}
