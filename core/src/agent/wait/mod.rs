//! What an agent waits for (contract: work.md, Waits). A wait belongs to a work item or to the agent itself, and each of
//! them has at most one: it lives with its owner.

pub mod recheck;
pub(crate) mod resolve;
pub mod token;

use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::WaitFact;
use holon_facts::event::wait::{Resolution, WaitEnd, WaitRegistered};
use holon_facts::ids::{MessageId, RoundIndex, RunId, TaskId, TimerId, WaitId, WorkItemId};
use holon_facts::time::{Millis, Wall};
use holon_facts::wait::{WaitKind, WaitStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::wait::recheck::Recheck;

/// Waits that have ended and stay in the state; older ones are in the log.
pub const KEPT: usize = 64;

/// One wait (contract: work.md, `WaitCondition`).
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    #[serde(rename = "wait_id")]
    pub id: WaitId,
    /// The owner; none is the agent.
    pub work_item_id: Option<WorkItemId>,
    pub kind: WaitKind,
    /// In the agent's own words.
    pub waiting_for: String,
    /// What an external event has to be about; without, what comes through the agent's own trigger.
    pub subject: Option<String>,
    /// Of an external wait: an event that names it, as its correlation or its reference `wait_id`, ends the wait. An earlier
    /// build gave none.
    pub token: Option<String>,
    /// What can still end it.
    pub wake_sources: Vec<String>,
    pub task_id: Option<TaskId>,
    pub timer_id: Option<TimerId>,
    pub recheck_after_ms: Option<Millis>,
    /// It was looked at so often in vain that an operator has to act.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub operator_must_act: bool,
    pub status: WaitStatus,
    pub created_at: Wall,
    pub updated_at: Wall,
    pub resolved_by: Option<Resolution>,
    pub cancelled_because: Option<WaitEnd>,
    /// The round that registered it.
    pub run_id: RunId,
    pub round: RoundIndex,
}

impl Wait {
    pub(super) fn registered(at: Wall, fact: &WaitRegistered) -> Self {
        let task = fact.task_id.map(|task| task.to_string());
        let timer = fact.timer_id.map(|timer| timer.to_string());
        let operator = (fact.kind == WaitKind::Operator).then(|| "operator".to_string());
        let sources = [operator, task, timer, fact.subject.clone()];
        Self {
            id: fact.wait_id,
            work_item_id: fact.work_item_id,
            kind: fact.kind,
            waiting_for: fact.waiting_for.clone(),
            subject: fact.subject.clone(),
            token: fact.token.clone(),
            wake_sources: sources.into_iter().flatten().collect(),
            task_id: fact.task_id,
            timer_id: fact.timer_id,
            recheck_after_ms: fact.recheck_after_ms,
            operator_must_act: false,
            status: WaitStatus::Active,
            created_at: at,
            updated_at: at,
            resolved_by: None,
            cancelled_because: None,
            run_id: fact.run_id,
            round: fact.round,
        }
    }

    pub(super) fn is_external(&self) -> bool {
        self.kind == WaitKind::External
    }

    /// Whether it is looked at again by itself.
    pub(crate) fn is_rechecked(&self) -> bool {
        self.recheck_after_ms.is_some() && !self.operator_must_act
    }

    /// Whom it is told to wait for: an operator once nobody else is expected to end it.
    pub fn shown_as(&self) -> WaitKind {
        if self.operator_must_act { WaitKind::Operator } else { self.kind }
    }

    fn resolved(self, at: Wall, by: Resolution) -> Self {
        Self { status: WaitStatus::Resolved, updated_at: at, resolved_by: Some(by), ..self }
    }

    fn cancelled(self, at: Wall, reason: WaitEnd) -> Self {
        Self { status: WaitStatus::Cancelled, updated_at: at, cancelled_because: Some(reason), ..self }
    }
}

/// The agent's own wait, and those of all owners that have ended.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    pub own: Option<Wait>,
    /// When the agent looks at its own wait again.
    pub recheck: Option<Recheck>,
    /// In the order of their ends, the newest last.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    ended: VecDeque<Wait>,
}

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Waits that have ended and are remembered, the newest first.
    pub fn ended(&self) -> impl Iterator<Item = &Wait> {
        self.ended.iter().rev()
    }

    /// The waits that a message has ended, in order.
    pub fn ended_by(&self, message_id: MessageId) -> impl Iterator<Item = &Wait> {
        self.ended.iter().filter(move |wait| wait.resolved_by == Some(Resolution::Message { message_id }))
    }

    fn keep(&mut self, wait: Wait) {
        self.ended.push_back(wait);
        if self.ended.len() > KEPT {
            self.ended.pop_front();
        }
    }

    fn begin(&mut self, at: Wall, wait: Wait) {
        if let Some(after) = wait.recheck_after_ms {
            Recheck::asked(&mut self.recheck, at, after);
        }
        self.own = Some(wait);
        self.follow(at);
    }

    /// Arms or disarms the recheck of the agent's own wait, as it is now.
    fn follow(&mut self, at: Wall) {
        let needed = self.own.as_ref().is_some_and(Wait::is_rechecked);
        recheck::follow(&mut self.recheck, needed, at);
    }

    /// An operator may just have done what only he can do.
    fn operator_acted(&mut self, at: Wall) {
        if let Some(wait) = &mut self.own {
            wait.operator_must_act = false;
        }
        self.follow(at);
    }

    /// Something has come from outside, or of a turn: rechecks begin anew.
    pub(super) fn renew(&mut self, at: Wall) {
        if let Some(recheck) = &mut self.recheck {
            recheck.renew(at);
        }
    }

    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        if let Some(recheck) = &mut self.recheck {
            recheck.clock_stepped(from, to);
        }
    }
}

impl Agent {
    /// The waits that nothing has ended, those of work items in order, then the agent's own.
    pub fn active_waits(&self) -> impl Iterator<Item = &Wait> {
        self.work.open().filter_map(|item| item.wait.as_ref()).chain(self.waits.own.as_ref())
    }

    /// Whether an item, or the agent itself, waits for such a thing; a stall is for an operator.
    pub fn waits_for(&self, kind: WaitKind) -> bool {
        let own = self.waits.own.as_ref().map(Wait::shown_as);
        own == Some(kind) || self.work.open().any(|item| item.waits_for() == Some(kind))
    }

    /// What an item, or the agent itself, waits for.
    pub fn wait_of(&self, owner: Option<WorkItemId>) -> Option<&Wait> {
        match owner {
            Some(item) => self.work.get(item)?.wait.as_ref(),
            None => self.waits.own.as_ref(),
        }
    }

    pub(crate) fn recheck_of(&self, owner: Option<WorkItemId>) -> Option<&Recheck> {
        match owner {
            Some(item) => self.work.get(item)?.recheck.as_ref(),
            None => self.waits.recheck.as_ref(),
        }
    }

    /// Whether anybody waits for one of the tasks that a message reports.
    pub(crate) fn awaits_task_of(&self, message: MessageId) -> bool {
        self.tasks.delivered_by(message).any(|task| self.awaits(task.id))
    }

    pub(crate) fn awaits(&self, task: TaskId) -> bool {
        self.active_waits().any(|wait| wait.task_id == Some(task))
    }

    pub(super) fn apply_wait(&mut self, at: Wall, fact: &WaitFact) {
        match fact {
            WaitFact::WaitRegistered(fact) => {
                self.next.wait = fact.wait_id.next();
                let wait = Wait::registered(at, fact);
                match fact.work_item_id {
                    Some(item) => self.work.begin_wait(at, item, wait),
                    None => self.waits.begin(at, wait),
                }
            }
            WaitFact::WaitResolved(fact) => {
                if let Some(wait) = self.end_wait(at, fact.wait_id) {
                    self.waits.keep(wait.resolved(at, fact.by));
                }
            }
            WaitFact::WaitCancelled(fact) => {
                let Some(wait) = self.end_wait(at, fact.wait_id) else { return };
                // Nobody waits for what its timer has brought already.
                if let Some(tick) = wait.timer_id.and_then(|timer| self.inbox.tick_of(timer)) {
                    self.inbox.needs_no_model(tick);
                }
                self.waits.keep(wait.cancelled(at, fact.reason));
            }
            WaitFact::WorkItemRecheckDue(fact) => {
                for due in &fact.due {
                    let recheck = match due.work_item_id {
                        Some(item) => self.work.recheck_mut(item),
                        None => self.waits.recheck.as_mut(),
                    };
                    if let Some(recheck) = recheck {
                        recheck.delivered(at, fact.message_id, due);
                    }
                }
                self.inbox.set_own(fact.message_id, false);
            }
            WaitFact::RecheckGivenUp(fact) => match fact.work_item_id {
                Some(item) => self.work.give_up_recheck(at, item),
                None => {
                    if let Some(wait) = &mut self.waits.own {
                        wait.operator_must_act = true;
                    }
                    self.waits.follow(at);
                }
            },
        }
    }

    fn end_wait(&mut self, at: Wall, id: WaitId) -> Option<Wait> {
        if self.waits.own.as_ref().is_some_and(|wait| wait.id == id) {
            let wait = self.waits.own.take();
            self.waits.follow(at);
            return wait;
        }
        self.work.end_wait(at, id)
    }

    /// Somebody outside has said something: what the agent did in vain before counts no more.
    pub(super) fn external_activity(&mut self, at: Wall) {
        self.unattended.clear();
        self.work.renew_rechecks(at);
        self.waits.renew(at);
    }

    /// An operator has said something.
    pub(super) fn operator_activity(&mut self, at: Wall) {
        self.external_activity(at);
        self.work.operator_acted(at);
        self.waits.operator_acted(at);
        self.childhood.delivered_need = None;
    }
}
