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
    message: String,
    #[serde(default)]
    #[schemars(description = "")]
    urgency: Urgency,
}

impl BuiltIn for NotifyOperator {
    const DESCRIPTION: &'static str = "\
        Send the operator a message now and go on, for example during long work. Your final answer is delivered \
        anyway. action_required means that the operator must act.";

    fn check(&self) -> Result<(), ToolError> {
        check::note("message", &self.message)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Notify { message: self.message, urgency: self.urgency }))
    }
}
