//! The text form of a scenario. It has only the limits that differ from the default configuration, so that a person can
//! write it and a new limit of the core leaves old files unchanged.

use holon_facts::model_ref::ModelRef;
use holon_facts::{Config, Millis};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The base of a scenario: one model, and the default limits of the core.
pub fn plain() -> Config {
    Config::new(ModelRef::new("a/one").into_iter().collect())
}

/// A limit that differs from the default, by its group and name.
pub(crate) type Field = (String, String);

/// The limits that differ from the default.
pub(crate) fn fields(config: &Config) -> Vec<Field> {
    let mut value = serde_json::to_value(config).unwrap_or_default();
    subtract(&mut value, &serde_json::to_value(plain()).unwrap_or_default());
    let mut fields = Vec::new();
    for (group, value) in value.as_object().into_iter().flatten() {
        let names = value.as_object().into_iter().flatten();
        fields.extend(names.map(|(name, _)| (group.clone(), name.clone())));
    }
    fields
}

/// The configuration with one limit set to its default.
pub(crate) fn without(config: &Config, (group, name): &Field) -> Config {
    let mut value = serde_json::to_value(config).unwrap_or_default();
    let base = serde_json::to_value(plain()).unwrap_or_default();
    value[group][name] = base[group][name].clone();
    serde_json::from_value(value).unwrap_or_else(|_| config.clone())
}

/// The configuration with one unusable limit.
pub(crate) fn unusable(config: &Config, which: u32) -> Config {
    let mut config = config.clone();
    match which {
        0 => config.queue.reserved_entries = config.queue.entries,
        1 => config.queue.reserved_bytes = config.queue.bytes,
        2 => config.hold.steps = vec![Millis(0)],
        3 => config.context.window_tokens = 1,
        4 => config.turn.rounds = 0,
        _ => config.models.clear(),
    }
    config
}

pub(crate) fn write<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
    let of = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let mut value = of(config);
    subtract(&mut value, &of(&plain()));
    value.serialize(to)
}

pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
    let value = Value::deserialize(from)?;
    let mut whole = serde_json::to_value(plain()).map_err(serde::de::Error::custom)?;
    overlay(&mut whole, value);
    serde_json::from_value(whole).map_err(serde::de::Error::custom)
}

/// Removes equal values.
fn subtract(value: &mut Value, base: &Value) {
    let (Value::Object(value), Value::Object(base)) = (value, base) else { return };
    value.retain(|name, value| base.get(name) != Some(value));
    for (name, value) in value.iter_mut() {
        if let Some(base) = base.get(name) {
            subtract(value, base);
        }
    }
}

fn overlay(base: &mut Value, value: Value) {
    match (base, value) {
        (Value::Object(base), Value::Object(value)) => {
            for (name, value) in value {
                overlay(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (base, value) => *base = value,
    }
}
