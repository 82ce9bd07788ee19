//! How people name and list an agent: a second name, a description, and whether it is archived. Its id stays what it is.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::AgentId;

/// What an agent is shown as.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLabel {
    /// A second name, in the form of an id: no other agent has it as its id or its name. None where the id is the only
    /// one.
    pub name: Option<AgentId>,
    /// What the agent is for, in one line.
    pub description: Option<Description>,
    /// Stopped, and shown only in lists that ask for archived agents.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub archived: bool,
}

/// What an operator changes of it. Start and archive are control commands.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum LabelChange {
    /// Its own id, or none, takes the name away.
    Rename {
        name: Option<AgentId>,
    },
    Describe {
        description: Option<Description>,
    },
}

/// Most characters of a description.
pub const DESCRIPTION_CHARS: usize = 200;

/// One line of 1 to [`DESCRIPTION_CHARS`] characters, without blanks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description(Arc<str>);

/// Why a text is no description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    #[error("a description has 1 to {DESCRIPTION_CHARS} characters; this one has {0}")]
    Length(usize),
    #[error("a description is one line of text; this one has a line break or another control character")]
    Lines,
}

impl Description {
    pub fn new(text: &str) -> Result<Self, DescriptionError> {
        let text = text.trim();
        let length = text.chars().count();
        if length == 0 || length > DESCRIPTION_CHARS {
            return Err(DescriptionError::Length(length));
        }
        if text.chars().any(|char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')) {
            return Err(DescriptionError::Lines);
        }
        Ok(Self(Arc::from(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Description {
    type Err = DescriptionError;
    fn from_str(text: &str) -> Result<Self, DescriptionError> {
        Self::new(text)
    }
}

impl Serialize for Description {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Description {
    fn schema_name() -> Cow<'static, str> {
        "Description".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // One line with something in it.
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\x00-\\x1f\\x7f]*\\S[^\\x00-\\x1f\\x7f]*$" })
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_description_is_one_line() {
        let refused = |text: &str| Description::new(text).unwrap_err().to_string();
        assert_eq!(Description::new(" keeps CI green \n").unwrap().as_str(), "keeps CI green");
        assert!(Description::new(&"ü".repeat(200)).is_ok());
        assert!(refused(&"ü".repeat(201)).ends_with("this one has 201"));
        assert!(refused(" \n").ends_with("this one has 0"));
        assert!(refused("one\ntwo").contains("line break"));
        assert!(refused("a\u{1b}[31mb").contains("control character"));
    }
}
