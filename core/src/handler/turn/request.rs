//! What comes next inside a turn: the next call, the next request, or the end.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::inbox::SafePoint;
use holon_facts::event::operation::OpKind;
use holon_facts::event::turn::CompactionCause;
use holon_facts::frame::{Part, PromptFrame};
use holon_facts::model::{CallResult, Item, ModelRequest};
use holon_facts::outcome::LoadedContext;
use holon_facts::terminal::TurnReason;
use holon_facts::time::Millis;

use crate::agent::Agent;
use crate::agent::turn::window::Window;
use crate::agent::turn::{Note, Round, Run};
use crate::effect::Work;
use crate::handler::budget;
use crate::handler::turn::end::{self, End};
use crate::handler::turn::{cut_off, interject, itself, limits, recap, tools};
use crate::prompt::{self, incoming, notes, recap as recap_text, sections, sections::PromptFacts};
use crate::tx::{Alarm, Opening, Tx};

/// How much longer than the shell the core waits for an attempt.
const PATIENCE: Millis = Millis::seconds(15);

/// Takes the run one step further after something in it has ended.
pub(crate) fn advance(tx: &mut Tx<'_>) {
    if tools::call_next(tx) {
        return;
    }
    let Some(run) = &tx.agent().run else { return };
    let first = run.conversation.rounds.len() == run.conversation.carried_rounds as usize;
    let spoke_only = run.conversation.rounds.last().is_some_and(|round| round.verdicts.is_empty());
    let safe_point = match (first, spoke_only) {
        (true, _) => SafePoint::BeforeRequest,
        (false, true) => SafePoint::AfterText,
        (false, false) => SafePoint::AfterTools,
    };
    let bound = limits::reached(run, &tx.env.config.turn);
    let asked = bound.is_none() && tx.agent().inbox.interjections().next().is_some();
    let cut_off = run.conversation.rounds.last().and_then(|round| round.end).filter(|end| end.continues());
    if !first && spoke_only && !asked && (cut_off.is_none() || cut_off::is_enough(tx, run)) {
        cut_off::end(tx);
    } else if !first && itself::rests(run) && !asked {
        end::end(tx, End::Completed);
    } else if let Some(limit) = bound {
        // What an operator interjects now is not lost in this turn: it gets one of its own.
        end::end(tx, End::LimitReached { limit });
    } else {
        interject::take(tx, safe_point);
        cut_off::remind(tx);
        limits::remind(tx);
        limits::remind_of_work(tx);
        limits::remind_of_question(tx);
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

/// Makes the next attempt at the round in progress, with a recap of old rounds where it would not fit.
pub(crate) fn request(tx: &mut Tx<'_>) {
    let Some(mut request) = build(tx) else { return };
    let limit = Window::of(tx.env.config, &request.model).input;
    let mut input = prompt::est_tokens(&request);
    while input > recap::room(tx, limit) {
        if !recap::shorten(tx, input, recap::room(tx, limit), CompactionCause::OverBudget) {
            // What a provider refused once says little of what it takes now: only the window is a bound.
            if input <= limit {
                break;
            }
            let failure = recap::too_long(&request.model, input, limit);
            end::end(tx, End::ContextLength { reason: TurnReason::ContextWindow, failure });
            return;
        }
        let Some(shorter) = build(tx) else { return };
        (input, request) = (prompt::est_tokens(&shorter), shorter);
    }
    let (wanted, sent) = budget::estimate(tx, &request.model, input, request.max_output_tokens);
    if !budget::affords(tx, wanted) {
        return;
    }
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    let timeout = Millis(tx.env.config.turn.model_timeout.0.saturating_add(PATIENCE.0));
    let opening = Opening::of(run_id, OpKind::CallModel, timeout);
    let op = tx.open(opening, Work::CallModel { request });
    budget::reserve(tx, run_id, op, (wanted, sent));
}

/// A provider refused the request in progress as too long: once in a turn, it is made shorter and sent again.
/// False when that can't help.
pub(crate) fn refused(tx: &mut Tx<'_>) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    let Some(input) = run
        .conversation
        .recap
        .refused_at
        .is_none()
        .then(|| build(tx))
        .flatten()
        .map(|it| prompt::est_tokens(&it))
    else {
        return false;
    };
    if !recap::shorten(tx, input, input, CompactionCause::Refused) {
        return false;
    }
    again(tx);
    true
}

/// What every request of the run takes, whatever its rounds are.
pub(crate) fn fixed_tokens(tx: &Tx<'_>, run: &Run) -> u64 {
    let Some(context) = &run.environment.context else { return 0 };
    let window = Window::of_chain(tx.env.config, &run.chain.models);
    let frame = frame(tx, run, context, window).est_tokens();
    let input: u64 = input(tx.agent(), run).iter().map(Part::est_tokens).sum();
    frame.saturating_add(input).saturating_add(prompt::tool_tokens(&run.environment.tools))
}

/// The request for the round in progress, as the agent's state has it.
fn build(tx: &Tx<'_>) -> Option<ModelRequest> {
    let agent = tx.agent();
    let run = agent.run.as_ref()?;
    let (model, context) = (run.model()?, run.environment.context.as_ref()?);
    let window = Window::of_chain(tx.env.config, &run.chain.models);
    Some(ModelRequest {
        agent: agent.id.clone(),
        model: model.clone(),
        frame: Arc::new(frame(tx, run, context, window)),
        conversation: conversation(agent, run, window),
        rounds: u32::try_from(run.conversation.rounds.len()).unwrap_or(u32::MAX),
        tools: run.environment.tools.clone(),
        max_output_tokens: Window::of(tx.env.config, model).output,
        timeout: tx.env.config.turn.model_timeout,
        continues: cut_off::texts(run),
    })
}

fn frame(tx: &Tx<'_>, run: &Run, context: &LoadedContext, window: Window) -> PromptFrame {
    sections::frame(&PromptFacts {
        agent: tx.agent(),
        context,
        limits: &tx.env.config.context,
        work: run.about.work.as_deref(),
        fence: run.about.fence,
        window: run.conversation.recap.refused_at.is_none().then_some(window.input),
    })
}

/// The conversation after the frame: the input, a recap of the rounds that are told in short, then rounds,
/// each call followed by its result. What an operator interjected is always whole.
fn conversation(agent: &Agent, run: &Run, window: Window) -> Vec<Item> {
    let mut items = alloc::vec![Item::User { parts: input(agent, run) }];
    let short = (run.conversation.recap.rounds as usize).min(run.conversation.rounds.len());
    if short > 0 {
        items.push(Item::User {
            parts: recap_text::recap(&run.conversation.rounds[..short], window.recap(), run.about.fence),
        });
    }
    for (at, round) in run.conversation.rounds.iter().enumerate() {
        if at < short {
            items.extend(said(agent, run, at, &round.notes, Note::lasts));
        } else {
            items.extend(said(agent, run, at, &round.notes, |_| true));
            items.push(Item::Assistant { blocks: round.blocks.clone() });
            results(&mut items, round);
        }
    }
    items.extend(said(agent, run, run.conversation.rounds.len(), &run.conversation.notes, |_| true));
    items
}

/// What the turn is for.
fn input(agent: &Agent, run: &Run) -> Vec<Part> {
    let mut parts = Vec::new();
    for (message, told) in core::iter::once(&run.about.incoming).chain(&run.about.also).zip(&run.about.told) {
        parts.extend((!parts.is_empty()).then(|| Part::Rendered("\n".into())));
        parts.extend(incoming::current_input(agent, message, told, run.about.fence));
    }
    parts
}

/// What was said before a round, as far as it is still shown.
fn said<'a>(
    agent: &'a Agent,
    run: &'a Run,
    round: usize,
    notes: &'a [Note],
    shown: fn(&Note) -> bool,
) -> impl Iterator<Item = Item> + 'a {
    let notes = notes.iter().enumerate().filter(move |(_, note)| shown(note));
    notes.map(move |(at, note)| Item::User { parts: notes::parts(agent, run.about.fence, (round, at), note) })
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
