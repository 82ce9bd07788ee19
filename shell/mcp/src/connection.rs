//! What is said with one server: which tools it has, and calls. The seam between servers and whoever speaks the protocol.

use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) type Answering<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool as its server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// What a call brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallResult {
    pub parts: Vec<Part>,
    /// JSON, for whoever reads it as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The server says that it did not work.
    pub is_error: bool,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// Bytes in base64: an image, a sound, a file.
    Blob {
        media_type: String,
        base64: String,
    },
    /// Something that can be read elsewhere.
    Link {
        uri: String,
        name: String,
    },
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing reached the server.
    #[error("{0}")]
    NotSent(String),
    /// Nothing was sent: the server has no such tool.
    #[error("{0}")]
    NoTool(String),
    /// Nothing was sent: its arguments are not what the tool takes.
    #[error("the arguments don't fit: {0}")]
    Arguments(String),
    /// The request may have reached it: whether it did anything is not known.
    #[error("{0}")]
    Lost(String),
    /// It answered that it won't.
    #[error("the server refuses the call: {message} (code {code})")]
    Refused { code: i32, message: String },
    /// It answered in a way that nothing can be made of.
    #[error("{0}")]
    Unusable(String),
}

/// How one server is spoken to, once it is there. Dropping a future of a call tells the server that the call is cancelled.
pub(crate) trait Connection: Send + Sync {
    /// The revision that both sides agreed on.
    fn revision(&self) -> String;

    /// Name and version of the server, as it gives them.
    fn server(&self) -> Option<String>;

    fn list(&self) -> Answering<'_, Result<Vec<Tool>, CallError>>;

    /// Sends one request, once, and waits this long for its answer; then the server is notified that it is cancelled.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Answering<'_, Result<CallResult, CallError>>;

    /// Whether its tools may have changed since they were listed.
    fn has_changed(&self) -> bool;

    fn is_open(&self) -> bool;

    /// Whether the server is there, and knows nothing of this conversation any more: another one can begin at once.
    fn has_expired(&self) -> bool;

    /// Says good-bye, and waits for whatever that takes, within bounds.
    fn close(&self) -> Answering<'_, ()>;
}
