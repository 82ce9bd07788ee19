//! Facts that others refer to, found without reading the log in between: where runs begin and end, and how a
//! message was admitted.

use holon_core::event::{InboxFact, TurnFact};
use holon_core::ids::MessageId;
use holon_core::{AgentId, Event, EventSeq, Record, RunId};
use rusqlite::OptionalExtension;

use super::error::{LedgerError, Position};
use super::read::Reader;
use super::row::{RECORD_COLUMNS, StoredRecord, stored};

/// The condition under which SQLite uses the index of landmarks.
const LANDMARKS: &str = "kind IN ('message_admitted', 'turn_started', 'turn_terminal')";

impl Reader {
    /// The record in which a message was admitted; none when there is none. Messages are numbered in the order
    /// of their admission.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn admission(&self, agent: &AgentId, message: MessageId) -> Result<Option<Record>, LedgerError> {
        let Some(before) = message.0.checked_sub(1) else { return Ok(None) };
        let sql = format!(
            "SELECT event_seq FROM records WHERE {LANDMARKS} AND agent = ?1 AND kind = 'message_admitted'
            ORDER BY event_seq LIMIT 1 OFFSET ?2"
        );
        let before = stored(before)?;
        let found = self.landmark(agent, &sql, before)?;
        let record = found.map(|seq| self.record(agent, seq)).transpose()?.flatten();
        let names_it = |record: &Record| matches!(&record.event, Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.id == message);
        Ok(record.filter(names_it))
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
        let newest = |kind: &str| {
            let sql = format!(
                "SELECT max(event_seq) FROM records WHERE {LANDMARKS} AND agent = ?1 AND kind = '{kind}'
                AND event_seq < ?2"
            );
            self.landmark(agent, &sql, stored(before.0)?)
        };
        let (began, ended) = (newest("turn_started")?, newest("turn_terminal")?);
        let Some(began) = began.filter(|began| Some(*began) > ended) else { return Ok(None) };
        let Some(Record { event: Event::Turn(TurnFact::TurnStarted(fact)), .. }) =
            self.record(agent, began)?
        else {
            return Ok(None);
        };
        Ok(Some((fact.run_id, fact.message_id)))
    }

    /// One record; none when there is none of that number.
    ///
    /// # Errors
    /// When it is damaged, or of a kind that this build does not know.
    pub fn record(&self, agent: &AgentId, seq: EventSeq) -> Result<Option<Record>, LedgerError> {
        let sql = format!("SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND event_seq = ?2");
        let number = stored(seq.0)?;
        let at = Position::event(agent.as_str(), number, None);
        let found = self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_row((agent.as_str(), number), StoredRecord::read).optional()
        });
        found.map_err(LedgerError::unreadable(at))?.map(|stored| stored.decode()).transpose()
    }

    fn landmark(&self, agent: &AgentId, sql: &str, number: i64) -> Result<Option<EventSeq>, LedgerError> {
        let at = Position::event(agent.as_str(), 0, None);
        let found = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let seq = statement.query_row((agent.as_str(), number), |row| row.get::<_, Option<i64>>(0));
            seq.optional()
        });
        let seq = found.map_err(LedgerError::unreadable(at))?.flatten();
        Ok(seq.and_then(|seq| u64::try_from(seq).ok()).map(EventSeq))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Home, id};
    use super::*;

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
        let plan: String = reader
            .read(|connection| {
                let sql = format!(
                    "EXPLAIN QUERY PLAN SELECT max(event_seq) FROM records WHERE {LANDMARKS} AND agent = 'main'
                    AND kind = 'turn_started' AND event_seq < 9"
                );
                connection.query_row(&sql, [], |row| row.get(3))
            })
            .unwrap();
        assert!(plan.contains("landmarks"), "{plan}");
    }
}
