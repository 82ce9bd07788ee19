//! The life of an agent under supervision, on its own side: it ends when nothing is left to do or when it is told to,
//! and says so when it can't go on by itself (contract: tasks.md, Child agents). Its parent is its operator.

use alloc::string::{String, ToString};

use holon_facts::content::clip;
use holon_facts::event::brief::{BriefCreated, BriefKind};
use holon_facts::task::{Need, NeedKind, TaskStatus};
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::work::WorkItem;

/// Bytes of what a child says of its need.
const ABOUT: usize = 200;

/// How far a supervised agent is, as its supervisor sees it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supervision {
    /// The need that was delivered to its parent last.
    pub delivered_need: Option<Need>,
    /// The beginning of what it said last while it worked.
    pub progress: Option<String>,
    /// The beginning of what it said last at the end of a turn.
    pub result: Option<String>,
    /// It takes nothing any more, and what it still has is ended.
    pub retired: Option<TaskStatus>,
    /// Its end was reported to its parent.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reported: bool,
    /// Nothing of it is left but its log.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub archived: bool,
}

impl Supervision {
    pub(super) fn brief_created(&mut self, fact: &BriefCreated) {
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
        if let Some(wait) = waits.find(|wait| wait.shown_as() == WaitKind::Operator) {
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
    pub(crate) fn has_finished(&self, now: Wall) -> bool {
        self.run.is_none()
            && self.inbox.totals().0 == 0
            && self.work.open_count() == 0
            && self.active_waits().next().is_none()
            && self.tasks.children().next().is_none()
            && self.tasks.undelivered().next().is_none()
            && self.timers.armed_count() == 0
            && !self.timers.is_undelivered()
            && self.hints.count() == 0
            && self.outbox.is_empty()
            && self.sleeps(now).is_none()
    }
}

fn need_of_item(kind: NeedKind, item: &WorkItem) -> Need {
    Need { kind, subject: item.id.to_string(), about: clip(&item.objective, ABOUT) }
}
