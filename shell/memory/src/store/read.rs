//! Reads of rows, within a transaction or without one.

use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, Wall};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Index, Totals};
use crate::document::{Document, Kind, Source, Standing};
use crate::error::MemoryError;
use crate::source_ref::{Entry, SourceRef};

/// Columns of `docs`, as [`document`] reads them.
pub(super) const COLUMNS: &str = "docs.id, docs.source_ref, docs.kind, docs.source, docs.standing, docs.workspace, \
    docs.path, docs.title, docs.updated_at, docs.events, docs.stamp";

impl Index {
    /// The ledger was read through this position.
    ///
    /// # Errors
    /// Damage.
    pub fn cursor(&self) -> Result<u64, MemoryError> {
        cursor(&self.connection)
    }

    /// The same, with the sum of the ledger's row there: of one moment, as another process may fill the index.
    ///
    /// # Errors
    /// Damage.
    pub fn mark(&self) -> Result<(u64, i64), MemoryError> {
        let sql = "SELECT at.value, mark.value FROM meta AS at, meta AS mark \
                   WHERE at.key = 'cursor' AND mark.key = 'mark'";
        let found = self.connection.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        let (cursor, mark) = found.map_err(failed())?;
        Ok((u64::try_from(cursor).unwrap_or(0), mark))
    }

    /// The document of a reference that this agent was given.
    ///
    /// # Errors
    /// Damage.
    pub fn get(&self, agent: &AgentId, source_ref: SourceRef) -> Result<Option<Entry>, MemoryError> {
        Ok(entry(&self.connection, agent, source_ref)?.map(|(_, entry)| entry))
    }

    /// How much there is of an agent.
    ///
    /// # Errors
    /// Damage.
    pub fn totals(&self, agent: &AgentId) -> Result<Totals, MemoryError> {
        let sql = "SELECT kind, count(*) FROM docs WHERE agent = (SELECT id FROM agents WHERE agent = ?1) \
                   GROUP BY kind ORDER BY kind";
        let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
        let rows = statement
            .query_map([agent.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?)));
        let mut totals = Totals::default();
        for row in rows.map_err(failed())? {
            let (kind, count) = row.map_err(failed())?;
            totals.documents += u64::from(count);
            totals
                .by_kind
                .push((Kind::named(&kind).ok_or_else(|| damaged("kind", &kind))?, u64::from(count)));
        }
        Ok(totals)
    }
}

pub(super) fn cursor(connection: &Connection) -> Result<u64, MemoryError> {
    let sql = "SELECT value FROM meta WHERE key = 'cursor'";
    let found = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed())?;
    Ok(u64::try_from(found).unwrap_or(0))
}

pub(super) fn entry(
    connection: &Connection,
    agent: &AgentId,
    source_ref: SourceRef,
) -> Result<Option<(i64, Entry)>, MemoryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM docs WHERE source_ref = ?1 AND agent = (SELECT id FROM agents WHERE agent = ?2)"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed())?;
    let found = statement.query_row((source_ref.0, agent.as_str()), |row| Ok(document(row, agent)));
    found.optional().map_err(failed())?.transpose()
}

pub(super) fn files(connection: &Connection, agent: &AgentId) -> Result<Vec<Entry>, MemoryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM docs INDEXED BY files
         WHERE agent = (SELECT id FROM agents WHERE agent = ?1) AND path IS NOT NULL ORDER BY path"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed())?;
    let rows = statement.query_map([agent.as_str()], |row| Ok(document(row, agent))).map_err(failed())?;
    rows.map(|row| row.map_err(failed())?.map(|(_, entry)| entry)).collect()
}

/// A row as it was written.
pub(super) fn document(row: &Row<'_>, agent: &AgentId) -> Result<(i64, Entry), MemoryError> {
    let text = |column| row.get::<_, String>(column).map_err(failed());
    let optional = |column| row.get::<_, Option<String>>(column).map_err(failed());
    let (kind, standing, events) = (text(2)?, text(4)?, text(9)?);
    let events: Result<Vec<u64>, _> = events.split_whitespace().map(str::parse).collect();
    let document = Document {
        agent: agent.clone(),
        source: Source { kind: Kind::named(&kind).ok_or_else(|| damaged("kind", &kind))?, id: text(3)? },
        standing: Standing::named(&standing).ok_or_else(|| damaged("standing", &standing))?,
        workspace: optional(5)?.map(|name| WorkspaceId::named(&name)),
        path: optional(6)?,
        title: text(7)?,
        updated_at: Wall(row.get(8).map_err(failed())?),
        events: events.map_err(|problem| MemoryError::Damaged { problem: problem.to_string() })?,
        stamp: optional(10)?,
    };
    let source_ref = SourceRef(row.get(1).map_err(failed())?);
    Ok((row.get(0).map_err(failed())?, Entry { source_ref, document }))
}

fn damaged(what: &str, value: &str) -> MemoryError {
    MemoryError::Damaged { problem: format!("{value:?} is no {what}") }
}

fn failed() -> impl Fn(rusqlite::Error) -> MemoryError {
    MemoryError::sqlite("reading")
}
