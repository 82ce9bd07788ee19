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
    text: String,
    /// Before or after other messages.
    #[serde(default)]
    priority: FollowUpPriority,
}

impl BuiltIn for Enqueue {
    const DESCRIPTION: &'static str = "\
        Send yourself a message that begins another turn after this one. For work over many turns use a work item, \
        which brings you back by itself.";

    fn check(&self) -> Result<(), ToolError> {
        check::note("text", &self.text)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Enqueue { text: self.text, priority: self.priority }))
    }
}
