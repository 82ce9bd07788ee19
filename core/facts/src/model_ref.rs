//! Which model: a provider and a name.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `provider/model`; everything after the first slash is the model's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelRef(Arc<str>);

impl ModelRef {
    pub fn new(text: &str) -> Result<Self, ModelRefError> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() && text.len() <= 256 => {
                Ok(Self(Arc::from(text)))
            }
            Some(_) | None => Err(ModelRefError(text.chars().take(80).collect())),
        }
    }

    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or("", |(provider, _)| provider)
    }

    pub fn model(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, model)| model)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Which of these it is, whoever serves it: the one of its name, without what gateways write before it and behind, or
    /// the one that it is a dated version of.
    pub fn among<'a, T>(&self, all: &'a [T], name_of: impl Fn(&T) -> &str) -> Option<&'a T> {
        let name = self.model();
        let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
        let dotted = name.contains('.').then(|| name.rsplit_once("anthropic.")).flatten();
        let name = dotted.map_or(name, |(_, name)| name);
        let name = name.split_once(':').map_or(name, |(name, _)| name);
        let name = name.strip_suffix("-v1").unwrap_or(name);
        let own = all.iter().find(|one| name_of(one) == name);
        own.or_else(|| all.iter().find(|one| is_version(name_of(one), name)))
    }
}

/// `provider/model-2025-08-07`, `provider/model-20250807` and `provider/model-latest` are `provider/model`.
pub fn is_version(name: &str, of: &str) -> bool {
    let Some(rest) = of.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')) else { return false };
    let year = rest.get(..4).is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()));
    let date: String = rest.chars().filter(char::is_ascii_digit).collect();
    rest == "latest"
        || (year && date.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// Not a model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a model is named provider/model, for example local/qwen3; got {0:?}")]
pub struct ModelRefError(String);

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ModelRef {
    type Err = ModelRefError;
    fn from_str(text: &str) -> Result<Self, ModelRefError> {
        Self::new(text)
    }
}

impl Serialize for ModelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for ModelRef {
    fn schema_name() -> Cow<'static, str> {
        "ModelRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": 256, "pattern": "^[^/]+/.+$" })
    }
}
