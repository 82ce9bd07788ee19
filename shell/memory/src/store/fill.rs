//! Filling: documents and the place in the ledger that they go up to are one transaction.

use holon_facts::AgentId;
use holon_facts::workspace::WorkspaceId;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::Index;
use super::read;
use crate::document::{Document, Source};
use crate::error::MemoryError;
use crate::source_ref::{Entry, RefKey, SourceRef};
use crate::text::{self, OURS};

/// Bytes of a text that are searched: the beginning of what is longer.
const TEXT_BYTES: usize = 64 << 10;
/// The same of a title.
const TITLE_CHARS: usize = 200;

/// What is written together. Dropped without [`Fill::commit`], nothing is.
#[derive(Debug)]
pub struct Fill<'a> {
    transaction: Transaction<'a>,
    key: &'a RefKey,
}

/// What the index has to remember of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    id: i64,
    searches: bool,
    workspace: Option<WorkspaceId>,
}

impl Index {
    /// Gives pages of the file back that it was written with: a file that is written now and then is read again.
    ///
    /// # Errors
    /// Damage.
    pub fn let_go(&self) -> Result<(), MemoryError> {
        self.connection.execute_batch("PRAGMA shrink_memory").map_err(failed())
    }

    /// Begins to write; nobody else does meanwhile.
    ///
    /// # Errors
    /// When another process writes for too long, or the file is damaged.
    pub fn fill<'a>(&'a mut self, key: &'a RefKey) -> Result<Fill<'a>, MemoryError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        Ok(Fill { transaction: begun.map_err(MemoryError::sqlite("writing"))?, key })
    }
}

impl Fill<'_> {
    /// The ledger was read through this position.
    ///
    /// # Errors
    /// Damage.
    pub fn cursor(&self) -> Result<u64, MemoryError> {
        read::cursor(&self.transaction)
    }

    /// Writes everything.
    ///
    /// # Errors
    /// A full disk, damage.
    pub fn commit(self) -> Result<(), MemoryError> {
        self.transaction.commit().map_err(failed())
    }

    /// The same, with the position in the ledger that it goes up to, and the sum of the row there.
    ///
    /// # Errors
    /// A full disk, damage.
    pub fn commit_through(self, cursor: u64, mark: i64) -> Result<(), MemoryError> {
        let cursor = i64::try_from(cursor).unwrap_or(i64::MAX);
        for (key, value) in [("cursor", cursor), ("mark", mark)] {
            let set = "UPDATE meta SET value = ?1 WHERE key = ?2 AND value <> ?1";
            self.transaction.execute(set, (value, key)).map_err(failed())?;
        }
        self.commit()
    }

    /// An agent is known from now on, and searches or does not.
    ///
    /// # Errors
    /// Damage.
    pub fn agent(&self, agent: &AgentId, searches: bool) -> Result<(), MemoryError> {
        let sql = "INSERT INTO agents (agent, searches) VALUES (?1, ?2) ON CONFLICT (agent) DO UPDATE SET searches = ?2";
        let mut statement = self.transaction.prepare_cached(sql).map_err(failed())?;
        statement.execute((agent.as_str(), searches)).map(drop).map_err(failed())
    }

    /// Where an agent works from now on; none in its own home.
    ///
    /// # Errors
    /// Damage.
    pub fn works_in(&self, agent: &AgentId, workspace: Option<&WorkspaceId>) -> Result<(), MemoryError> {
        let sql = "UPDATE agents SET workspace = ?2 WHERE agent = ?1";
        let mut statement = self.transaction.prepare_cached(sql).map_err(failed())?;
        statement.execute((agent.as_str(), workspace.map(WorkspaceId::as_str))).map(drop).map_err(failed())
    }

    /// Where an agent works; none of one that has no memory to search.
    ///
    /// # Errors
    /// Damage.
    pub fn workspace(&self, agent: &AgentId) -> Result<Option<Option<WorkspaceId>>, MemoryError> {
        Ok(self.known(agent)?.filter(|known| known.searches).map(|known| known.workspace))
    }

    /// A document as it was written.
    ///
    /// # Errors
    /// Damage.
    pub fn entry(&self, agent: &AgentId, source: &Source) -> Result<Option<Entry>, MemoryError> {
        let found = read::entry(&self.transaction, agent, self.key.sign(agent, source))?;
        Ok(found.map(|(_, entry)| entry))
    }

    /// The files of an agent that are documents.
    ///
    /// # Errors
    /// Damage.
    pub fn files(&self, agent: &AgentId) -> Result<Vec<Entry>, MemoryError> {
        read::files(&self.transaction, agent)
    }

    /// Writes a document in the place of the one of the same source. One of an agent without a memory is left out.
    ///
    /// # Errors
    /// A full disk, damage.
    pub fn put(&self, document: &Document, body: &str) -> Result<(), MemoryError> {
        let Some(known) = self.known(&document.agent)?.filter(|known| known.searches) else { return Ok(()) };
        let source_ref = self.key.sign(&document.agent, &document.source);
        let title: String = document.title.chars().take(TITLE_CHARS).collect();
        let events: Vec<String> = document.events.iter().map(u64::to_string).collect();
        let length = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let workspace = document.workspace.as_ref();
        let scope = scope_of(known.id, self.workspace_id(workspace)?);
        let sql = "INSERT INTO docs (agent, source_ref, kind, source, standing, workspace, path, title, updated_at, \
                   events, stamp, length) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
                   ON CONFLICT (source_ref) DO NOTHING";
        let mut insert = self.transaction.prepare_cached(sql).map_err(failed())?;
        let events = events.join(" ");
        let values = (
            known.id,
            source_ref.0,
            document.source.kind.name(),
            &document.source.id,
            document.standing.name(),
            workspace.map(WorkspaceId::as_str),
            &document.path,
            &title,
            document.updated_at.0,
            &events,
            &document.stamp,
            length,
        );
        // Most documents are new: one look at the table finds that out and writes them.
        if insert.execute(values).map_err(failed())? == 0 {
            self.forget(source_ref)?;
            insert.execute(values).map_err(failed())?;
        }
        let id = self.transaction.last_insert_rowid();
        let sql = "INSERT INTO fts (rowid, title, body, scope) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.transaction.prepare_cached(sql).map_err(failed())?;
        let searched = &body[..body.floor_char_boundary(TEXT_BYTES)];
        insert
            .execute((id, text::indexed(&title), text::indexed(searched), scope))
            .map(drop)
            .map_err(failed())
    }

    /// A document goes, where it is there.
    ///
    /// # Errors
    /// A full disk, damage.
    pub fn remove(&self, agent: &AgentId, source: &Source) -> Result<(), MemoryError> {
        self.forget(self.key.sign(agent, source))
    }

    fn forget(&self, source_ref: SourceRef) -> Result<(), MemoryError> {
        let sql = "SELECT id FROM docs WHERE source_ref = ?1";
        let mut find = self.transaction.prepare_cached(sql).map_err(failed())?;
        let found = find.query_row([source_ref.0], |row| row.get::<_, i64>(0)).optional().map_err(failed())?;
        let Some(id) = found else { return Ok(()) };
        for sql in ["DELETE FROM docs WHERE id = ?1", "DELETE FROM fts WHERE rowid = ?1"] {
            let mut delete = self.transaction.prepare_cached(sql).map_err(failed())?;
            delete.execute([id]).map_err(failed())?;
        }
        Ok(())
    }

    fn known(&self, agent: &AgentId) -> Result<Option<Known>, MemoryError> {
        let sql = "SELECT id, searches, workspace FROM agents WHERE agent = ?1";
        let mut find = self.transaction.prepare_cached(sql).map_err(failed())?;
        let found = find.query_row([agent.as_str()], |row| {
            let workspace = row.get::<_, Option<String>>(2)?.map(|name| WorkspaceId::named(&name));
            Ok(Known { id: row.get(0)?, searches: row.get(1)?, workspace })
        });
        found.optional().map_err(failed())
    }

    /// The number of a workspace in scopes; 0 for what belongs to the agent itself.
    fn workspace_id(&self, workspace: Option<&WorkspaceId>) -> Result<i64, MemoryError> {
        let Some(workspace) = workspace else { return Ok(0) };
        let sql = "INSERT INTO workspaces (workspace) VALUES (?1) ON CONFLICT (workspace) DO UPDATE SET workspace = ?1 RETURNING id";
        let mut find = self.transaction.prepare_cached(sql).map_err(failed())?;
        find.query_row([workspace.as_str()], |row| row.get(0)).map_err(failed())
    }
}

fn scope_of(agent: i64, workspace: i64) -> String {
    format!("{OURS}a{agent} {OURS}w{workspace}")
}

fn failed() -> impl Fn(rusqlite::Error) -> MemoryError {
    MemoryError::sqlite("writing")
}
