//! What an agent waits for, and when that is looked at again.

use alloc::vec::Vec;

use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::wait::Wait;

/// A wait that nothing has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveWait {
    #[serde(flatten)]
    pub wait: Wait,
    /// When the agent looks at it again, should nothing end it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Wall>,
}

/// Those of work items in order, then the agent's own.
pub(crate) fn active(agent: &Agent) -> Vec<ActiveWait> {
    let shown = |wait: &Wait| {
        let recheck = match wait.work_item_id {
            Some(item) => agent.work.get(item).and_then(|item| item.recheck.as_ref()),
            None => agent.waits.recheck.as_ref(),
        };
        ActiveWait { wait: wait.clone(), recheck_at: recheck.and_then(|recheck| recheck.recheck_at) }
    };
    agent.active_waits().map(shown).collect()
}
