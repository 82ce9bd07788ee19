//! What an event is about, and what its sender is called.

use holon_facts::event::{Event, SchedulingFact, WaitFact, WorkFact};
use holon_facts::ids::{TaskId, WorkItemId};
use holon_facts::message::Origin;
use holon_facts::provenance::Surface;

pub(super) fn transport(surface: Surface) -> &'static str {
    match surface {
        Surface::CliPrompt | Surface::RunOnce => "cli",
        Surface::HttpPublicEnqueue
        | Surface::HttpWebhook
        | Surface::HttpCallbackEnqueue
        | Surface::HttpCallbackWake
        | Surface::HttpControlPrompt => "http",
        Surface::TimerScheduler | Surface::RuntimeSystem | Surface::TaskRejoin => "runtime",
    }
}

pub(super) fn source(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Operator { actor_id } => actor_id.clone(),
        Origin::Channel { channel_id, .. } => Some(channel_id.clone()),
        Origin::Webhook { source, .. } => Some(source.clone()),
        Origin::Callback { source, .. } => source.clone(),
        Origin::Timer { timer_id } => Some(timer_id.clone()),
        Origin::System { subsystem } => Some(subsystem.clone()),
        Origin::Task { task_id } => Some(task_id.clone()),
    }
}

/// The task that a message comes from.
pub(super) fn origin(origin: &Origin) -> Option<TaskId> {
    let Origin::Task { task_id } = origin else { return None };
    task_id.parse().ok()
}

/// The task that a fact itself is about.
pub(super) fn task(event: &Event) -> Option<TaskId> {
    let Event::Task(fact) = event else { return None };
    Some(fact.task_id())
}

/// The work item that a fact itself is about; of several none.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
pub(super) fn work_item(event: &Event) -> Option<WorkItemId> {
    match event {
        Event::Work(WorkFact::WorkItemWritten(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::WorkItemPicked(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::DeliverySummaryRecorded(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::WorkDeferred(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::WorkOwed(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::WorkItemStalled(fact)) => Some(fact.work_item_id),
        Event::Work(WorkFact::WorkPlanSeen(fact)) => Some(fact.work_item_id),
        Event::Wait(WaitFact::WaitRegistered(fact)) => fact.work_item_id,
        Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) => fact.work_item_id,
        Event::Brief(holon_facts::event::BriefFact::BriefCreated(fact)) => fact.work_item_id,
        _ => None,
    }
}
