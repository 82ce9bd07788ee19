//! Work that is owed later, because turns for it brought nothing.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::ids::WorkItemId;
use holon_facts::time::Wall;
use holon_facts::work::WorkState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Items that are named, the earliest first.
const NAMED: usize = 20;
/// Bytes of what each is about.
const ABOUT: usize = 200;

/// A work item that can be worked on, and is not turned to before a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeferredWork {
    pub work_item_id: WorkItemId,
    /// The beginning of it.
    pub objective: String,
    /// Whether it waits for a turn of its own, and not for a mention.
    pub in_focus: bool,
    /// Turns or mentions in a row that brought nothing: so often it was deferred.
    pub times: u32,
    pub until: Wall,
}

pub(crate) fn deferred(agent: &Agent, now: Wall) -> Vec<DeferredWork> {
    let focus = agent.work.current().map(|item| item.id);
    let runnable = agent.work.open().filter(|item| item.state() == WorkState::Runnable);
    let later = runnable.filter_map(|item| Some((item, item.debt.deferred(now)?)));
    let mut deferred: Vec<DeferredWork> = later
        .map(|(item, until)| DeferredWork {
            work_item_id: item.id,
            objective: clip(&item.objective, ABOUT),
            in_focus: focus == Some(item.id),
            times: item.debt.turns,
            until,
        })
        .collect();
    deferred.sort_by_key(|item| (item.until, item.work_item_id));
    deferred.truncate(NAMED);
    deferred
}
