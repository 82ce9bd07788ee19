//! Which requests an agent has sent, from its records.

use holon_api::{Code, RequestName, RequestOutcome};
use holon_facts::event::operation::{OpKind, OperationOpened, Settlement};
use holon_facts::event::turn::TurnStarted;
use holon_facts::event::{EpisodeFact, OperationFact, TurnFact};
use holon_facts::ids::{OpId, RoundIndex, TurnIndex};
use holon_facts::model::{AttemptRecord, ModelRef};
use holon_facts::request::RequestRecord;
use holon_facts::usage::TokenUsage;
use holon_facts::{AgentId, Event, EventSeq, Record, RunId, Wall};
use holon_ledger::read::{Landmark, Wanted};

use super::super::super::App;
use super::super::super::failure::Failure;
use super::super::super::route::Handled;
use super::super::latency::started;

/// Records of one turn that are read.
const RECORDS: usize = 50_000;
/// Turns before one that are looked at for its request before: turns that end without a request are few.
const TURNS_BACK: usize = 64;

const KINDS: &[&str] = &[
    "operation_opened",
    "operation_settled",
    "provider_attempt_recorded",
    "assistant_round_recorded",
    "episode_summarized",
];
const OPENED: &[&str] = &["operation_opened"];

/// A request that was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) op: OpId,
    pub(super) run_id: RunId,
    pub(super) turn: TurnIndex,
    pub(super) round: RoundIndex,
    /// The record that opened its operation.
    pub(super) opened: EventSeq,
    pub(super) at: Wall,
    /// What is on record of it; earlier builds recorded nothing.
    pub(super) record: Option<Box<RequestRecord>>,
    pub(super) attempt: Option<AttemptRecord>,
    pub(super) usage: Option<TokenUsage>,
    /// It asks for a summary, and is no round of its turn.
    pub(super) sums_up: bool,
    settled: Option<Settlement>,
}

impl Sent {
    pub(super) fn outcome(&self) -> RequestOutcome {
        match (self.settled, &self.attempt) {
            (None, _) => RequestOutcome::InProgress,
            (Some(Settlement::Lost), _) => RequestOutcome::Lost,
            (Some(Settlement::Cancelled), _) => RequestOutcome::Cancelled,
            (Some(_), Some(attempt)) if attempt.failure_kind.is_none() => RequestOutcome::Answered,
            (Some(Settlement::Done | Settlement::Failed | Settlement::TimedOut), _) => RequestOutcome::Failed,
        }
    }

    pub(super) fn name(&self, model: ModelRef) -> RequestName {
        RequestName { request_id: self.op, turn_index: self.turn, round: self.round, model }
    }
}

/// The last request of a turn, or of one of its rounds.
pub(super) fn of_turn(
    app: &App,
    agent: &AgentId,
    (turn, round): (TurnIndex, Option<RoundIndex>),
) -> Handled<Sent> {
    let mut all = all_of(app, agent, &started(app, agent, turn)?)?;
    all.retain(|sent| !sent.sums_up);
    let unknown = |text: String| {
        let hint = format!("holon debug latency {agent} --turn {turn} lists the rounds of the turn");
        Err(Failure::new(Code::UnknownRequest, text).hint(hint).detail("turn_index", turn.0))
    };
    let Some(last) = all.last().cloned() else {
        return unknown(format!("turn {turn} of {agent} has sent no request to a model"));
    };
    let Some(round) = round else { return Ok(last) };
    match all.into_iter().rev().find(|sent| sent.round == round) {
        Some(sent) => Ok(sent),
        None => {
            let (round, rounds) = (round.0 + 1, last.round.0 + 1);
            unknown(format!("turn {turn} of {agent} has no round {round}: its last one is round {rounds}"))
        }
    }
}

/// The request of an operation.
pub(super) fn of_operation(app: &App, agent: &AgentId, op: OpId) -> Handled<Sent> {
    let unknown = |text: String| {
        let hint = format!("holon debug prompt --agent {agent} --turn N names the last request of a turn");
        Err(Failure::new(Code::UnknownRequest, text).hint(hint).detail("request_id", op.to_string()))
    };
    let Some((record, fact)) = opened(app, agent, op)? else {
        return unknown(format!("{agent} has no operation {op}"));
    };
    if !fact.kind.asks_a_model() {
        return unknown(format!("{op} of {agent} is no request to a model, it is a {}", fact.kind));
    }
    let turn = app.reader.newest_landmark(agent, Landmark::TurnStarted, record.event_seq)?;
    let started = turn.map(|seq| app.reader.record(agent, seq)).transpose()?.flatten();
    let all = started.map(|started| all_of(app, agent, &started)).transpose()?.unwrap_or_default();
    match all.into_iter().find(|sent| sent.op == op) {
        Some(sent) => Ok(sent),
        None => unknown(format!("{op} of {agent} belongs to no turn")),
    }
}

/// The newest request of all, if there is one.
pub(super) fn newest(app: &App, agent: &AgentId) -> Handled<Option<Sent>> {
    before(app, agent, app.last_event(agent)?.next())
}

/// The newest request before an event, if there is one.
pub(super) fn before(app: &App, agent: &AgentId, event: EventSeq) -> Handled<Option<Sent>> {
    let mut end = event;
    for _ in 0..TURNS_BACK {
        let Some(seq) = app.reader.newest_landmark(agent, Landmark::TurnStarted, end)? else { break };
        let Some(started) = app.reader.record(agent, seq)? else { break };
        let all = all_of(app, agent, &started)?;
        let rounds = all.into_iter().rev().filter(|sent| !sent.sums_up);
        if let Some(sent) = rounds.into_iter().find(|sent| sent.opened < event) {
            return Ok(Some(sent));
        }
        end = seq;
    }
    Ok(None)
}

/// All requests of a turn, in order.
fn all_of(app: &App, agent: &AgentId, started: &Record) -> Handled<Vec<Sent>> {
    let Event::Turn(TurnFact::TurnStarted(turn)) = &started.event else { return Ok(Vec::new()) };
    let after = started.event_seq;
    let next = app.reader.next_landmark(agent, Landmark::TurnStarted, after)?;
    let before = match next {
        Some(next) => next,
        None => app.last_event(agent)?.next(),
    };
    let wanted = Wanted { kinds: KINDS, after, before, limit: RECORDS, newest: false };
    let mut all = Vec::<Sent>::new();
    let mut round = RoundIndex(0);
    for record in app.reader.of_kinds(agent, wanted)? {
        let last = all.iter_mut().rev().find(|sent| !sent.sums_up);
        if let Event::Operation(fact) = &record.event {
            operation(&mut all, (turn, round), (record.event_seq, record.at), fact);
        } else if let Event::Episode(EpisodeFact::EpisodeSummarized(fact)) = record.event {
            if let Some(sent) = all.iter_mut().find(|sent| sent.op == fact.op) {
                sent.usage = fact.attempt.token_usage;
                sent.attempt = Some(fact.attempt);
            }
        } else if let (Event::Turn(fact), Some(last)) = (record.event, last) {
            if let TurnFact::ProviderAttemptRecorded(fact) = fact {
                last.attempt = Some(fact.attempt);
            } else if let TurnFact::AssistantRoundRecorded(fact) = fact {
                last.usage = Some(fact.token_usage);
                round = fact.round.next();
            }
        }
    }
    Ok(all)
}

fn operation(
    all: &mut Vec<Sent>,
    (turn, round): (&TurnStarted, RoundIndex),
    (opened, at): (EventSeq, Wall),
    fact: &OperationFact,
) {
    match fact {
        OperationFact::OperationOpened(fact) if fact.kind.asks_a_model() => all.push(Sent {
            op: fact.op,
            run_id: turn.run_id,
            turn: turn.turn_index,
            round,
            opened,
            at,
            record: fact.request.clone(),
            attempt: None,
            usage: None,
            sums_up: fact.kind == OpKind::Summarize,
            settled: None,
        }),
        OperationFact::OperationOpened(_) => {}
        OperationFact::OperationSettled(fact) => {
            let settled = all.iter_mut().rev().find(|sent| sent.op == fact.op);
            settled.into_iter().for_each(|sent| sent.settled = Some(fact.settlement));
        }
    }
}

/// The record that opened an operation. Operations are numbered in the order in which they are opened.
fn opened(app: &App, agent: &AgentId, op: OpId) -> Handled<Option<(Record, OperationOpened)>> {
    // It lies between the two, or nowhere.
    let (mut low, mut high) = (0, app.last_event(agent)?.0 + 1);
    while high - low > 1 {
        let middle = low + (high - low - 1) / 2;
        let (after, before) = (EventSeq(middle), EventSeq(high));
        let wanted = Wanted { kinds: OPENED, after, before, limit: 1, newest: false };
        let found = app.reader.of_kinds(agent, wanted)?.pop();
        let fact = found.as_ref().and_then(|record| {
            let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return None };
            Some((record, fact))
        });
        match fact {
            Some((record, fact)) if fact.op == op => return Ok(Some((record.clone(), (**fact).clone()))),
            Some((record, fact)) if fact.op < op => low = record.event_seq.0,
            Some(_) | None => high = middle + 1,
        }
    }
    Ok(None)
}
