//! Work items, as far as a law looks back.

use alloc::collections::BTreeMap;

use super::Seen;
use crate::event::WorkFact;
use crate::event::work::WorkChange;
use crate::ids::WorkItemId;

/// Items that are open, and the one in focus.
#[derive(Debug, Clone, Default)]
pub(in crate::law) struct Work {
    /// With the revision of each.
    pub(in crate::law) open: BTreeMap<WorkItemId, u64>,
    pub(in crate::law) current: Option<WorkItemId>,
}

impl Seen {
    pub(super) fn work(&mut self, fact: &WorkFact) {
        match fact {
            WorkFact::WorkItemWritten(fact) => {
                let id = fact.work_item_id;
                match &fact.change {
                    WorkChange::Created { .. } => self.next.work_item = id.next(),
                    WorkChange::Updated { .. } => {}
                    WorkChange::Completed { .. } => {
                        self.work.open.remove(&id);
                        self.work.current = self.work.current.filter(|current| *current != id);
                        return;
                    }
                }
                self.work.open.insert(id, fact.revision);
            }
            WorkFact::WorkItemPicked(fact) => self.work.current = Some(fact.work_item_id),
            WorkFact::DeliverySummaryRecorded(_) => {}
        }
    }
}
