//! A message to the operator.

use alloc::string::String;

use holon_facts::call::{Urgency};
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BuiltIn, check};

/// Tell the operator something.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NotifyOperator {
    /// What there is to say; at most 4 KiB.
    message: String,
    /// Whether somebody has to act.
    #[serde(default)]
    urgency: Urgency,
}

impl BuiltIn for NotifyOperator {
    const DESCRIPTION: &'static str = "\
        Tell the operator something now, and go on. With urgency action_required it says that somebody has to \
        act. What you say at the end of your turn is told anyway.";

    fn check(&self) -> Result<(), ToolError> {
        check::note("message", &self.message)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Notify { message: self.message, urgency: self.urgency }))
    }
}
