//! What a turn leaves in the agent's mind, from what was done in it (contract: context.md, Working memory). It is looked
//! at when a turn has ended, and never inside one.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::event::episode::MemoryUpdated;
use holon_facts::ids::{RunId, TurnIndex};
use holon_facts::memory::{FILES, FOLLOW_UPS, LINE_BYTES, Verification, WAITS, WorkingMemory};
use holon_facts::receipt::Receipt;
use holon_facts::work::{Todo, TodoState};
use serde::Deserialize;

use crate::agent::Agent;
use crate::agent::task::Task;
use crate::agent::turn::{Round, Run};
use crate::agent::wait::Wait;
use crate::tool::Tool;
use crate::tx::Tx;

/// What was done in a turn that ends.
pub(crate) struct Done {
    run_id: RunId,
    turn_index: TurnIndex,
    /// Files that it changed, the newest last.
    files: Vec<String>,
    verification: Option<Verification>,
}

impl Done {
    pub(crate) fn of(run: &Run) -> Self {
        let receipts = || run.conversation.rounds.iter().flat_map(|round| &round.results);
        let mut files = Vec::new();
        for file in receipts().flat_map(|receipt| &receipt.facts.changed_files) {
            keep(&mut files, clip(file, LINE_BYTES));
        }
        let turn_index = run.turn_index;
        let verification = verified(run).map(|(command, exit_status)| {
            let command = clip(command.trim(), LINE_BYTES);
            Verification { command, exit_status, turn_index }
        });
        Self { run_id: run.id, turn_index, files, verification }
    }
}

/// Keeps the newest.
fn keep(files: &mut Vec<String>, file: String) {
    files.retain(|known| *known != file);
    files.push(file);
    let over = files.len().saturating_sub(FILES);
    files.drain(..over);
}

/// A command that has ended in the turn, or of which its message tells, that builds, checks or tests something: the last.
fn verified(run: &Run) -> Option<(String, i32)> {
    let called = run.conversation.rounds.iter().rev().find_map(called);
    let notices = || run.about.notices.iter().rev().flat_map(|notices| notices.tasks.iter().rev());
    called.or_else(|| notices().find_map(ended))
}

/// The last of a round.
fn called(round: &Round) -> Option<(String, i32)> {
    #[derive(Deserialize)]
    struct Command {
        cmd: String,
    }
    let one = |((_, tool, arguments), receipt): ((&str, &str, &Text), &alloc::sync::Arc<Receipt>)| {
        let (Text::Inline(json), Some(exit_status)) = (arguments, receipt.facts.exit_status) else {
            return None;
        };
        // What has none of the words in it is no such command.
        if tool != Tool::ExecCommand.name() || !Verification::is_one(json) {
            return None;
        }
        let Command { cmd } = serde_json::from_str(json).ok()?;
        Verification::is_one(&cmd).then_some((cmd, exit_status))
    };
    round.calls().zip(&round.results).filter_map(one).last()
}

fn ended(task: &Task) -> Option<(String, i32)> {
    let command = task.job.command()?.cmd.preview();
    let exit_status = task.end.as_ref()?.exit_status?;
    Verification::is_one(command).then(|| (command.into(), exit_status))
}

/// The turn is over, and what it means for the agent's work is recorded.
pub(crate) fn turn_ended(tx: &mut Tx<'_>, done: Done) {
    let (run_id, turn_index) = (done.run_id, done.turn_index);
    let memory = after(tx.agent(), done);
    let known = &tx.agent().memory;
    if *known.now != memory {
        let revision = known.revision.saturating_add(1);
        tx.record(MemoryUpdated { revision, run_id, turn_index, memory });
    }
}

/// With another item in focus, nothing of the one before is in play.
fn after(agent: &Agent, done: Done) -> WorkingMemory {
    let item = agent.work.current();
    let work_item_id = item.map(|item| item.id);
    let before = agent.memory.now.as_ref();
    let same = before.work_item_id == work_item_id;
    let mut files = if same { before.files.clone() } else { Vec::new() };
    done.files.into_iter().for_each(|file| keep(&mut files, file));
    let verification = before.verification.clone().filter(|_| same);
    let line = |text: &str| clip(text, LINE_BYTES);
    let open = |todo: &&Todo| todo.state != TodoState::Completed;
    let steps = item.into_iter().flat_map(|item| item.todo_list.iter().filter(open));
    let waits = agent.active_waits().take(WAITS).map(|wait: &Wait| line(&wait.waiting_for));
    WorkingMemory {
        work_item_id,
        objective: item.map(|item| line(&item.objective)),
        plan_status: item.map(|item| item.plan_status),
        files,
        verification: done.verification.or(verification),
        waiting_on: waits.collect(),
        decisions: agent.memory.decisions.clone(),
        follow_ups: steps.take(FOLLOW_UPS).map(|todo| line(&todo.text)).collect(),
    }
}
