//! A call of a tool of another program that no request has by its own name.

use alloc::string::{String, ToString};

use holon_facts::call::ToolName;
use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::check::invalid;
use super::{BuiltIn, Tool};

/// Longest name of a tool, in bytes.
const NAME_BYTES: usize = 64;

/// Call a tool of another program.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Its name, as ToolSearch has it.
    pub tool: String,
    /// Its arguments: the text of a JSON object.
    #[serde(deserialize_with = "object")]
    pub arguments: String,
}

impl BuiltIn for ToolCall {
    const DESCRIPTION: &'static str =
        "Call a tool of another program that ToolSearch has found, with arguments as its schema asks for.";

    fn check(&self) -> Result<(), ToolError> {
        if Tool::named(&self.tool).is_some() {
            return Err(invalid("tool", "is one of your own tools", "call it directly"));
        }
        if self.tool.is_empty() || self.tool.len() > NAME_BYTES {
            return Err(invalid("tool", "is no name of a tool", "find it with ToolSearch"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(ToolName::owned(self.tool)))
    }
}

/// The text of an object, or the object itself.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let expected = || serde::de::Error::custom("arguments: expected the text of a JSON object");
    match Value::deserialize(deserializer)? {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(_)) => Ok(text),
            Ok(_) | Err(_) => Err(expected()),
        },
        Value::Object(object) => Ok(Value::Object(object).to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(expected()),
    }
}
