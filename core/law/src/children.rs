//! Laws about agents under supervision, and about what one agent has for another, as far as the log of one of them tells.

use alloc::format;

use holon_facts::event::task::TaskCause;
use holon_facts::event::{Event, LifecycleFact, OutboxFact, TaskFact};
use holon_facts::identity::{AgentKind, AgentSpec, Ownership, Visibility};
use holon_facts::outbox::Letter;
use holon_facts::record::Record;
use holon_facts::task::TaskStatus;
use holon_facts::workspace::{WorkspaceId, WorkspaceKind, WorktreeState};

use super::seen::Seen;
use super::{Ruling, rule};

pub(super) fn c1(seen: &Seen, record: &Record) -> Ruling {
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
            let task = seen.tasks.live.get(&supervisor.task_id);
            let mine = task.is_some_and(|task| task.child.as_ref() == Some(&fact.to));
            rule(mine && supervisor.agent_id == record.agent && spec.depth == seen.kin.depth + 1, || {
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
pub(super) fn c2(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Outbox(OutboxFact::LetterPosted(fact)) => {
            let Letter::Result { status, .. } = &fact.letter else { return Ok(false) };
            rule(seen.kin.retired == Some(*status) && !seen.kin.reported, || {
                format!(
                    "it ends {status}, retired as {:?}, said before: {}",
                    seen.kin.retired, seen.kin.reported
                )
            })
        }
        Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status.is_terminal() => {
            let child = seen.tasks.live.get(&fact.task_id).and_then(|task| task.child.as_ref());
            let Some(child) = child else { return Ok(false) };
            let heard = !seen.begins_step(record) && seen.kin.heard.as_ref() == Some(child);
            let unproven = fact.status == TaskStatus::Interrupted && fact.cause == TaskCause::Unproven;
            let ended = seen.kin.ended.contains(&fact.task_id);
            rule(heard || unproven || ended, || {
                format!("{} is {}, and {child} has not said so", fact.task_id, fact.status)
            })
        }
        _ => Ok(false),
    }
}

/// Speaks of each agent that another begins.
pub(super) fn c4(seen: &Seen, record: &Record) -> Ruling {
    let Event::Outbox(OutboxFact::LetterPosted(fact)) = &record.event else { return Ok(false) };
    let Letter::Spawn { spec, .. } = &fact.letter else { return Ok(false) };
    let places = &seen.places;
    let unknown =
        spec.attached.iter().find(|anchor| !places.attached.contains(&WorkspaceId::of_anchor(anchor)));
    rule(unknown.is_none(), || format!("{} knows {unknown:?}, which its maker does not", fact.to))?;
    let (to, here) = (&spec.execution, places.here.as_ref());
    let fits = match (&spec.supervisor, here) {
        (None, _) => to.kind == WorkspaceKind::AgentHome,
        (Some(_), Some(here)) if spec.isolated => to.workspace_anchor == here.workspace_anchor,
        (Some(_), here) => here == Some(to),
    };
    rule(fits, || format!("{} works in {}, its maker in {here:?}", fact.to, to.execution_root))
}

pub(super) fn c5(seen: &Seen, record: &Record) -> Ruling {
    let Event::Outbox(fact) = &record.event else { return Ok(false) };
    match fact {
        OutboxFact::LetterPosted(_) => Ok(true),
        OutboxFact::LetterDelivered(fact) => rule(seen.kin.letters.contains(&fact.letter_id), || {
            format!("{} is delivered, and not on its way", fact.letter_id)
        }),
        OutboxFact::LetterReturned(fact) => rule(seen.kin.letters.contains(&fact.letter_id), || {
            format!("{} comes back, and was not on its way", fact.letter_id)
        }),
        OutboxFact::LetterReceived(fact) => {
            let last = seen.kin.received.get(&fact.from);
            rule(last.is_none_or(|last| *last < fact.letter_id), || {
                format!("{} of {} is taken in after {last:?}", fact.letter_id, fact.from)
            })
        }
    }
}

pub(super) fn c6(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Lifecycle(LifecycleFact::AgentRetired(fact)) => {
            rule(seen.kin.retired.is_none() && seen.run.is_none() && fact.status.is_terminal(), || {
                format!("it retires as {}, after {:?}", fact.status, seen.kin.retired)
            })
        }
        Event::Lifecycle(LifecycleFact::AgentArchived(_)) => {
            let trees = seen.places.worktrees.iter().find(|(_, state)| **state != WorktreeState::Retained);
            let left = (seen.tasks.live.keys().next(), seen.ops.keys().next(), trees);
            rule(seen.kin.retired.is_some() && left == (None, None, None), || {
                format!("{left:?} is left of it, retired as {:?}", seen.kin.retired)
            })
        }
        Event::Lifecycle(LifecycleFact::ControlApplied(_)) | Event::Inbox(_) | Event::Turn(_) => {
            rule(seen.kin.retired.is_none(), || format!("{} after its end", record.event.kind()))
                .map(|_| seen.kin.depth > 0)
        }
        _ => Ok(false),
    }
}
