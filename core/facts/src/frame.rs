//! The provider-neutral prompt: what the model is shown before the conversation (contract: providers.md,
//! Prompt frame). Transports lower it; they own none of its meaning.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::fence::{Fence, Place, Tag};
use crate::ids::AgentId;
use crate::image::Image;
use crate::tokens;

/// Everything before the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFrame {
    /// The runtime's policy: the same bytes for every agent of one build.
    pub system_prompt: String,
    pub system_blocks: Vec<PromptBlock>,
    pub context_blocks: Vec<PromptBlock>,
    pub cache: PromptCache,
}

/// One labelled piece of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptBlock {
    pub label: String,
    pub parts: Vec<Part>,
    pub stability: Stability,
    pub cache_breakpoint: bool,
}

/// A piece of text: rendered by the core, or given from outside and resolved by the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Rendered(String),
    Given(Text),
    /// At most so many characters: the beginning and the end, on one line unless there are many.
    Excerpt {
        text: Text,
        chars: u32,
    },
    /// An image, in no fence.
    Image(Arc<Shown>),
    /// Text that is not the runtime's own, between the lines of a fence.
    Quoted {
        tag: Tag,
        parts: Vec<Self>,
    },
}

/// An image as a request has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub image: Image,
    /// It is named and not shown: others fill the request.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub named_only: bool,
}

impl From<&Image> for Shown {
    fn from(image: &Image) -> Self {
        Self { image: image.clone(), named_only: false }
    }
}

names! {
    /// How long a block stays as it is.
    Stability { Stable "stable", AgentScoped "agent_scoped", TurnScoped "turn_scoped" }
}

/// What providers may cache by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    pub agent_id: AgentId,
    /// Changes only with the runtime's rules and with instruction files.
    pub prompt_cache_key: String,
    /// Changes with anything in the frame; diagnostic.
    pub context_fingerprint: String,
    pub working_memory_revision: u64,
    pub compression_epoch: u64,
}

impl PromptFrame {
    /// What stands in the system role: nothing that came from outside or that a turn brings along.
    pub fn system(&self) -> impl Iterator<Item = &PromptBlock> {
        self.blocks().filter(|block| block.stability != Stability::TurnScoped)
    }

    /// What the turn begins with, in the role of the user, before its input.
    pub fn turn(&self) -> impl Iterator<Item = &PromptBlock> {
        self.blocks().filter(|block| block.stability == Stability::TurnScoped)
    }

    pub fn est_tokens(&self) -> u64 {
        let blocks: u64 = self.blocks().flat_map(|block| &block.parts).map(Part::est_tokens).sum();
        blocks.saturating_add(tokens::estimate(&self.system_prompt))
    }

    fn blocks(&self) -> impl Iterator<Item = &PromptBlock> {
        self.system_blocks.iter().chain(&self.context_blocks)
    }
}

impl Part {
    /// As it reads, of stored texts only the beginning.
    pub fn preview(&self) -> String {
        match self {
            Self::Rendered(text) => text.clone(),
            Self::Given(text) | Self::Excerpt { text, .. } => text.preview().into(),
            Self::Image(shown) => shown.image.line(),
            Self::Quoted { tag, parts } => {
                let quoted: String = parts.iter().map(Self::preview).collect();
                alloc::format!("{}{quoted}\n{}", tag.open(), tag.close())
            }
        }
    }

    pub fn est_tokens(&self) -> u64 {
        match self {
            Self::Rendered(text) => tokens::estimate(text),
            Self::Given(text) => text.est_tokens(),
            Self::Image(shown) if shown.named_only => NAMED,
            Self::Image(shown) => shown.image.data.est_tokens().saturating_add(NAMED),
            Self::Excerpt { text, chars } => text.est_tokens_of(u64::from(*chars)),
            Self::Quoted { parts, .. } => {
                let parts: u64 = parts.iter().map(Self::est_tokens).sum();
                parts.saturating_add(TOKENS)
            }
        }
    }
}

/// Tokens of a line that names an image.
pub(crate) const NAMED: u64 = 120;

/// What lines of a fence begin with, before the tag.
const OPEN: &str = "<quoted-";

const CLOSE: &str = "</quoted-";

/// Tokens that both lines of a fence take: most of each is the tag.
const TOKENS: u64 = 32;

impl Fence {
    /// Text that is not the runtime's own, at one place.
    pub fn quoted(self, place: Place, parts: Vec<Part>) -> Part {
        Part::Quoted { tag: self.tag(place), parts }
    }
}

impl Tag {
    /// The line that begins the quoted text.
    pub fn open(self) -> String {
        alloc::format!("{OPEN}{self}>\n")
    }

    /// The line that ends it.
    pub fn close(self) -> String {
        alloc::format!("{CLOSE}{self}>\n")
    }
}

/// What of a prompt stands outside of all fences, the runtime's own words and an operator's, and what stands in them.
pub fn split(parts: &[Part]) -> (Vec<&Part>, Vec<(Tag, &[Part])>) {
    let (mut outside, mut quoted) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Rendered(_) | Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => outside.push(part),
            Part::Quoted { tag, parts } => quoted.push((*tag, &**parts)),
        }
    }
    (outside, quoted)
}
