//! Results and errors of tools, as models read them.

use holon_api::{ClientError, Code, ErrorBody};
use serde::Serialize;
use serde_json::{Value, json};

use crate::bounded::bounded;

/// Why a tool did not do what it was called for.
#[derive(Debug)]
pub(crate) struct ToolError {
    code: String,
    error: String,
    hint: Option<String>,
}

impl ToolError {
    pub(crate) fn new(code: &str, error: impl Into<String>) -> Self {
        Self { code: code.to_owned(), error: error.into(), hint: None }
    }

    /// Arguments that can't be meant.
    pub(crate) fn invalid(error: impl ToString) -> Self {
        Self::new("invalid_tool_input", error.to_string())
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn is(&self, code: Code) -> bool {
        self.code == code.name()
    }

    /// Whether what was asked for may have been done.
    pub(crate) fn is_unclear(&self) -> bool {
        self.code == "runtime_unreachable"
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error)
    }
}

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused { body, .. } => {
                let ErrorBody { error, code, hint, .. } = *body;
                Self { code, error, hint }
            }
            ClientError::NotReachable { .. }
            | ClientError::Broken { .. }
            | ClientError::TimedOut { .. }
            | ClientError::Odd { .. }
            | ClientError::Token { .. } => {
                let hint = error.hint();
                Self { code: "runtime_unreachable".to_owned(), error: error.to_string(), hint }
            }
        }
    }
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::new("failed", error.to_string())
    }
}

/// The JSON of a reply.
pub(crate) fn value(reply: &impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(reply).map_err(|error| ToolError::new("failed", error.to_string()))
}

/// A result of `tools/call`: as structure, and as text for clients that know no other.
pub(crate) fn result(told: Result<Value, ToolError>) -> Value {
    let (value, is_error) = match told {
        Ok(value) => (bounded(value), false),
        Err(ToolError { code, error, hint }) => {
            let mut value = json!({ "ok": false, "code": code, "error": error });
            if let Some(hint) = hint {
                value["hint"] = json!(hint);
            }
            (value, true)
        }
    };
    let is_error = is_error || value["code"] == "too_large";
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
        "isError": is_error,
    })
}
