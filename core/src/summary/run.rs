//! What a run does at this moment, and since when.

use alloc::string::String;

use holon_facts::content::Text;
use holon_facts::event::operation::OpKind;
use holon_facts::ids::{MessageId, OpId, RunId, TurnIndex};
use holon_facts::model::FailureKind;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::turn::{Phase, Run};
use crate::agent::{Agent, OpenOp};

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    pub run_id: RunId,
    pub turn_index: TurnIndex,
    pub message_id: MessageId,
    pub started_at: Wall,
    pub phase: Phase,
    /// When the phase began: the attempt, the wait before it, or the call in flight.
    pub since: Wall,
    pub rounds: u32,
    /// The tool call in flight.
    pub call: Option<CallSummary>,
    /// Why the attempt before, at the round in progress, brought no answer.
    pub last_attempt_error: Option<AttemptError>,
}

/// A tool call in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    pub call_id: String,
    pub tool_name: String,
    /// Of long ones the beginning.
    pub arguments: Text,
    /// Its place among the calls of its round, from 1.
    pub number: u32,
    pub of: u32,
    pub op_id: OpId,
    pub operation: OpKind,
    /// Of a command: since it was prepared, then since it had the word to execute.
    pub since: Wall,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptError {
    pub kind: FailureKind,
    /// Of a long one the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
    pub at: Wall,
}

pub(crate) fn summary(agent: &Agent) -> Option<RunSummary> {
    let run = agent.run.as_ref()?;
    let open = agent.ops.iter().find(|(_, open)| agent.is_of_run(open));
    let last = run.chain.attempts.last();
    let since = match (open, run.phase) {
        (Some((_, open)), _) => open.opened_at,
        (None, Phase::BackingOff { .. }) => last.map_or(run.started_at, |attempt| attempt.completed_at),
        (None, Phase::Loading | Phase::Requesting { .. } | Phase::Calling) => run.started_at,
    };
    let error = last.and_then(|attempt| {
        let (kind, message) = (attempt.failure_kind?, attempt.message.clone());
        Some(AttemptError { kind, message, at: attempt.completed_at })
    });
    Some(RunSummary {
        run_id: run.id,
        turn_index: run.turn_index,
        message_id: run.message,
        started_at: run.started_at,
        phase: run.phase,
        since,
        rounds: run.conversation.next_round().0,
        call: open.and_then(|(op, open)| call(run, *op, open)),
        last_attempt_error: error,
    })
}

/// The call that an operation is for: the first of the last round that has no result yet.
fn call(run: &Run, op_id: OpId, open: &OpenOp) -> Option<CallSummary> {
    match open.kind {
        OpKind::CallTool
        | OpKind::PrepareCommand
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::FindWorkspace => {}
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::WriteInput
        | OpKind::SuperviseChild
        | OpKind::RemoveWorktree
        | OpKind::Summarize => return None,
    }
    let round = run.conversation.rounds.last()?;
    let at = round.results.len();
    let (call_id, tool_name, arguments) = round.calls().nth(at)?;
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some(CallSummary {
        call_id: call_id.into(),
        tool_name: tool_name.into(),
        arguments: arguments.clone(),
        number: count(at + 1),
        of: count(round.verdicts.len()),
        op_id,
        operation: open.kind,
        since: open.opened_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, agent, calls, context, fails, prompt, tool_answers};
    use holon_facts::time::Millis;

    fn summary_of(world: &World) -> RunSummary {
        world.host.view().summary(&agent("main")).unwrap().run.unwrap()
    }

    #[test]
    fn a_phase_has_its_own_beginning() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        let began = summary_of(&world);
        assert_eq!((began.phase, began.since), (Phase::Loading, began.started_at));
        world.pass(Millis::seconds(3));
        world.complete("main", context());
        let asks = summary_of(&world);
        assert_eq!(asks.started_at.until(asks.since), Millis::seconds(3));
        assert_eq!((asks.call, asks.last_attempt_error), (None, None));
    }

    #[test]
    fn the_call_in_flight_is_named() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let both = [("c1", "ApplyPatch", r#"{"patch":"x"}"#), ("c2", "ExecCommand", r#"{"cmd":"sleep 30"}"#)];
        world.complete("main", calls(&both));
        world.pass(Millis::seconds(5));
        world.complete("main", tool_answers("done"));
        let run = summary_of(&world);
        let call = run.call.unwrap();
        assert_eq!((call.tool_name.as_str(), call.number, call.of), ("ExecCommand", 2, 2));
        assert_eq!(call.arguments.preview(), r#"{"cmd":"sleep 30"}"#);
        assert_eq!((run.started_at.until(call.since), run.since), (Millis::seconds(5), call.since));
    }

    #[test]
    fn a_wait_before_a_retry_says_what_went_wrong() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", fails(FailureKind::Server));
        let run = summary_of(&world);
        assert_eq!(run.phase, Phase::BackingOff { candidate: 0, attempt: 2 });
        let error = run.last_attempt_error.unwrap();
        assert_eq!((error.kind, error.at), (FailureKind::Server, run.since));
    }
}
