//! The tools: commands and patches (contract: tools.md). A tool's own failure is an error in its receipt,
//! never a failure of the performer.

mod exec;
mod patch;
mod root;

use holon_core::effect::ToolCall;
use holon_core::tool::{Receipt, Tool, ToolError, ToolErrorKind, ToolFacts};

pub use exec::CommandEnvironment;
pub(super) use exec::Commands;

use crate::text::Texts;

/// What a tool brought: text for the model, and facts for the runtime.
struct Success {
    content: String,
    facts: ToolFacts,
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
    retryable: bool,
}

impl Refusal {
    fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Refused { kind, message, hint: None, field: None, retryable: false }))
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    fn field(mut self, field: &str) -> Self {
        self.0.field = Some(field.to_owned());
        self
    }

    pub(super) fn into_error(self, texts: &Texts) -> ToolError {
        let Refused { kind, message, hint, field, retryable } = *self.0;
        let hint = hint.map(|hint| texts.brief(&hint));
        ToolError { kind, message: texts.take(&message), field, hint, retryable }
    }
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        let ToolError { kind, message, field, hint, retryable } = error;
        let message = message.preview().to_owned();
        Self(Box::new(Refused { kind, message, hint, field, retryable }))
    }
}

/// Executes one accepted call that is no command. `arguments` is the JSON of the tool's argument type.
pub(super) async fn run(texts: &Texts, call: &ToolCall, arguments: &str) -> Receipt {
    let result = match call.tool {
        Tool::ApplyPatch => patch::run(&call.execution.execution_root, arguments).await,
        Tool::ExecCommand | Tool::ExecCommandBatch => {
            let message = "a command is executed by a supervisor that was prepared for it";
            Err(Refusal::new(ToolErrorKind::ToolExecutionFailed, message))
        }
    };
    receipt(texts, result)
}

/// The one result of a call. Secrets end here.
fn receipt(texts: &Texts, result: Result<Success, Refusal>) -> Receipt {
    match result {
        Ok(Success { content, facts }) => Receipt::success(texts.take(&content), facts),
        Err(refusal) => Receipt::failure(refusal.into_error(texts)),
    }
}
