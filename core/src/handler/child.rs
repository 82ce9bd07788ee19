//! The life of an agent under supervision: it ends when nothing is left to do or when it is stopped, and reports to its
//! parent, who is its operator (contract: tasks.md, Child agents).

use holon_facts::content::Text;
use holon_facts::event::lifecycle::{AgentArchived, AgentRetired, SchedulerPostureDecision};
use holon_facts::event::task::TaskCause;
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::message::Origin;
use holon_facts::outbox::Letter;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::subsystem::SUPERVISOR;
use holon_facts::task::TaskStatus;
use holon_facts::workspace::Worktree;

use crate::agent::Agent;
use crate::handler::episode::summary;
use crate::handler::evidence::{self, Evidence};
use crate::handler::workspace::isolate;
use crate::handler::{control, outbox, task};
use crate::tx::Tx;

/// Takes in what its supervisor has to say; false when there is no room for it now.
pub(crate) fn receive(tx: &mut Tx<'_>, text: Text, priority: Priority) -> bool {
    let origin = Origin::system(SUPERVISOR);
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
    if tx.env.host.draining || tx.agent().status == Status::Stopped {
        return false;
    }
    let now = tx.now();
    if tx.agent().has_finished(now) {
        let failed = tx.agent().history.last_settled.is_some_and(holon_facts::terminal::TurnKind::failed);
        finish(tx, if failed { TaskStatus::Failed } else { TaskStatus::Completed });
        return true;
    }
    let need = tx.agent().need(now).filter(|need| Some(need) != tx.agent().childhood.delivered_need.as_ref());
    if let (Some(need), Some(supervisor)) = (need, tx.agent().spec.supervisor.clone()) {
        outbox::post(tx, supervisor.agent_id, Letter::Needs { need });
    }
    false
}

/// Nothing is left to do: its parent is notified, and what still goes on is ended.
fn finish(tx: &mut Tx<'_>, status: TaskStatus) {
    summary::cancel(tx);
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
    let end = agent.history.last_settled?;
    let answer = agent.history.last_answer.clone().filter(|answer| !answer.is_empty());
    // A turn that failed has told why in a brief.
    let result = || agent.childhood.result.as_ref().map(Text::short);
    answer.or_else(|| {
        let fails = || Text::short(format!("its last turn ended {end}"));
        status.ne(&TaskStatus::Completed).then(|| result().unwrap_or_else(fails))
    })
}
