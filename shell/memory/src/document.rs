//! What is searched: documents, each of one source.

use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, Wall};
use serde::{Deserialize, Serialize};

macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($variant:ident $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub(crate) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.name() == name)
            }
        }
    };
}

named! {
    /// What a document comes from.
    Kind {
        AgentMemory "agent_memory",
        Note "note",
        WorkspaceProfile "workspace_profile",
        Brief "brief",
        Episode "episode",
        WorkItem "work_item",
        WorkPlan "work_plan",
        Message "message",
    }
}

named! {
    /// How far what a document has to say may be relied on. It never rises by being copied.
    Standing {
        Operator "operator",
        Own "own",
    }
}

/// What a document comes from, among those of its agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    pub kind: Kind,
    /// An id of the ledger, or a path in the agent's home.
    pub id: String,
}

/// A document without its text: where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub agent: AgentId,
    pub source: Source,
    pub standing: Standing,
    /// None where it belongs to the agent wherever it works.
    pub workspace: Option<WorkspaceId>,
    /// The file that it is, where it is one.
    pub path: Option<String>,
    pub title: String,
    pub updated_at: Wall,
    /// The records that its text is made of, by `event_seq`.
    pub events: Vec<u64>,
    /// What a file was when it was read: the same stamp is the same text.
    pub stamp: Option<String>,
}
