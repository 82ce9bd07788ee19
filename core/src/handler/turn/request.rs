//! What comes next inside a turn: the next call, the next request, or the end.

use alloc::boxed::Box;
use alloc::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::config::Config;
use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::episode::Size;
use holon_facts::event::inbox::SafePoint;
use holon_facts::event::operation::OpKind;
use holon_facts::frame::{Part, PromptFrame};
use holon_facts::model::{Item, ModelRequest};
use holon_facts::request::{RequestRecord, RequestSize};
use holon_facts::shared::Shared;
use holon_facts::terminal::TurnReason;
use holon_facts::time::Millis;

use crate::agent::Agent;
use crate::agent::turn::Run;
use crate::agent::turn::window::Window;
use crate::effect::Work;
use crate::handler::budget;
use crate::handler::episode::{self, Room};
use crate::handler::turn::end::{self, End};
use crate::handler::turn::{cut_off, interject, itself, limits, tools};
use crate::prompt::{self, conversation, request_record, sections, sections::PromptFacts};
use crate::tool;
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

/// More of a budget was lent, or the answer takes too long.
pub(crate) fn granted(tx: &mut Tx<'_>) {
    tx.disarm(Alarm::Grant);
    again(tx);
}

/// The round in progress is asked for again: of the same candidate, or of the next one.
pub(crate) fn again(tx: &mut Tx<'_>) {
    interject::take(tx, SafePoint::BeforeRequest);
    request(tx);
}

/// Makes the next attempt at the round in progress. Where it would take too much of the window, the episode closes first.
pub(crate) fn request(tx: &mut Tx<'_>) {
    let Some(mut next) = sized(tx) else { return };
    if episode::open_is_to_close(tx.agent()) {
        let size = Size { est_tokens: next.input, limit: next.input };
        if episode::make_room(tx, size, EpisodeBoundary::Operator, 0) {
            let Some(shorter) = sized(tx) else { return };
            next = shorter;
        }
    }
    if tx.extending().1.names_images() {
        let size = Size { est_tokens: next.input, limit: next.input };
        if episode::make_room(tx, size, EpisodeBoundary::Images, 0) {
            let Some(fewer) = sized(tx) else { return };
            next = fewer;
        }
    }
    let Some(run) = &tx.agent().run else { return };
    let Room { fits, limit, worth } = episode::room(tx, run, &next.request.model, next.around);
    while next.input > limit {
        let size = Size { est_tokens: next.input, limit };
        // A part of the window, and what a provider refused once, are no bounds: only the window is.
        let worth = if next.input > fits { 0 } else { worth };
        if !episode::make_room(tx, size, EpisodeBoundary::Size, worth) {
            if next.input <= fits {
                break;
            }
            let model = &next.request.model;
            let ratio = tx.agent().requests.ratio(model);
            let failure = episode::too_long(model, ratio.times(next.input), ratio.times(fits));
            end::end(tx, End::ContextLength { reason: TurnReason::ContextWindow, failure });
            return;
        }
        let Some(shorter) = sized(tx) else { return };
        next = shorter;
    }
    let Sized { input, request, .. } = next;
    let record = on_record_extended(tx, (input, &request));
    let size = record.size;
    let (wanted, sent) = budget::estimate(tx, &request.model, size.tokens(), request.max_output_tokens);
    if !budget::affords(tx, wanted) {
        return;
    }
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    let timeout = Millis(tx.env.config.turn.model_timeout.0.saturating_add(PATIENCE.0));
    let opening =
        Opening { request: Some(Box::new(record)), ..Opening::of(run_id, OpKind::CallModel, timeout) };
    let op = tx.open(opening, Work::CallModel { request });
    budget::reserve(tx, run_id, op, (wanted, sent));
}

/// A request, and the tokens that it is estimated to take.
struct Sized {
    request: ModelRequest,
    input: u64,
    /// Of those, what stands around the conversation: the frame and the tools.
    around: u64,
}

/// The next request, which goes on from the last one.
fn sized(tx: &mut Tx<'_>) -> Option<Sized> {
    let config = tx.env.config;
    let (agent, extended) = tx.extending();
    let shows = |facts: &PromptFacts<'_>, run: &Run, recap| {
        let frame = extended.frame(facts);
        (frame, extended.next(agent, run, recap))
    };
    let request = with(agent, config, shows)?;
    debug_assert_eq!(of(agent, config).as_ref(), Some(&request), "made anew it is another request");
    let around = around(agent, &request.tools, extended.frame_tokens());
    debug_assert_eq!(around, prompt::tokens_around(&request), "its frame takes as much as it takes");
    Some(Sized { input: around.saturating_add(extended.tokens()), around, request })
}

/// What is on record of the request that was made last.
fn on_record_extended(tx: &mut Tx<'_>, (est_tokens, request): (u64, &ModelRequest)) -> RequestRecord {
    let config = tx.env.config;
    let (agent, extended) = tx.extending();
    let size = size((agent, config), est_tokens, request);
    let record = extended.record(request, size, agent.requests.last.as_deref());
    debug_assert_eq!(record, on_record(agent, config, (prompt::est_tokens(request), request)));
    record
}

/// What is on record of a request of so many estimated tokens that the agent sends as it stands.
pub(crate) fn on_record(
    agent: &Agent,
    config: &Config,
    (est_tokens, request): (u64, &ModelRequest),
) -> RequestRecord {
    let size = size((agent, config), est_tokens, request);
    request_record::record(request, size, agent.requests.last.as_deref())
}

fn size((agent, config): (&Agent, &Config), est_tokens: u64, request: &ModelRequest) -> RequestSize {
    RequestSize {
        est_tokens,
        ratio: agent.requests.ratio(&request.model),
        limit: Window::of(config, &request.model).input,
    }
}

/// A provider refused the request in progress as too long: once in a turn, it is made shorter and sent again.
/// False when that can't help.
pub(crate) fn refused(tx: &mut Tx<'_>) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    if run.conversation.recap.refused_at.is_some() {
        return false;
    }
    let Some(Sized { input, .. }) = sized(tx) else { return false };
    let size = Size { est_tokens: input, limit: input };
    if !episode::make_room(tx, size, EpisodeBoundary::Refused, 0) {
        return false;
    }
    again(tx);
    true
}

/// What every request of the run takes that has so many tokens around its conversation, whatever was said in it and before
/// it.
pub(crate) fn fixed_tokens(run: &Run, around: u64) -> u64 {
    let input: u64 = conversation::input(&run.about).iter().map(Part::est_tokens).sum();
    around.saturating_add(input)
}

/// What stands around the conversation in requests of the run: its frame, and tools.
pub(crate) fn tokens_around(tx: &mut Tx<'_>) -> Option<u64> {
    let config = tx.env.config;
    let (agent, extended) = tx.extending();
    let run = agent.run.as_ref()?;
    extended.frame(&facts(agent, config)?);
    Some(around(agent, &run.environment.tools, extended.frame_tokens()))
}

fn around(agent: &Agent, tools: &[ToolName], frame: u64) -> u64 {
    frame.saturating_add(prompt::tool_tokens(tools, agent.servers.offered.as_deref()))
}

/// The request for the round in progress, as the agent's state has it.
pub(crate) fn of(agent: &Agent, config: &Config) -> Option<ModelRequest> {
    with(agent, config, |facts, run, recap| {
        (Arc::new(sections::frame(facts)), conversation::items(agent.episodes.turns(), run, recap))
    })
}

/// The request with what it shows: a frame, and what its run has said, of which a summary of hidden rounds takes about so many
/// tokens.
fn with(
    agent: &Agent,
    config: &Config,
    shows: impl FnOnce(&PromptFacts<'_>, &Run, u64) -> (Arc<PromptFrame>, Shared<Item>),
) -> Option<ModelRequest> {
    let run = agent.run.as_ref()?;
    let model = run.model()?;
    let recap = shown_for(agent, config)?.recap();
    let (frame, conversation) = shows(&facts(agent, config)?, run, recap);
    Some(ModelRequest {
        agent: agent.id.clone(),
        model: model.clone(),
        frame,
        conversation,
        rounds: u32::try_from(run.conversation.rounds.len()).unwrap_or(u32::MAX),
        tools: run.environment.tools.clone(),
        server_tools: agent.servers.offered.clone(),
        max_output_tokens: Window::of(config, model).output,
        timeout: config.turn.model_timeout,
        continues: cut_off::texts(run),
        goes_on_from: agent.requests.goes_on_from(model),
        sums_up: false,
    })
}

/// The window that what the open episode shows was rendered for, and is to its end.
pub(crate) fn shown_for(agent: &Agent, config: &Config) -> Option<Window> {
    let (run, open) = (agent.run.as_ref()?, agent.episodes.open.as_ref()?);
    Some(Window::of_episode(config, &run.chain.models, &open.head))
}

/// What the frame of the open episode follows from.
fn facts<'a>(agent: &'a Agent, config: &Config) -> Option<PromptFacts<'a>> {
    let window = shown_for(agent, config)?;
    let head = &agent.episodes.open.as_ref()?.head;
    let standing = head.standing.as_ref()?;
    let run = agent.run.as_ref()?;
    let found = tool::found(&run.environment.tools, agent.servers.offered.as_deref());
    Some(PromptFacts { agent, head, standing, found, window: window.input })
}
