//! The tools: commands, patches and looks at images (contract: tools.md). A tool's own failure is an error in its receipt,
//! never a failure of the performer.

mod exec;
mod fitting;
mod memory;
mod patch;
mod root;
mod server;
mod server_search;
mod view_image;
mod workspace;

use holon_core::effect::{ServerCall, ToolCall};
use holon_core::tool::Tool;
use holon_facts::AgentId;
use holon_facts::image::Image;
use holon_facts::receipt::{Details, Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_mcp::Servers;
use holon_text::{Texts, hash};
use serde::Serialize;

use crate::memory::Memory;

use super::Settings;

pub use exec::CommandEnvironment;
pub(crate) use exec::end_all as end_all_commands;
pub(super) use exec::{Commands, Whose};
pub(super) use server::offered;
pub(super) use workspace::{ResolvedWorkspace, find as find_workspace};

/// What a tool brought: text for the model, and facts for the runtime.
struct Success {
    content: String,
    facts: ToolFacts,
    images: Vec<Image>,
}

/// Why a tool did nothing, or not all of it. Small, so that it can be passed about; not redacted yet.
#[derive(Debug)]
pub(super) struct Refusal(Box<Refused>);

#[derive(Debug)]
struct Refused {
    kind: ToolErrorKind,
    message: String,
    hint: Option<String>,
    field: Option<String>,
    /// JSON.
    details: Option<String>,
    retryable: bool,
}

impl Refusal {
    pub(super) fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let retryable = kind.is_retryable();
        Self(Box::new(Refused { kind, message, hint: None, field: None, details: None, retryable }))
    }

    /// Whether the same call may succeed once what the hint says is done, where the kind says it otherwise.
    pub(super) fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    fn field(mut self, field: &str) -> Self {
        self.0.field = Some(field.to_owned());
        self
    }

    /// Context for whoever reads the error as data.
    fn details(mut self, details: &impl Serialize) -> Self {
        self.0.details = serde_json::to_string(details).ok();
        self
    }

    pub(super) fn into_error(self, texts: &Texts) -> ToolError {
        let Refused { kind, message, hint, field, details, retryable } = *self.0;
        let hint = hint.map(|hint| texts.brief(&hint));
        let details = details.map(|json| {
            let json = texts.redact(&json);
            Details::new(&json, || hash(json.as_bytes()))
        });
        ToolError { kind, message: texts.take(&message), field, hint, retryable, details }
    }
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        let ToolError { kind, message, field, hint, retryable, details } = error;
        let message = message.preview().to_owned();
        let details = details.map(|details| details.json().to_owned());
        Self(Box::new(Refused { kind, message, hint, field, details, retryable }))
    }
}

/// Undoes the patches below a home that a crash left half written. Returns what an operator should know.
pub fn recover(settings: &Settings) -> Vec<String> {
    patch::recover(&settings.journals(), settings.confinement.is_some())
}

/// Executes one accepted call that is no command. `arguments` is the JSON of the tool's argument type.
pub(super) async fn run(
    texts: &Texts,
    settings: &Settings,
    (memory, servers): (&Memory, &Servers),
    (agent, call): (&AgentId, &ToolCall),
    arguments: &str,
) -> Receipt {
    let execution = &call.execution;
    let result = if call.tool == Tool::ApplyPatch {
        let confined = settings.confinement.is_some();
        let root = &execution.execution_root;
        patch::run(settings.journals(), &settings.in_flight, root, confined, arguments).await
    } else if call.tool == Tool::ViewImage {
        view_image::run(texts, settings, (agent, execution), arguments).await
    } else if call.tool == Tool::MemorySearch {
        memory::search(memory, (agent, call), arguments).await
    } else if call.tool == Tool::MemoryGet {
        memory::get(memory, (agent, call), arguments).await
    } else if call.tool == Tool::ToolSearch {
        server_search::search(settings, servers, (agent, call), arguments).await
    } else {
        let message = "it is performed in another way: for commands a supervisor is prepared";
        Err(Refusal::new(ToolErrorKind::ToolExecutionFailed, message))
    };
    receipt(texts, result)
}

/// Calls a tool of another program, once. `arguments` is a JSON object.
pub(super) async fn call_server(
    texts: &Texts,
    settings: &Settings,
    servers: &Servers,
    (agent, call): (&AgentId, &ServerCall),
    arguments: &str,
) -> Receipt {
    receipt(texts, server::call(settings, servers, (agent, call), arguments).await)
}

/// What a call is shown that can't be made.
pub(super) fn refused(texts: &Texts, refusal: Refusal) -> Receipt {
    Receipt::failure(refusal.into_error(texts))
}

/// The one result of a call. Secrets end here.
fn receipt(texts: &Texts, result: Result<Success, Refusal>) -> Receipt {
    match result {
        Ok(Success { content, facts, images }) => {
            Receipt::success(texts.take(&content), facts).showing(images)
        }
        Err(refusal) => refused(texts, refusal),
    }
}
