//! A tool as it is described to models.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::ToolName;
use crate::content::Text;

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

/// Tools of other programs that an agent is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTools {
    /// By their names; at most 128.
    pub tools: Vec<ServerTool>,
    /// What models are sent of them: a JSON array of objects with `name`, `description` and `parameters`, in that order.
    pub definitions: Text,
    /// Tools of these servers that are not offered.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub left_out: u32,
    /// Servers that have never listed what they have, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
}

/// A tool of another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTool {
    /// As agents call it: `server__tool`.
    pub name: ToolName,
    pub server: String,
    /// As its server calls it.
    pub tool: String,
    /// What it takes of a request, estimated.
    pub est_tokens: u64,
}

impl ServerTools {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&ServerTool> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }
}
