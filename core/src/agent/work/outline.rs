//! Work items as they stood when a turn or an episode began; how they are worded is the prompt's business.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::ids::WorkItemId;
use holon_facts::work::{LINE_BYTES, PlanSeen, WorkState};
use serde::{Deserialize, Serialize};

use crate::agent::wait::Wait;
use crate::agent::work::obligation::Obligation;
use crate::agent::work::{WorkItem, WorkItems};

/// Other open items that are named.
const OTHERS: usize = 10;

/// What was open: the item in focus as a whole, the others by a line each.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkOutline {
    pub focus: Option<WorkItem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OpenItem>,
    /// Open items beyond `others`.
    #[serde(default)]
    pub more: u64,
    /// What the agent itself waits for.
    pub wait: Option<Wait>,
}

/// An open item that is not in focus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenItem {
    pub id: WorkItemId,
    pub state: WorkState,
    /// At most 512 bytes of it.
    pub objective: String,
}

impl WorkOutline {
    /// None while nothing is open and the agent waits for nothing.
    pub(crate) fn of(work: &WorkItems, wait: Option<&Wait>) -> Option<Arc<Self>> {
        let focus = work.current();
        let mut others = work.open().filter(|item| focus.is_none_or(|focus| focus.id != item.id));
        let outline = Self {
            focus: focus.map(shown),
            others: others.by_ref().take(OTHERS).map(OpenItem::of).collect(),
            more: others.count() as u64,
            wait: wait.cloned(),
        };
        (outline != Self::default()).then(|| Arc::new(outline))
    }
}

/// The item without what the scheduler keeps of it, which no prompt shows: what reads the same is the same.
fn shown(item: &WorkItem) -> WorkItem {
    WorkItem {
        revision: 0,
        updated_at: item.created_at,
        recheck: None,
        debt: Obligation::default(),
        plan: PlanSeen::default(),
        ..item.clone()
    }
}

impl OpenItem {
    fn of(item: &WorkItem) -> Self {
        Self { id: item.id, state: item.state(), objective: clip(&item.objective, LINE_BYTES) }
    }
}
