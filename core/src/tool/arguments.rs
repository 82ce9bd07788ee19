//! The argument types. Their JSON schemas are derived from them; unknown fields are refused by name.

use alloc::format;
use alloc::string::{String, ToString};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// Reads a tool's arguments; the error names the field where it can. Where strict schemas are in use models
/// write null for what they leave out, so null is as good as absent for every optional field.
pub fn parse<T: DeserializeOwned + Check>(json: &str) -> Result<T, ToolError> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    let arguments: T = match serde_json::from_str(json) {
        Ok(arguments) => arguments,
        Err(problem) => leniently(json, &problem)?,
    };
    arguments.check()?;
    Ok(arguments)
}

fn leniently<T: DeserializeOwned>(json: &str, problem: &serde_json::Error) -> Result<T, ToolError> {
    // A value keeps one of two fields of the same name: which one is meant is not for us to say.
    let ambiguous = problem.to_string().starts_with("duplicate field");
    let value = match serde_json::from_str::<Value>(json) {
        Ok(value) if !ambiguous => value,
        Ok(_) | Err(_) => return Err(unreadable(None, problem)),
    };
    let value = without_nulls(value);
    T::deserialize(&value).map_err(|problem| unreadable(culprit::<T>(&value).as_deref(), &problem))
}

/// The nesting is bounded by the parser.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The field that can't be read even without the others.
fn culprit<T: DeserializeOwned>(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let alone =
        |name: &String, value: &Value| Value::Object([(name.clone(), value.clone())].into_iter().collect());
    let refused = fields.iter().find(|(name, value)| {
        T::deserialize(alone(name, value))
            .is_err_and(|problem| !problem.to_string().starts_with("missing field"))
    });
    refused.map(|(name, _)| name.clone())
}

fn unreadable(culprit: Option<&str>, problem: &serde_json::Error) -> ToolError {
    let problem = problem.to_string();
    let named =
        ["missing field", "unknown field", "duplicate field"].iter().any(|kind| problem.starts_with(kind));
    let name = if named { problem.split('`').nth(1) } else { culprit };
    let message = match name {
        Some(name) if !named => format!("{}: {problem}", clip(name, 100)),
        Some(_) | None => problem.clone(),
    };
    ToolError {
        kind: ToolErrorKind::InvalidToolInput,
        message: Text::short(message),
        field: name.map(|name| clip(name, 100)),
        hint: Some("send one JSON object that fits the tool's schema".into()),
        retryable: true,
        details: None,
    }
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
    use alloc::vec::Vec;

    use super::*;
    use crate::tool::Tool;
    use crate::tool::schema::{SchemaMode, schema};

    #[test]
    fn defaults_are_those_of_the_contract() {
        let call: ExecCommand = parse(r#"{"cmd":"ls"}"#).unwrap();
        assert!(call.login && call.yield_time_ms == 10_000 && call.workdir.is_none());
    }

    /// For every tool: what a strict schema makes a model send, and what nobody may send.
    #[test]
    fn optional_fields_may_be_null_and_unknown_ones_may_not_be() {
        for &tool in Tool::ALL {
            let relaxed = schema(tool, SchemaMode::Relaxed);
            let required: Vec<&str> =
                relaxed["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut sent = serde_json::Map::new();
            for (name, property) in relaxed["properties"].as_object().unwrap() {
                let value = if required.contains(&name.as_str()) { sample(property) } else { Value::Null };
                sent.insert(name.clone(), value);
            }
            let all = Value::Object(sent.clone()).to_string();
            assert_eq!(tool.check(&all), Ok(()), "{tool}: {all}");
            for name in required {
                let mut without = sent.clone();
                without.insert(name.into(), Value::Null);
                let refused = tool.check(&Value::Object(without).to_string()).unwrap_err();
                assert_eq!(refused.field.as_deref(), Some(name), "{tool}");
            }
            sent.insert("levitate".into(), Value::Bool(true));
            let refused = tool.check(&Value::Object(sent).to_string()).unwrap_err();
            assert_eq!(
                (refused.kind, refused.field.as_deref()),
                (ToolErrorKind::InvalidToolInput, Some("levitate"))
            );
        }
    }

    /// The least that a schema takes.
    fn sample(schema: &Value) -> Value {
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        match schema["type"].as_str() {
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(Value::from(1)),
            Some("boolean") => Value::Bool(false),
            Some("array") => Value::Array([sample(&schema["items"])].into()),
            Some("object") => {
                let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                Value::Object(names.map(|name| (name.into(), sample(&schema["properties"][name]))).collect())
            }
            Some(_) | None => Value::from("x"),
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_blamed_on_its_field() {
        for (json, field) in [
            (r#"{"cmd":"ls","yield_time_ms":"5"}"#, "yield_time_ms"),
            (r#"{"cmd":["ls"],"login":null}"#, "cmd"),
            (r#"{"cmd":"ls","login":"yes"}"#, "login"),
            (r#"{"cmd":"ls","yield_time_ms":-1}"#, "yield_time_ms"),
            (r#"{"cmd":"ls","cmd":"rm","login":null}"#, "cmd"),
        ] {
            let error = parse::<ExecCommand>(json).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field), "{json}");
            assert!(error.message.preview().contains(field), "{}", error.message.preview());
        }
        let deep = format!(r#"{{"cmd":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse::<ExecCommand>(&deep).is_err());
        let nulls = format!(r#"{{"login":null,"cmd":{deep}}}"#);
        assert!(parse::<ExecCommand>(&nulls).is_err());
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
