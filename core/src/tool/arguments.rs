//! The argument types. Their JSON schemas are derived from them; unknown fields are refused by name.

use alloc::format;
use alloc::string::{String, ToString};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::receipt::{ToolError, ToolErrorKind};
use crate::content::{Text, clip};

/// Longest command in bytes; the kernel's own limit for one argument is 128 KiB.
pub const COMMAND_BYTES: usize = 100 * 1024;

/// Run a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommand {
    /// The command, as one would type it into a shell.
    pub cmd: String,
    /// Folder to run in, relative to the current folder and inside the execution root; the current folder
    /// when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Shell to run it with; `bash` when omitted, `sh` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether the shell is a login shell.
    #[serde(default = "yes")]
    pub login: bool,
    /// How long to wait for the end of the command, in milliseconds.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Bound on the output that is shown, in estimated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// Change files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// A unified diff over one or more files.
    pub patch: String,
}

fn yes() -> bool {
    true
}

fn default_yield() -> u64 {
    10_000
}

/// What must hold beyond the shape.
pub trait Check {
    fn check(&self) -> Result<(), ToolError>;
}

impl Check for ExecCommand {
    fn check(&self) -> Result<(), ToolError> {
        let problem = if self.cmd.trim().is_empty() {
            "is empty".to_string()
        } else if self.cmd.len() > COMMAND_BYTES {
            format!("is {} bytes, the limit is {COMMAND_BYTES}", self.cmd.len())
        } else if self.cmd.contains('\0') {
            "contains a NUL byte".to_string()
        } else {
            return Ok(());
        };
        Err(invalid("cmd", &problem, "write larger inputs to a file first"))
    }
}

impl Check for ApplyPatch {
    fn check(&self) -> Result<(), ToolError> {
        if self.patch.trim().is_empty() {
            return Err(invalid("patch", "is empty", "send a unified diff with ---, +++ and @@ lines"));
        }
        Ok(())
    }
}

/// Reads a tool's arguments; the error names the field where it can.
pub fn parse<T: DeserializeOwned + Check>(json: &str) -> Result<T, ToolError> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    let arguments: T = serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        let field = message.split('`').nth(1).map(|field| clip(field, 100));
        ToolError {
            kind: ToolErrorKind::InvalidToolInput,
            message: Text::short(&message),
            field,
            hint: Some("send one JSON object that fits the tool's schema".into()),
            retryable: true,
            details: None,
        }
    })?;
    arguments.check()?;
    Ok(arguments)
}

fn invalid(field: &str, problem: &str, hint: &str) -> ToolError {
    ToolError {
        kind: ToolErrorKind::InvalidToolInput,
        message: Text::short(clip(&format!("{field} {problem}"), 200)),
        field: Some(field.to_string()),
        hint: Some(hint.to_string()),
        retryable: true,
        details: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_contract() {
        let call: ExecCommand = parse(r#"{"cmd":"ls"}"#).unwrap();
        assert!(call.login && call.yield_time_ms == 10_000 && call.workdir.is_none());
    }

    #[test]
    fn errors_name_the_field() {
        let unknown = parse::<ExecCommand>(r#"{"cmd":"ls","cwd":"/"}"#).unwrap_err();
        assert_eq!(unknown.field.as_deref(), Some("cwd"));
        let missing = parse::<ExecCommand>("").unwrap_err();
        assert_eq!(missing.field.as_deref(), Some("cmd"));
        let empty = parse::<ApplyPatch>(r#"{"patch":" "}"#).unwrap_err();
        assert_eq!((empty.kind, empty.field.as_deref()), (ToolErrorKind::InvalidToolInput, Some("patch")));
        assert!(parse::<ExecCommand>("[1]").is_err());
        let long =
            parse::<ExecCommand>(&format!(r#"{{"cmd":"ls","{}":1}}"#, "x".repeat(50_000))).unwrap_err();
        assert!(long.field.unwrap().len() <= 100);
    }
}
