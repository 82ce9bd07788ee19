//! Laws about the episodes of a conversation.

use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::operation::{OpKind, OperationFact};
use holon_facts::event::{EpisodeClosed, EpisodeFact, Event, LifecycleFact, TurnFact};
use holon_facts::ids::EpisodeId;
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

/// What stands at the beginning of all requests of an episode stays as it is. Earlier builds closed none.
pub(super) fn m5(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return Ok(false) };
    let Some(open) = past.episodes.open.as_ref().filter(|_| past.episodes.closes) else { return Ok(false) };
    let tools = fact.tools_offered.as_ref().unwrap_or(&past.episodes.tools);
    let same = open.model.as_ref() == fact.models.first() && open.tools == *tools;
    rule(same, || format!("{} asks another model or offers other tools in the same episode", fact.run_id))
}

/// An episode closes once, and says which turns ended in it.
pub(super) fn m7(past: &Past, record: &Record) -> Checked {
    let fact = match &record.event {
        Event::Episode(EpisodeFact::EpisodeClosed(fact)) => fact,
        Event::Episode(EpisodeFact::CompactionRequested(fact)) => {
            let (id, open) = (EpisodeId(past.episodes.count), past.episodes.open.is_some());
            let it = open && fact.episode_id == id && past.run.is_some();
            return rule(it, || {
                format!("{} is to close in the middle of a turn, {id} is open", fact.episode_id)
            });
        }
        _ => return Ok(false),
    };
    let EpisodeClosed { episode_id, turns, events, .. } = &**fact;
    let Some(open) = &past.episodes.open else {
        return rule(false, || format!("{episode_id} closes, and none is open"));
    };
    let id = EpisodeId(past.episodes.count);
    rule(*episode_id == id, || format!("{episode_id} closes, open is {id}"))?;
    rule(*turns == open.turns, || format!("{id} has the turns {turns:?}, in it ended {:?}", open.turns))?;
    let since = open.since;
    let whole = events.first == since && events.last.next() == record.event_seq;
    rule(whole, || {
        format!("{id} has the records {events:?}, it began with {since} and ends before this one")
    })?;
    let run = past.run.as_ref().map(|run| run.id);
    rule(fact.run_id == run, || {
        format!("{id} closes in the middle of {:?}, in progress is {run:?}", fact.run_id)
    })?;
    let in_turn = match fact.boundary {
        EpisodeBoundary::Size | EpisodeBoundary::Refused | EpisodeBoundary::Images => true,
        EpisodeBoundary::Operator => run.is_some() && open.to_close,
        EpisodeBoundary::Focus | EpisodeBoundary::Rest | EpisodeBoundary::Surface | EpisodeBoundary::Cap => {
            false
        }
    };
    rule(in_turn == run.is_some(), || format!("{id} closes for {} in {run:?}", fact.boundary))?;
    rule(run.is_some() || fact.hidden_rounds == 0, || format!("{id} hides rounds of no turn"))
}

/// Whether a model may be asked to sum up the open episode: it closes next, for what a request takes. What comes of it is on
/// record once, when the request is over.
pub(super) fn m15(past: &Past, record: &Record) -> Checked {
    let episodes = &past.episodes;
    if let Some(asked) = episodes.summarizing.filter(|asked| !asked.closed) {
        let closes = match &record.event {
            Event::Episode(EpisodeFact::EpisodeClosed(fact)) => {
                fact.episode_id == asked.episode_id && fact.size.is_some()
            }
            // What it may take is reserved for it before.
            Event::Turn(TurnFact::BudgetReserved(fact)) => fact.op == asked.op,
            Event::Lifecycle(LifecycleFact::ClockStepped(_)) => true,
            _ => false,
        };
        rule(closes, || format!("{} is to be summed up, and does not close", asked.episode_id))?;
    }
    match &record.event {
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.kind == OpKind::Summarize => {
            let fits = episodes.open.is_some() && past.run.is_some() && episodes.summarizing.is_none();
            rule(fits && fact.request.is_some(), || {
                format!("{} asks for a summary, before it: {:?}", fact.op, episodes.summarizing)
            })
        }
        Event::Episode(EpisodeFact::EpisodeSummarized(fact)) => {
            let over = episodes.settled.is_some_and(|asked| {
                (asked.op, asked.episode_id, asked.run_id) == (fact.op, fact.episode_id, fact.run_id)
            });
            rule(over, || {
                format!("{} is summed up by {}, asked was {:?}", fact.episode_id, fact.op, episodes.settled)
            })
        }
        _ => Ok(false),
    }
}
