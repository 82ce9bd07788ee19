//! The life of an agent under supervision, on its own side: it ends when nothing is left to do or when it is told to,
//! and says so when it can't go on by itself (contract: tasks.md, Child agents). Its parent is its operator.

use alloc::format;
use alloc::string::{String, ToString};

use holon_facts::content::{Text, clip};
use holon_facts::event::brief::{BriefCreated, BriefKind};
use holon_facts::event::lifecycle::{AgentArchived, AgentRetired, SchedulerPostureDecision};
use holon_facts::event::task::TaskCause;
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::message::Origin;
use holon_facts::outbox::Letter;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::task::{Need, NeedKind, TaskStatus};
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;
use holon_facts::workspace::Worktree;
use serde::{Deserialize, Serialize};

use super::evidence::{self, Evidence};
use super::work::WorkItem;
use super::workspace::isolate;
use super::{Agent, control, outbox, task};
use crate::host::tx::Tx;

pub(crate) use holon_facts::message::SUPERVISOR as SUBSYSTEM;

/// Bytes of what a child says of its need.
const ABOUT: usize = 200;

/// How far the life of a supervised agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Childhood {
    /// The need that its parent was told of last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Need>,
    /// The beginning of what it said last while it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The beginning of what it said last at the end of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// It takes nothing any more, and what it still has is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<TaskStatus>,
    /// Its parent was told how it ended.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reported: bool,
    /// Nothing of it is left but its log.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub archived: bool,
}

impl Childhood {
    pub(crate) fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn said(&mut self, fact: &BriefCreated) {
        let text = Some(clip(fact.text.preview(), ABOUT));
        match fact.kind {
            BriefKind::Ack => self.progress = text,
            BriefKind::Result | BriefKind::Failure => self.result = text,
        }
    }
}

impl Agent {
    /// What it needs somebody else for, whatever else goes on.
    pub fn need(&self, now: Wall) -> Option<Need> {
        if let Some(hold) = self.held(now).filter(|_| self.inbox.queued_entries() > 0) {
            let (kind, subject) = (NeedKind::Held, format!("since {}", hold.since));
            return Some(Need { kind, subject, about: hold.cause.to_string() });
        }
        let mut waits = self.active_waits();
        if let Some(wait) = waits.find(|wait| wait.told_as() == WaitKind::Operator) {
            let about = clip(&wait.waiting_for, ABOUT);
            return Some(Need { kind: NeedKind::Operator, subject: wait.id.to_string(), about });
        }
        if let Some(item) = self.work.open().find(|item| item.is_for_operator()) {
            let stalled = item.state() == holon_facts::work::WorkState::Stalled || item.is_too_long();
            return Some(need_of_item(if stalled { NeedKind::Stalled } else { NeedKind::Operator }, item));
        }
        self.unattended.self_hold.then(|| {
            let (kind, about) = (NeedKind::Stalled, "turns that it caused itself brought nothing on".into());
            let since = self.history.last_turn.as_ref().map(|turn| turn.completed_at).unwrap_or_default();
            Need { kind, subject: format!("since {since}"), about }
        })
    }

    /// Whether nothing is left to do, now or later. Commands that nobody waits for are no reason to stay; children
    /// are, since their results begin a turn.
    fn has_finished(&self, now: Wall) -> bool {
        self.run.is_none()
            && self.inbox.totals().0 == 0
            && self.work.open_count() == 0
            && self.active_waits().next().is_none()
            && self.tasks.children().next().is_none()
            && self.tasks.untold().next().is_none()
            && self.timers.armed_count() == 0
            && !self.timers.is_untold()
            && self.hints.count() == 0
            && self.outbox.is_empty()
            && self.sleeps(now).is_none()
    }
}

/// Takes in what its supervisor has to say; false when there is no room for it now.
pub(crate) fn told(tx: &mut Tx<'_>, text: Text, priority: Priority) -> bool {
    let origin = Origin::System { subsystem: SUBSYSTEM.into() };
    let (kind, surface) = (MessageKind::InternalFollowup, Surface::RuntimeSystem);
    evidence::admit(tx, Evidence { kind, origin, priority, surface, text }).is_some()
}

/// Its supervisor wants it to end.
pub(crate) fn stopped(tx: &mut Tx<'_>, force: bool) {
    control::stop(tx);
    if force {
        task::stop::all(tx, TaskCause::AgentStopped, true);
    }
}

/// It was stopped: it does not begin again.
pub(super) fn retire(tx: &mut Tx<'_>, status: TaskStatus) {
    if tx.agent().spec.supervisor.is_some() && tx.agent().childhood.retired.is_none() {
        tx.record(AgentRetired { status });
    }
}

/// An agent rests: whoever has finished retires, and who can't go on by itself says so. False when there is nothing more
/// to decide.
pub(super) fn rest(tx: &mut Tx<'_>) -> bool {
    if tx.agent().spec.supervisor.is_none() || tx.agent().childhood.archived || tx.agent().run.is_some() {
        return false;
    }
    if tx.agent().childhood.retired.is_some() {
        archive(tx);
        return false;
    }
    if tx.host.draining || tx.agent().status == Status::Stopped {
        return false;
    }
    let now = tx.now();
    if tx.agent().has_finished(now) {
        let failed = tx.agent().history.last_settled.is_some_and(holon_facts::terminal::TurnKind::failed);
        finish(tx, if failed { TaskStatus::Failed } else { TaskStatus::Completed });
        return true;
    }
    let need = tx.agent().need(now).filter(|need| Some(need) != tx.agent().childhood.told.as_ref());
    if let (Some(need), Some(supervisor)) = (need, tx.agent().spec.supervisor.clone()) {
        outbox::post(tx, supervisor.agent_id, Letter::Needs { need });
    }
    false
}

/// Nothing is left to do: its parent is told, and what still goes on is ended.
fn finish(tx: &mut Tx<'_>, status: TaskStatus) {
    tx.record(AgentRetired { status });
    // Of a worktree nothing is said as long as something may go on in it, or what becomes of it is not known.
    let later = tx.agent().spec.isolated || tx.agent().worktrees().any(Worktree::is_under_way);
    if !later {
        report(tx, status);
    }
    task::stop::all(tx, TaskCause::AgentStopped, false);
    let (previous, next) = (tx.agent().status, Status::Stopped);
    tx.record(SchedulerPostureDecision { previous, next, boundary: Boundary::RunLoopIdle, wakes_at: None });
}

/// Everything that it had has ended.
fn archive(tx: &mut Tx<'_>) {
    let Some(status) = tx.agent().childhood.retired else { return };
    let agent = tx.agent();
    let left = agent.tasks.active_count() > 0 || !agent.ops.is_empty() || !agent.outbox.is_empty();
    if left || agent.worktrees().any(Worktree::is_under_way) {
        return;
    }
    tx.record(AgentArchived { status });
    if !tx.agent().childhood.reported {
        report(tx, status);
    }
}

fn report(tx: &mut Tx<'_>, status: TaskStatus) {
    let Some(supervisor) = tx.agent().spec.supervisor.clone() else { return };
    let (report, spent) = (final_report(tx.agent(), status), tx.agent().account.with_family());
    let left = isolate::legacy(tx);
    outbox::post(tx, supervisor.agent_id, Letter::Result { status, report, spent, left });
}

/// What it said last, in its own words.
fn final_report(agent: &Agent, status: TaskStatus) -> Option<Text> {
    if status == TaskStatus::Cancelled {
        return None;
    }
    let last = agent.history.exchanges.back()?;
    let said = last.answer.clone().filter(|answer| !answer.is_empty());
    // A turn that failed has told why in a brief.
    let told = || agent.childhood.result.as_ref().map(Text::short);
    said.or_else(|| {
        let fails = || Text::short(format!("its last turn ended {}", last.end));
        status.ne(&TaskStatus::Completed).then(|| told().unwrap_or_else(fails))
    })
}

fn need_of_item(kind: NeedKind, item: &WorkItem) -> Need {
    Need { kind, subject: item.id.to_string(), about: clip(&item.objective, ABOUT) }
}
