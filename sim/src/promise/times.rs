//! E1: how long an operation may take, by its kind and the configuration, and how long its performer gets.

use holon_core::effect::Work;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::{Config, Millis};

use crate::failure::{Failure, ensure};

/// A model gets so long for a summary.
const SUMMARY: Millis = Millis::seconds(30);
/// The core waits so much longer than a performer may take: for an attempt, for a summary, for a tool that takes twice
/// its time.
const AFTER_ATTEMPT: Millis = Millis::seconds(15);
const AFTER_SUMMARY: Millis = Millis::seconds(5);
const AFTER_TOOL: Millis = Millis::seconds(90);

/// An operation has the time of its kind.
pub(super) fn fit(fact: &OperationOpened, config: &Config) -> Result<(), Failure> {
    let tool = Millis(config.turn.tool_timeout.0.saturating_mul(2).saturating_add(AFTER_TOOL.0));
    let right: &[Option<Millis>] = match fact.kind {
        OpKind::LoadContext | OpKind::PrepareCommand => &[Some(Millis::seconds(60))],
        OpKind::CallModel => &[Some(sum(config.turn.model_timeout, AFTER_ATTEMPT))],
        OpKind::Summarize => &[Some(sum(SUMMARY, AFTER_SUMMARY))],
        // Of a tool, of a server, of a look at something.
        OpKind::CallTool => &[Some(tool), Some(Millis::minutes(20)), Some(Millis::seconds(60))],
        OpKind::RunCommand if fact.run_id.is_none() => &[None],
        OpKind::RunCommand => {
            let yields = fact.command.as_ref().and_then(|command| command.yield_time_ms);
            &[Some(yields.map_or(tool, |yields| yields.min(config.turn.tool_timeout)))]
        }
        OpKind::PromoteCommand => &[Some(Millis::seconds(10))],
        OpKind::WriteInput => &[Some(Millis::seconds(15))],
        OpKind::FindWorkspace => {
            let makes = fact.worktree.is_some();
            &[Some(Millis::seconds(if makes { 600 } else { 60 }))]
        }
        OpKind::RemoveWorktree => &[Some(Millis::seconds(300))],
        OpKind::SuperviseChild => &[None],
        // The model chooses how long its call waits.
        OpKind::AwaitTask => return Ok(()),
    };
    let (kind, given) = (fact.kind, fact.timeout_ms);
    ensure!(right.contains(&given), "E1", "{kind} {} has {given:?} of {right:?}", fact.op);
    Ok(())
}

/// A performer has the time that the configuration gives it.
pub(crate) fn performer_has_its_time(work: &Work, config: &Config) -> Result<(), Failure> {
    let (right, given) = match work {
        Work::CallModel { request } => (config.turn.model_timeout, request.timeout),
        Work::Summarize { request } => (SUMMARY, request.timeout),
        Work::CallTool { call } | Work::PrepareCommand { call, .. } => {
            (config.turn.tool_timeout, call.timeout)
        }
        Work::LoadContext { .. }
        | Work::CallServer { .. }
        | Work::CallTask { .. }
        | Work::CallWork { .. }
        | Work::Look { .. }
        | Work::PrepareAgent { .. }
        | Work::RunCommand { .. }
        | Work::WatchCommand { .. }
        | Work::FindWorkspace { .. }
        | Work::RemoveWorktree { .. } => return Ok(()),
    };
    ensure!(right == given, "E1", "a performer has {given} instead of {right}");
    Ok(())
}

fn sum(one: Millis, other: Millis) -> Millis {
    Millis(one.0.saturating_add(other.0))
}
