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
    /// Default: yourself.
    #[serde(default)]
    agent_id: Option<AgentId>,
}

impl BuiltIn for AgentGet {
    const DESCRIPTION: &'static str = "Show your own state as your operator sees it (queue, model, usage, waits, children), or that of a child.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Get { agent: self.agent_id }))
    }
}
