//! A ledger from a file into a cell, and from a cell into a file: the same rows with the same links, so both give the same
//! answer to `verify` and `replay`.

use std::fs;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::ToSql;

use crate::durability::Durability;
use crate::error::LedgerError;
use crate::postgres::{self, ANSWER};
use crate::read::Reader;
use crate::rows::link::newest;
use crate::sql::postgres::{PostgresError, Server, Session};
use crate::sql::{Param, Row, Source, SqlError};
use crate::sqlite::{self, Copied, Ledger, Opened};

/// Rows of a table that are moved at a time.
const PAGE: i64 = 500;

/// What can't be moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("cell {cell} has a ledger already: {batches} batches")]
    NotEmpty { cell: i64, batches: i64 },
    #[error("there is no cell {cell}")]
    NoCell { cell: i64 },
    #[error("cell {cell} has an agent {name} already")]
    NameTaken { name: String, cell: i64 },
    #[error("the ledger {} is of an older build: start its home once with this one", path.display())]
    Older { path: std::path::PathBuf },
    #[error("{} is there already", path.display())]
    FileThere { path: std::path::PathBuf },
    #[error("{} can't be written: {source}", path.display())]
    File { path: std::path::PathBuf, source: std::io::Error },
}

/// What was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transferred {
    pub records: u64,
    pub batches: u64,
    /// Rows of all tables.
    pub rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Bytes,
}

/// A value of a row.
#[derive(Debug, Clone)]
enum Value {
    Number(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// A table that both have, without what only one of them needs. Its first column finds the next page.
struct Table {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
}

use Kind::{Bytes, Number, Text};

const TABLES: &[Table] = &[
    Table {
        name: "batches",
        columns: &[
            ("batch", Number),
            ("epoch", Number),
            ("through_step", Number),
            ("through_record", Number),
            ("through_call", Number),
            ("through_content", Number),
            ("link", Bytes),
        ],
    },
    Table {
        name: "records",
        columns: &[
            ("position", Number),
            ("agent", Text),
            ("event_seq", Number),
            ("step", Number),
            ("batch", Number),
            ("at", Number),
            ("kind", Text),
            ("v", Number),
            ("payload", Text),
            ("sum", Number),
        ],
    },
    Table {
        name: "recorder",
        columns: &[
            ("position", Number),
            ("batch", Number),
            ("step", Number),
            ("call", Text),
            ("sum", Number),
        ],
    },
    Table {
        name: "content",
        columns: &[("position", Number), ("id", Bytes), ("bytes", Number), ("text", Text)],
    },
    Table {
        name: "agents",
        columns: &[
            ("agent", Text),
            ("event_seq", Number),
            ("status", Text),
            ("next_deadline", Number),
            ("open_work", Number),
            ("account", Text),
            ("private", Number),
            ("archived", Number),
            ("standing", Text),
            ("asks", Number),
            ("name", Text),
        ],
    },
    Table { name: "kinds", columns: &[("kind", Text), ("v", Number)] },
];

/// Moves a copy of the ledger in a file into an empty cell, whole or not at all. States of agents are made anew.
///
/// # Errors
/// When the cell has a ledger, or either can't be read or written.
pub fn import(path: &Path, server: &Server, cell: i64) -> Result<Transferred, TransferError> {
    let reader = Reader::open(path)?;
    if !reader.is_of_this_build()? {
        return Err(TransferError::Older { path: path.to_owned() });
    }
    let session = Session::new(server.clone(), cell);
    session.begin_write().map_err(LedgerError::postgres("importing"))?;
    let imported = reader.at_one_moment(|source| into_cell(source, &session, cell));
    if imported.is_err() {
        // What was begun goes with its connection.
        session.lose();
    } else {
        session.commit().map_err(LedgerError::postgres("importing"))?;
    }
    imported
}

fn into_cell(source: Source<'_>, session: &Session, cell: i64) -> Result<Transferred, TransferError> {
    let failed = || LedgerError::postgres("importing");
    let sql = "SELECT batch FROM cells WHERE cell = $1 FOR UPDATE";
    let found = session.query(sql, &[&cell], ANSWER).map_err(failed())?;
    match found.first().map(|row| row.get::<_, i64>(0)) {
        None => return Err(TransferError::NoCell { cell }),
        Some(0) => {}
        Some(batches) => return Err(TransferError::NotEmpty { cell, batches }),
    }
    let last = newest(source)?;
    let moved = each_page(source, |table, rows| insert(session, cell, table, rows).map_err(failed()))?;
    // A row says where its agent's log went on from last; from here on it goes on from its end.
    session
        .query("UPDATE agents SET continues = event_seq WHERE cell = $1", &[&cell], None)
        .map_err(failed())?;
    claim_names(session, cell)?;
    let sql = "UPDATE cells SET batch = $2, through_step = $3, link = $4, epoch = greatest(epoch,
            (SELECT coalesce(max(epoch), 0) FROM batches WHERE cell = $1)) WHERE cell = $1";
    let (step, link) = (last.ends.step, last.link.as_slice());
    session.query(sql, &[&cell, &last.batch, &step, &link], None).map_err(failed())?;
    Ok(moved)
}

/// Names of the agents that came are theirs alone, over all cells.
fn claim_names(session: &Session, cell: i64) -> Result<(), TransferError> {
    let failed = || LedgerError::postgres("importing");
    let sql = "SELECT own.name, o.cell FROM (SELECT agent AS name FROM agents WHERE cell = $1
            UNION SELECT name FROM agents WHERE cell = $1 AND name IS NOT NULL) own
        JOIN (SELECT name, cell FROM names UNION SELECT agent, cell FROM agents) o ON o.name = own.name
        WHERE o.cell <> $1 LIMIT 1";
    let taken = session.query(sql, &[&cell], None).map_err(failed())?;
    if let Some(row) = taken.first() {
        return Err(TransferError::NameTaken { name: row.get(0), cell: row.get(1) });
    }
    let sql = "INSERT INTO names SELECT agent, cell FROM agents WHERE cell = $1 AND private = 0
        UNION SELECT name, cell FROM agents WHERE cell = $1 AND name IS NOT NULL ON CONFLICT DO NOTHING";
    session.query(sql, &[&cell], None).map_err(failed())?;
    Ok(())
}

/// All rows of a page as columns of one statement.
fn insert(session: &Session, cell: i64, table: &Table, rows: &[Vec<Value>]) -> Result<(), PostgresError> {
    let more = if table.name == "agents" { (", continues", ", 0") } else { ("", "") };
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let arrays: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, (_, kind))| {
            let of = match kind {
                Number => "bigint",
                Text => "text",
                Bytes => "bytea",
            };
            format!("${}::{of}[]", at + 2)
        })
        .collect();
    let sql = format!(
        "INSERT INTO {} (cell, {}{}) SELECT $1::bigint, u.*{} FROM unnest({}) u",
        table.name,
        names.join(", "),
        more.0,
        more.1,
        arrays.join(", ")
    );
    let columns: Vec<Box<dyn ToSql + Sync>> =
        table.columns.iter().enumerate().map(|(at, (_, kind))| column(rows, at, *kind)).collect();
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&cell];
    params.extend(columns.iter().map(AsRef::as_ref));
    session.query(&sql, &params, None).map(drop)
}

fn column(rows: &[Vec<Value>], at: usize, kind: Kind) -> Box<dyn ToSql + Sync> {
    let values = rows.iter().filter_map(|row| row.get(at).cloned());
    match kind {
        Number => Box::new(
            values
                .map(|value| if let Value::Number(number) = value { number } else { None })
                .collect::<Vec<_>>(),
        ),
        Text => Box::new(
            values.map(|value| if let Value::Text(text) = value { text } else { None }).collect::<Vec<_>>(),
        ),
        Bytes => Box::new(
            values
                .map(|value| if let Value::Bytes(bytes) = value { bytes } else { None })
                .collect::<Vec<_>>(),
        ),
    }
}

/// Moves a copy of a cell, as it is at one moment, into a file that is not there yet. States of agents are made anew.
///
/// # Errors
/// When there is a file, or either can't be read or written.
pub fn export(server: &Server, cell: i64, path: &Path) -> Result<Transferred, TransferError> {
    if path.exists() {
        return Err(TransferError::FileThere { path: path.to_owned() });
    }
    let draft = path.with_extension("import");
    let moved = draft_of(server, cell, &draft)?;
    let file = |source| TransferError::File { path: path.to_owned(), source };
    fs::rename(&draft, path).map(|()| moved).map_err(file)
}

/// Copies a cell, as it is at one moment, into a file that is not there yet, for whoever makes something else of it.
///
/// # Errors
/// When either can't be read or written.
pub fn copy(server: &Server, cell: i64, to: &Path) -> Result<Copied, LedgerError> {
    draft_of(server, cell, to)?;
    sqlite::copied(to)
}

/// A file that is gone again where it can't be made.
fn draft_of(server: &Server, cell: i64, draft: &Path) -> Result<Transferred, LedgerError> {
    let exported = into_file(server, cell, draft);
    for ending in ["-wal", "-shm"] {
        // SQLite has put everything into the file; what it remembers besides is about the draft.
        let mut aside = draft.as_os_str().to_owned();
        aside.push(ending);
        drop(fs::remove_file(aside));
    }
    drop(fs::remove_file(draft.with_extension("head")));
    if exported.is_err() {
        drop(fs::remove_file(draft));
    }
    exported
}

fn into_file(server: &Server, cell: i64, draft: &Path) -> Result<Transferred, LedgerError> {
    let reader = postgres::read(server, cell)?;
    let Opened { ledger, reader: own, .. } = Ledger::open(draft, Durability::Full)?;
    drop(own);
    ledger.close()?;
    let failed = || LedgerError::sqlite("exporting");
    let mut connection = rusqlite::Connection::open(draft).map_err(failed())?;
    let transaction = connection.transaction().map_err(failed())?;
    let moved = reader.at_one_moment(|source| {
        each_page(source, |table, rows| {
            for row in rows {
                write(&transaction, table, row).map_err(failed())?;
            }
            Ok(())
        })
    })?;
    let sql =
        "UPDATE meta SET value = (SELECT coalesce(max(epoch), 0) FROM batches) WHERE key = 'writer_epoch'";
    transaction.execute(sql, []).map_err(failed())?;
    transaction.commit().map_err(failed())?;
    let checkpoint = connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()));
    checkpoint.map_err(failed())?;
    Ok(moved)
}

fn write(transaction: &rusqlite::Transaction<'_>, table: &Table, row: &[Value]) -> rusqlite::Result<()> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
    let sql = format!("INSERT INTO {} ({}) VALUES ({})", table.name, names.join(", "), places.join(", "));
    let mut statement = transaction.prepare_cached(&sql)?;
    statement.execute(rusqlite::params_from_iter(row)).map(drop)
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Number(number) => number.map(ValueRef::Integer),
            Self::Text(text) => text.as_ref().map(|text| ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => bytes.as_ref().map(|bytes| ValueRef::Blob(bytes)),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}

/// Reads every table in pages, in the order of its key.
fn each_page(
    source: Source<'_>,
    mut take: impl FnMut(&Table, &[Vec<Value>]) -> Result<(), LedgerError>,
) -> Result<Transferred, LedgerError> {
    let mut moved = Transferred::default();
    for table in TABLES {
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let key = names.first().copied().unwrap_or_default();
        let sql = format!(
            "SELECT {} FROM {} WHERE {key} > ?1 ORDER BY {key} LIMIT {PAGE}",
            names.join(", "),
            table.name
        );
        let mut last = None;
        loop {
            let page = source
                .all(&sql, &[after(last.as_ref(), table)], |row| read(row, table))
                .map_err(LedgerError::database("reading rows"))?;
            let Some(newest) = page.last() else { break };
            last = newest.first().cloned();
            take(table, &page)?;
            let count = page.len() as u64;
            moved.rows += count;
            match table.name {
                "records" => moved.records += count,
                "batches" => moved.batches += count,
                _ => {}
            }
        }
    }
    Ok(moved)
}

fn after<'a>(last: Option<&'a Value>, table: &Table) -> Param<'a> {
    match (last, table.columns.first().map(|(_, kind)| *kind)) {
        (Some(Value::Number(Some(number))), _) => Param::Integer(*number),
        (Some(Value::Text(Some(text))), _) => Param::Text(text),
        (_, Some(Text)) => Param::Text(""),
        (_, _) => Param::Integer(i64::MIN),
    }
}

fn read(row: &Row<'_>, table: &Table) -> Result<Vec<Value>, SqlError> {
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(at, (_, kind))| {
            Ok(match kind {
                Number => Value::Number(row.get(at)?),
                Text => Value::Text(row.get(at)?),
                Bytes => Value::Bytes(row.get(at)?),
            })
        })
        .collect()
}
