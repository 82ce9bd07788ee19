//! A message to itself.

use alloc::string::String;

use holon_facts::call::{FollowUpPriority};
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BuiltIn, check};

/// Leave a message for itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Enqueue {
    /// What it says; at most 4 KiB.
    text: String,
    /// Before or after what else waits.
    #[serde(default)]
    priority: FollowUpPriority,
}

impl BuiltIn for Enqueue {
    const DESCRIPTION: &'static str = "\
        Leave a message for yourself: it has a turn of its own after this one. What goes on over many turns \
        belongs into a work item, which brings you back by itself.";

    fn check(&self) -> Result<(), ToolError> {
        check::note("text", &self.text)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Enqueue { text: self.text, priority: self.priority }))
    }
}
