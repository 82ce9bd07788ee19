//! Records of some kinds, the newest or the oldest of a span, without decoding what lies between; and agents
//! with who they are, without loading them.

use holon_core::agent::budget::Account;
use holon_facts::{AgentId, EventSeq, Record};

use super::reader::Reader;
use super::restore::{account, agent_row};
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, StoredRecord, stored};
use crate::rows::schema;
use crate::sql::Row;
use crate::store::AgentRow;

/// Which records of an agent are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub kinds: &'a [&'static str],
    /// Only later ones.
    pub after: EventSeq,
    /// Only earlier ones.
    pub before: EventSeq,
    /// At most so many …
    pub limit: usize,
    /// … of the newest, rather than the oldest.
    pub newest: bool,
}

/// A public agent, for lists.
#[derive(Debug)]
pub struct ListedAgent {
    pub row: AgentRow,
    pub account: Account,
    pub created: Beginning,
}

/// Which agents are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    All,
    /// Those that are in no list, too.
    WithPrivate,
    /// Public ones that have asked their operator something.
    Asking,
}

/// The first record of an agent, if there is one, or why it can't be read.
pub type Beginning = Result<Option<Record>, LedgerError>;

impl Reader {
    /// Records of the kinds that are wanted, the oldest first.
    ///
    /// # Errors
    /// When one of them is damaged, or of a version that this build does not know.
    pub fn of_kinds(&self, agent: &AgentId, wanted: Wanted<'_>) -> Result<Vec<Record>, LedgerError> {
        let at = || Position::event(agent.as_str(), i64::try_from(wanted.after.0).unwrap_or(0), None);
        // Kinds are names of this build: they stand in the statement, so that SQLite finds a partial index.
        let kinds = wanted.kinds.join("', '");
        let filter =
            if let [kind] = wanted.kinds { format!("= '{kind}'") } else { format!("IN ('{kinds}')") };
        let order = if wanted.newest { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND kind {filter}
             AND event_seq > ?2 AND event_seq < ?3 ORDER BY event_seq {order} LIMIT ?4"
        );
        let (after, before) = (stored(wanted.after.0)?, stored(wanted.before.0)?);
        let limit = stored(wanted.limit as u64)?;
        let params = [agent.as_str().into(), after.into(), before.into(), limit.into()];
        let found = self.read(|source| source.all(&sql, &params, StoredRecord::read));
        let mut found = found.map_err(LedgerError::unreadable(at()))?;
        if wanted.newest {
            found.reverse();
        }
        found.iter().map(StoredRecord::decode).collect()
    }

    /// Agents whose names come after one, in the order of their names, each with the record of its creation.
    ///
    /// # Errors
    /// When a row is damaged, or the ledger can't be read at all; a damaged record is told in its place.
    pub fn agents_after(
        &self,
        listing: Listing,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<ListedAgent>, LedgerError> {
        let failed = || LedgerError::unreadable(Position::default());
        let limit = stored(limit as u64)?;
        let rows = self.read(|source| {
            let which = match listing {
                Listing::All => "AND private = 0",
                Listing::WithPrivate => "",
                Listing::Asking if schema::version(source)? < schema::STANDING => return Ok(Vec::new()),
                Listing::Asking => "AND private = 0 AND asks > 0",
            };
            let columns = schema::agent_columns(source, true)?;
            let sql = format!(
                "SELECT {columns} FROM agents
                 WHERE agent > ?1 {which} ORDER BY agent LIMIT ?2"
            );
            let params = [after.map_or("", AgentId::as_str).into(), limit.into()];
            let mut rows = Vec::new();
            source.each(
                &sql,
                &params,
                |error| failed()(error),
                |row| {
                    rows.push(listed(row)?);
                    Ok::<(), LedgerError>(())
                },
            )?;
            Ok::<_, LedgerError>(rows)
        })?;
        let mut agents = Vec::with_capacity(rows.len());
        for (row, account) in rows {
            let created = match self.record(&row.agent, EventSeq(1)) {
                Err(error) if !error.is_damage() => return Err(error),
                created => created,
            };
            agents.push(ListedAgent { row, account, created });
        }
        Ok(agents)
    }
}

fn listed(row: &Row<'_>) -> Result<(AgentRow, Account), LedgerError> {
    let json = row.get::<Option<String>>(8).map_err(LedgerError::unreadable(Position::default()))?;
    let row = agent_row(row)?;
    let account = json.map(|json| account(row.agent.as_str(), &json)).transpose()?.unwrap_or_default();
    Ok((row, account))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::{Home, id};

    fn wanted<'a>(kinds: &'a [&'static str], limit: usize, newest: bool) -> Wanted<'a> {
        Wanted { kinds, after: EventSeq(0), before: EventSeq(1 << 40), limit, newest }
    }

    #[test]
    fn records_of_some_kinds_from_both_ends() {
        let home = Home::with_turns(3);
        let (reader, main) = (home.reader(), id("main"));
        let last = reader.last_event(&main).unwrap();
        let all: Vec<Record> =
            reader.records(&main, EventSeq(0), last).unwrap().collect::<Result<_, _>>().unwrap();
        let kinds = ["brief_created", "turn_started"];
        let expected: Vec<&Record> =
            all.iter().filter(|record| kinds.contains(&record.event.kind())).collect();
        assert_eq!(expected.len(), 6);
        let found = |limit, newest| reader.of_kinds(&main, wanted(&kinds, limit, newest)).unwrap();
        assert_eq!(found(4, false).iter().collect::<Vec<_>>(), expected[..4]);
        assert_eq!(found(4, true).iter().collect::<Vec<_>>(), expected[2..]);
        let between =
            Wanted { after: expected[0].event_seq, before: expected[3].event_seq, ..wanted(&kinds, 9, true) };
        assert_eq!(reader.of_kinds(&main, between).unwrap().iter().collect::<Vec<_>>(), expected[1..3]);
    }

    #[test]
    fn briefs_are_found_by_their_index() {
        let home = Home::with_turns(1);
        let plan: String = home
            .reader()
            .read(|source| {
                let sql = "EXPLAIN QUERY PLAN SELECT payload FROM records WHERE agent = ?1
                    AND kind = 'brief_created' AND event_seq > ?2 AND event_seq < ?3
                    ORDER BY event_seq DESC LIMIT ?4";
                source.one(sql, &["main".into(), 1.into(), 9.into(), 1.into()], |row| row.get(3))
            })
            .unwrap();
        assert!(plan.contains("briefs"), "{plan}");
    }

    #[test]
    fn agents_come_in_pages() {
        let home = Home::new();
        let mut world = home.start();
        for name in ["a", "b", "c"] {
            world.create(name);
        }
        let page = |after: Option<&str>, limit| -> Vec<String> {
            let found = world.reader.agents_after(Listing::All, after.map(id).as_ref(), limit).unwrap();
            let created =
                |agent: &ListedAgent| matches!(&agent.created, Ok(Some(it)) if it.agent == agent.row.agent);
            assert!(found.iter().all(created));
            assert!(found.iter().all(|agent| agent.row.standing.is_some()));
            found.iter().map(|agent| agent.row.agent.to_string()).collect()
        };
        assert_eq!(page(None, 2), ["a", "b"]);
        assert_eq!(page(Some("b"), 2), ["c"]);
        assert_eq!(page(Some("c"), 2), [""; 0]);
        assert!(world.reader.agents_after(Listing::Asking, None, 9).unwrap().is_empty());
    }
}
