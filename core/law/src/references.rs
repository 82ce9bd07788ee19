//! Ids: given once, in order, and named only afterwards.

use holon_facts::decision::{Evidence, SchedulerDecision};
use holon_facts::event::operation::OpKind;
use holon_facts::event::wait::Resolution;
use holon_facts::event::work::WorkChange;
use holon_facts::event::{
    BriefFact, EpisodeFact, Event, InboxFact, LifecycleFact, OperationFact, OutboxFact, SchedulingFact,
    SkillFact, TaskFact, TimerFact, TurnFact, WaitFact, WakeFact, WorkFact, WorkspaceFact,
};
use holon_facts::ids::{
    BriefId, LetterId, MessageId, OpId, RunId, TaskId, TimerId, WaitId, WorkItemId, WorktreeId,
};
use holon_facts::made::Made;
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

/// An id that a fact names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Message(MessageId),
    Run(RunId),
    Op(OpId),
    Task(TaskId),
    Timer(TimerId),
    WorkItem(WorkItemId),
    Wait(WaitId),
    Letter(LetterId),
    Worktree(WorktreeId),
    Brief(BriefId),
}

pub(super) fn q9(past: &Past, record: &Record) -> Checked {
    if let Some((given, expected)) = given(past, &record.event) {
        rule(given == expected, || format!("number {given} is given, the next is {expected}"))?;
    }
    let mut named = false;
    let mut unknown = None;
    names(&record.event, &mut |name| {
        named = true;
        let known = match name {
            Name::Message(id) => id < past.next.message && id.0 > 0,
            Name::Run(id) => id < past.next.run && id.0 > 0,
            Name::Op(id) => id < past.next.op && id.0 > 0,
            Name::Task(id) => id < past.next.task && id.0 > 0,
            Name::Timer(id) => id < past.next.timer && id.0 > 0,
            Name::Wait(id) => id < past.next.wait && id.0 > 0,
            Name::Letter(id) => id < past.next.letter && id.0 > 0,
            Name::Worktree(id) => id < past.next.worktree && id.0 > 0,
            Name::Brief(id) => id < past.next.brief && id.0 > 0,
            Name::WorkItem(id) => id < past.next.work_item && id.0 > 0,
        };
        if !known {
            unknown = unknown.or(Some(name));
        }
    });
    match unknown {
        Some(name) => Err(format!("{} names {name:?}, which nothing has created", record.event.kind())),
        None => Ok(named),
    }
}

/// The number that the fact gives, and the one that is next.
fn given(past: &Past, event: &Event) -> Option<(u64, u64)> {
    match event {
        Event::Inbox(InboxFact::MessageAdmitted(fact)) => Some((fact.message.id.0, past.next.message.0)),
        Event::Inbox(InboxFact::MessageDequeued(fact)) => fact.run_id.map(|run| (run.0, past.next.run.0)),
        Event::Turn(TurnFact::TurnStarted(fact)) if fact.run_id == past.next.run => {
            Some((fact.turn_index.0, past.next.turn.0))
        }
        Event::Turn(TurnFact::TurnStarted(fact)) => Some((fact.run_id.0, past.next.run.0)),
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.op == past.next.op => {
            let task = fact.task_id.filter(|_| gives_task(fact.kind))?;
            Some((task.0, past.next.task.0))
        }
        Event::Operation(OperationFact::OperationOpened(fact)) => Some((fact.op.0, past.next.op.0)),
        Event::Timer(TimerFact::TimerCreated(fact)) => Some((fact.timer_id.0, past.next.timer.0)),
        Event::Work(WorkFact::WorkItemWritten(fact)) if matches!(fact.change, WorkChange::Created { .. }) => {
            Some((fact.work_item_id.0, past.next.work_item.0))
        }
        Event::Wait(WaitFact::WaitRegistered(fact)) => Some((fact.wait_id.0, past.next.wait.0)),
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => Some((fact.sequence, past.hints.next())),
        Event::Wake(WakeFact::WakeHintCoalesced(fact)) => Some((fact.sequence, past.hints.next())),
        Event::Brief(BriefFact::BriefCreated(fact)) => Some((fact.id.0, past.next.brief.0)),
        Event::Outbox(OutboxFact::LetterPosted(fact)) => Some((fact.letter_id.0, past.next.letter.0)),
        _ => None,
    }
}

/// Whether a command or a child is given its number with it.
fn gives_task(kind: OpKind) -> bool {
    kind == OpKind::PrepareCommand || kind == OpKind::SuperviseChild
}

fn names(event: &Event, visit: &mut dyn FnMut(Name)) {
    match event {
        Event::Lifecycle(fact) => lifecycle(fact, visit),
        Event::Inbox(fact) => inbox(fact, visit),
        Event::Scheduling(fact) => match fact {
            SchedulingFact::SchedulerDecision(fact) => decision(fact, visit),
            SchedulingFact::ContinuationResolved(fact) => visit(Name::Message(fact.message_id)),
            SchedulingFact::ClosureDecided(_)
            | SchedulingFact::HoldEnded(_)
            | SchedulingFact::UnattendedTurnsRaised(_) => {}
            SchedulingFact::HoldSet(fact) => visit(Name::Run(fact.run_id)),
            SchedulingFact::SelfTurnCounted(fact) => visit(Name::Run(fact.run_id)),
            SchedulingFact::UnattendedTurnsExhausted(fact) => visit(Name::Run(fact.run_id)),
            SchedulingFact::SleepBegun(fact) => visit(Name::Run(fact.run_id)),
            SchedulingFact::SleepElapsed(fact) => visit(Name::Message(fact.message_id)),
        },
        Event::Turn(fact) => turn(fact, visit),
        Event::Operation(OperationFact::OperationOpened(fact)) => {
            fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
            if !gives_task(fact.kind) {
                fact.task_id.into_iter().for_each(|task| visit(Name::Task(task)));
            }
        }
        Event::Operation(OperationFact::OperationSettled(fact)) => visit(Name::Op(fact.op)),
        Event::Task(fact) => task(fact, visit),
        Event::Timer(fact) => timer(fact, visit),
        Event::Work(fact) => work(fact, visit),
        Event::Wait(fact) => wait(fact, visit),
        Event::Workspace(fact) => match fact {
            WorkspaceFact::WorkspaceUsed(fact) => {
                fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)))
            }
            WorkspaceFact::OccupancyAcquired(fact) => {
                fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
            }
            WorkspaceFact::WorkspaceAttached(_)
            | WorkspaceFact::WorkspaceDetached(_)
            | WorkspaceFact::WorkspaceTrusted(_)
            | WorkspaceFact::OccupancyReleased(_)
            | WorkspaceFact::WorkspaceTreeKept(_) => {}
            WorkspaceFact::WorktreeCreated(fact) => visit(Name::Worktree(fact.worktree_id)),
            WorkspaceFact::WorktreeLeft(fact) => visit(Name::Worktree(fact.worktree_id)),
            WorkspaceFact::WorktreeRemoved(fact) => visit(Name::Worktree(fact.worktree_id)),
            // What a child has left gets a number with that.
            WorkspaceFact::WorktreeRetained(fact) => {
                fact.task_id.into_iter().for_each(|task| visit(Name::Task(task)));
            }
        },
        Event::Wake(fact) => match fact {
            // Whoever sends a hint may name any wait.
            WakeFact::WakeHintRecorded(_) | WakeFact::WakeHintCoalesced(_) => {}
            // Each agent has one trigger.
            WakeFact::ExternalTriggerProvisioned(_)
            | WakeFact::ExternalTriggerDelivered(_)
            | WakeFact::ExternalTriggerRevoked(_) => {}
            WakeFact::WakeTickQueued(fact) => visit(Name::Message(fact.message_id)),
            WakeFact::WakeHintsShown(fact) => visit(Name::Run(fact.run_id)),
        },
        Event::Outbox(fact) => match fact {
            // A letter that was received has the number of its sender.
            OutboxFact::LetterPosted(_) | OutboxFact::LetterReceived(_) => {}
            OutboxFact::LetterDelivered(fact) => visit(Name::Letter(fact.letter_id)),
            OutboxFact::LetterReturned(fact) => visit(Name::Letter(fact.letter_id)),
        },
        Event::Brief(BriefFact::AskClosed(fact)) => visit(Name::Brief(fact.brief_id)),
        Event::Episode(fact) => episode(fact, visit),
        Event::Skill(fact) => skill(fact, visit),
        Event::Brief(BriefFact::BriefCreated(fact)) => {
            fact.work_item_id.into_iter().for_each(|item| visit(Name::WorkItem(item)));
            fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
            let messages = fact.related_message_id.iter().chain(&fact.interjected_message_ids);
            messages.for_each(|id| visit(Name::Message(*id)));
        }
    }
}

fn skill(fact: &SkillFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        SkillFact::SkillsCatalogued(fact) => visit(Name::Run(fact.run_id)),
        SkillFact::SkillActivated(fact) => fact.run_id.into_iter().for_each(|run| visit(Name::Run(run))),
    }
}

/// The law M7 knows which episodes there are.
fn episode(fact: &EpisodeFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        EpisodeFact::CompactionRequested(_) => {}
        EpisodeFact::EpisodeClosed(fact) => {
            fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
            let digest = &fact.digest;
            digest.requests.iter().for_each(|request| visit(Name::Message(request.message_id)));
            digest.focus.iter().for_each(|focus| visit(Name::WorkItem(focus.work_item_id)));
        }
        EpisodeFact::EpisodeSummarized(fact) => {
            visit(Name::Op(fact.op));
            visit(Name::Run(fact.run_id));
        }
        EpisodeFact::MemoryUpdated(fact) => {
            visit(Name::Run(fact.run_id));
            fact.memory.work_item_id.into_iter().for_each(|item| visit(Name::WorkItem(item)));
            fact.memory.decisions.iter().for_each(|decision| visit(Name::Message(decision.message_id)));
        }
    }
}

fn task(fact: &TaskFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        TaskFact::TaskCreated(fact) => {
            visit(Name::Task(fact.task_id));
            fact.op.into_iter().for_each(|op| visit(Name::Op(op)));
            fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
            fact.parent_message_id.into_iter().for_each(|id| visit(Name::Message(id)));
        }
        TaskFact::TaskStatusUpdated(fact) => visit(Name::Task(fact.task_id)),
        TaskFact::TaskResultQueued(fact) => {
            visit(Name::Task(fact.task_id));
            visit(Name::Message(fact.message_id));
        }
        TaskFact::TaskInputDelivered(fact) => visit(Name::Task(fact.task_id)),
        TaskFact::ChildNeedNoted(fact) => visit(Name::Task(fact.task_id)),
        TaskFact::ChildEnded(fact) => visit(Name::Task(fact.task_id)),
        TaskFact::ChildNeedTold(fact) => {
            visit(Name::Task(fact.task_id));
            visit(Name::Message(fact.message_id));
        }
    }
}

fn timer(fact: &TimerFact, visit: &mut dyn FnMut(Name)) {
    let (timer, message) = match fact {
        TimerFact::TimerCreated(_) => return,
        TimerFact::TimerFired(fact) => (fact.timer_id, None),
        TimerFact::TimerSkipped(fact) => (fact.timer_id, None),
        TimerFact::TimerTickQueued(fact) => (fact.timer_id, Some(fact.message_id)),
        TimerFact::TimerCancelled(fact) => (fact.timer_id, None),
    };
    visit(Name::Timer(timer));
    message.into_iter().for_each(|id| visit(Name::Message(id)));
}

fn work(fact: &WorkFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        WorkFact::WorkItemWritten(fact) => {
            if !matches!(fact.change, WorkChange::Created { .. }) {
                visit(Name::WorkItem(fact.work_item_id));
            }
            fact.run_id.into_iter().for_each(|run| visit(Name::Run(run)));
        }
        WorkFact::WorkItemPicked(fact) => {
            visit(Name::WorkItem(fact.work_item_id));
            fact.previous.into_iter().for_each(|item| visit(Name::WorkItem(item)));
            visit(Name::Run(fact.run_id));
        }
        WorkFact::DeliverySummaryRecorded(fact) => {
            visit(Name::WorkItem(fact.work_item_id));
            visit(Name::Run(fact.run_id));
            visit(Name::Message(fact.related_message_id));
        }
        WorkFact::WorkTickQueued(fact) => {
            fact.work_item_ids.iter().for_each(|id| visit(Name::WorkItem(*id)));
            visit(Name::Message(fact.message_id));
        }
        WorkFact::WorkDeferred(fact) => {
            visit(Name::WorkItem(fact.work_item_id));
            visit(Name::Run(fact.run_id));
        }
        WorkFact::WorkOwed(fact) => {
            visit(Name::WorkItem(fact.work_item_id));
            visit(Name::Run(fact.run_id));
        }
        WorkFact::WorkItemStalled(fact) => {
            visit(Name::WorkItem(fact.work_item_id));
            visit(Name::Run(fact.run_id));
        }
        WorkFact::WorkPlanSeen(fact) => visit(Name::WorkItem(fact.work_item_id)),
    }
}

fn wait(fact: &WaitFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        WaitFact::WaitRegistered(fact) => {
            fact.work_item_id.into_iter().for_each(|item| visit(Name::WorkItem(item)));
            fact.task_id.into_iter().for_each(|task| visit(Name::Task(task)));
            fact.timer_id.into_iter().for_each(|timer| visit(Name::Timer(timer)));
            visit(Name::Run(fact.run_id));
        }
        WaitFact::WaitResolved(fact) => {
            visit(Name::Wait(fact.wait_id));
            if let Resolution::Message { message_id } = fact.by {
                visit(Name::Message(message_id));
            }
        }
        WaitFact::WaitCancelled(fact) => visit(Name::Wait(fact.wait_id)),
        WaitFact::WorkItemRecheckDue(fact) => {
            visit(Name::Message(fact.message_id));
            fact.due.iter().filter_map(|due| due.work_item_id).for_each(|item| visit(Name::WorkItem(item)));
        }
        WaitFact::RecheckGivenUp(fact) => {
            fact.work_item_id.into_iter().for_each(|item| visit(Name::WorkItem(item)));
            fact.wait_id.into_iter().for_each(|wait| visit(Name::Wait(wait)));
            visit(Name::Run(fact.run_id));
        }
    }
}

fn lifecycle(fact: &LifecycleFact, visit: &mut dyn FnMut(Name)) {
    match fact {
        LifecycleFact::AgentCreated(_)
        | LifecycleFact::ControlRequestAdmitted(_)
        | LifecycleFact::SchedulerPostureDecision(_)
        | LifecycleFact::ClockStepped(_)
        | LifecycleFact::AgentRetired(_)
        | LifecycleFact::AgentArchived(_)
        | LifecycleFact::ModelOverrideChanged(_)
        | LifecycleFact::AgentLabelled(_) => {}
        LifecycleFact::RequestKeyed(fact) => match fact.made {
            Made::WorkItem(id) => visit(Name::WorkItem(id)),
            Made::Timer(id) => visit(Name::Timer(id)),
            Made::Task(_) => {}
        },
        LifecycleFact::ControlApplied(fact) => {
            fact.aborted_run_id.iter().for_each(|id| visit(Name::Run(*id)));
            fact.aborted_messages.iter().for_each(|id| visit(Name::Message(*id)));
            fact.cancelled_ops.iter().for_each(|id| visit(Name::Op(*id)));
            fact.cancelling_tasks.iter().for_each(|id| visit(Name::Task(*id)));
        }
        LifecycleFact::CurrentRunAborted(fact) => {
            visit(Name::Run(fact.run_id));
            visit(Name::Message(fact.message_id));
        }
        LifecycleFact::RuntimeRecovered(fact) => {
            fact.interrupted_run_id.iter().for_each(|id| visit(Name::Run(*id)));
            fact.lost_ops.iter().for_each(|id| visit(Name::Op(*id)));
        }
    }
}

fn inbox(fact: &InboxFact, visit: &mut dyn FnMut(Name)) {
    let (message, run) = match fact {
        InboxFact::MessageAdmitted(_) => return,
        InboxFact::MessageDuplicate(fact) => (fact.message_id, None),
        // Its run is the one that starts next.
        InboxFact::MessageDequeued(fact) => (fact.message_id, None),
        InboxFact::MessageProcessed(fact) => (fact.message_id, fact.run_id),
        InboxFact::MessageAborted(fact) => (fact.message_id, Some(fact.run_id)),
        InboxFact::MessageDropped(fact) => (fact.message_id, None),
        InboxFact::MessageRequeued(fact) => {
            fact.interjected_into.into_iter().for_each(|host| visit(Name::Message(host)));
            (fact.message_id, Some(fact.run_id))
        }
        InboxFact::OperatorInterjectionAdmitted(fact) => (fact.message_id, Some(fact.run_id)),
    };
    visit(Name::Message(message));
    run.into_iter().for_each(|run| visit(Name::Run(run)));
}

fn decision(fact: &SchedulerDecision, visit: &mut dyn FnMut(Name)) {
    fact.message_id.iter().for_each(|id| visit(Name::Message(*id)));
    fact.work_item_id.iter().for_each(|id| visit(Name::WorkItem(*id)));
    fact.wait_id.iter().for_each(|id| visit(Name::Wait(*id)));
    fact.task_id.iter().for_each(|id| visit(Name::Task(*id)));
    for evidence in &fact.evidence {
        match evidence {
            Evidence::Run { run_id, message_id } => {
                visit(Name::Run(*run_id));
                visit(Name::Message(*message_id));
            }
            Evidence::Head { message_id, .. } => visit(Name::Message(*message_id)),
            Evidence::WorkItem { work_item_id, .. } => visit(Name::WorkItem(*work_item_id)),
            Evidence::Wait { wait_id, .. } => visit(Name::Wait(*wait_id)),
            Evidence::Status { .. }
            | Evidence::Draining
            | Evidence::Queued { .. }
            | Evidence::Hold { .. }
            | Evidence::Budget { .. }
            | Evidence::NoFreeSlot
            | Evidence::Deadline { .. }
            | Evidence::SelfCausedTurns { .. }
            | Evidence::UnattendedTurns { .. }
            | Evidence::Slept { .. }
            | Evidence::Hints { .. }
            | Evidence::RecheckDue { .. }
            | Evidence::IgnoredQueue { .. } => {}
        }
    }
}

fn turn(fact: &TurnFact, visit: &mut dyn FnMut(Name)) {
    let (run, message) = match fact {
        TurnFact::TurnStarted(fact) => {
            return core::iter::once(&fact.message_id)
                .chain(&fact.also)
                .for_each(|id| visit(Name::Message(*id)));
        }
        TurnFact::TurnContextBuilt(fact) => (fact.run_id, None),
        TurnFact::ToolsCatalogued(fact) => (fact.run_id, None),
        TurnFact::ProviderAttemptRecorded(fact) => (fact.run_id, None),
        TurnFact::ProvidersAwaited(fact) => (fact.run_id, None),
        TurnFact::ProviderRoundCompleted(fact) => (fact.run_id, None),
        TurnFact::AssistantRoundRecorded(fact) => (fact.run_id, None),
        TurnFact::ToolStarted(fact) => (fact.run_id, None),
        TurnFact::ToolExecuted(fact) => (fact.run_id, None),
        TurnFact::ToolExecutionFailed(fact) => (fact.run_id, None),
        TurnFact::ReminderInjected(fact) => (fact.run_id, None),
        TurnFact::ContextCompacted(fact) => (fact.run_id, None),
        TurnFact::RuntimeError(fact) => (fact.run_id, Some(fact.message_id)),
        TurnFact::BudgetReserved(fact) => (fact.run_id, None),
        TurnFact::BudgetSettled(fact) => (fact.run_id, None),
        TurnFact::BudgetExhausted(fact) => (fact.run_id, None),
        TurnFact::TurnTerminal(fact) => (fact.run_id, Some(fact.message_id)),
    };
    visit(Name::Run(run));
    message.into_iter().for_each(|id| visit(Name::Message(id)));
}
