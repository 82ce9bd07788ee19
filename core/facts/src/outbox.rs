//! What one agent has for another (contract: tasks.md, Child agents).

use alloc::boxed::Box;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::identity::AgentSpec;
use crate::model::ModelRef;
use crate::price::Amount;
use crate::task::{Need, TaskStatus};
use crate::workspace::Worktree;

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum Letter {
    /// There is to be an agent of that name.
    Spawn { spec: Box<AgentSpec>, model: Option<ModelRef>, message: Option<Text> },
    /// To a child: its supervisor adds a message.
    FollowUp { text: Text },
    /// To a child: it is to end.
    Stop { force: bool },
    /// From a child: it can't go on by itself.
    Needs { need: Need },
    /// From a child, its last one: how it ended.
    Result {
        status: TaskStatus,
        report: Option<Text>,
        /// By it and all whom it supervised.
        #[serde(default, skip_serializing_if = "Amount::is_nothing")]
        spent: Amount,
        /// Worktrees that are there for somebody to look at.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<Worktree>,
    },
}
