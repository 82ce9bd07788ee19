//! Replies that are no failure: what the description says of them, and how a client reads them.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a route replies with.
pub trait Reply: Sized + Send + 'static {
    const MEDIA: &'static str = "application/json";

    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// # Errors
    /// A body that is no such reply.
    fn read(body: &[u8]) -> serde_json::Result<Document<Self>>;
}

/// A reply, and the JSON that it came as: fields that this build does not know are kept there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document<T> {
    reply: T,
    /// None where the reply never was JSON.
    json: Option<Box<str>>,
}

/// Text of the format of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMetrics(pub String);

/// Server-sent events. They are followed, not read.
#[derive(Debug, Clone, Copy)]
pub enum Stream {}

/// The description of the surface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenApi(pub Value);

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Reply for T {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }

    fn read(body: &[u8]) -> serde_json::Result<Document<Self>> {
        holon_facts::json::read(body)
    }
}

impl Reply for OpenMetrics {
    const MEDIA: &'static str = "application/openmetrics-text";

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }

    fn read(body: &[u8]) -> serde_json::Result<Document<Self>> {
        Ok(Self(String::from_utf8_lossy(body).into_owned()).into())
    }
}

impl Reply for Stream {
    const MEDIA: &'static str = "text/event-stream";

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }

    fn read(_: &[u8]) -> serde_json::Result<Document<Self>> {
        Err(serde_json::Error::custom("a stream has no end to read to"))
    }
}

impl JsonSchema for OpenApi {
    fn schema_name() -> Cow<'static, str> {
        "OpenApi".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "description": "OpenAPI 3.1" })
    }
}

impl<T> Document<T> {
    /// The reply without its JSON.
    pub fn into_reply(self) -> T {
        self.reply
    }
}

impl<T> From<T> for Document<T> {
    fn from(reply: T) -> Self {
        Self { reply, json: None }
    }
}

impl<T> Deref for Document<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.reply
    }
}

impl<T: Serialize> Serialize for Document<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.json {
            Some(json) => serde_json::from_str::<&RawValue>(json)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            None => self.reply.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Document<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        let reply = serde_json::from_str(&json).map_err(D::Error::custom)?;
        Ok(Self { reply, json: Some(json) })
    }
}

impl<T: JsonSchema> JsonSchema for Document<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Health;

    #[test]
    fn what_a_newer_runtime_adds_is_kept() {
        let read = Health::read(br#"{"ok":true,"new":1}"#).unwrap();
        assert!(read.ok);
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"{"ok":true,"new":1}"#);
        assert_eq!(serde_json::to_string(&Document::from(Health { ok: true })).unwrap(), r#"{"ok":true}"#);
    }
}
