//! Laws about commands: who executes them is on record first, and nobody executes one twice.

use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::{Event, OperationFact};
use holon_facts::record::Record;

use super::past::{Call, Past};
use super::{Checked, rule};

pub(super) fn p4(past: &Past, record: &Record) -> Checked {
    let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return Ok(false) };
    let call = past.run.as_ref().and_then(|run| run.open_call());
    match fact.kind {
        OpKind::PrepareCommand if fact.run_id.is_none() => unnamed(fact),
        OpKind::RunCommand if fact.run_id.is_none() => {
            let waits = fact.task_id.is_some_and(|task| past.tasks.prepared.contains(&task));
            rule(waits && fact.supervisor.is_some(), || {
                format!("{} executes an operator's command that no supervisor waits with", fact.op)
            })
        }
        OpKind::PrepareCommand => {
            rule(call.is_some_and(|call| call.started && !call.prepared && !call.executed), || {
                format!("{} prepares a command that was prepared before, or none at all", fact.op)
            })?;
            unnamed(fact)
        }
        OpKind::RunCommand => {
            rule(call.is_some_and(Call::waits_for_the_word), || {
                format!(
                    "{} executes a command that no supervisor waits with, or for the second time",
                    fact.op
                )
            })?;
            rule(fact.supervisor.is_some(), || format!("{} does not name its supervisor", fact.op))
        }
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::CallTool
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace
        | OpKind::RemoveWorktree
        | OpKind::Summarize
        | OpKind::WriteInput => unnamed(fact).map(|_| false),
    }
}

fn unnamed(fact: &OperationOpened) -> Checked {
    rule(fact.supervisor.is_none(), || format!("{} ({}) names a supervisor", fact.op, fact.kind))
}
