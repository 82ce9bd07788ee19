//! Laws about agents under supervision, and about what one agent has for another, as far as the log of one of them tells.

use holon_facts::event::task::TaskCause;
use holon_facts::event::{Event, LifecycleFact, OutboxFact, TaskFact};
use holon_facts::identity::{AgentKind, AgentSpec, Ownership, Visibility};
use holon_facts::outbox::Letter;
use holon_facts::record::Record;
use holon_facts::task::TaskStatus;
use holon_facts::template::TemplateOrigin;
use holon_facts::workspace::{WorkspaceId, WorkspaceKind, WorktreeState};

use super::past::Past;
use super::{Checked, rule};

pub(super) fn c1(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => {
            let spec = &fact.spec;
            rule(
                spec.supervisor.is_some() == is_child(spec) && spec.supervisor.is_some() == (spec.depth > 0),
                || {
                    format!(
                        "{:?} at depth {} is a {} ({})",
                        spec.supervisor, spec.depth, spec.kind, spec.visibility
                    )
                },
            )
        }
        Event::Outbox(OutboxFact::LetterPosted(fact)) => {
            let Letter::Spawn { spec, .. } = &fact.letter else { return Ok(false) };
            let Some(supervisor) = &spec.supervisor else {
                return rule(spec.depth == 0, || {
                    format!("{} is at depth {} under nobody", fact.to, spec.depth)
                });
            };
            let task = past.tasks.live.get(&supervisor.task_id);
            let mine = task.is_some_and(|task| task.child.as_ref() == Some(&fact.to));
            let supervises = supervisor.agent_id == record.agent || past.is_copied(record);
            rule(mine && supervises && spec.depth == past.supervision.depth + 1, || {
                format!("{} begins at depth {} under {supervisor:?}", fact.to, spec.depth)
            })
        }
        _ => Ok(false),
    }
}

fn is_child(spec: &AgentSpec) -> bool {
    spec.kind == AgentKind::Child
        && spec.visibility == Visibility::Private
        && spec.ownership == Ownership::ParentSupervised
}

/// Speaks of both sides of an end: what a child says, and what becomes of its task.
pub(super) fn c2(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Outbox(OutboxFact::LetterPosted(fact)) => {
            let Letter::Result { status, .. } = &fact.letter else { return Ok(false) };
            rule(past.supervision.retired == Some(*status) && !past.supervision.reported, || {
                format!(
                    "it ends {status}, retired as {:?}, reported before: {}",
                    past.supervision.retired, past.supervision.reported
                )
            })
        }
        Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status.is_terminal() => {
            let child = past.tasks.live.get(&fact.task_id).and_then(|task| task.child.as_ref());
            let Some(child) = child else { return Ok(false) };
            let reported = !past.begins_step(record) && past.supervision.last_sender.as_ref() == Some(child);
            let unproven = fact.status == TaskStatus::Interrupted && fact.cause == TaskCause::Unproven;
            let ended = past.supervision.ended.contains(&fact.task_id);
            rule(reported || unproven || ended, || {
                format!("{} is {}, and {child} has not reported it", fact.task_id, fact.status)
            })
        }
        _ => Ok(false),
    }
}

/// Speaks of each agent that another begins.
pub(super) fn c4(past: &Past, record: &Record) -> Checked {
    let Event::Outbox(OutboxFact::LetterPosted(fact)) = &record.event else { return Ok(false) };
    let Letter::Spawn { spec, .. } = &fact.letter else { return Ok(false) };
    let workspaces = &past.workspaces;
    let unknown =
        spec.attached.iter().find(|anchor| !workspaces.attached.contains(&WorkspaceId::of_anchor(anchor)));
    rule(unknown.is_none(), || format!("{} knows {unknown:?}, which its maker does not", fact.to))?;
    let (to, here) = (&spec.execution, workspaces.here.as_ref());
    let fits = match (&spec.supervisor, here) {
        (None, _) => to.kind == WorkspaceKind::AgentHome,
        (Some(_), Some(here)) if spec.isolated => to.workspace_anchor == here.workspace_anchor,
        (Some(_), here) => here == Some(to),
    };
    rule(fits, || format!("{} works in {}, its maker in {here:?}", fact.to, to.execution_root))
}

/// Speaks of each agent that another begins, with a template or without.
pub(super) fn c10(past: &Past, record: &Record) -> Checked {
    let Event::Outbox(OutboxFact::LetterPosted(fact)) = &record.event else { return Ok(false) };
    let Letter::Spawn { spec, .. } = &fact.letter else { return Ok(false) };
    let call = past.run.as_ref().and_then(|run| run.open_call());
    let asked = call.and_then(|call| call.template.as_ref());
    let given = spec.template.as_ref();
    let same = given.map(|given| given.selector.as_str()) == asked.map(|asked| asked.as_str());
    rule(same, || format!("{} begins with {given:?}, its call names {asked:?}", fact.to))?;
    let local = |origin| matches!(origin, TemplateOrigin::BuiltIn | TemplateOrigin::User);
    rule(given.is_none_or(|given| local(given.origin)), || format!("{given:?} was fetched for an agent"))
}

pub(super) fn c5(past: &Past, record: &Record) -> Checked {
    let Event::Outbox(fact) = &record.event else { return Ok(false) };
    match fact {
        OutboxFact::LetterPosted(_) => Ok(true),
        OutboxFact::LetterDelivered(fact) => rule(past.supervision.letters.contains(&fact.letter_id), || {
            format!("{} is delivered, and not on its way", fact.letter_id)
        }),
        OutboxFact::LetterReturned(fact) => rule(past.supervision.letters.contains(&fact.letter_id), || {
            format!("{} comes back, and was not on its way", fact.letter_id)
        }),
        OutboxFact::LetterReceived(fact) => {
            let last = past.supervision.received.get(&fact.from);
            rule(last.is_none_or(|last| *last < fact.letter_id), || {
                format!("{} of {} is taken in after {last:?}", fact.letter_id, fact.from)
            })
        }
    }
}

pub(super) fn c6(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Lifecycle(LifecycleFact::AgentRetired(fact)) => rule(
            past.supervision.retired.is_none() && past.run.is_none() && fact.status.is_terminal(),
            || format!("it retires as {}, after {:?}", fact.status, past.supervision.retired),
        ),
        Event::Lifecycle(LifecycleFact::AgentArchived(_)) => {
            let trees =
                past.workspaces.worktrees.iter().find(|(_, state)| **state != WorktreeState::Retained);
            let left = (past.tasks.live.keys().next(), past.ops.keys().next(), trees);
            rule(past.supervision.retired.is_some() && left == (None, None, None), || {
                format!("{left:?} is left of it, retired as {:?}", past.supervision.retired)
            })
        }
        Event::Lifecycle(LifecycleFact::ControlApplied(_)) | Event::Inbox(_) | Event::Turn(_) => {
            rule(past.supervision.retired.is_none(), || format!("{} after its end", record.event.kind()))
                .map(|_| past.supervision.depth > 0)
        }
        _ => Ok(false),
    }
}
