//! What is wrong with arguments that can't be read, in words that say what to send.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;
use serde_json::error::Category;

/// Words of a refusal.
pub(super) struct Unreadable {
    pub(super) field: Option<String>,
    pub(super) message: String,
}

/// `culprit` is the field that can't be read even alone, where it is known.
pub(super) fn explain(culprit: Option<&str>, problem: &serde_json::Error) -> Unreadable {
    let reason = problem.to_string();
    match problem.classify() {
        Category::Eof => Unreadable { field: None, message: "the arguments end too early".into() },
        Category::Syntax | Category::Io => {
            let deep = reason.starts_with("recursion limit");
            let message = if deep {
                "the arguments are nested too deeply".into()
            } else {
                format!(
                    "the arguments are no JSON, from line {}, column {} on",
                    problem.line(),
                    problem.column()
                )
            };
            Unreadable { field: None, message }
        }
        Category::Data => of_data(culprit, &reason),
    }
}

/// Arguments that are JSON and have no fields.
pub(super) fn not_an_object(value: &Value) -> Unreadable {
    let got = match value {
        Value::Null => "nothing".into(),
        Value::Array(_) => "a list".into(),
        Value::String(_) => "a text".into(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    Unreadable { field: None, message: format!("expected an object, got {got}") }
}

fn of_data(culprit: Option<&str>, reason: &str) -> Unreadable {
    let reason = reason.rsplit_once(" at line ").map_or(reason, |(reason, _)| reason);
    let names: Vec<&str> = reason.split('`').skip(1).step_by(2).collect();
    let first = names.first().copied().unwrap_or_default();
    let named = |message: String| Unreadable { field: Some(first.into()), message };
    if reason.starts_with("missing field") {
        return named(format!("{first} is missing"));
    }
    if reason.starts_with("duplicate field") {
        return named(format!("{first} stands there twice"));
    }
    if reason.starts_with("unknown field") {
        let others = names.get(1..).unwrap_or_default().join(", ");
        let known =
            if others.is_empty() { "the tool takes none".into() } else { format!("there are {others}") };
        return named(format!("there is no field {first}; {known}"));
    }
    let message = if reason.starts_with("unknown variant") {
        format!("{first} is none of {}", names.get(1..).unwrap_or_default().join(", "))
    } else if let Some((got, expected)) =
        reason.strip_prefix("invalid ").and_then(|reason| reason.split_once(", expected "))
    {
        let got = got.split_once(": ").map_or("", |(_, got)| got);
        format!("expected {}, got {}", in_words(expected, got), value_in_words(got))
    } else {
        // A type that reads its own texts says what it expects.
        reason.into()
    };
    match culprit {
        Some(field) => Unreadable { field: Some(field.into()), message: format!("{field}: {message}") },
        None => Unreadable { field: None, message },
    }
}

fn in_words(expected: &str, got: &str) -> &'static str {
    match expected.split_ascii_whitespace().next().unwrap_or_default() {
        "u8" | "u16" | "u32" | "u64" | "usize" if got.starts_with("integer `-") => {
            "a whole number of at least 0"
        }
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" | "map" => "an object",
        _ => match expected {
            "a string" | "a borrowed string" => "a text",
            "a boolean" => "true or false",
            "a sequence" => "a list",
            "a map" => "an object",
            _ => "what the tool's schema says",
        },
    }
}

fn value_in_words(got: &str) -> String {
    let (kind, value) = got.split_once(' ').unwrap_or((got, ""));
    let value = value.trim_start_matches("point ").trim_matches('`');
    match kind {
        "string" => format!("the text {value}"),
        "integer" | "floating" | "boolean" => value.to_string(),
        "sequence" => "a list".into(),
        "map" => "an object".into(),
        "null" | "unit" | "Option" => "nothing".into(),
        _ => "something else".into(),
    }
}
