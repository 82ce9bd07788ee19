//! Whatever keeps a request from its answer, in the one shape that all routes share.

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use holon_api::{ClientError, Code, ErrorBody};
use holon_facts::{AgentId, EventSeq, Millis, Reject};
use holon_ledger::error::LedgerError;
use holon_text::TextError;
use serde_json::{Map, Value, json};

use crate::events::EventsError;
use crate::names::NameError;
use crate::runtime::{StoredError, Unavailable};

/// Seconds after which another try makes sense.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("5");

const AGAIN: &str = "again when the runtime is up: holon daemon status";
const FREE_SPACE: &str =
    "free space on that disk, then try again; holon daemon status shows whether it is enough";

const UNLOCK: &str = "end the process that holds the lock, or wait for it; then try again";
const ANSWERS: &str = "see that the database runs and can be reached; then try again";
const NOT_KNOWN: &str =
    "look whether it was carried out, or ask again with an Idempotency-Key from the beginning";

const STORED_LATER: &str = "free space on that disk, or see holon daemon status; check the outcome before you try again: without a key it may be done twice";

/// A request without its answer.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Failure {
    code: Code,
    text: String,
    hint: Option<String>,
    details: Map<String, Value>,
    /// When another try makes sense, where somebody knows better than [`RETRY_SECONDS`].
    retry_after: Option<HeaderValue>,
}

impl Failure {
    pub(super) fn new(code: Code, text: impl ToString) -> Box<Self> {
        Box::new(Self { code, text: text.to_string(), hint: None, details: Map::new(), retry_after: None })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub(super) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(super) fn detail(mut self: Box<Self>, name: &str, value: impl Into<Value>) -> Box<Self> {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// In whole seconds, never too early.
    #[must_use]
    fn retry_after(mut self: Box<Self>, wait: Millis) -> Box<Self> {
        self.retry_after = Some(HeaderValue::from(wait.0.div_ceil(1_000).max(1)));
        self
    }

    pub(super) fn unknown_agent(agent: &AgentId) -> Box<Self> {
        Reject::UnknownAgent { agent: agent.clone() }.into()
    }

    /// An event that the log of an agent does not have.
    pub(super) fn unknown_event(agent: &AgentId, at: EventSeq, last: EventSeq) -> Box<Self> {
        Self::new(Code::UnknownEvent, format!("{agent} has no event {at}: its log goes from 1 to {last}"))
            .hint(format!("holon tail {agent} --level debug shows events with their numbers"))
            .detail("last_event_seq", last.0)
    }

    /// A mistake of this build: what it says stands in the reply, so that it can be reported.
    pub(super) fn internal(problem: impl ToString) -> Box<Self> {
        Self::new(Code::Internal, problem)
    }

    /// What the reply says.
    pub(super) fn body(self) -> ErrorBody {
        let details = (!self.details.is_empty()).then_some(self.details);
        let (error, code) = (self.text, self.code.name().to_owned());
        ErrorBody { ok: false, error, code, hint: self.hint, details }
    }

    /// The same for somebody in this process.
    pub(super) fn refusal(self) -> ClientError {
        let status = self.code.status().as_u16();
        ClientError::Refused { status, body: Box::new(self.body()) }
    }

    pub(super) fn code(&self) -> Code {
        self.code
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="holon""#));
        }
        if matches!(
            self.code,
            Code::QueueFull
                | Code::Draining
                | Code::DiskFull
                | Code::LedgerLocked
                | Code::DatabaseAway
                | Code::Moving
                | Code::NotStoredYet
                | Code::NotAnswered
        ) {
            headers.insert(RETRY_AFTER, RETRY_SECONDS);
        }
        if let Some(retry_after) = &self.retry_after {
            headers.insert(RETRY_AFTER, retry_after.clone());
        }
        headers
    }
}

impl IntoResponse for Box<Failure> {
    fn into_response(self) -> Response {
        let (code, headers) = (self.code, self.headers());
        let mut response = (code.status(), headers, axum::Json(self.body())).into_response();
        // Whoever is in front of a runtime need not read its words.
        response.extensions_mut().insert(code);
        response
    }
}

impl From<Reject> for Box<Failure> {
    fn from(reject: Reject) -> Self {
        let failure = Failure::new(Code::from(&reject), &reject);
        let failure = match reject.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        };
        match reject {
            Reject::UnknownAgent { agent }
            | Reject::AgentExists { agent }
            | Reject::AgentStopped { agent }
            | Reject::AgentArchived { agent }
            | Reject::PrivateAgent { agent, .. }
            | Reject::ReservedAgentId { agent } => failure.detail("agent_id", agent.as_str()),
            Reject::NameTaken { name, agent } => {
                failure.detail("name", name.as_str()).detail("agent_id", agent.as_str())
            }
            Reject::QueueFull { agent, entries, bytes } => {
                failure.detail("agent_id", agent.as_str()).detail("entries", entries).detail("bytes", bytes)
            }
            Reject::TooManyEvents { agent, event_source, allowance, limit, retry_at, retry_after_ms } => {
                failure
                    .retry_after(retry_after_ms)
                    .detail("agent_id", agent.as_str())
                    .detail("source", event_source)
                    .detail("allowance", allowance.name())
                    .detail("setting", allowance.setting())
                    .detail("limit", limit)
                    .detail("retry_at", retry_at.to_string())
                    .detail("retry_after_ms", retry_after_ms.0)
            }
            Reject::IdempotencyConflict { message_id } => {
                failure.detail("message_id", message_id.to_string())
            }
            Reject::KeyTaken { made } | Reject::KeySpent { made } => failure.detail("made", made.to_string()),
            Reject::TooLarge { bytes, limit, .. } => failure.detail("bytes", bytes).detail("limit", limit),
            Reject::TooMany { count, limit, .. } => failure.detail("count", count).detail("limit", limit),
            Reject::StaleRunId { run_id, current } => failure
                .detail("run_id", run_id.to_string())
                .detail("current_run_id", json!(current.to_string())),
            Reject::TooManyAgents { limit } => failure.detail("limit", limit),
            Reject::UnknownTask { task } => failure.detail("task_id", task.to_string()),
            Reject::UnknownAsk { agent, brief } => {
                failure.detail("agent_id", agent.as_str()).detail("brief_id", brief.to_string())
            }
            Reject::UnknownTimer { timer } => failure.detail("timer_id", timer.to_string()),
            Reject::UnknownWorkItem { work_item } => failure.detail("work_item_id", work_item.to_string()),
            Reject::UnknownWorkspace { workspace, .. } | Reject::WorkspaceActive { workspace, .. } => {
                failure.detail("workspace_id", workspace.as_str())
            }
            Reject::OutOfRange { field, value, least, most, .. } => failure
                .detail("field", field)
                .detail("value", value)
                .detail("least", least)
                .detail("most", most),
            Reject::CommandRefused { error } => failure.detail("kind", error.kind.name()),
            Reject::Draining
            | Reject::UnknownTrigger
            | Reject::KindFromOrigin { .. }
            | Reject::PriorityFromOrigin { .. }
            | Reject::NoCurrentRun => failure,
        }
    }
}

impl From<Unavailable> for Box<Failure> {
    fn from(unavailable: Unavailable) -> Self {
        match &unavailable {
            Unavailable::Leaving => Failure::new(Code::Draining, &unavailable).hint(AGAIN),
            Unavailable::Stopped => {
                Failure::new(Code::Draining, &unavailable).hint("start it with `holon daemon start`")
            }
            Unavailable::DiskFull => Failure::new(Code::DiskFull, &unavailable).hint(FREE_SPACE),
            Unavailable::LedgerLocked { .. } => Failure::new(Code::LedgerLocked, &unavailable).hint(UNLOCK),
            Unavailable::DatabaseAway { .. } => Failure::new(Code::DatabaseAway, &unavailable).hint(ANSWERS),
            Unavailable::NotStoredYet => Failure::new(Code::NotStoredYet, &unavailable).hint(STORED_LATER),
            Unavailable::NotAnswered => Failure::new(Code::NotAnswered, &unavailable).hint(NOT_KNOWN),
            Unavailable::Damaged { agent, .. } => Failure::new(Code::AgentDamaged, &unavailable)
                .hint("look at it with `holon ledger verify`")
                .detail("agent_id", agent.as_str()),
        }
    }
}

impl From<LedgerError> for Box<Failure> {
    fn from(error: LedgerError) -> Self {
        match &error {
            LedgerError::NoAgent { agent } => match AgentId::new(agent) {
                Ok(agent) => Failure::unknown_agent(&agent),
                Err(_) => Failure::internal(&error),
            },
            LedgerError::Damaged { .. } | LedgerError::Newer { .. } => {
                Failure::new(Code::AgentDamaged, &error).hint("look at it with `holon ledger verify`")
            }
            LedgerError::Locked { .. } => Failure::new(Code::LedgerLocked, &error).hint(UNLOCK),
            LedgerError::Away { .. } => Failure::new(Code::DatabaseAway, &error).hint(ANSWERS),
            LedgerError::NotOwner => Failure::new(Code::Moving, &error).hint(AGAIN),
            LedgerError::Full => Failure::new(Code::DiskFull, &error).hint(FREE_SPACE),
            LedgerError::Open { .. }
            | LedgerError::NotALedger { .. }
            | LedgerError::NewerSchema { .. }
            | LedgerError::NewerEvents { .. }
            | LedgerError::Lost { .. }
            | LedgerError::Fenced { .. }
            | LedgerError::Erased { .. }
            | LedgerError::Reserve { .. }
            | LedgerError::Overrun { .. }
            | LedgerError::Sqlite { .. }
            | LedgerError::Refused { .. }
            | LedgerError::NoCell { .. }
            | LedgerError::Held { .. }
            | LedgerError::OfCluster { .. }
            | LedgerError::HistoryLost { .. }
            | LedgerError::Range { .. }
            | LedgerError::WriterEnded
            | LedgerError::Unsettled
            | LedgerError::Json { .. }
            | LedgerError::NotInMemory(_) => Failure::internal(&error),
        }
    }
}

impl From<NameError> for Box<Failure> {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Ledger(error) => error.into(),
            NameError::Interrupted(error) => Failure::internal(error),
        }
    }
}

impl From<StoredError> for Box<Failure> {
    fn from(error: StoredError) -> Self {
        match error {
            StoredError::Ledger(error) => error.into(),
            StoredError::Restore { .. } => {
                Failure::new(Code::AgentDamaged, error).hint("look at it with `holon ledger verify`")
            }
            StoredError::Config(_) => Failure::internal(error),
        }
    }
}

impl From<EventsError> for Box<Failure> {
    fn from(error: EventsError) -> Self {
        match error {
            EventsError::Ledger(error) => error.into(),
            EventsError::Json(_) => Failure::internal(&error),
            EventsError::Ended => Unavailable::Leaving.into(),
        }
    }
}

impl From<TextError> for Box<Failure> {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Removed(_) => Failure::new(Code::TextsRemoved, error),
            TextError::Missing(_) | TextError::Unreadable { .. } => Failure::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_try_again_is_told_when() {
        let agent = AgentId::new("main").unwrap();
        let problem = "x".to_owned();
        let rows = [
            (Unavailable::Leaving, 503, "draining", true),
            (Unavailable::Stopped, 503, "draining", true),
            (Unavailable::DiskFull, 503, "disk_full", true),
            (Unavailable::NotStoredYet, 503, "not_stored_yet", true),
            (Unavailable::NotAnswered, 503, "not_answered", true),
            (Unavailable::Damaged { agent, problem }, 500, "agent_damaged", false),
        ];
        for (unavailable, status, code, again) in rows {
            let failure: Box<Failure> = unavailable.into();
            assert_eq!(failure.code().name(), code);
            assert!(failure.hint.is_some());
            let response = failure.into_response();
            assert_eq!(
                (response.status().as_u16(), response.headers().contains_key(RETRY_AFTER)),
                (status, again)
            );
        }
    }
}
