//! What the model is told: a pure projection of recorded facts, so that its stable beginning is the same
//! bytes after a restart.

pub mod frame;
pub(crate) mod policy;
pub(crate) mod recap;
pub(crate) mod sections;
pub(crate) mod work;

pub use frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
