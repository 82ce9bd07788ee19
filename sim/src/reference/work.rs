//! Work items of one agent, as far as anybody was promised anything: which are open, and which is in focus.

use std::collections::BTreeMap;

use holon_core::Event;
use holon_core::event::work::WorkChange;
use holon_core::event::{TurnFact, WorkFact};
use holon_core::ids::WorkItemId;

use super::Told;
use crate::failure::{Failure, ensure};

/// So many of the completed items anybody may still ask about.
const REMEMBERED: usize = 64;
/// So many may be open.
const OPEN: usize = 256;

#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Whether each is open.
    all: BTreeMap<WorkItemId, bool>,
    completed: Vec<WorkItemId>,
    focus: Option<WorkItemId>,
    /// Broken on purpose: every item is lost.
    pub(super) lost: bool,
}

impl Work {
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Work(WorkFact::WorkItemWritten(fact)) => {
                let id = fact.work_item_id;
                let open = self.is_open(id);
                match &fact.change {
                    WorkChange::Created { .. } => {
                        let next = self.next_id();
                        ensure!(id == next, "Q9", "{id} is made, {next} is next");
                        self.all.insert(id, true);
                    }
                    WorkChange::Updated { .. } => ensure!(open, "W11", "{id} is changed, and is not open"),
                    WorkChange::Completed { .. } => {
                        ensure!(open, "W11", "{id} is completed, and is not open");
                        self.all.insert(id, false);
                        self.completed.push(id);
                        self.focus = self.focus.filter(|focus| *focus != id);
                    }
                }
            }
            Event::Work(WorkFact::WorkItemPicked(fact)) => {
                let id = fact.work_item_id;
                ensure!(self.is_open(id), "W11", "{id} is picked, and is not open");
                self.focus = Some(id);
            }
            Event::Turn(TurnFact::TurnStarted(fact)) => {
                let (bound, focus) = (fact.work_item_id, self.focus);
                ensure!(bound == focus, "W11", "{} is about {bound:?}, in focus is {focus:?}", fact.run_id);
            }
            Event::Work(WorkFact::DeliverySummaryRecorded(_))
            | Event::Turn(_)
            | Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Brief(_) => {}
        }
        Ok(())
    }

    fn is_open(&self, id: WorkItemId) -> bool {
        !self.lost && self.all.get(&id) == Some(&true)
    }

    fn next_id(&self) -> WorkItemId {
        self.all.last_key_value().map_or(WorkItemId(1), |(id, _)| id.next())
    }

    pub(super) fn make(&self) -> Vec<Told> {
        let open = self.all.values().filter(|open| **open).count();
        let made = Told::WorkItem { item: self.next_id(), changed: true };
        if open < OPEN { vec![made] } else { vec![Told::Refused("too_many")] }
    }

    pub(super) fn complete(&self, id: WorkItemId) -> Vec<Told> {
        match self.all.get(&id) {
            None => vec![Told::Refused("unknown_work_item")],
            Some(true) => vec![Told::WorkItem { item: id, changed: true }],
            Some(false) => {
                let long_ago = self.completed.iter().rev().take(REMEMBERED).all(|recent| *recent != id);
                let unknown = long_ago.then_some(Told::Refused("unknown_work_item"));
                unknown.into_iter().chain([Told::WorkItem { item: id, changed: false }]).collect()
            }
        }
    }
}
