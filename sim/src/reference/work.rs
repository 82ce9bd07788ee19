//! Work items of one agent, as far as anything was promised: which are open, and which were completed.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::event::work::{StallReason, WorkChange};
use holon_facts::event::{WaitFact, WorkFact};
use holon_facts::ids::{WaitId, WorkItemId};
use holon_facts::message::{Message, Origin};
use holon_facts::{Event, MessageId, Millis, Record, Wall};

use super::Reply;
use super::made::CONFLICT;
use crate::failure::{Failure, ensure};

/// Completed items that callers may still ask about.
const REMEMBERED: usize = 64;
/// Most open items.
const OPEN: usize = 256;

#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Whether each item is open.
    all: BTreeMap<WorkItemId, bool>,
    completed: Vec<WorkItemId>,
    /// The items that each tick reports.
    ticks: BTreeMap<MessageId, Vec<WorkItemId>>,
    /// Items whose next turn is deferred, and after how many turns.
    waits: BTreeMap<WorkItemId, u32>,
    stalled: BTreeSet<WorkItemId>,
    /// The item of each wait that has one.
    owners: BTreeMap<WaitId, WorkItemId>,
}

/// Whether a message is the runtime's own: an obligation, a recheck, the end of a sleep, or a wake hint.
pub(super) fn is_notice(message: &Message) -> bool {
    let ticks = ["continue_active", "queued_available", "sleep_elapsed", "recheck", "wake_hint"];
    matches!(&message.origin, Origin::System { subsystem } if ticks.contains(&subsystem.as_str()))
}

impl Work {
    /// Whether a message reports deferred items; they may be due by now.
    pub(super) fn waits(&self, message: MessageId) -> bool {
        let items_of = self.ticks.get(&message);
        items_of.is_some_and(|items| items.iter().any(|item| self.waits.contains_key(item)))
    }

    /// S2: deferrals are those of the configuration, in order, and the next one is a stall.
    fn deferrals_are_due(&mut self, at: Wall, fact: &WorkFact, deferrals: &[Millis]) -> Result<(), Failure> {
        match fact {
            WorkFact::WorkTickQueued(fact) => {
                self.ticks.insert(fact.message_id, fact.work_item_ids.clone());
            }
            WorkFact::WorkDeferred(fact) => {
                let id = fact.work_item_id;
                let before = self.waits.insert(id, fact.turns).unwrap_or(0);
                ensure!(
                    fact.turns == before + 1,
                    "S2",
                    "{id} waits after {} turns, {before} before",
                    fact.turns
                );
                let right = deferrals.get(before as usize).map(|wait| at.after(*wait));
                ensure!(
                    right == Some(fact.until),
                    "S2",
                    "{id} waits until {}, right is {right:?}",
                    fact.until
                );
                ensure!(!self.stalled.contains(&id), "S2", "{id} waits, and has stalled");
            }
            WorkFact::WorkItemStalled(fact) => {
                let turns = self.waits.remove(&fact.work_item_id).unwrap_or(0);
                let enough = fact.reason != StallReason::NoProgress || turns as usize >= deferrals.len();
                ensure!(enough, "S2", "{} stalls after {turns} turns", fact.work_item_id);
                self.stalled.insert(fact.work_item_id);
            }
            WorkFact::WorkOwed(fact) => self.anew(fact.work_item_id),
            WorkFact::WorkItemWritten(fact) => self.anew(fact.work_item_id),
            WorkFact::WorkItemPicked(fact) => {
                if let Some(previous) = fact.previous {
                    self.waits.remove(&previous);
                }
                self.anew(fact.work_item_id);
            }
            WorkFact::WorkPlanSeen(fact) => {
                if fact.edited {
                    self.anew(fact.work_item_id);
                }
            }
            WorkFact::DeliverySummaryRecorded(_) => {}
        }
        Ok(())
    }

    /// A new wait, or the end of one, renews the obligation of its item.
    fn waited(&mut self, fact: &WaitFact) {
        let id = match fact {
            WaitFact::WaitRegistered(fact) => {
                self.owners.extend(fact.work_item_id.map(|item| (fact.wait_id, item)));
                fact.wait_id
            }
            WaitFact::WaitResolved(fact) => fact.wait_id,
            WaitFact::WaitCancelled(fact) => fact.wait_id,
            WaitFact::WorkItemRecheckDue(_) | WaitFact::RecheckGivenUp(_) => return,
        };
        if let Some(item) = self.owners.get(&id) {
            self.waits.remove(item);
        }
    }

    fn anew(&mut self, id: WorkItemId) {
        self.waits.remove(&id);
        self.stalled.remove(&id);
    }

    pub(super) fn apply(&mut self, record: &Record, deferrals: &[Millis]) -> Result<(), Failure> {
        if let Event::Work(fact) = &record.event {
            self.deferrals_are_due(record.at, fact, deferrals)?;
        }
        if let Event::Wait(fact) = &record.event {
            self.waited(fact);
        }
        let Event::Work(WorkFact::WorkItemWritten(fact)) = &record.event else { return Ok(()) };
        let id = fact.work_item_id;
        match &fact.change {
            WorkChange::Created { .. } => {
                let next = self.next_id();
                ensure!(id == next, "Q9", "{id} is made, {next} is next");
                self.all.insert(id, true);
            }
            WorkChange::Updated { .. } => {}
            WorkChange::Completed { .. } => {
                self.all.insert(id, false);
                self.completed.push(id);
            }
        }
        Ok(())
    }

    fn next_id(&self) -> WorkItemId {
        self.all.last_key_value().map_or(WorkItemId(1), |(id, _)| id.next())
    }

    pub(super) fn make(&self) -> Vec<Reply> {
        let open = self.all.values().filter(|open| **open).count();
        let made = Reply::WorkItem { item: self.next_id(), changed: true };
        if open < OPEN { vec![made] } else { vec![Reply::Refused("too_many")] }
    }

    /// The answers to a request that has made an item before.
    pub(super) fn made(&self, id: WorkItemId) -> Vec<Reply> {
        let open = self.all.get(&id) == Some(&true);
        let unknown = (!open && self.long_ago(id)).then_some(CONFLICT);
        unknown.into_iter().chain([Reply::WorkItem { item: id, changed: false }]).collect()
    }

    /// Whether a completed item may be forgotten by now.
    fn long_ago(&self, id: WorkItemId) -> bool {
        self.completed.iter().rev().take(REMEMBERED).all(|recent| *recent != id)
    }

    pub(super) fn complete(&self, id: WorkItemId) -> Vec<Reply> {
        match self.all.get(&id) {
            None => vec![Reply::Refused("unknown_work_item")],
            Some(true) => vec![Reply::WorkItem { item: id, changed: true }],
            Some(false) => {
                let unknown = self.long_ago(id).then_some(Reply::Refused("unknown_work_item"));
                unknown.into_iter().chain([Reply::WorkItem { item: id, changed: false }]).collect()
            }
        }
    }
}
