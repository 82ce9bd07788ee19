//! A tool as it is described to models.

use alloc::borrow::Cow;

use serde_json::Value;

use crate::call::ToolName;

/// What a request may offer by its name: made once, by whoever performs the tool, and on no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: ToolName,
    pub description: Cow<'static, str>,
    /// JSON schema of the arguments, without references. Its text is canonical: keys are in order.
    pub schema: Value,
    /// What it takes of a request at most, in estimated tokens.
    pub est_tokens: u64,
}
