//! What an agent sees of itself, or of a child.

use holon_facts::ids::AgentId;
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// Look at itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentGet {
    /// Whom to look at; itself where it is left out.
    #[serde(default)]
    agent_id: Option<AgentId>,
}

impl BuiltIn for AgentGet {
    const DESCRIPTION: &'static str = "Look at yourself as your operator does: status, queue, model, use, waits, last turn, children; or at a child.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Get { agent: self.agent_id }))
    }
}
