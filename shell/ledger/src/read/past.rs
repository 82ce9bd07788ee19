//! An agent as it stood right before one of its events, and the runtime that recorded the event. What is read is what was
//! recorded since the newest state that is stored before the event; without one, since the agent's first record.

use std::ops::ControlFlow;

use holon_core::agent::Agent;
use holon_core::replay::Call;
use holon_facts::config::Config;
use holon_facts::{AgentId, EventSeq, Record, Seed};

use super::reader::Reader;
use super::restore::usable;
use crate::error::{LedgerError, Position};
use crate::rows::packed::Kept;
use crate::rows::row::{CALL_COLUMNS, StoredCall, stored};
use crate::sql::{Source, SqlError};

/// Records that are folded at most.
pub const PAST_RECORDS: u64 = 2_000_000;
/// Stored states that are tried: after an update they are of another build.
const STATES: i64 = 4;
/// Calls at the beginning of a run of the runtime among which its start is.
const FIRST_CALLS: i64 = 64;

/// An agent as it stood.
#[derive(Debug)]
pub struct PastState {
    pub agent: Agent,
    /// Records that were read for it.
    pub records: u64,
}

/// A runtime, as it was started.
#[derive(Debug, Clone)]
pub struct PastRuntime {
    pub build: String,
    pub config: Config,
    pub seed: Seed,
}

/// A past state that is not known.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{agent} has no event {event}: its log goes from 1 to {last}")]
    Beyond { agent: AgentId, event: EventSeq, last: EventSeq },
    #[error(
        "{records} records lie between event {event} and the newest state that is stored before it, and {PAST_RECORDS} are read at most"
    )]
    TooFar { event: EventSeq, records: u64 },
}

impl Reader {
    /// An agent as it stood right before an event that is not its first one.
    ///
    /// # Errors
    /// When there is no such event, when it is too far from any stored state, or when a record is damaged.
    pub fn agent_before(&self, agent: &AgentId, event: EventSeq) -> Result<PastState, PastError> {
        let last = self.last_event(agent)?;
        if event.0 < 2 || event > last {
            return Err(PastError::Beyond { agent: agent.clone(), event, last });
        }
        self.agent_after(agent, EventSeq(event.0 - 1))
    }

    /// An agent as it stood right after an event.
    ///
    /// # Errors
    /// Likewise.
    pub fn agent_after(&self, agent: &AgentId, through: EventSeq) -> Result<PastState, PastError> {
        let last = self.last_event(agent)?;
        if through.0 < 1 || through > last {
            return Err(PastError::Beyond { agent: agent.clone(), event: through, last });
        }
        let event = through.next();
        let state = self.read(|source| state_at(source, agent, through))?;
        let records = through.0 - state.as_ref().map_or(0, |state| state.event_seq.0);
        if records > PAST_RECORDS {
            return Err(PastError::TooFar { event, records });
        }
        let state = match state {
            Some(state) => state,
            None => self.created(agent)?,
        };
        let mut past = PastState { agent: state, records: 0 };
        self.fold_on(&mut past, event)?;
        past.records = records;
        Ok(past)
    }

    /// Brings a past state to the moment right before a later event.
    ///
    /// # Errors
    /// When a record in between is missing, damaged, or does not fit.
    pub fn fold_on(&self, past: &mut PastState, event: EventSeq) -> Result<(), LedgerError> {
        let agent = past.agent.id.clone();
        let (after, through) = (past.agent.event_seq, EventSeq(event.0.saturating_sub(1)));
        for record in self.records(&agent, after, through)? {
            fold(&mut past.agent, &record?)?;
            past.records += 1;
        }
        Ok(())
    }

    /// The runtime that recorded an event, as it was started.
    ///
    /// # Errors
    /// When the event or what was recorded of the start is damaged.
    pub fn runtime_of(&self, agent: &AgentId, event: EventSeq) -> Result<Option<PastRuntime>, LedgerError> {
        let number = stored(event.0)?;
        let at = Position::event(agent.as_str(), number, None);
        let calls = self.read(|source| first_calls(source, agent, number));
        for stored in calls.map_err(LedgerError::unreadable(at))? {
            stored.checked_hash()?;
            let damaged =
                |error| LedgerError::damaged(Position::call(stored.position, Some(stored.batch)), error);
            let call = serde_json::from_str(&stored.call).map_err(damaged)?;
            if let Call::RuntimeStarted { build, config, seed, .. } = call {
                return Ok(Some(PastRuntime { build, config, seed }));
            }
        }
        Ok(None)
    }

    fn created(&self, agent: &AgentId) -> Result<Agent, LedgerError> {
        let at = || Position::event(agent.as_str(), 1, None);
        let first = self.record(agent, EventSeq(1))?;
        let first = first.ok_or_else(|| LedgerError::damaged(at(), "the record is missing"))?;
        Agent::created(&first).map_err(|error| LedgerError::damaged(at(), error))
    }
}

fn fold(agent: &mut Agent, record: &Record) -> Result<(), LedgerError> {
    let seq = i64::try_from(record.event_seq.0).unwrap_or(i64::MAX);
    let at = || Position::event(record.agent.as_str(), seq, None);
    agent.fold(record).map_err(|error| LedgerError::damaged(at(), error))
}

/// The newest state that is stored through an event, and that this build can use.
fn state_at(source: Source<'_>, agent: &AgentId, through: EventSeq) -> Result<Option<Agent>, LedgerError> {
    let failed = |error| LedgerError::unreadable(Position::event(agent.as_str(), 0, None))(error);
    let columns = Kept::columns(source)?;
    let sql = format!(
        "SELECT event_seq, {columns} FROM snapshots WHERE agent = ?1 AND event_seq <= ?2
         ORDER BY event_seq DESC LIMIT {STATES}"
    );
    let mut newest = None;
    source.until(&sql, &[agent.as_str().into(), stored(through.0)?.into()], failed, |row| {
        let seq = EventSeq(u64::try_from(row.get::<i64>(0).map_err(failed)?).unwrap_or(0));
        // A state that can't be used is as good as none: the log is there.
        newest = usable(row, agent, seq).ok().map(|(snapshot, _)| snapshot.agent);
        Ok(if newest.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(newest)
}

/// The first calls of the runtime that recorded an event. Batches are numbered without gaps, and those of one runtime lie
/// together.
fn first_calls(source: Source<'_>, agent: &AgentId, event: i64) -> Result<Vec<StoredCall>, SqlError> {
    let batch = "SELECT batch FROM records WHERE agent = ?1 AND event_seq = ?2";
    let batch = source.first(batch, &[agent.as_str().into(), event.into()], |row| row.get::<i64>(0))?;
    let Some(batch) = batch else { return Ok(Vec::new()) };
    let epoch = |batch: i64| {
        let epoch = "SELECT epoch FROM batches WHERE batch = ?1";
        source.first(epoch, &[batch.into()], |row| row.get::<i64>(0))?.ok_or(SqlError::NoRow)
    };
    let own = epoch(batch)?;
    let (mut low, mut high) = (1, batch);
    while low < high {
        let middle = low + (high - low) / 2;
        if epoch(middle)? < own {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let before = "SELECT through_call FROM batches WHERE batch = ?1";
    let before = source.first(before, &[(low - 1).into()], |row| row.get::<i64>(0))?.unwrap_or(0);
    let sql = format!(
        "SELECT {CALL_COLUMNS} FROM recorder WHERE position > ?1 ORDER BY position LIMIT {FIRST_CALLS}"
    );
    source.all(&sql, &[before.into()], StoredCall::read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::packed::STRETCH;
    use crate::sqlite::testing::{BUILD, Home, id};

    #[test]
    fn a_past_state_is_what_its_records_fold_to_with_and_without_a_stored_one() {
        let home = Home::with_turns(3);
        let reader = home.reader();
        let main = id("main");
        let last = reader.last_event(&main).unwrap();
        let all: Vec<Record> =
            reader.records(&main, EventSeq(0), last).unwrap().collect::<Result<_, _>>().unwrap();
        let mut folded = Agent::created(&all[0]).unwrap();
        let mut states = vec![folded.clone()];
        for record in &all[1..] {
            folded.fold(record).unwrap();
            states.push(folded.clone());
        }
        let mut read = Vec::new();
        for (event, state) in (2..=last.0).zip(&states) {
            let past = reader.agent_before(&main, EventSeq(event)).unwrap();
            assert_eq!(&past.agent, state, "{event}");
            read.push(past.records);
            assert_eq!(reader.agent_after(&main, EventSeq(event - 1)).unwrap().agent, past.agent);
        }
        let mut world = home.start();
        world.snapshot("main");
        world.prompt("main", "more");
        let last = home.reader().last_event(&main).unwrap();
        let late = home.reader().agent_before(&main, last).unwrap();
        assert!(late.records < read[read.len() - 1], "{} records", late.records);
        assert_eq!(read[0], 1);
        let mut again = home.reader().agent_before(&main, EventSeq(2)).unwrap();
        home.reader().fold_on(&mut again, last).unwrap();
        assert_eq!((again.agent, again.records), (late.agent, last.0 - 1));
    }

    /// However long the log is. `HOLON_PAST_RECORDS=1000000` measures a long one.
    #[test]
    fn a_past_state_of_a_long_log_is_folded_from_a_state_nearby() {
        let stretch = u64::try_from(STRETCH).unwrap();
        let wanted = holon_platform::Environment::of_process()
            .get("HOLON_PAST_RECORDS")
            .and_then(|number| number.parse().ok());
        let wanted: u64 = wanted.unwrap_or(3 * stretch);
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        let main = id("main");
        let (mut last, mut stored, mut distance) = (0, 0, 0);
        while last < wanted {
            world.prompt("main", "go on");
            last = world.reader.last_event(&main).unwrap().0;
            // As a runtime stores states: after so many bytes of records.
            if last - stored > 400 {
                distance = distance.max(last - stored);
                stored = last;
                world.snapshot("main");
            }
        }
        let mut slowest = 0;
        for event in (1..100).map(|part| EventSeq(1 + last * part / 100)).chain([EventSeq(1), EventSeq(last)])
        {
            let begun = holon_platform::clock::now();
            let past = home.reader().agent_after(&main, event).unwrap();
            slowest = slowest.max(holon_platform::clock::since(begun).0);
            assert_eq!(past.agent.event_seq, event);
            assert!(past.records <= stretch + distance, "{} records for event {event}", past.records);
        }
        println!("{last} records: the slowest of 101 past states took {slowest} ms");
        let kept: i64 = home
            .reader()
            .read(|source| source.one("SELECT count(*) FROM snapshots", &[], |row| row.get(0)))
            .unwrap();
        assert!(u64::try_from(kept).unwrap() <= last / stretch + 3, "{kept} states are kept");
        let report = super::super::verify(&home.reader(), &mut |_| Ok(())).unwrap();
        assert_eq!(report.snapshots, u64::try_from(kept).unwrap());
    }

    #[test]
    fn an_event_knows_the_runtime_that_recorded_it() {
        let home = Home::with_turns(2);
        home.start().prompt("main", "after a restart");
        home.start().prompt("main", "after another one");
        let reader = home.reader();
        let last = reader.last_event(&id("main")).unwrap();
        let starts: Vec<PastRuntime> = (1..=last.0)
            .map(|event| reader.runtime_of(&id("main"), EventSeq(event)).unwrap().unwrap())
            .collect();
        assert!(starts.iter().all(|start| start.build == BUILD));
        assert!(reader.runtime_of(&id("main"), last.next()).unwrap().is_none());
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let home = Home::with_turns(1);
        let reader = home.reader();
        let last = reader.last_event(&id("main")).unwrap();
        for event in [EventSeq(0), EventSeq(1), last.next()] {
            let error = reader.agent_before(&id("main"), event).unwrap_err();
            assert!(matches!(error, PastError::Beyond { .. }), "{error}");
        }
        home.vandal("UPDATE records SET payload = '{}' WHERE event_seq = 3");
        let error = reader.agent_before(&id("main"), last).unwrap_err();
        assert!(error.to_string().contains("event 3"), "{error}");
    }
}
