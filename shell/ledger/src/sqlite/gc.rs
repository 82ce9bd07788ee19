//! What a ledger gives up with time: the flight recorder of runtimes that ended long ago, and texts that no record names. Records
//! stay, and so does every hash link: a call leaves its hash, a text its name.

use std::collections::BTreeSet;
use std::path::Path;

use holon_core::agent::Agent;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::{ContentId, Wall};
use holon_law::replay::RUNTIME_STARTED;
use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;

use super::open;
use super::past::PastError;
use super::read::Reader;
use crate::durability::Durability;
use crate::error::{LedgerError, Position};
use crate::rows::link::newest;
use crate::rows::row::{CALL_COLUMNS, Hash, RECORD_COLUMNS, StoredCall, StoredRecord, removed_call};
use crate::rows::schema;
use crate::sql::Source;
use crate::store::LedgerReader as _;

/// Rows that are changed in one transaction.
pub(crate) const PAGE: usize = 512;

/// What may go, or has gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    pub calls: u64,
    pub call_bytes: u64,
    pub texts: u64,
    pub text_bytes: u64,
}

/// Which texts of that time go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTexts {
    /// Those that no record names.
    Unnamed,
    /// Those too that only records of that time name, and no agent's state: nothing that goes on needs them.
    Unused,
}

/// What may go of a ledger: calls of runtimes that had ended before `cutoff`, and texts of that time.
#[derive(Debug)]
pub struct Plan {
    garbage: Garbage,
    /// The newest batch when it was made.
    batch: i64,
    /// The first call that stays.
    from_call: i64,
    texts: BTreeSet<Hash>,
}

impl Plan {
    pub fn garbage(&self) -> Garbage {
        self.garbage
    }

    /// A page of calls that may go, behind a position: each with what stays of it.
    pub(crate) fn page(&self, source: Source<'_>, after: i64) -> Result<Vec<(i64, String)>, LedgerError> {
        let page = calls(source, after, self.from_call)?;
        page.iter().map(|call| Ok((call.position, removed_call(&call.checked_hash()?)))).collect()
    }
}

#[cfg(feature = "postgres")]
impl Plan {
    pub(crate) fn batch(&self) -> i64 {
        self.batch
    }

    /// Texts that no record names.
    pub(crate) fn unnamed(&self) -> &BTreeSet<Hash> {
        &self.texts
    }
}

/// Looks what may go; changes nothing, and may be asked while a runtime writes. Reads every record once.
///
/// # Errors
/// When the ledger can't be read, or has records that this build does not know.
pub fn plan(reader: &Reader, cutoff: Wall, texts: OldTexts) -> Result<Plan, LedgerError> {
    let needed = match texts {
        OldTexts::Unnamed => BTreeSet::new(),
        OldTexts::Unused => named_by_states(reader)?,
    };
    reader.at_one_moment(|source| {
        let batch = newest(source)?.batch;
        let mut plan = Plan { garbage: Garbage::default(), batch, from_call: 0, texts: BTreeSet::new() };
        let kept = first_kept(source, cutoff)?;
        if let Some(kept) = &kept {
            plan.from_call = kept.call;
            plan.calls(source)?;
        }
        let (through, names_from) = match texts {
            OldTexts::Unnamed => (kept.map_or(0, |kept| kept.content), Wall(i64::MIN)),
            OldTexts::Unused => (last_text_before(source, cutoff)?, cutoff),
        };
        plan.texts(source, through, names_from)?;
        plan.texts.retain(|id| !needed.contains(id));
        plan.sum_up(source)?;
        Ok(plan)
    })
}

/// What agents hold: their queues, conversations, plans and catalogues.
fn named_by_states(reader: &Reader) -> Result<BTreeSet<Hash>, LedgerError> {
    let mut agents = Vec::new();
    reader.each_agent(|row| agents.push((row.agent, row.event_seq)))?;
    let mut named = BTreeSet::new();
    for (agent, through) in agents {
        let stood = reader.agent_after(&agent, through).map_err(|error| match error {
            PastError::Ledger(error) => error,
            error @ (PastError::Beyond { .. } | PastError::TooFar { .. }) => {
                LedgerError::Refused { doing: "reading the states of agents", problem: error.to_string() }
            }
        })?;
        named.extend(named_by(&stood.agent)?);
    }
    Ok(named)
}

/// The texts that an agent holds.
pub(super) fn named_by(agent: &Agent) -> Result<BTreeSet<Hash>, LedgerError> {
    let damaged = |error| LedgerError::damaged(Position::event(agent.id.as_str(), 0, None), error);
    let state = AgentSnapshot::of(agent).encode().map_err(damaged)?;
    // Whatever has the form of a name of a text is one.
    let words = state.split(|letter: char| !letter.is_ascii_hexdigit());
    Ok(words.filter_map(ContentId::parse).map(|id| id.0).collect())
}

/// How many of the texts that an agent holds were removed.
pub(super) fn removed_of(source: Source<'_>, agent: &Agent) -> Result<usize, LedgerError> {
    let unreadable = || LedgerError::unreadable(Position::default());
    let mut removed = 0;
    for id in named_by(agent)? {
        let sql = "SELECT 1 FROM content WHERE id = ?1 AND text IS NULL";
        let found = source.first(sql, &[(&id).into()], |row| row.get::<i64>(0)).map_err(unreadable())?;
        removed += usize::from(found.is_some());
    }
    Ok(removed)
}

/// The last text that was stored with a batch that is older than `cutoff`.
fn last_text_before(source: Source<'_>, cutoff: Wall) -> Result<i64, LedgerError> {
    let sql = "SELECT through_content FROM batches WHERE batch =
        (SELECT batch FROM records WHERE at < ?1 ORDER BY position DESC LIMIT 1)";
    let found = source.first(sql, &[cutoff.0.into()], |row| row.get::<i64>(0));
    Ok(found.map_err(LedgerError::unreadable(Position::default()))?.unwrap_or(0))
}

/// The oldest runtime that stays in the recorder.
struct Kept {
    call: i64,
    /// The last text that was stored before it.
    content: i64,
}

/// Of the runtimes before which everything is older than `cutoff`, the newest.
fn first_kept(source: Source<'_>, cutoff: Wall) -> Result<Option<Kept>, LedgerError> {
    let unreadable = || LedgerError::unreadable(Position::default());
    let sql = format!(
        "SELECT recorder.position, before.through_content, last.at FROM recorder
         JOIN (SELECT batch, through_call, through_content, through_record FROM batches) AS before
             ON before.batch = recorder.batch - 1 AND before.through_call = recorder.position - 1
         JOIN (SELECT position, at FROM records) AS last ON last.position = before.through_record
         WHERE recorder.step IS NULL AND recorder.call LIKE '{{\"call\":\"{RUNTIME_STARTED}\"%'
         ORDER BY recorder.position DESC"
    );
    let starts =
        source.all(&sql, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<i64>(2)?)));
    let starts = starts.map_err(unreadable())?;
    let old = starts.into_iter().find(|(_, _, last_record)| *last_record < cutoff.0);
    Ok(old.map(|(call, content, _)| Kept { call, content }))
}

/// What [`calls`] reads: those that were not removed, and are longer than what stands for them then.
const CALLS: &str = "position > ?1 AND position < ?2 AND length(call) > 128 \
    AND call NOT LIKE '{\"call\":\"runtime_started\"%' AND call NOT LIKE '{\"call\":\"agents_left\"%' \
    AND call NOT LIKE '{\"call\":\"removed\"%'";

/// Gives pages of calls that may go to `each`.
fn calls(source: Source<'_>, after: i64, before: i64) -> Result<Vec<StoredCall>, LedgerError> {
    let sql = format!("SELECT {CALL_COLUMNS} FROM recorder WHERE {CALLS} ORDER BY position LIMIT {PAGE}");
    source
        .all(&sql, &[after.into(), before.into()], StoredCall::read)
        .map_err(LedgerError::unreadable(Position::default()))
}

impl Plan {
    fn calls(&mut self, source: Source<'_>) -> Result<(), LedgerError> {
        let mut last = 0;
        loop {
            let page = calls(source, last, self.from_call)?;
            let Some(newest) = page.last() else { return Ok(()) };
            last = newest.position;
            for call in &page {
                let hash = call.checked_hash()?;
                self.garbage.calls += 1;
                self.garbage.call_bytes += (call.call.len() - removed_call(&hash).len()) as u64;
            }
        }
    }

    /// Texts that were stored through a position, but for those that records from a time on name.
    fn texts(&mut self, source: Source<'_>, through: i64, names_from: Wall) -> Result<(), LedgerError> {
        let unreadable = || LedgerError::unreadable(Position::default());
        let sql = "SELECT id FROM content WHERE position <= ?1 AND text IS NOT NULL";
        let stored = source.all(sql, &[through.into()], |row| row.get::<Hash>(0)).map_err(unreadable())?;
        self.texts = stored.into_iter().collect();
        let sql = format!(
            "SELECT {RECORD_COLUMNS}, position FROM records WHERE position > ?1 ORDER BY position LIMIT {PAGE}"
        );
        let mut last = 0;
        loop {
            let page = source
                .all(&sql, &[i64::into(last)], |row| Ok((row.get::<i64>(9)?, StoredRecord::read(row)?)));
            let page = page.map_err(unreadable())?;
            let Some((newest, _)) = page.last() else { break };
            last = *newest;
            for (_, record) in page.iter().filter(|(_, record)| record.row.at >= names_from.0) {
                record.decode()?.event.contents(&mut |content| {
                    self.texts.remove(&content.id.0);
                });
            }
        }
        Ok(())
    }

    fn sum_up(&mut self, source: Source<'_>) -> Result<(), LedgerError> {
        let unreadable = || LedgerError::unreadable(Position::default());
        for id in &self.texts {
            let sql = "SELECT bytes FROM content WHERE id = ?1";
            let bytes = source.first(sql, &[id.into()], |row| row.get::<i64>(0)).map_err(unreadable())?;
            self.garbage.texts += 1;
            self.garbage.text_bytes += bytes.unwrap_or(0).unsigned_abs();
        }
        Ok(())
    }
}

/// Takes away what may go, some at a time, and gives the space back to the disk: for that the ledger is written anew, which takes
/// its size once more meanwhile. Nobody else may write it. Wherever it is cut short, the ledger is in order, and the next time goes on.
///
/// # Errors
/// When the ledger can't be written, or a row is damaged. [`LedgerError::Full`] only leaves the file as large as it was.
pub fn collect(path: &Path, plan: &Plan) -> Result<(), LedgerError> {
    let mut connection = open::connect(path, Durability::Full)?;
    let found = schema::version((&connection).into())?;
    if found > schema::SCHEMA_VERSION {
        return Err(schema::newer((&connection).into(), found));
    }
    remove_calls(&mut connection, plan)?;
    erase(&mut connection, &plan.texts)?;
    shrink(&connection)?;
    connection.close().map_err(|(_, error)| LedgerError::sqlite("closing")(error))
}

fn remove_calls(connection: &mut Connection, plan: &Plan) -> Result<(), LedgerError> {
    let failed = || LedgerError::sqlite("removing calls of the flight recorder");
    let mut last = 0;
    loop {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed())?;
        let page = plan.page((&*transaction).into(), last)?;
        let Some((newest, _)) = page.last() else { return Ok(()) };
        last = *newest;
        for (position, left) in &page {
            transaction
                .execute("UPDATE recorder SET call = ?1 WHERE position = ?2", params![left, position])
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())?;
    }
}

fn erase(connection: &mut Connection, texts: &BTreeSet<Hash>) -> Result<(), LedgerError> {
    let failed = || LedgerError::sqlite("removing texts");
    let texts: Vec<&Hash> = texts.iter().collect();
    for page in texts.chunks(PAGE) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed())?;
        for id in page {
            transaction
                .execute("UPDATE content SET text = NULL WHERE id = ?1", params![id])
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())?;
    }
    Ok(())
}

/// Writes the file anew without what is free in it.
fn shrink(connection: &Connection) -> Result<(), LedgerError> {
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .and_then(|()| connection.execute_batch("VACUUM"))
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
        .map_err(LedgerError::sqlite("giving space back"))
}

#[cfg(test)]
mod tests {
    use holon_law::replay::Again;

    use super::super::testing::{BUILD, Home};
    use super::super::{export_recorder, import, replay, verify};
    use super::*;

    const LATER: Wall = Wall(i64::MAX);

    /// Three runtimes, one after the other, each with a turn; and a text that nobody names.
    fn home() -> Home {
        let home = Home::with_turns(2);
        for turn in ["second", "third"] {
            let mut world = home.start();
            world.prompt("main", &format!("{turn} {}", "long ".repeat(100)));
            world.ledger.close().unwrap();
        }
        home
    }

    fn size(home: &Home) -> u64 {
        std::fs::metadata(home.ledger()).unwrap().len()
    }

    fn in_order(home: &Home) -> (u64, u64) {
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        let report = replay(&home.reader(), Again::Build(BUILD.to_owned())).unwrap();
        assert_eq!(report.segments, 3);
        (report.skipped_segments, report.judged)
    }

    #[test]
    fn runtimes_that_ended_leave_hashes_and_everything_holds() {
        let home = home();
        let (before, (skipped, judged)) = (size(&home), in_order(&home));
        assert_eq!(skipped, 0);
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(found.garbage().calls > 5 && found.garbage().call_bytes > 2_000, "{found:?}");
        // Looking changes nothing.
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage(), found.garbage());
        collect(&home.ledger(), &found).unwrap();
        assert!(size(&home) < before);
        assert_eq!(in_order(&home), (2, judged), "the last runtime is replayed, the others are folded");
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage(), Garbage::default());
        // It goes on, and so does what is exported of it.
        home.start().prompt("main", "and on");
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        let mut lines = Vec::new();
        export_recorder(&home.reader(), &mut lines).unwrap();
        let other = Home::new();
        import(&*lines, &other.ledger()).unwrap();
        let report = replay(&other.reader(), Again::Build(BUILD.to_owned())).unwrap();
        assert_eq!((report.segments, report.skipped_segments), (4, 2));
    }

    #[test]
    fn what_is_younger_than_the_retention_stays() {
        let home = home();
        assert_eq!(plan(&home.reader(), Wall(0), OldTexts::Unnamed).unwrap().garbage(), Garbage::default());
        let reader = home.reader();
        let starts = "SELECT count(*) FROM recorder WHERE call LIKE '{\"call\":\"runtime_started\"%'";
        let count = || reader.read(|source| source.one(starts, &[], |row| row.get::<i64>(0))).unwrap();
        assert_eq!(count(), 3);
        collect(&home.ledger(), &plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap()).unwrap();
        assert_eq!(count(), 3, "how each runtime was started stays");
    }

    #[test]
    fn a_text_that_no_record_names_goes_and_comes_back_when_it_is_said_again() {
        let home = home();
        let text = "the text of nobody ".repeat(40);
        let id = holon_text::hash(text.as_bytes());
        // In the place of one that a record names: nobody reads that one here.
        let named: Hash = home
            .reader()
            .read(|source| source.one("SELECT id FROM content WHERE position = 1", &[], |row| row.get(0)))
            .unwrap();
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(!found.texts.contains(&named));
        home.vandal(&format!(
            "UPDATE content SET id = x'{}', text = '{text}' WHERE position = 1",
            holon_platform::hex::write(&id.0)
        ));
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert_eq!((found.garbage().texts, found.texts.contains(&id.0)), (1, true));
        collect(&home.ledger(), &found).unwrap();
        assert!(matches!(home.reader().content(id), Err(LedgerError::Erased { .. })));
        home.start().prompt("main", &text);
        assert_eq!(home.reader().content(id).unwrap(), Some(text));
    }

    #[test]
    fn texts_that_nothing_uses_any_more_go_where_that_is_asked_for() {
        let home = home();
        let long = |name: &str| format!("{name} {}", "very long ".repeat(100));
        let mut world = home.start();
        world.prompt("main", &long("old"));
        world.ledger.close().unwrap();
        let found = plan(&home.reader(), LATER, OldTexts::Unused).unwrap();
        let needed = named_by_states(&home.reader()).unwrap();
        assert!(found.texts.is_disjoint(&needed), "{found:?}");
        let unnamed = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap().garbage();
        assert!(unnamed.texts <= found.garbage().texts);
        assert_eq!(plan(&home.reader(), Wall(0), OldTexts::Unused).unwrap().garbage().texts, 0);
        collect(&home.ledger(), &found).unwrap();
        in_order_after(&home);
        for id in needed {
            let held = home.reader().content(ContentId(id));
            assert!(!matches!(held, Err(LedgerError::Erased { .. })), "{held:?}");
        }
        assert_eq!(plan(&home.reader(), LATER, OldTexts::Unused).unwrap().garbage().texts, 0);
    }

    fn in_order_after(home: &Home) {
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
        replay(&home.reader(), Again::Build(BUILD.to_owned())).unwrap();
    }

    #[test]
    fn what_is_cut_short_goes_on_the_next_time() {
        let home = home();
        let found = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        let whole = found.garbage();
        let mut connection = open::connect(&home.ledger(), Durability::Full).unwrap();
        // The end of a page, in the middle of a runtime's calls.
        remove_calls(&mut connection, &Plan { from_call: 6, ..found }).unwrap();
        drop(connection);
        in_order(&home);
        let rest = plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap();
        assert!(0 < rest.garbage().calls && rest.garbage().calls < whole.calls, "{rest:?}");
        collect(&home.ledger(), &rest).unwrap();
        assert_eq!(in_order(&home).0, 2);
    }

    #[test]
    fn a_hash_that_was_changed_is_noticed() {
        let home = home();
        collect(&home.ledger(), &plan(&home.reader(), LATER, OldTexts::Unnamed).unwrap()).unwrap();
        home.vandal(
            "UPDATE recorder SET call = replace(call, 'a', 'b') WHERE call LIKE '{\"call\":\"removed\"%'",
        );
        let error = verify(&home.reader(), &mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("not what was written"), "{error}");
    }
}
