//! Names of things. Each counter is part of an agent's state, so an id is unique within its agent and
//! every record carries the agent besides it.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error(
        "{what} is 1 to 63 characters of a-z, 0-9 and '-', and starts with a letter or digit; got {got:?}"
    )]
    Chosen { what: &'static str, got: String },
    #[error("expected an id like {prefix}12, got {got:?}")]
    Counter { prefix: &'static str, got: String },
}

/// Names that people choose: `[a-z0-9][a-z0-9-]{0,62}`; cheap to clone.
macro_rules! chosen {
    ($($(#[$doc:meta])* $name:ident $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(name: &str) -> Result<Self, IdError> {
                let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
                let bytes = name.as_bytes();
                let fits = (1..=63).contains(&bytes.len());
                if fits && plain(bytes[0]) && bytes.iter().all(|&byte| plain(byte) || byte == b'-') {
                    return Ok(Self(Arc::from(name)));
                }
                Err(IdError::Chosen { what: $what, got: name.chars().take(80).collect() })
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$" })
            }
        }
    )*};
}

chosen! {
    AgentId "an agent id";
    /// The folder of a template in the folder of templates.
    TemplateId "a template id";
}

impl AgentId {
    /// Whether it is one of those that the runtime gives to children.
    pub fn is_reserved(&self) -> bool {
        self.0.contains("--")
    }
}

/// Ids that are counted per agent and written as `prefix_12`.
macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// The id after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix).and_then(|rest| rest.parse().ok()).map(Self)
                    .ok_or_else(|| IdError::Counter { prefix: $prefix, got: text.to_string() })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": concat!("^", $prefix, "[0-9]+$") })
            }
        }
    )*};
}

impl ExternalTriggerId {
    /// Each agent has one.
    pub const OF_AGENT: Self = Self(1);
}

counted! {
    /// An admitted message; ascending in the order of admission.
    MessageId "msg_";
    /// One attempt at a turn.
    RunId "run_";
    /// An effect that has an outcome.
    OpId "op_";
    /// A user-facing brief.
    BriefId "brief_";
    /// A background task. Each command is given one at its start, and keeps it if it becomes a task.
    TaskId "task_";
    /// A stretch of an agent's conversation, starting at 1.
    EpisodeId "ep_";
    /// A work item.
    WorkItemId "work_";
    /// A timer; one that has ended keeps its number.
    TimerId "timer_";
    /// Something that an agent waits for; one that has ended keeps its number.
    WaitId "wait_";
    /// A worktree; one that is gone keeps its number.
    WorktreeId "worktree_";
    /// What one agent has for another; unique for its sender.
    LetterId "letter_";
    /// Through what somebody outside wakes an agent.
    ExternalTriggerId "trigger_";
    /// A request that was kept for the next owner of its cell; unique for its database.
    DepositId "deposit_";
}

/// Plain numbers with a meaning, written as numbers.
macro_rules! numbered {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "integer", "minimum": 0, "maximum": <$inner>::MAX })
            }
        }

        impl $name {
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

numbered! {
    /// Position of a record in its agent's log: 1, 2, 3, … without a gap.
    EventSeq(u64);
    /// Number of a step of the host, over all agents.
    StepSeq(u64);
    /// Number of a turn of an agent, starting at 1; a replay of its message is a turn of its own.
    TurnIndex(u64);
    /// Number of a round within its run, starting at 0.
    RoundIndex(u32);
    /// A caller who waits for an answer; minted by the shell, opaque here.
    ReplyId(u64);
    /// Decides jitter; part of the flight recorder, so that a replay draws the same.
    Seed(u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_are_small_and_plain() {
        for good in ["main", "a", "0", "build-bot-2", &"x".repeat(63)] {
            assert!(AgentId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "Main", "a_b", "../etc", "a b", "ä", &"x".repeat(64)] {
            assert!(AgentId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counted_ids_read_back_what_they_write() {
        assert_eq!(MessageId(12).to_string(), "msg_12");
        assert_eq!("run_7".parse(), Ok(RunId(7)));
        assert!("msg_7".parse::<RunId>().is_err());
    }
}
