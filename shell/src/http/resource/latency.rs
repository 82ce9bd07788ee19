//! Where the time of turns went, from their records alone. The cost is that of reading these turns.

use holon_api::rows::ShowLatency;
use holon_api::{Code, Latency, LatencyQuery};
use holon_core::latency::{LatencyQuantiles, TurnClock, TurnLatency};
use holon_facts::event::{InboxFact, TurnFact};
use holon_facts::ids::{MessageId, TurnIndex};
use holon_facts::{AgentId, Event, EventSeq, Record, Wall};
use holon_ledger::read::{Landmark, Wanted};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::agents::bounded;

/// Turns of one reply, where nothing else is asked for, and at most.
const TURNS: (u32, u32) = (10, 1_000);
/// Records of one turn that are read: those of a turn of 400 rounds with calls, and more.
const RECORDS: usize = 50_000;
/// Ends of turns among which an earlier run of the same message is looked for.
const EARLIER: usize = 64;
/// Messages that are looked at one by one before their number is counted.
const NEAR: usize = 16;

pub(in super::super) async fn latency(app: App, call: Call<ShowLatency>) -> Handled<Latency> {
    let (agent, LatencyQuery { last, turn }) = (call.path.agent_id, call.query);
    let last = bounded("last", last, TURNS, 1)?;
    app.blocking(move |app| {
        let end = app.last_event(&agent)?.next();
        let started = match turn {
            Some(turn) => vec![started(app, &agent, turn)?],
            None => {
                let (kinds, after) = (&["turn_started"][..], EventSeq(0));
                app.reader
                    .of_kinds(&agent, Wanted { kinds, after, before: end, limit: last, newest: true })?
            }
        };
        let turns = started.iter().map(|record| read(app, &agent, (record, end)));
        let turns = turns.filter_map(Result::transpose).collect::<Handled<Vec<TurnLatency>>>()?;
        Ok(Latency { ok: true, agent_id: agent, quantiles: LatencyQuantiles::of(&turns), turns })
    })
    .await
}

/// The record in which a turn began.
pub(super) fn started(app: &App, agent: &AgentId, turn: TurnIndex) -> Handled<Record> {
    if let Some(record) = app.reader.turn(agent, turn)? {
        return Ok(record);
    }
    let end = app.last_event(agent)?.next();
    let newest = app.reader.newest_landmark(agent, Landmark::TurnStarted, end)?;
    let newest = newest.map(|seq| app.reader.record(agent, seq)).transpose()?.flatten();
    let newest = newest.and_then(|record| {
        let Event::Turn(TurnFact::TurnStarted(fact)) = record.event else { return None };
        Some(fact.turn_index)
    });
    let (had, last) = match newest {
        Some(last) => (format!("its newest is turn {last}"), last.0),
        None => ("it has had no turn yet".to_owned(), 0),
    };
    Err(Failure::new(Code::UnknownTurn, format!("{agent} has no turn {turn}: {had}"))
        .hint(format!("holon debug latency {agent} lists its newest turns"))
        .detail("last_turn", last))
}

fn read(app: &App, agent: &AgentId, (started, end): (&Record, EventSeq)) -> Handled<Option<TurnLatency>> {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &started.event else { return Ok(None) };
    let since = waited_since(app, agent, (fact.message_id, started))?;
    let Some(mut clock) = TurnClock::new(since, started) else { return Ok(None) };
    let before = app.reader.next_landmark(agent, Landmark::TurnStarted, started.event_seq)?.unwrap_or(end);
    let after = started.event_seq;
    let wanted = Wanted { kinds: TurnClock::KINDS, after, before, limit: RECORDS, newest: false };
    app.reader.of_kinds(agent, wanted)?.iter().for_each(|record| clock.step(record));
    Ok(Some(clock.finish()))
}

/// Most messages are among the last that were admitted before their turn.
fn admission(
    app: &App,
    agent: &AgentId,
    (message, started): (MessageId, EventSeq),
) -> Handled<Option<Record>> {
    let mut before = started;
    for _ in 0..NEAR {
        let Some(seq) = app.reader.newest_landmark(agent, Landmark::MessageAdmitted, before)? else { break };
        let record = app.reader.record(agent, seq)?;
        let is_it = |record: &Record| matches!(&record.event, Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.id == message);
        if record.as_ref().is_some_and(is_it) {
            return Ok(record);
        }
        before = seq;
    }
    Ok(app.reader.admission(agent, message)?)
}

/// A message that comes again waits since its earlier run ended.
fn waited_since(app: &App, agent: &AgentId, (message, started): (MessageId, &Record)) -> Handled<Wall> {
    let admitted = admission(app, agent, (message, started.event_seq))?;
    let (kinds, before) = (&["turn_terminal"][..], started.event_seq);
    let after = admitted.as_ref().map_or(EventSeq(0), |record| record.event_seq);
    let wanted = Wanted { kinds, after, before, limit: EARLIER, newest: true };
    let ended = app.reader.of_kinds(agent, wanted)?.into_iter().rev().find(|record| {
        matches!(&record.event, Event::Turn(TurnFact::TurnTerminal(fact)) if fact.message_id == message)
    });
    Ok(ended.or(admitted).map_or(started.at, |record| record.at))
}
