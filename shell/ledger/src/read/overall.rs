//! Records of all public agents in the one order in which they were written: the same for every reader, at any time.

use holon_facts::Record;

use super::reader::Reader;
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, StoredRecord, stored};
use crate::rows::schema;
#[cfg(feature = "postgres")]
use crate::sql::postgres::feed;
use crate::sql::{Row, Source, SqlError};

/// Rows of any agents that one read looks at, at most: those of private agents are left out.
const LOOKED_AT: u64 = 4_096;

/// Where a record stands among those of all agents. Numbers rise; those of private agents are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerSeq(pub u64);

/// Which records of all agents are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Only later ones.
    pub after: LedgerSeq,
    /// Only earlier ones.
    pub before: Option<LedgerSeq>,
    /// At most so many …
    pub limit: usize,
    /// … of the newest, with the newest first, rather than of the oldest.
    pub newest: bool,
}

/// What a read came to.
#[derive(Debug)]
pub struct Overall {
    pub records: Vec<Located>,
    /// Everything between where the stretch begins and here was looked at, this one included.
    pub reached: LedgerSeq,
    /// Whether the stretch has more behind that, in the direction of the read.
    pub more: bool,
    /// The last record of any agent.
    pub last: LedgerSeq,
}

/// A record with where it stands.
#[derive(Debug)]
pub struct Located {
    pub at: LedgerSeq,
    pub agent: String,
    pub event_seq: i64,
    /// Damage of one agent's log concerns no other agent.
    pub record: Result<Record, LedgerError>,
}

impl Reader {
    /// The last record of any agent, private ones included.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub fn last_of_all(&self) -> Result<LedgerSeq, LedgerError> {
        self.read(|source| {
            place_new(source)?;
            last(source)
        })
    }

    /// Whether the agents of several cells are read: then nobody says when there is something new.
    pub fn is_of_all_cells(&self) -> bool {
        self.read(|source| Ok::<_, LedgerError>(spans_cells(source))).is_ok_and(|spans| spans)
    }

    /// Records of public agents, in the order of the ledger. The cost has a bound, whatever lies in between: then the
    /// read ends early, and says where.
    ///
    /// # Errors
    /// When the ledger can't be read; a damaged record comes as what is wrong with it.
    pub fn of_all(&self, stretch: Stretch) -> Result<Overall, LedgerError> {
        self.read(place_new)?;
        self.at_one_moment(|source| {
            let last = last(source)?;
            let highest = stretch.before.map_or(last.0, |before| last.0.min(before.0.saturating_sub(1)));
            let (lowest, highest, more) = if stretch.newest {
                let lowest = stretch.after.0.max(highest.saturating_sub(LOOKED_AT));
                (lowest, highest, lowest > stretch.after.0)
            } else {
                let reached = highest.min(stretch.after.0.saturating_add(LOOKED_AT));
                (stretch.after.0, reached, reached < highest)
            };
            let records = between(source, lowest, highest, stretch)?;
            // A page that is full may have left something out.
            let full = records.last().filter(|_| records.len() == stretch.limit).map(|record| record.at);
            let end = if stretch.newest { lowest + 1 } else { highest };
            let reached = full.unwrap_or(LedgerSeq(end));
            let ended = if stretch.newest { reached.0 <= lowest + 1 } else { reached.0 >= highest };
            Ok(Overall { records, reached, more: more || !ended, last })
        })
    }
}

/// Records of several cells come into one order when somebody looks at them.
#[cfg(feature = "postgres")]
fn place_new(source: Source<'_>) -> Result<(), LedgerError> {
    let Some(session) = source.of_all_cells() else { return Ok(()) };
    feed::extend(session).map_err(LedgerError::postgres("bringing the records of all cells into one order"))
}

#[cfg(not(feature = "postgres"))]
fn place_new(_: Source<'_>) -> Result<(), LedgerError> {
    Ok(())
}

#[cfg(feature = "postgres")]
fn spans_cells(source: Source<'_>) -> bool {
    source.of_all_cells().is_some()
}

#[cfg(not(feature = "postgres"))]
fn spans_cells(_: Source<'_>) -> bool {
    false
}

/// Where records are, under which column, and how the last one is found.
#[cfg(feature = "postgres")]
fn order_of(source: Source<'_>) -> (&'static str, &'static str, &'static str) {
    if spans_cells(source) { (feed::PLACED, "place", feed::LAST) } else { IN_ITS_ORDER }
}

#[cfg(not(feature = "postgres"))]
fn order_of(_: Source<'_>) -> (&'static str, &'static str, &'static str) {
    IN_ITS_ORDER
}

/// Of one ledger.
const IN_ITS_ORDER: (&str, &str, &str) =
    ("records", "position", "SELECT coalesce(max(position), 0) FROM records");

pub(super) fn last(source: Source<'_>) -> Result<LedgerSeq, LedgerError> {
    let (_, _, sql) = order_of(source);
    let last = source.first(sql, &[], |row| row.get::<i64>(0));
    let last = last.map_err(LedgerError::unreadable(Position::default()))?;
    Ok(LedgerSeq(last.and_then(|last| u64::try_from(last).ok()).unwrap_or(0)))
}

fn between(
    source: Source<'_>,
    lowest: u64,
    highest: u64,
    stretch: Stretch,
) -> Result<Vec<Located>, LedgerError> {
    let order = if stretch.newest { "DESC" } else { "ASC" };
    // A ledger of an earlier build, which nobody has written since, has no children.
    let public = if schema::version(source)? < schema::CHILDREN {
        ""
    } else {
        "AND NOT EXISTS (SELECT 1 FROM agents WHERE agents.agent = records.agent AND agents.private > 0)"
    };
    let (records, place, _) = order_of(source);
    let sql = format!(
        "SELECT {RECORD_COLUMNS}, {place} FROM {records} WHERE {place} > ?1 AND {place} <= ?2 {public}
         ORDER BY {place} {order} LIMIT ?3"
    );
    let params = [stored(lowest)?.into(), stored(highest)?.into(), stored(stretch.limit as u64)?.into()];
    source.all(&sql, &params, located).map_err(LedgerError::unreadable(Position::default()))
}

/// A row of [`RECORD_COLUMNS`] and its position.
pub(super) fn located(row: &Row<'_>) -> Result<Located, SqlError> {
    let (stored, position) = (StoredRecord::read(row)?, row.get::<i64>(9)?);
    Ok(Located {
        at: LedgerSeq(u64::try_from(position).unwrap_or(0)),
        record: stored.decode(),
        agent: stored.row.agent,
        event_seq: stored.row.event_seq,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::Home;

    fn page(home: &Home, stretch: Stretch) -> (Vec<(u64, String, i64)>, u64, bool) {
        let overall = home.reader().of_all(stretch).unwrap();
        let shown = overall.records.iter().map(|it| (it.at.0, it.agent.clone(), it.event_seq)).collect();
        (shown, overall.reached.0, overall.more)
    }

    fn all(newest: bool, limit: usize) -> Stretch {
        Stretch { after: LedgerSeq(0), before: None, limit, newest }
    }

    #[test]
    fn one_order_over_all_public_agents_from_both_ends() {
        let home = Home::new();
        let mut world = home.start();
        for name in ["a", "b"] {
            world.create(name);
            world.prompt(name, "go");
        }
        let last = world.reader.last_of_all().unwrap();
        let (whole, reached, more) = page(&home, all(false, 4_000));
        assert_eq!((whole.len() as u64, reached, more), (last.0, last.0, false));
        assert!(whole.windows(2).all(|two| two[0].0 < two[1].0));
        for agent in ["a", "b"] {
            let seqs: Vec<i64> = whole.iter().filter(|it| it.1 == agent).map(|it| it.2).collect();
            assert_eq!(seqs, (1..=seqs.len() as i64).collect::<Vec<_>>());
        }
        let (page_of_3, reached, more) = page(&home, Stretch { after: LedgerSeq(2), ..all(false, 3) });
        assert_eq!((page_of_3.as_slice(), reached, more), (&whole[2..5], 5, true));
        let (newest, reached, more) = page(&home, all(true, 2));
        assert_eq!((newest[0].0, newest[1].0, reached, more), (last.0, last.0 - 1, last.0 - 1, true));
        let (oldest, reached, more) = page(&home, Stretch { before: Some(LedgerSeq(3)), ..all(true, 2) });
        assert_eq!((oldest.len(), reached, more), (2, 1, false));
        let none = Stretch { after: last, ..all(false, 9) };
        assert_eq!(page(&home, none), (Vec::new(), last.0, false));

        home.vandal("UPDATE agents SET private = 1 WHERE agent = 'a'");
        let (public, reached, more) = page(&home, all(false, 4_000));
        assert_eq!((public.iter().filter(|it| it.1 == "a").count(), reached, more), (0, last.0, false));
        assert!(!public.is_empty());
        home.vandal("UPDATE records SET payload = '{}' WHERE agent = 'b' AND event_seq = 3");
        let damaged = home.reader().of_all(all(false, 4_000)).unwrap();
        let broken: Vec<i64> =
            damaged.records.iter().filter(|it| it.record.is_err()).map(|it| it.event_seq).collect();
        assert_eq!((broken, damaged.records.len()), (vec![3], public.len()), "the others are read");
    }

    #[test]
    fn a_read_looks_at_so_many_rows_and_says_where_it_ended() {
        let home = Home::with_turns(1);
        let private = "INSERT INTO agents (agent, event_seq, status, open_work, private) VALUES ('hidden', 0, 'asleep', 0, 1);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
            INSERT INTO records SELECT NULL, 'hidden', i, 1, 1, 0, 'x', 1, '{}', 0 FROM n;";
        home.vandal(private);
        let last = home.reader().last_of_all().unwrap();
        let public = last.0 - 9_000;
        let (found, reached, more) = page(&home, all(false, 4_000));
        assert_eq!((found.len() as u64, reached, more), (public, LOOKED_AT, true));
        let (found, reached, more) = page(&home, all(true, 10));
        assert_eq!((found.len(), reached, more), (0, last.0 - LOOKED_AT + 1, true));
        let mut after = LedgerSeq(0);
        let mut reads = 0;
        while let (_, reached, true) = page(&home, Stretch { after, ..all(false, 4_000) }) {
            assert!(reached > after.0);
            (after, reads) = (LedgerSeq(reached), reads + 1);
        }
        assert_eq!(reads, 2);
    }
}
