//! Reads the arguments of a call. Unknown fields are refused by name.

use alloc::string::{String, ToString};

use holon_facts::content::{Text, clip};
use holon_facts::receipt::{ToolError, ToolErrorKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BuiltIn;
use super::unreadable::{self, Unreadable};

/// Longest message about arguments that can't be read, in bytes.
const EXPLANATION_BYTES: usize = 600;

/// Reads a tool's arguments; the error names the field where it can. Where strict schemas are in use models
/// write null for what they leave out, so null is as good as absent for every optional field.
pub fn parse<T: BuiltIn>(json: &str) -> Result<T, ToolError> {
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
    if !value.is_object() {
        return Err(of(unreadable::not_an_object(&value)));
    }
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
    of(unreadable::explain(culprit, problem))
}

fn of(Unreadable { field, message }: Unreadable) -> ToolError {
    ToolError {
        kind: ToolErrorKind::InvalidToolInput,
        message: Text::short(clip(&message, EXPLANATION_BYTES)),
        field: field.map(|field| clip(&field, 100)),
        hint: Some("send one JSON object that fits the tool's schema".into()),
        retryable: true,
        details: None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use holon_facts::call::DuplicatePolicy;

    use super::*;
    use crate::tool::{ApplyPatch, CreateWorkItem, ExecCommand, ExecCommandBatch};

    #[test]
    fn a_step_has_a_text() {
        for text in ["", "  "] {
            let item = format!(r#"{{"objective":"go","todo_list":[{{"text":"{text}","state":"pending"}}]}}"#);
            let error = parse::<CreateWorkItem>(&item).unwrap_err();
            assert_eq!(error.field.as_deref(), Some("todo_list[0].text"));
        }
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let call: ExecCommand = parse(r#"{"cmd":"ls"}"#).unwrap();
        assert!(call.login && call.yield_time_ms == 10_000 && call.workdir.is_none());
        assert!(!call.tty && call.accepts_input.is_none());
        assert_eq!(call.duplicate_policy, DuplicatePolicy::ReuseRunning);
        let batch: ExecCommandBatch = parse(r#"{"items":[{"cmd":"ls"}]}"#).unwrap();
        assert!(batch.items[0].login && batch.items[0].yield_time_ms == 10_000 && !batch.stop_on_error);
    }

    #[test]
    fn a_terminal_takes_input_unless_it_says_otherwise() {
        let takes =
            |rest: &str| parse::<ExecCommand>(&format!(r#"{{"cmd":"cat"{rest}}}"#)).unwrap().takes_input();
        assert!(!takes("") && takes(r#","tty":true"#) && takes(r#","accepts_input":true"#));
        assert!(!takes(r#","tty":true,"accepts_input":false"#));
    }

    #[test]
    fn what_happens_to_a_duplicate_is_one_of_two_words() {
        assert!(parse::<ExecCommand>(r#"{"cmd":"cat","duplicate_policy":"start_new"}"#).is_ok());
        assert!(parse::<ExecCommand>(r#"{"cmd":"cat","duplicate_policy":"sometimes"}"#).is_err());
    }

    #[test]
    fn a_batch_has_one_to_twelve_plain_commands() {
        let field = |json: &str| parse::<ExecCommandBatch>(json).unwrap_err().field;
        assert_eq!(field(r#"{"items":[]}"#).as_deref(), Some("items"));
        let many = [r#"{"cmd":"ls"}"#; 13].join(",");
        assert_eq!(field(&format!(r#"{{"items":[{many}]}}"#)).as_deref(), Some("items"));
        assert_eq!(field(r#"{"items":[{"cmd":"ls"},{"cmd":" "}]}"#).as_deref(), Some("items[1].cmd"));
        assert_eq!(field(r#"{"items":[{"cmd":"ls","tty":true}]}"#).as_deref(), Some("tty"));
        assert_eq!(
            field(r#"{"items":[{"cmd":"ls","accepts_input":false}]}"#).as_deref(),
            Some("accepts_input")
        );
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
        for (json, says) in [
            (r#"{"cmd":"ls","cwd":"/"}"#, "there is no field cwd; there are cmd, workdir, "),
            ("{}", "cmd is missing"),
            (r#"{"cmd":"ls","cmd":"rm"}"#, "cmd stands there twice"),
            (r#"{"cmd":["ls"],"login":null}"#, "cmd: expected a text, got a list"),
            (
                r#"{"cmd":"ls","yield_time_ms":"5"}"#,
                "yield_time_ms: expected a whole number, got the text \"5\"",
            ),
            (
                r#"{"cmd":"ls","yield_time_ms":-1}"#,
                "yield_time_ms: expected a whole number of at least 0, got -1",
            ),
            (r#"{"cmd":"ls","yield_time_ms":1.5}"#, "yield_time_ms: expected a whole number, got 1.5"),
            (r#"{"cmd":"ls","login":"yes"}"#, "login: expected true or false, got the text \"yes\""),
            (
                r#"{"cmd":"ls","duplicate_policy":"x"}"#,
                "duplicate_policy: x is none of reuse_running, start_new",
            ),
            (r#"{"cmd":"ls""#, "the arguments end too early"),
            (r#"{"cmd":ls}"#, "the arguments are no JSON, from line 1, column 8 on"),
            ("[1]", "expected an object, got a list"),
            ("7", "expected an object, got 7"),
        ] {
            let error = parse::<ExecCommand>(json).unwrap_err();
            let message = error.message.preview().to_string();
            assert!(message.starts_with(says) && error.retryable, "{json}: {message}");
            for word in ["struct", "u64", "sequence", "variant", "invalid type", "EOF", "`"] {
                assert!(!message.contains(word), "{message}");
            }
        }
        let long =
            parse::<ExecCommand>(&format!(r#"{{"cmd":"ls","{}":1}}"#, "x".repeat(50_000))).unwrap_err();
        assert!(long.field.unwrap().len() <= 100);
    }
}
