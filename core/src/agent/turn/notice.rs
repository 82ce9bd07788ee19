//! What stands beside a message when its first run begins: the waits that it ends, the tasks that it reports, and what is
//! to be looked at again. All runs of the message show it so, whatever changes meanwhile; how it is worded is the
//! prompt's business.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::ids::{MessageId, WorkItemId};
use serde::{Deserialize, Serialize};

use crate::agent::task::{Task, Tasks};
use crate::agent::wait::{Wait, Waits, recheck};
use crate::agent::wake::{Hints, Pending};
use crate::agent::work::WorkItems;

/// What is told with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub message: MessageId,
    /// Waits that it ends, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Tasks whose end it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Hints that it carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Pending>,
    /// The first of whatever is to be looked at again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rechecks: Vec<Obstacle>,
}

/// What stands in the way of a work item, or of the agent itself.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    pub work_item_id: Option<WorkItemId>,
    pub wait: Option<Wait>,
    pub blocked_by: Option<String>,
}

impl Notice {
    pub(crate) fn with(
        (work, waits): (&WorkItems, &Waits),
        tasks: &Tasks,
        hints: &Hints,
        message: MessageId,
    ) -> Self {
        Self {
            message,
            waits: waits.ended_by(message).cloned().collect(),
            tasks: tasks.delivered_by(message).cloned().collect(),
            hints: hints.delivered_by(message).cloned().collect(),
            rechecks: recheck::delivered_by(work, waits, message).collect(),
        }
    }
}
