//! Rounds of a model: what was read for it, its attempts and its answers.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::operation::Settlement;
use holon_facts::event::turn::{
    AssistantRoundRecorded, FailureArtifact, FailureCategory, ProviderAttemptRecorded,
    ProviderRoundCompleted, TurnContextBuilt,
};
use holon_facts::ids::OpId;
use holon_facts::model::{
    AnswerBlock, AttemptFailure, AttemptOutcome, AttemptRecord, Block, ModelAnswer, ProposedCall, RoundEnd,
    StopReason, Timing,
};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::LoadedContext;
use holon_facts::receipt::{TaskCall, ToolError, ToolErrorKind, Verdict};
use holon_facts::terminal::TurnReason;

use crate::agent::Agent;
use crate::agent::task::Tasks;
use crate::agent::turn::{Phase, Run};
use crate::handler::budget;
use crate::handler::turn::end::{self, End};
use crate::handler::turn::{outage, request};
use crate::handler::workspace::tree;
use crate::handler::{servers, skills};
use crate::retry::{self, Next};
use crate::tool::{self, Offer};
use crate::tx::{Alarm, Tx};

pub(crate) fn context_loaded(tx: &mut Tx<'_>, op: OpId, mut context: LoadedContext) {
    tx.settle(op, Settlement::Done);
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    skills::read(tx, run_id, context.skills.take());
    servers::read(tx, run_id, context.tools.take());
    tx.record(TurnContextBuilt { run_id, context });
    skills::begun(tx);
    request::advance(tx);
    tree::found(tx, run_id);
}

/// What the context is made of can't be read.
pub(crate) fn context_failed(tx: &mut Tx<'_>, message: Text) {
    let failure = artifact(FailureCategory::Runtime, "context_load", message);
    end::end(tx, End::Failed { reason: TurnReason::ContextLoad, failure });
}

/// Nothing came of a request, not even a failure of its provider.
pub(crate) fn no_answer(tx: &mut Tx<'_>, op: OpId, message: Text) {
    let failure = AttemptFailure::unanswered(message, tx.now());
    attempt_failed(tx, op, &failure);
}

pub(crate) fn answered(tx: &mut Tx<'_>, op: OpId, answer: ModelAnswer) {
    budget::answered(tx, op, &answer);
    tx.settle(op, Settlement::Done);
    let Some(run) = &tx.agent().run else { return };
    let Some(mut record) = attempt_record(tx, run, answer.timing) else { return };
    record.token_usage = Some(answer.usage);
    record.delivery.clone_from(&answer.delivery);
    let Phase::Requesting { candidate, .. } = run.phase else { return };
    let (run_id, round) = (run.id, run.conversation.next_round());
    let context_build_ms =
        run.environment.context.as_ref().map(|context| context.context_build_ms).unwrap_or_default();
    let requested = run.chain.models.first().cloned().unwrap_or_else(|| record.model_ref.clone());
    let started_at = run.chain.attempts.first().map_or(answer.timing.started_at, |first| first.started_at);
    let mut completed = ProviderRoundCompleted {
        run_id,
        round,
        requested_model_ref: requested,
        winning_model_ref: record.model_ref.clone(),
        attempts: u32::try_from(run.chain.attempts.len() + 1).unwrap_or(u32::MAX),
        stop_reason: answer.stop,
        token_usage: answer.usage,
        context_build_ms,
        provider_round_ms: answer.timing.completed_at.since(started_at),
        provider_started_at: started_at,
        provider_completed_at: answer.timing.completed_at,
        stored: None,
        cleared_tokens: answer.delivery.as_ref().map_or(0, |delivery| delivery.cleared_tokens()),
    };
    let ids = call_ids(&answer.blocks);
    let (blocks, mut verdicts) =
        judge(tx.agent(), run, (answer.blocks, answer.stop), tx.env.config.turn.calls_per_round);
    completed.stored = answer.stored.filter(|_| has_ids(&blocks, &ids));
    let end = verdicts.is_empty().then(|| RoundEnd::of(answer.stop, blocks.iter().any(has_words)));
    // What was cut off goes on where it was begun.
    let probes = end.is_none() && run.chain.probe_is_due(candidate, tx.now());
    verdicts.iter_mut().for_each(|verdict| keep_letters(verdict, &tx.agent().tasks));
    tx.record(ProviderAttemptRecorded { run_id, round, attempt: record });
    tx.record(completed);
    tx.record(AssistantRoundRecorded {
        run_id,
        round,
        blocks: blocks.into(),
        verdicts,
        stop_reason: answer.stop,
        token_usage: answer.usage,
        end,
        joined: answer.joined.filter(|_| end.is_some()),
        candidate,
        probes,
    });
    request::advance(tx);
}

/// The ids that a provider gave the calls.
fn call_ids(blocks: &[AnswerBlock]) -> Vec<String> {
    let ids = blocks.iter().filter_map(|block| match block {
        AnswerBlock::ToolCall(call) => Some(call.call_id.clone()),
        AnswerBlock::Text { .. } | AnswerBlock::Reasoning { .. } => None,
    });
    ids.collect()
}

/// Whether the calls kept their ids: results under others mean nothing to a provider that has the answer as it gave it.
fn has_ids(blocks: &[Block], ids: &[String]) -> bool {
    let own = blocks.iter().filter_map(|block| match block {
        Block::ToolCall { call_id, .. } => Some(call_id),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    });
    own.eq(ids)
}

/// Whether it is text with anything but white space.
fn has_words(block: &Block) -> bool {
    match block {
        Block::Text { text: Text::Inline(text) } => !text.trim().is_empty(),
        Block::Text { text: Text::Stored(_) } => true,
        Block::ToolCall { .. } | Block::Reasoning { .. } => false,
    }
}

/// What goes into a command is read from the call by whoever writes it; what a child is shown is kept, also for one that a
/// call of the same answer begins.
fn keep_letters(verdict: &mut Verdict, tasks: &Tasks) {
    if let Verdict::OnTask(TaskCall::Input { task, text }) = verdict
        && tasks.get(*task).is_some_and(|task| task.child().is_none())
    {
        *text = None;
    }
}

/// Turns what a model asked for into blocks with ids of their own and one verdict for each call.
fn judge(
    agent: &Agent,
    run: &Run,
    (answer, stop): (Vec<AnswerBlock>, StopReason),
    limit: u32,
) -> (Vec<Block>, Vec<Verdict>) {
    let mut blocks = Vec::with_capacity(answer.len());
    let mut verdicts = Vec::new();
    let calls = answer.iter().filter(|block| matches!(block, AnswerBlock::ToolCall(_))).count();
    for block in answer {
        match block {
            AnswerBlock::Text { text } => blocks.push(Block::Text { text }),
            AnswerBlock::Reasoning { content } => {
                blocks.extend(run.model().cloned().map(|model| Block::Reasoning { model, content }));
            }
            AnswerBlock::ToolCall(call) => {
                let cut_off = stop == StopReason::MaxOutput && verdicts.len() + 1 == calls;
                let over = verdicts.len() >= limit as usize;
                let model = run.chain.models.first().map_or("the model", ModelRef::as_str);
                let offer = Offer {
                    spec: &agent.spec,
                    model,
                    tools: &run.environment.tools,
                    servers: agent.servers.offered.as_deref(),
                };
                verdicts.push(verdict(&call, cut_off, over.then_some(limit), offer));
                let call_id = own_id((agent, run), &blocks, call.call_id, verdicts.len());
                blocks.push(Block::ToolCall {
                    call_id,
                    tool_name: plain_name(call.tool_name),
                    arguments: call.arguments,
                });
            }
        }
    }
    (blocks, verdicts)
}

fn verdict(call: &ProposedCall, cut_off: bool, over: Option<u32>, offer: Offer<'_>) -> Verdict {
    if cut_off {
        let error =
            ToolError::new(ToolErrorKind::TruncatedToolCall, "the call was cut off by the output limit");
        return Verdict::Refused(error.hint("send it again, in smaller pieces"));
    }
    if let Some(limit) = over {
        let message = format!("a round may call at most {limit} tools");
        let error = ToolError::new(ToolErrorKind::LimitReached, message);
        return Verdict::Refused(error.hint("call the rest in the next round"));
    }
    tool::judge(call, offer).unwrap_or_else(Verdict::Refused)
}

/// Whether every provider takes it as an id or as the name of a tool.
fn plain(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// What a model called a tool; a name that a provider would refuse to read again is not repeated.
fn plain_name(name: String) -> String {
    if plain(&name) { name } else { "unknown_tool".into() }
}

/// The model's id of a call where it is usable: plain, and new in the conversation. Otherwise one
/// of our own, which the model may have used before, too.
fn own_id((agent, run): (&Agent, &Run), blocks: &[Block], id: String, number: usize) -> String {
    let among = |blocks: &[Block], id: &str| {
        blocks.iter().any(|block| matches!(block, Block::ToolCall { call_id, .. } if call_id == id))
    };
    let earlier = || agent.episodes.turns().iter().map(|turn| &turn.conversation).chain([&run.conversation]);
    // The turn of a message that waits with what its runs have done comes after this one, in the same conversation.
    let waiting = || agent.inbox.queued().flat_map(|entry| &entry.carried);
    let rounds = || earlier().flat_map(|conversation| &conversation.rounds).chain(waiting());
    let taken = |id: &str| among(blocks, id) || rounds().any(|round| among(&round.blocks, id));
    if plain(&id) && !taken(&id) {
        return id;
    }
    let mut own = format!("call_{}_{}_{number}", run.id.0, run.conversation.next_round());
    while taken(&own) {
        own.push('x');
    }
    own
}

pub(crate) fn attempt_failed(tx: &mut Tx<'_>, op: OpId, failure: &AttemptFailure) {
    let Some(run) = &tx.agent().run else { return };
    let Phase::Requesting { candidate, attempt } = run.phase else { return };
    let Some(mut record) = attempt_record(tx, run, failure.timing) else { return };
    let jitter = retry::jitter(tx.env.seed.0, tx.agent().id.as_str(), op.0, attempt);
    let mut next = retry::next(&tx.env.config.retry, failure, attempt, jitter);
    if run.is_probe() && matches!(next, Next::Retry { .. }) {
        next = Next::RetriesExhausted;
    }
    let another = run.chain.fallback(candidate).is_some();
    let outcome = match next {
        Next::Retry { .. } => AttemptOutcome::Retrying,
        Next::RetriesExhausted => AttemptOutcome::RetriesExhausted,
        Next::FailFast | Next::Terminal => AttemptOutcome::FailFastAborted,
    };
    record.failed(failure, outcome);
    if retry::retryable(failure.kind) {
        let asked = retry::long_wait(&tx.env.config.retry, failure);
        record.resets_at = asked.map(|asked| tx.now().after(asked));
    }
    let falls_back = another && matches!(next, Next::RetriesExhausted | Next::FailFast);
    record.advanced_to_fallback = falls_back;
    if let Next::Retry { after } = next {
        record.backoff_ms = Some(after);
    }
    let (run_id, round) = (run.id, run.conversation.next_round());
    tx.record(ProviderAttemptRecorded { run_id, round, attempt: record });
    match next {
        Next::Retry { after } => tx.arm(Alarm::Backoff, after),
        Next::RetriesExhausted | Next::FailFast if falls_back => request::again(tx),
        Next::Terminal if request::refused(tx) => {}
        Next::RetriesExhausted | Next::FailFast | Next::Terminal => {
            outage::providers_failed(tx, failure);
        }
    }
}

/// The attempt in progress, as the timeline shows it.
fn attempt_record(tx: &Tx<'_>, run: &Run, timing: Timing) -> Option<AttemptRecord> {
    let Phase::Requesting { attempt, .. } = run.phase else { return None };
    let most = if run.is_probe() { 1 } else { tx.env.config.retry.retries.saturating_add(1) };
    Some(AttemptRecord::new(run.model()?.clone(), (attempt, most), timing))
}

/// A failure without details of a transport.
pub(crate) fn artifact(category: FailureCategory, kind: &str, summary: Text) -> FailureArtifact {
    FailureArtifact {
        category,
        kind: kind.into(),
        summary,
        provider: None,
        model_ref: None,
        status: None,
        task_id: None,
        exit_status: None,
        source_chain: Vec::new(),
        metadata: alloc::collections::BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{World, calls, context, prompt};
    use alloc::string::String;
    use alloc::vec::Vec;
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::model::Block;

    /// The ids and tools of these calls, as the round keeps them.
    fn kept(proposed: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", calls(proposed));
        let kept = world.log.iter().find_map(|record| {
            let Event::Turn(TurnFact::AssistantRoundRecorded(fact)) = &record.event else { return None };
            let kept = fact.blocks.iter().filter_map(|block| match block {
                Block::ToolCall { call_id, tool_name, .. } => Some((call_id.clone(), tool_name.clone())),
                Block::Text { .. } | Block::Reasoning { .. } => None,
            });
            Some(kept.collect())
        });
        kept.unwrap()
    }

    #[test]
    fn calls_of_a_turn_never_share_an_id() {
        let call = |id| (id, "ExecCommand", r#"{"cmd":"ls"}"#);
        let kept = kept(&[call("call_1_0_2"), call(""), call("call_1_0_2")]);
        let ids: Vec<_> = kept.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["call_1_0_2", "call_1_0_2x", "call_1_0_3"]);
    }

    #[test]
    fn what_a_provider_would_not_read_again_is_not_kept() {
        let long = "x".repeat(65);
        let kept = kept(&[("a|b", "no such tool", "{}"), (&long, &long, "{}"), ("c", "Levitate", "{}")]);
        let kept: Vec<_> = kept.iter().map(|(id, tool)| (id.as_str(), tool.as_str())).collect();
        let unknown = "unknown_tool";
        assert_eq!(kept, [("call_1_0_1", unknown), ("call_1_0_2", unknown), ("c", "Levitate")]);
    }
}
