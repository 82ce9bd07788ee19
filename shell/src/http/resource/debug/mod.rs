//! Requests to models, shown and not sent: the next one, and past ones as they were sent. Nothing is recorded.

mod diff;
mod next;
mod past;
mod sections;
mod sent;

use holon_api::rows::{PreviewPrompt, ShowRequest};
use holon_api::{Code, DebugPrompt, DebugPromptReply, Json, RequestPath, ToolSize, Wire};
use holon_core::tool::catalogue;
use holon_facts::call::ToolName;
use holon_facts::model::ModelRequest;
use holon_ledger::read::PastError;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use sections::PastTexts;

/// Tokens of a window that is tried.
const WINDOW: std::ops::RangeInclusive<u64> = 1_000..=100_000_000;

pub(in super::super) async fn prompt(app: App, call: Call<PreviewPrompt>) -> Handled<DebugPromptReply> {
    let (agent, Json(asked)) = (call.path.agent_id, call.body);
    check(&asked)?;
    if asked.turn.is_none() && asked.request.is_none() {
        return next::prompt(app, agent, asked).await;
    }
    app.blocking(move |app| past::prompt(app, agent, &asked)).await
}

pub(in super::super) async fn request(app: App, call: Call<ShowRequest>) -> Handled<DebugPromptReply> {
    let RequestPath { agent_id, request_id } = call.path;
    let asked = DebugPrompt { request: Some(request_id), ..DebugPrompt::default() };
    app.blocking(move |app| past::prompt(app, agent_id, &asked)).await
}

/// What excludes one another, and what is out of bounds.
fn check(asked: &DebugPrompt) -> Handled<()> {
    let invalid = |field: &str, problem: &str| {
        let text = format!("{field}: {problem}");
        Err(Failure::new(Code::InvalidBody, text).detail("field", field))
    };
    let past = asked.turn.is_some() || asked.request.is_some();
    match asked {
        _ if asked.text.is_some() && past => {
            invalid("text", "it is for the next request, not for a past one")
        }
        _ if asked.turn.is_some() && asked.request.is_some() => {
            invalid("request", "it names a request by itself; leave out turn")
        }
        _ if asked.round.is_some() && asked.turn.is_none() => {
            invalid("round", "it is a round of a turn; give turn, too")
        }
        DebugPrompt { window: Some(tokens), .. } if !WINDOW.contains(tokens) => invalid(
            "window",
            &format!("expected {} to {} tokens, got {tokens}", WINDOW.start(), WINDOW.end()),
        ),
        DebugPrompt { .. } => Ok(()),
    }
}

/// The body that its provider would be sent now.
fn wire(app: &App, texts: &PastTexts, request: &ModelRequest) -> Handled<Wire> {
    let lowered = app.providers.lower(texts.texts(), request).map_err(|problem| {
        let text = format!("the request can't be shown as it goes over the wire: {problem}");
        Failure::new(Code::InvalidModel, text).hint("holon config doctor")
    });
    let (transport, body) = lowered?;
    Ok(Wire { transport: transport.to_owned(), body })
}

fn tool_sizes(offered: &[ToolName]) -> Vec<ToolSize> {
    let sizes = catalogue().into_iter().filter(|tool| offered.contains(&tool.name));
    sizes.map(|tool| ToolSize { name: tool.name.to_string(), est_tokens: tool.est_tokens }).collect()
}

impl From<PastError> for Box<Failure> {
    fn from(error: PastError) -> Self {
        match error {
            PastError::Ledger(error) => error.into(),
            PastError::Beyond { last, .. } => {
                Failure::new(Code::CursorAhead, &error).detail("last_event_seq", last.0)
            }
            PastError::TooFar { records, .. } => Failure::new(Code::TooFar, &error)
                .hint("look at a later moment, or fork the agent there: holon ledger fork")
                .detail("records", records),
        }
    }
}
