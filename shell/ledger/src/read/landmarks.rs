//! Facts that others refer to, found without reading the log in between: where runs begin and end, and how a
//! message was admitted.

use holon_facts::event::{InboxFact, TurnFact};
use holon_facts::ids::{MessageId, TurnIndex};
use holon_facts::{AgentId, Event, EventSeq, Record, RunId};

use super::reader::Reader;
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, StoredRecord, stored};
use crate::rows::schema;

/// The condition under which SQLite uses the index of landmarks.
const LANDMARKS: &str = "kind IN ('message_admitted', 'turn_started', 'turn_terminal')";

/// A kind of facts that are found by the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    MessageAdmitted,
    TurnStarted,
    TurnTerminal,
}

impl Landmark {
    fn kind(self) -> &'static str {
        match self {
            Self::MessageAdmitted => "message_admitted",
            Self::TurnStarted => "turn_started",
            Self::TurnTerminal => "turn_terminal",
        }
    }
}

fn nearest(which: &str, side: &str, landmark: Landmark) -> String {
    let kind = landmark.kind();
    format!(
        "SELECT {which}(event_seq) FROM records WHERE {LANDMARKS} AND agent = ?1 AND kind = '{kind}'
        AND event_seq {side} ?2"
    )
}

/// The one before which there are so many of its kind. Left alone, SQLite reads the whole log in its order; ledgers of the
/// first schema have no other index.
fn nth(landmark: Landmark, indexed: bool) -> String {
    let (kind, index) = (landmark.kind(), if indexed { "INDEXED BY landmarks" } else { "" });
    format!(
        "SELECT event_seq FROM records {index} WHERE {LANDMARKS} AND agent = ?1 AND kind = '{kind}'
        ORDER BY event_seq LIMIT 1 OFFSET ?2"
    )
}

impl Reader {
    /// The record in which a message was admitted; none when there is none. Messages are numbered in the order
    /// of their admission.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn admission(&self, agent: &AgentId, message: MessageId) -> Result<Option<Record>, LedgerError> {
        let Some(before) = message.0.checked_sub(1) else { return Ok(None) };
        let found = self.landmark(agent, &self.nth(Landmark::MessageAdmitted)?, stored(before)?)?;
        let record = found.map(|seq| self.record(agent, seq)).transpose()?.flatten();
        let names_it = |record: &Record| matches!(&record.event, Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.id == message);
        Ok(record.filter(names_it))
    }

    /// The record in which a turn began; none when there is none. Turns are numbered in the order in which they begin.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn turn(&self, agent: &AgentId, turn: TurnIndex) -> Result<Option<Record>, LedgerError> {
        let Some(before) = turn.0.checked_sub(1) else { return Ok(None) };
        let sql = self.nth(Landmark::TurnStarted)?;
        let found = self.landmark(agent, &sql, stored(before.min(i64::MAX as u64))?)?;
        let record = found.map(|seq| self.record(agent, seq)).transpose()?.flatten();
        let is_it = |record: &Record| matches!(&record.event, Event::Turn(TurnFact::TurnStarted(fact)) if fact.turn_index == turn);
        Ok(record.filter(is_it))
    }

    /// The run that was in progress right before an event, with its message.
    ///
    /// # Errors
    /// When its record is damaged.
    pub fn run_before(
        &self,
        agent: &AgentId,
        before: EventSeq,
    ) -> Result<Option<(RunId, MessageId)>, LedgerError> {
        let newest = |landmark| self.newest_landmark(agent, landmark, before);
        let (began, ended) = (newest(Landmark::TurnStarted)?, newest(Landmark::TurnTerminal)?);
        let Some(began) = began.filter(|began| Some(*began) > ended) else { return Ok(None) };
        let Some(Record { event: Event::Turn(TurnFact::TurnStarted(fact)), .. }) =
            self.record(agent, began)?
        else {
            return Ok(None);
        };
        Ok(Some((fact.run_id, fact.message_id)))
    }

    /// The newest of one kind before an event.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub fn newest_landmark(
        &self,
        agent: &AgentId,
        landmark: Landmark,
        before: EventSeq,
    ) -> Result<Option<EventSeq>, LedgerError> {
        self.landmark(agent, &nearest("max", "<", landmark), stored(before.0)?)
    }

    /// The first of one kind after an event.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub fn next_landmark(
        &self,
        agent: &AgentId,
        landmark: Landmark,
        after: EventSeq,
    ) -> Result<Option<EventSeq>, LedgerError> {
        self.landmark(agent, &nearest("min", ">", landmark), stored(after.0)?)
    }

    /// One record; none when there is none of that number.
    ///
    /// # Errors
    /// When it is damaged, or of a kind that this build does not know.
    pub fn record(&self, agent: &AgentId, seq: EventSeq) -> Result<Option<Record>, LedgerError> {
        let sql = format!("SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND event_seq = ?2");
        let number = stored(seq.0)?;
        let at = Position::event(agent.as_str(), number, None);
        let params = [agent.as_str().into(), number.into()];
        let found = self.read(|source| source.first(&sql, &params, StoredRecord::read));
        found.map_err(LedgerError::unreadable(at))?.map(|stored| stored.decode()).transpose()
    }

    fn nth(&self, landmark: Landmark) -> Result<String, LedgerError> {
        let indexed = self.read(|source| {
            Ok::<_, LedgerError>(source.is_sqlite() && schema::version(source)? >= schema::LANDMARKS)
        })?;
        Ok(nth(landmark, indexed))
    }

    fn landmark(&self, agent: &AgentId, sql: &str, number: i64) -> Result<Option<EventSeq>, LedgerError> {
        let at = Position::event(agent.as_str(), 0, None);
        let params = [agent.as_str().into(), number.into()];
        let found = self.read(|source| source.first(sql, &params, |row| row.get::<Option<i64>>(0)));
        let seq = found.map_err(LedgerError::unreadable(at))?.flatten();
        Ok(seq.and_then(|seq| u64::try_from(seq).ok()).map(EventSeq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::{Home, id};

    #[test]
    fn runs_and_admissions_are_found_by_the_index() {
        let home = Home::with_turns(3);
        let (reader, main) = (home.reader(), id("main"));
        let last = reader.last_event(&main).unwrap();
        let all: Vec<Record> =
            reader.records(&main, EventSeq(0), last).unwrap().collect::<Result<_, _>>().unwrap();
        let (mut run, mut messages) = (None, 0);
        for record in &all {
            assert_eq!(reader.run_before(&main, record.event_seq).unwrap(), run, "{}", record.event_seq);
            if let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event {
                run = Some((fact.run_id, fact.message_id));
                assert_eq!(reader.turn(&main, fact.turn_index).unwrap().as_ref(), Some(record));
            }
            if let Event::Turn(TurnFact::TurnTerminal(_)) = &record.event {
                run = None;
            }
            if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
                messages += 1;
                assert_eq!(reader.admission(&main, fact.message.id).unwrap().as_ref(), Some(record));
            }
        }
        assert_eq!(messages, 3);
        for nobody in [MessageId(0), MessageId(4)] {
            assert_eq!(reader.admission(&main, nobody).unwrap(), None);
        }
        for none in [0, 4, u64::MAX] {
            assert_eq!(reader.turn(&main, TurnIndex(none)).unwrap(), None);
        }
        for (which, side) in [("max", "<"), ("min", ">")] {
            let sql = format!("EXPLAIN QUERY PLAN {}", nearest(which, side, Landmark::TurnStarted));
            let plan: String =
                reader.read(|source| source.one(&sql, &["main".into(), 9.into()], |row| row.get(3))).unwrap();
            assert!(plan.contains("landmarks"), "{plan}");
        }
        let by_number = nth(Landmark::MessageAdmitted, true);
        let sql = format!("EXPLAIN QUERY PLAN {by_number}");
        let plan: String =
            reader.read(|source| source.one(&sql, &["main".into(), 1.into()], |row| row.get(3))).unwrap();
        assert!(plan.contains("COVERING INDEX landmarks"), "{plan}");
        let oldest = nth(Landmark::TurnStarted, false);
        let third: i64 =
            reader.read(|source| source.one(&oldest, &["main".into(), 2.into()], |row| row.get(0))).unwrap();
        assert_eq!(
            Some(u64::try_from(third).unwrap()),
            reader.turn(&main, TurnIndex(3)).unwrap().map(|it| it.event_seq.0)
        );
        let started = |record: &&Record| record.event.kind() == "turn_started";
        let (first, last_one) = (all.iter().find(started).unwrap(), all.iter().rfind(started).unwrap());
        let kind = Landmark::TurnStarted;
        assert_eq!(reader.next_landmark(&main, kind, EventSeq(0)).unwrap(), Some(first.event_seq));
        assert_eq!(reader.next_landmark(&main, kind, last_one.event_seq).unwrap(), None);
        assert_eq!(reader.newest_landmark(&main, kind, last).unwrap(), Some(last_one.event_seq));
    }
}
