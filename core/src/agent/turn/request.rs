//! What comes next inside a turn: the next call, the next request, or the end.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::agent::turn::end::{self, End};
use crate::agent::turn::{Note, Phase, Round, Run, interject, limits, tools};
use crate::effect::Effect;
use crate::event::inbox::SafePoint;
use crate::event::operation::OpKind;
use crate::host::tx::{Alarm, Tx};
use crate::model::{CallResult, Item, ModelRequest};
use crate::prompt::frame::Part;
use crate::prompt::{policy, sections};
use crate::time::Millis;
use crate::tool::Tool;

/// How much longer than the shell the core waits for an attempt.
const PATIENCE: Millis = Millis::seconds(15);

/// Takes the run one step further after something in it has ended.
pub(crate) fn advance(tx: &mut Tx<'_>) {
    if tools::call_next(tx) {
        return;
    }
    let Some(run) = &tx.agent().run else { return };
    let first = run.rounds.len() == run.carried_rounds as usize;
    let spoke_only = run.rounds.last().is_some_and(|round| round.verdicts.is_empty());
    let safe_point = match (first, spoke_only) {
        (true, _) => SafePoint::BeforeRequest,
        (false, true) => SafePoint::AfterText,
        (false, false) => SafePoint::AfterTools,
    };
    let bound = limits::reached(run, &tx.config.turn);
    let asked = bound.is_none() && tx.agent().inbox.interjections().next().is_some();
    if !first && spoke_only && !asked {
        end::end(tx, End::Completed);
    } else if let Some(limit) = bound {
        // What an operator interjects now is not lost in this turn: it gets one of its own.
        end::end(tx, End::LimitReached { limit });
    } else {
        interject::take(tx, safe_point);
        limits::remind(tx);
        request(tx);
    }
}

/// The wait before a retry is over.
pub(crate) fn backed_off(tx: &mut Tx<'_>) {
    tx.disarm(Alarm::Backoff);
    again(tx);
}

/// The round in progress is asked for again: of the same candidate, or of the next one.
pub(crate) fn again(tx: &mut Tx<'_>) {
    interject::take(tx, SafePoint::BeforeRequest);
    request(tx);
}

/// Makes the next attempt at the round in progress.
pub(crate) fn request(tx: &mut Tx<'_>) {
    let agent = tx.agent();
    let Some(run) = &agent.run else { return };
    let (Phase::Requesting { candidate, .. } | Phase::BackingOff { candidate, .. }) = run.phase else {
        return;
    };
    let (Some(model), Some(context)) = (run.models.get(candidate as usize), &run.context) else { return };
    let limits = &tx.config.turn;
    let request = ModelRequest {
        agent: agent.id.clone(),
        model: model.clone(),
        frame: Arc::new(sections::frame(agent, context, limits)),
        conversation: conversation(run),
        tools: Tool::ALL.to_vec(),
        max_output_tokens: limits.max_output_tokens,
        timeout: limits.model_timeout,
    };
    let wanted = estimate(&request);
    if !limits::affords(tx, wanted) {
        return;
    }
    let (id, run_id) = (tx.agent().id.clone(), run_id(tx));
    let Some(run_id) = run_id else { return };
    let timeout = Millis(tx.config.turn.model_timeout.0.saturating_add(PATIENCE.0));
    tx.open(OpKind::CallModel, run_id, timeout, |op| Effect::CallModel { agent: id, op, request });
}

fn run_id(tx: &Tx<'_>) -> Option<crate::ids::RunId> {
    tx.agent().run.as_ref().map(|run| run.id)
}

/// The conversation after the frame: the input, then rounds, each call followed by its result.
fn conversation(run: &Run) -> Vec<Item> {
    let mut items = alloc::vec![Item::User { parts: sections::current_input(&run.incoming) }];
    for round in &run.rounds {
        notes(&mut items, &round.notes);
        items.push(Item::Assistant { blocks: round.blocks.clone() });
        results(&mut items, round);
    }
    notes(&mut items, &run.notes);
    items
}

fn notes(items: &mut Vec<Item>, notes: &[Note]) {
    items.extend(notes.iter().map(|note| Item::User {
        parts: match note {
            Note::Interjection { message_id, text } => sections::interjection(*message_id, text),
            Note::Reminder { text } => alloc::vec![Part::Rendered(text.clone())],
            Note::Continuation => alloc::vec![Part::Rendered(policy::CONTINUATION.into())],
        },
    }));
}

fn results(items: &mut Vec<Item>, round: &Round) {
    let results: Vec<CallResult> = round
        .calls()
        .zip(&round.results)
        .map(|((call_id, _, _), receipt)| CallResult { call_id: call_id.into(), receipt: receipt.clone() })
        .collect();
    if !results.is_empty() {
        items.push(Item::ToolResults { results });
    }
}

/// Estimated input of a request, plus the most that may come back.
fn estimate(request: &ModelRequest) -> u64 {
    let frame = request.frame.est_tokens();
    let item = |item: &Item| -> u64 {
        match item {
            Item::User { parts } => parts.iter().map(Part::est_tokens).sum(),
            Item::Assistant { blocks } => blocks.iter().map(crate::model::Block::est_tokens).sum(),
            Item::ToolResults { results } => results
                .iter()
                .flat_map(|result| result.receipt.texts())
                .map(crate::content::Text::est_tokens)
                .sum(),
        }
    };
    let conversation: u64 = request.conversation.iter().map(item).sum();
    frame.saturating_add(conversation).saturating_add(request.max_output_tokens)
}
