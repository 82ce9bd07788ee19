//! The text form of a scenario. Of the configuration it says only what differs from the default one, so that
//! a person can write it and a new limit of the core leaves old files alone.

use holon_core::Config;
use holon_core::model::ModelRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What a scenario starts from: one model, the limits of the core's default.
pub fn plain() -> Config {
    Config::new(ModelRef::new("a/one").into_iter().collect())
}

pub(crate) fn write<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
    let of = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let mut said = of(config);
    subtract(&mut said, &of(&plain()));
    said.serialize(to)
}

pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
    let said = Value::deserialize(from)?;
    let mut whole = serde_json::to_value(plain()).map_err(serde::de::Error::custom)?;
    overlay(&mut whole, said);
    serde_json::from_value(whole).map_err(serde::de::Error::custom)
}

/// Leaves out what is the same.
fn subtract(said: &mut Value, base: &Value) {
    let (Value::Object(said), Value::Object(base)) = (said, base) else { return };
    said.retain(|name, value| base.get(name) != Some(value));
    for (name, value) in said.iter_mut() {
        if let Some(base) = base.get(name) {
            subtract(value, base);
        }
    }
}

fn overlay(base: &mut Value, said: Value) {
    match (base, said) {
        (Value::Object(base), Value::Object(said)) => {
            for (name, value) in said {
                overlay(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (base, said) => *base = said,
    }
}
