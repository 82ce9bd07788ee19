//! Opening a cell: nothing is changed before it is clear that this build may write it, and that the database has kept what
//! it acknowledged.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use holon_facts::{Event, Millis, StepSeq};
use holon_platform::clock;

use super::cell_writer::CellWriter;
use super::loss::HeadOnly;
use super::node::Cluster;
use super::schema;
use super::tip::Tip;
use crate::durability::Durability;
use crate::error::{LedgerError, WrittenBy};
use crate::read::Reader;
use crate::rows::link::newest;
use crate::sql::postgres::{PostgresError, Server, Session};

/// How long an answer is waited for.
pub(crate) const ANSWER: Option<Millis> = Some(Millis::seconds(30));

/// How long a start waits for a cell that somebody else holds.
const HELD: Millis = Millis::seconds(5);

/// A cell that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    pub writer: CellWriter,
    /// For everything that is read while the cell is written.
    pub reader: Reader,
    /// The newest step that it holds.
    pub last_step: StepSeq,
    /// Whether it is new.
    pub created: bool,
    /// What whoever starts the runtime is to know.
    pub warnings: Vec<String>,
}

/// Opens a cell for writing, creates it where there is none, brings the tables up to date, and takes the cell over from
/// its last writer. `head` is a file of this machine that names the last batch that was acknowledged to it. The newest
/// batch is checked against its link; the rest is not read.
///
/// # Errors
/// When the database does not answer, has lost what it acknowledged, or holds what this build does not know. Nothing is
/// changed then but the tables.
pub fn open(server: &Server, cell: i64, head: &Path) -> Result<Opened, LedgerError> {
    let session = Session::new(server.clone(), cell);
    schema::migrate(&session)?;
    let failed = || LedgerError::postgres("opening the cell");
    wait_for_hold(&session)?;
    if Cluster::of(server)?.is_some() {
        return Err(LedgerError::OfCluster { database: server.to_string() });
    }
    let create = "INSERT INTO cells (cell) VALUES ($1) ON CONFLICT DO NOTHING RETURNING 1";
    let created = !session.query(create, &[&cell], ANSWER).map_err(failed())?.is_empty();
    let kinds = kinds(&session)?;
    let reader = Reader::of_cell(server.clone(), cell);
    let last = reader.read(newest)?;
    let kept = HeadOnly::look(head)?;
    let (head, warnings) =
        reader.read(|source| kept.compare(&server.to_string(), head, source, &last, Durability::Full))?;
    let epoch = take_over(&session)?;
    let last_step = StepSeq(u64::try_from(last.ends.step).unwrap_or(0));
    let writer = CellWriter::new(session, epoch, Tip::new(last, kinds, head));
    Ok(Opened { writer, reader, last_step, created, warnings })
}

/// Reads a cell of a database.
///
/// # Errors
/// When there is none, or this build does not know its tables.
pub fn read(server: &Server, cell: i64) -> Result<Reader, LedgerError> {
    let session = Session::new(server.clone(), cell);
    schema::check(&session)?;
    let there = session.query("SELECT 1 FROM cells WHERE cell = $1", &[&cell], ANSWER);
    if there.map_err(LedgerError::postgres("opening the cell"))?.is_empty() {
        return Err(LedgerError::NoCell { database: server.to_string() });
    }
    Ok(Reader::of_cell(server.clone(), cell))
}

/// Whether a cell holds everything that was acknowledged to this machine.
///
/// # Errors
/// When it does not, or can't be read.
pub fn check_end(server: &Server, cell: i64, head: &Path) -> Result<(), LedgerError> {
    let kept = HeadOnly::look(head)?;
    read(server, cell)?
        .at_one_moment(|source| kept.check(&server.to_string(), head, source, &newest(source)?))
}

/// Holds the cell for as long as the session lives, so that a second runtime does not take it by mistake. What keeps two
/// writers apart is the epoch.
pub(super) fn hold(session: &Session) -> Result<bool, PostgresError> {
    let sql = "SELECT pg_try_advisory_lock(hashtext('holon ' || current_schema()), $1::bigint::int)";
    let held = session.query(sql, &[&session.cell()], ANSWER)?;
    Ok(held.first().is_some_and(|row| row.get(0)))
}

/// A runtime that has just ended has let go of it as soon as the database has noticed.
fn wait_for_hold(session: &Session) -> Result<(), LedgerError> {
    let began = clock::now();
    while !hold(session).map_err(LedgerError::postgres("opening the cell"))? {
        if clock::since(began) > HELD {
            return Err(LedgerError::Held { database: session.to_string() });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Whoever wrote it before writes nothing more.
fn take_over(session: &Session) -> Result<i64, LedgerError> {
    let sql = "UPDATE cells SET epoch = epoch + 1 WHERE cell = $1 RETURNING epoch";
    let found = session.query(sql, &[&session.cell()], ANSWER);
    let found = found.map_err(LedgerError::postgres("taking over the cell"))?;
    found.first().map(|row| row.get(0)).ok_or_else(|| LedgerError::Refused {
        doing: "taking over the cell",
        problem: format!("there is no cell {}", session.cell()),
    })
}

/// The newest version of each kind of event that the cell holds.
///
/// # Errors
/// When this build does not know one.
pub(super) fn kinds(session: &Session) -> Result<BTreeMap<String, i64>, LedgerError> {
    let sql = "SELECT kind, v FROM kinds WHERE cell = $1";
    let rows = session.query(sql, &[&session.cell()], ANSWER);
    let rows = rows.map_err(LedgerError::postgres("reading the kinds"))?;
    let kinds: BTreeMap<String, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (kind, version) in &kinds {
        if !Event::kinds().any(|(known, up_to)| known == kind && i64::from(up_to) >= *version) {
            return Err(LedgerError::NewerEvents {
                kind: kind.clone(),
                version: *version,
                by: WrittenBy::default(),
            });
        }
    }
    Ok(kinds)
}
