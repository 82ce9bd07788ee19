//! Work items of one agent: what it is about, over many turns (contract: work.md, Work items).

pub mod obligation;
pub mod outline;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::call::WorkFilter;
use holon_facts::closure::WorkSignal;
use holon_facts::content::Text;
use holon_facts::event::WorkFact;
use holon_facts::event::work::{StallReason, WorkAuthor, WorkChange, WorkItemWritten, WorkTick};
use holon_facts::ids::{MessageId, WaitId, WorkItemId};
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;
use holon_facts::work::{PlanSeen, PlanStatus, Todo, WorkState};
use holon_facts::workspace::{ExecutionBinding, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::inbox::Inbox;
use crate::agent::wait::recheck::Recheck;
use crate::agent::wait::{self, Wait};
use crate::agent::work::obligation::Obligation;

/// Items that an agent may have open.
pub const OPEN: usize = 256;

/// Completed items that stay in the state; older ones are in the log.
pub const KEPT: usize = 64;

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    pub id: WorkItemId,
    pub revision: u64,
    /// Where its agent worked when it was made.
    pub workspace_id: Option<WorkspaceId>,
    pub objective: String,
    pub plan_status: PlanStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<Todo>,
    /// What stands in the way.
    pub blocked_by: Option<String>,
    /// What it waits for.
    pub wait: Option<Wait>,
    /// When its blocker, or its wait, is looked at again.
    pub recheck: Option<Recheck>,
    /// What the agent reported of it at its end.
    pub result_summary: Option<Text>,
    pub created_at: Wall,
    pub updated_at: Wall,
    pub completed_at: Option<Wall>,
    /// Why nothing more is done for it before somebody looks at it.
    pub stalled: Option<Stall>,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    #[schemars(skip)]
    pub debt: Obligation,
    /// Its plan's file when it was looked at last.
    #[serde(default, skip_serializing_if = "PlanSeen::is_absent")]
    #[schemars(skip)]
    pub plan: PlanSeen,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    pub at: Wall,
    pub reason: StallReason,
}

/// All items of an agent that it knows of without reading its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItems {
    open: BTreeMap<WorkItemId, WorkItem>,
    /// In the order of their ends, the newest last.
    completed: VecDeque<WorkItem>,
    /// The item in focus: open.
    current: Option<WorkItemId>,
}

impl WorkItems {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.completed.is_empty()
    }

    /// Items that are not completed, in order.
    pub fn open(&self) -> impl Iterator<Item = &WorkItem> {
        self.open.values()
    }

    pub fn open_count(&self) -> u64 {
        self.open.len() as u64
    }

    /// Completed items that are remembered, the newest first.
    pub fn completed(&self) -> impl Iterator<Item = &WorkItem> {
        self.completed.iter().rev()
    }

    pub fn get(&self, id: WorkItemId) -> Option<&WorkItem> {
        self.open.get(&id).or_else(|| self.completed.iter().find(|item| item.id == id))
    }

    pub fn is_open(&self, id: WorkItemId) -> bool {
        self.open.contains_key(&id)
    }

    /// The item in focus.
    pub fn current(&self) -> Option<&WorkItem> {
        self.current.and_then(|id| self.open.get(&id))
    }

    /// The item in focus, when it is owed a turn now.
    pub fn owed_turn(&self, inbox: &Inbox, now: Wall) -> Option<&WorkItem> {
        self.current().filter(|item| item.is_owed(inbox, now))
    }

    /// The items that are owed a mention now, in order.
    pub fn owed_notices(&self, inbox: &Inbox, now: Wall) -> impl Iterator<Item = &WorkItem> {
        self.open().filter(move |item| Some(item.id) != self.current && item.is_owed(inbox, now))
    }

    /// When something is owed next that is deferred now.
    pub fn next_deferral(&self, now: Wall) -> Option<Wall> {
        self.open().filter(|item| item.is_runnable()).filter_map(|item| item.debt.deferred(now)).min()
    }

    /// What a message reports that is still owed: whether any of it is owed by now; none when nothing is.
    pub fn obligations_in(&self, message: MessageId, tick: WorkTick, now: Wall) -> Option<bool> {
        let focus = |item: &WorkItem| (tick == WorkTick::ContinueActive) == (Some(item.id) == self.current);
        let due = self.open().filter(|item| item.debt.tick == Some(message));
        let due = due.filter(|item| item.is_runnable() && focus(item));
        due.map(|item| item.debt.deferred(now).is_none()).reduce(|one, other| one || other)
    }

    /// The open item whose wait is told: the one in focus, else the first of those that wait for an operator, else for a
    /// task, and so on.
    pub fn waiting(&self) -> Option<(&WorkItem, WaitKind)> {
        let waits = |item| Some((item, WorkItem::waits_for(item)?));
        self.current().and_then(waits).or_else(|| self.open().filter_map(waits).min_by_key(|(_, kind)| *kind))
    }

    /// Whether something stands in the way of an item.
    pub fn is_blocked(&self) -> bool {
        self.open().any(|item| item.state() == WorkState::Blocked)
    }

    /// What there is to be done.
    pub fn signal(&self) -> Option<WorkSignal> {
        if self.current().is_some_and(WorkItem::is_runnable) {
            return Some(WorkSignal::ContinueActive);
        }
        self.open().any(WorkItem::is_runnable).then_some(WorkSignal::ActivateQueued)
    }

    /// Every wait moves with the clock.
    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        for item in self.open.values_mut() {
            item.debt.until = item.debt.until.map(|at| at.shifted(from, to));
            if let Some(recheck) = &mut item.recheck {
                recheck.clock_stepped(from, to);
            }
        }
    }

    /// `here`: where the agent works.
    pub(super) fn apply(&mut self, at: Wall, fact: &WorkFact, here: &ExecutionBinding) {
        match fact {
            WorkFact::WorkItemWritten(fact) => self.written(at, fact, here),
            WorkFact::WorkItemPicked(fact) => {
                // What was owed is another debt now: a turn instead of a mention, or the other way round.
                let left = fact.previous.filter(|previous| *previous != fact.work_item_id);
                if let Some(item) = left.and_then(|left| self.open.get_mut(&left)) {
                    item.debt = Obligation::default();
                }
                self.current = Some(fact.work_item_id);
                let Some(item) = self.open.get_mut(&fact.work_item_id) else { return };
                (item.stalled, item.debt) = (None, Obligation::default());
                if fact.unblocked {
                    (item.blocked_by, item.updated_at) = (None, at);
                    item.follow(at);
                }
            }
            WorkFact::DeliverySummaryRecorded(_) => {}
            WorkFact::WorkTickQueued(fact) => {
                for id in &fact.work_item_ids {
                    if let Some(item) = self.open.get_mut(id) {
                        item.debt.tick = Some(fact.message_id);
                    }
                }
            }
            WorkFact::WorkDeferred(fact) => {
                if let Some(item) = self.open.get_mut(&fact.work_item_id) {
                    (item.debt.turns, item.debt.until) = (fact.turns, Some(fact.until));
                }
            }
            WorkFact::WorkOwed(fact) => {
                if let Some(item) = self.open.get_mut(&fact.work_item_id) {
                    item.stalled = None;
                    item.debt.renew();
                }
            }
            WorkFact::WorkItemStalled(fact) => {
                if let Some(item) = self.open.get_mut(&fact.work_item_id) {
                    item.stalled = Some(Stall { at, reason: fact.reason });
                    item.debt = Obligation::default();
                }
            }
            WorkFact::WorkPlanSeen(fact) => {
                let Some(item) = self.open.get_mut(&fact.work_item_id) else { return };
                item.plan = PlanSeen::of(fact.hash);
                if fact.edited {
                    item.changed(at, WorkAuthor::Agent);
                    item.follow(at);
                }
            }
        }
    }

    pub(super) fn begin_wait(&mut self, at: Wall, id: WorkItemId, wait: Wait) {
        let Some(item) = self.open.get_mut(&id) else { return };
        if let Some(after) = wait.recheck_after_ms {
            Recheck::asked(&mut item.recheck, at, after);
        }
        item.wait = Some(wait);
        item.debt.renew();
        item.follow(at);
    }

    pub(super) fn end_wait(&mut self, at: Wall, id: WaitId) -> Option<Wait> {
        let waits = |item: &&mut WorkItem| item.wait.as_ref().is_some_and(|wait| wait.id == id);
        let item = self.open.values_mut().find(waits)?;
        let wait = item.wait.take();
        item.debt.renew();
        item.follow(at);
        wait
    }

    pub(super) fn recheck_mut(&mut self, id: WorkItemId) -> Option<&mut Recheck> {
        self.open.get_mut(&id)?.recheck.as_mut()
    }

    pub(super) fn renew_rechecks(&mut self, at: Wall) {
        self.open.values_mut().filter_map(|item| item.recheck.as_mut()).for_each(|recheck| recheck.renew(at));
    }

    /// An operator has to look at what was looked at in vain.
    pub(super) fn give_up_recheck(&mut self, at: Wall, id: WorkItemId) {
        let Some(item) = self.open.get_mut(&id) else { return };
        if item.blocked_by.is_some() {
            (item.plan_status, item.updated_at) = (PlanStatus::NeedsInput, at);
            item.revision = item.revision.saturating_add(1);
        }
        if let Some(wait) = &mut item.wait {
            wait.operator_must_act = true;
        }
        item.follow(at);
    }

    /// An operator may just have done what only he can do.
    pub(super) fn operator_acted(&mut self, at: Wall) {
        for item in self.open.values_mut() {
            if let Some(wait) = &mut item.wait {
                wait.operator_must_act = false;
            }
            item.follow(at);
        }
    }

    /// What is owed was deferred by turns of a life that a stop has ended.
    pub(super) fn stopped(&mut self) {
        self.open.values_mut().for_each(|item| item.debt.until = None);
    }

    fn written(&mut self, at: Wall, fact: &WorkItemWritten, here: &ExecutionBinding) {
        let id = fact.work_item_id;
        if let WorkChange::Created { objective, plan_status, todo_list, plan } = &fact.change {
            let item = WorkItem {
                id,
                revision: fact.revision,
                workspace_id: Some(here.workspace_id()),
                objective: objective.clone(),
                plan_status: *plan_status,
                todo_list: todo_list.clone(),
                blocked_by: None,
                wait: None,
                recheck: None,
                result_summary: None,
                created_at: at,
                updated_at: at,
                completed_at: None,
                stalled: None,
                debt: Obligation::default(),
                plan: if *plan { PlanSeen::Unseen } else { PlanSeen::Absent },
            };
            self.open.insert(id, item);
            return;
        }
        let Some(item) = self.open.get_mut(&id) else { return };
        (item.revision, item.updated_at) = (fact.revision, at);
        match &fact.change {
            WorkChange::Created { .. } => {}
            WorkChange::Updated { objective, plan_status, todo_list, blocked_by, recheck_after_ms } => {
                item.objective = objective.as_ref().unwrap_or(&item.objective).clone();
                item.plan_status = plan_status.unwrap_or(item.plan_status);
                if let Some(todo_list) = todo_list {
                    item.todo_list.clone_from(todo_list);
                }
                if let Some(blocked_by) = blocked_by {
                    item.blocked_by = Some(blocked_by.clone()).filter(|blocked_by| !blocked_by.is_empty());
                }
                item.changed(at, fact.by);
                if let Some(recheck) = &mut item.recheck {
                    recheck.recheck_at = recheck.recheck_at.filter(|_| recheck_after_ms.is_none());
                }
                if let Some(after) = recheck_after_ms {
                    Recheck::asked(&mut item.recheck, at, *after);
                }
                item.follow(at);
            }
            WorkChange::Completed { result_summary } => self.complete(at, id, result_summary.clone()),
        }
    }

    fn complete(&mut self, at: Wall, id: WorkItemId, result_summary: Option<Text>) {
        let Some(mut item) = self.open.remove(&id) else { return };
        (item.blocked_by, item.completed_at, item.result_summary) = (None, Some(at), result_summary);
        item.recheck = None;
        self.completed.push_back(item);
        if self.completed.len() > KEPT {
            self.completed.pop_front();
        }
        if self.current == Some(id) {
            self.current = None;
        }
    }
}

impl WorkItem {
    pub fn state(&self) -> WorkState {
        if self.completed_at.is_some() {
            WorkState::Completed
        } else if self.plan_status == PlanStatus::NeedsInput {
            WorkState::WaitingOperator
        } else if let Some(wait) = &self.wait {
            match wait.shown_as() {
                WaitKind::Operator => WorkState::WaitingOperator,
                WaitKind::Task => WorkState::WaitingTask,
                WaitKind::External => WorkState::WaitingExternal,
                WaitKind::Timer => WorkState::WaitingTimer,
            }
        } else if self.is_blocked() {
            WorkState::Blocked
        } else if self.stalled.is_some() {
            WorkState::Stalled
        } else {
            WorkState::Runnable
        }
    }

    /// Whether a list of that kind has it.
    pub fn fits(&self, filter: WorkFilter, in_focus: bool) -> bool {
        let state = self.state();
        let open = state != WorkState::Completed;
        let waits = |wait: &Wait| matches!(wait.kind, WaitKind::Task | WaitKind::External);
        match filter {
            WorkFilter::All => true,
            WorkFilter::Open => open,
            WorkFilter::Completed => !open,
            WorkFilter::Current => in_focus,
            WorkFilter::Queued => open && !in_focus && !self.is_blocked(),
            WorkFilter::Blocked => open && (self.is_blocked() || self.wait.as_ref().is_some_and(waits)),
            WorkFilter::WaitingForOperator => self.is_for_operator(),
            WorkFilter::Runnable => state == WorkState::Runnable,
        }
    }

    /// Whether something stands in the way, by its agent's word or because its turns are too long for the model.
    fn is_blocked(&self) -> bool {
        self.blocked_by.is_some() || self.is_too_long()
    }

    /// Whether a turn about it was too long for the model, and nothing was done about that.
    pub(crate) fn is_too_long(&self) -> bool {
        self.stalled.as_ref().is_some_and(|stall| stall.reason == StallReason::ContextLength)
    }

    /// Whether nothing is done for it before an operator has looked at it.
    pub fn is_for_operator(&self) -> bool {
        self.waits_for() == Some(WaitKind::Operator)
    }

    /// What has to come before anything is done for it; a blocker alone is its agent's own business.
    pub fn waits_for(&self) -> Option<WaitKind> {
        match self.state() {
            WorkState::WaitingOperator | WorkState::Stalled => Some(WaitKind::Operator),
            WorkState::WaitingTask => Some(WaitKind::Task),
            WorkState::WaitingExternal => Some(WaitKind::External),
            WorkState::WaitingTimer => Some(WaitKind::Timer),
            WorkState::Blocked if self.blocked_by.is_none() => Some(WaitKind::Operator),
            WorkState::Completed | WorkState::Blocked | WorkState::Runnable => None,
        }
    }

    /// What it is owed is counted anew, and it stalls no longer. What an operator has stopped, only an operator or a pick
    /// sets going again.
    fn changed(&mut self, at: Wall, by: WorkAuthor) {
        let stays = by == WorkAuthor::Agent;
        self.stalled = self.stalled.take().filter(|stall| stays && stall.reason == StallReason::Aborted);
        self.debt.renew();
        if let Some(recheck) = &mut self.recheck {
            recheck.renew(at);
        }
    }

    /// Arms or disarms its recheck, as it is now.
    fn follow(&mut self, at: Wall) {
        let stands = self.blocked_by.is_some() || self.wait.as_ref().is_some_and(Wait::is_rechecked);
        wait::recheck::follow(&mut self.recheck, stands && self.plan_status != PlanStatus::NeedsInput, at);
    }

    pub fn is_runnable(&self) -> bool {
        self.state() == WorkState::Runnable
    }

    /// Whether its debt is due, and no message stands for it.
    fn is_owed(&self, inbox: &Inbox, now: Wall) -> bool {
        let waits = self.debt.tick.is_some_and(|tick| inbox.is_live(tick));
        self.is_runnable() && !waits && self.debt.deferred(now).is_none()
    }
}
