//! Work items, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use holon_facts::event::WorkFact;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::work::{
    StallReason, WorkAuthor, WorkChange, WorkItemPicked, WorkItemWritten, WorkTick,
};
use holon_facts::ids::{MessageId, WorkItemId};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Wall;
use holon_facts::work::{PlanSeen, PlanStatus};

use super::Past;

/// Items that are open, and the one in focus.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    pub(crate) open: BTreeMap<WorkItemId, Item>,
    pub(crate) current: Option<WorkItemId>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Item {
    pub(crate) revision: u64,
    needs_input: bool,
    blocked: bool,
    waits: bool,
    stalled: Option<StallReason>,
    pub(crate) turns: u32,
    until: Option<Wall>,
    /// The last message that told of it, and what it told.
    tick: Option<(WorkTick, MessageId)>,
    pub(crate) plan: PlanSeen,
}

impl Item {
    pub(crate) fn runnable(&self) -> bool {
        !self.needs_input && !self.blocked && !self.waits && self.stalled.is_none()
    }

    fn due(&self, at: Wall) -> bool {
        self.until.is_none_or(|until| until <= at)
    }
}

impl Past {
    /// What is owed at that moment and not told by any message: a turn, or mentions.
    pub(crate) fn owed_work(&self, tick: WorkTick, at: Wall) -> Vec<WorkItemId> {
        let reminded =
            |item: &Item| item.tick.is_some_and(|(_, message)| self.queue.live.contains_key(&message));
        let focus = |id| Some(id) == self.work.current;
        let owed = self.work.open.iter().filter(|(id, item)| {
            item.runnable()
                && item.due(at)
                && !reminded(item)
                && focus(**id) == (tick == WorkTick::ContinueActive)
        });
        owed.map(|(id, _)| *id).collect()
    }

    /// The items of which a message tells something that still holds, each with whether that is due.
    fn obligations_in(&self, message: MessageId, at: Wall) -> Vec<bool> {
        let holds = |(id, item): (&WorkItemId, &Item)| {
            let (tick, told_by) = item.tick?;
            let focus = (Some(*id) == self.work.current) == (tick == WorkTick::ContinueActive);
            (told_by == message && focus && item.runnable()).then(|| item.due(at))
        };
        self.work.open.iter().filter_map(holds).collect()
    }

    /// Whether a message told of work of which nothing is owed any more.
    pub(crate) fn stale(&self, message: MessageId, at: Wall) -> bool {
        if self.queue.carries(message) {
            return false;
        }
        let slept =
            self.queue.slept.contains(&message) && self.sleep.and_then(|sleep| sleep.tick) != Some(message);
        slept
            || self.recheck_is_gone(message)
            || self.need_is_gone(message)
            || (self.queue.ticks.contains(&message) && self.obligations_in(message, at).is_empty())
    }

    /// Whether all that a message reports is deferred.
    pub(crate) fn deferred(&self, message: MessageId, at: Wall) -> bool {
        if self.queue.carries(message) {
            return false;
        }
        let reminded = self.obligations_in(message, at);
        let sleeps = self.sleep.is_some_and(|sleep| sleep.lasts(at));
        !reminded.is_empty() && (sleeps || !reminded.contains(&true))
    }

    /// The items whose next turn, or mention, has to be deferred by the end of a run.
    pub(super) fn unproductive(
        &self,
        fact: &TurnTerminal,
        bound: Option<WorkItemId>,
    ) -> BTreeSet<WorkItemId> {
        let waits = fact.held
            || matches!(fact.reason, Some(TurnReason::Outage | TurnReason::Quota | TurnReason::Credentials));
        let ended = match fact.kind {
            TurnKind::Interrupted | TurnKind::BudgetExhausted => !waits,
            TurnKind::Aborted => false,
            TurnKind::Completed
            | TurnKind::Failed
            | TurnKind::ContextLengthExceeded
            | TurnKind::LimitReached => true,
        };
        let progress = fact.progress && fact.kind != TurnKind::Interrupted;
        let reminded = |item: &Item| item.tick.is_some_and(|(_, message)| message == fact.message_id);
        let due = self.work.open.iter().filter(|(id, item)| {
            let own = if Some(**id) == bound { !progress } else { Some(**id) != self.work.current };
            ended && own && reminded(item) && item.runnable()
        });
        due.map(|(id, _)| *id).collect()
    }

    pub(super) fn work(&mut self, fact: &WorkFact) {
        match fact {
            WorkFact::WorkItemWritten(fact) => {
                if let Some(run) = &mut self.run {
                    run.progress = true;
                }
                self.written(fact);
            }
            WorkFact::WorkItemPicked(fact) => self.picked(fact),
            WorkFact::DeliverySummaryRecorded(_) => {}
            WorkFact::WorkTickQueued(fact) => {
                self.queue.ticks.insert(fact.message_id);
                for id in &fact.work_item_ids {
                    if let Some(item) = self.work.open.get_mut(id) {
                        item.tick = Some((fact.tick, fact.message_id));
                    }
                }
            }
            WorkFact::WorkDeferred(fact) => {
                self.promised.deferrals.remove(&fact.work_item_id);
                if let Some(item) = self.work.open.get_mut(&fact.work_item_id) {
                    (item.turns, item.until) = (fact.turns, Some(fact.until));
                }
            }
            WorkFact::WorkOwed(fact) => {
                if let Some(item) = self.work.open.get_mut(&fact.work_item_id) {
                    (item.turns, item.until, item.stalled) = (0, None, None);
                }
            }
            WorkFact::WorkItemStalled(fact) => {
                self.promised.deferrals.remove(&fact.work_item_id);
                if let Some(item) = self.work.open.get_mut(&fact.work_item_id) {
                    (item.turns, item.until, item.tick) = (0, None, None);
                    item.stalled = Some(fact.reason);
                }
            }
            WorkFact::WorkPlanSeen(fact) => {
                let id = fact.work_item_id;
                if let Some(item) = self.work.open.get_mut(&id) {
                    item.plan = PlanSeen::of(fact.hash);
                }
                if fact.edited {
                    self.unattended.clear();
                    self.changed(id, WorkAuthor::Agent);
                    self.follow_recheck(Some(id));
                }
            }
        }
    }

    /// What an item is owed is counted anew.
    fn changed(&mut self, id: WorkItemId, by: WorkAuthor) {
        let Some(item) = self.work.open.get_mut(&id) else { return };
        if by == WorkAuthor::Operator || item.stalled != Some(StallReason::Aborted) {
            item.stalled = None;
        }
        (item.turns, item.until) = (0, None);
        self.renew_recheck(Some(id));
    }

    fn written(&mut self, fact: &WorkItemWritten) {
        if fact.by == WorkAuthor::Operator {
            self.external_activity();
        }
        let id = fact.work_item_id;
        match &fact.change {
            WorkChange::Created { plan_status, plan, .. } => {
                self.next.work_item = id.next();
                let needs_input = *plan_status == PlanStatus::NeedsInput;
                let plan = if *plan { PlanSeen::Unseen } else { PlanSeen::Absent };
                let item = Item { revision: fact.revision, needs_input, plan, ..Item::default() };
                self.work.open.insert(id, item);
            }
            WorkChange::Updated { plan_status, blocked_by, recheck_after_ms, .. } => {
                let item = self.work.open.entry(id).or_default();
                item.revision = fact.revision;
                if let Some(status) = plan_status {
                    item.needs_input = *status == PlanStatus::NeedsInput;
                }
                if let Some(blocked_by) = blocked_by {
                    item.blocked = !blocked_by.is_empty();
                }
                self.changed(id, fact.by);
                if let Some(after) = recheck_after_ms {
                    self.disarm_recheck(Some(id));
                    self.ask_recheck(Some(id), *after);
                }
                self.follow_recheck(Some(id));
            }
            WorkChange::Completed { .. } => {
                self.work.open.remove(&id);
                self.item_is_gone(id);
                self.work.current = self.work.current.filter(|current| *current != id);
            }
        }
    }

    fn picked(&mut self, fact: &WorkItemPicked) {
        for id in fact.previous.into_iter().chain([fact.work_item_id]) {
            if let Some(item) = self.work.open.get_mut(&id) {
                (item.turns, item.until, item.tick) = (0, None, None);
            }
        }
        if let Some(item) = self.work.open.get_mut(&fact.work_item_id) {
            item.stalled = None;
            item.blocked &= !fact.unblocked;
        }
        self.work.current = Some(fact.work_item_id);
        self.follow_recheck(Some(fact.work_item_id));
    }

    /// An item begins to wait, or waits no more: what it is owed is counted anew.
    pub(super) fn work_waits(&mut self, owner: Option<WorkItemId>, waits: bool) {
        if let Some(item) = owner.and_then(|id| self.work.open.get_mut(&id)) {
            (item.waits, item.turns, item.until) = (waits, 0, None);
        }
    }

    /// Whether something of it is to be looked at again; `waits`: its wait is.
    pub(super) fn work_stands(&self, id: WorkItemId, waits: bool) -> bool {
        self.work.open.get(&id).is_some_and(|item| !item.needs_input && (waits || item.blocked))
    }

    pub(super) fn work_given_up(&mut self, id: WorkItemId) {
        if let Some(item) = self.work.open.get_mut(&id) {
            item.needs_input |= item.blocked;
            item.revision += u64::from(item.blocked);
        }
    }

    pub(super) fn work_stopped(&mut self) {
        self.work.open.values_mut().for_each(|item| item.until = None);
    }

    pub(super) fn work_stepped(&mut self, from: Wall, to: Wall) {
        for item in self.work.open.values_mut() {
            item.until = item.until.map(|until| until.shifted(from, to));
        }
    }
}
