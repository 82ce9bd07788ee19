//! The table of keys.

use holon_core::config::WhileStopped;
use holon_core::model::ModelRef;
use holon_core::time::Millis;
use toml::Value;

use super::Settings;
use crate::ledger::Durability;

/// One key of `config.toml`.
pub struct Key {
    pub name: &'static str,
    /// The environment variable that overrides the file.
    pub variable: Option<&'static str>,
    pub doc: &'static str,
    pub(super) set: fn(&mut Settings, &Value) -> Result<(), String>,
    list: bool,
}

impl Key {
    /// A variable's text as a value; lists are separated by commas.
    pub(super) fn value_of(&self, text: &str) -> Value {
        if self.list {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            return Value::Array(items.map(|item| Value::String(item.to_owned())).collect());
        }
        Value::String(text.to_owned())
    }
}

macro_rules! key {
    ($name:literal, $variable:expr, $doc:literal, list $set:expr) => {
        Key { name: $name, variable: $variable, doc: $doc, set: $set, list: true }
    };
    ($name:literal, $variable:expr, $doc:literal, $set:expr) => {
        Key { name: $name, variable: $variable, doc: $doc, set: $set, list: false }
    };
}

/// Every key there is, in the order in which it is listed.
pub const KEYS: &[Key] = &[
    key!("model.default", Some("HOLON_MODEL"), "the model, as provider/model", |settings, value| {
        settings.model = Some(model(value)?);
        Ok(())
    }),
    key!(
        "model.fallbacks",
        Some("HOLON_MODEL_FALLBACKS"),
        "models to try when the first one fails, in order",
        list | settings,
        value | {
            let items = value.as_array().ok_or("expected a list of models")?;
            settings.fallbacks = items.iter().map(model).collect::<Result<_, _>>()?;
            Ok(())
        }
    ),
    key!(
        "runtime.durability",
        Some("HOLON_DURABILITY"),
        "full survives a loss of power, process only the end of the process",
        |settings, value| {
            settings.durability = match value.as_str() {
                Some("full") => Durability::Full,
                Some("process") => Durability::Process,
                Some(_) | None => return Err("expected \"full\" or \"process\"".to_owned()),
            };
            Ok(())
        }
    ),
    key!("runtime.retries", None, "further attempts at one model", |settings, value| {
        settings.core.retries = Some(number(value)?);
        Ok(())
    }),
    key!("runtime.hold_on_outage", None, "wait for providers that are away", |settings, value| {
        settings.core.hold_on_outage = Some(value.as_bool().ok_or("expected true or false")?);
        Ok(())
    }),
    key!("runtime.model_timeout_ms", None, "time that one model attempt may take", |settings, value| {
        settings.core.model_timeout = Some(Millis(number(value)?));
        Ok(())
    }),
    key!("runtime.tool_timeout_ms", None, "time that one tool call may take", |settings, value| {
        settings.core.tool_timeout = Some(Millis(number(value)?));
        Ok(())
    }),
    key!("runtime.max_output_tokens", None, "most tokens of one model answer", |settings, value| {
        settings.core.max_output_tokens = Some(number(value)?);
        Ok(())
    }),
    key!(
        "runtime.context_window_tokens",
        None,
        "tokens that a model takes, question and answer together",
        |settings, value| {
            settings.core.context_window = Some(number(value)?);
            Ok(())
        }
    ),
    key!("limits.rounds", None, "most model rounds of one turn", |settings, value| {
        settings.core.rounds = Some(number(value)?);
        Ok(())
    }),
    key!("limits.turn_wall_time_ms", None, "most time of one turn", |settings, value| {
        settings.core.turn_wall_time = Some(Millis(number(value)?));
        Ok(())
    }),
    key!("limits.queue_entries", None, "most messages of one agent's queue", |settings, value| {
        settings.core.queue_entries = Some(number(value)?);
        Ok(())
    }),
    key!("limits.queue_bytes", None, "most bytes of one agent's queue", |settings, value| {
        settings.core.queue_bytes = Some(number(value)?);
        Ok(())
    }),
    key!("limits.concurrent_turns", None, "most turns at once", |settings, value| {
        settings.core.concurrent_turns = Some(number(value)?);
        Ok(())
    }),
    key!("budget.turn_tokens", None, "most tokens of one turn", |settings, value| {
        settings.core.turn_tokens = Some(number(value)?);
        Ok(())
    }),
    key!("run.keep", None, "homes of temporary runs that are kept", |settings, value| {
        settings.run.keep = number(value)?;
        Ok(())
    }),
    key!("run.idle_limit_ms", None, "a run waits for what is due within so long", |settings, value| {
        settings.run.idle_limit = Millis(number(value)?);
        Ok(())
    }),
    key!(
        "admission.while_stopped",
        None,
        "refuse or queue what comes for a stopped agent",
        |settings, value| {
            settings.core.while_stopped = Some(match value.as_str() {
                Some("refuse") => WhileStopped::Refuse,
                Some("queue") => WhileStopped::Queue,
                Some(_) | None => return Err("expected \"refuse\" or \"queue\"".to_owned()),
            });
            Ok(())
        }
    ),
];

fn model(value: &Value) -> Result<ModelRef, String> {
    let text = value.as_str().ok_or("expected a model as text")?;
    ModelRef::new(text).map_err(|error| error.to_string())
}

fn number<T: TryFrom<i64>>(value: &Value) -> Result<T, String> {
    let number = value.as_integer().ok_or("expected a whole number")?;
    T::try_from(number).map_err(|_| format!("{number} is out of range"))
}

/// The known key that a wrong one was probably meant to be.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    KEYS.iter()
        .map(|key| (distance(name, key.name), key.name))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 2)
        .map(|(_, known)| known)
}

/// Levenshtein's distance.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
