//! One connection of a cell. It comes about with the first statement, and again after it was lost.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::Millis;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::statement::of_cell;
use super::{PostgresError, Server, Statements, block};

/// How long an answer to a read is waited for.
pub(super) const ANSWER: Millis = Millis::seconds(30);

/// One connection of a cell, for one caller at a time.
pub(crate) struct Session {
    server: Server,
    cell: i64,
    open: Mutex<Option<Arc<Open>>>,
    /// A lost connection has lost it, too: nothing more is read in it.
    in_transaction: AtomicBool,
    stopped: Arc<AtomicBool>,
}

struct Open {
    client: Client,
    statements: Mutex<Statements>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({}, cell {})", self.server, self.cell)
    }
}

impl std::fmt::Display for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.server.fmt(f)
    }
}

impl Session {
    pub(crate) fn new(server: Server, cell: i64) -> Self {
        Self {
            server,
            cell,
            open: Mutex::new(None),
            in_transaction: AtomicBool::new(false),
            stopped: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn cell(&self) -> i64 {
        self.cell
    }

    /// What ends the reads of this session from another thread.
    pub(crate) fn stopped(&self) -> Arc<AtomicBool> {
        self.stopped.clone()
    }

    /// The rows of a statement that is written for one ledger.
    ///
    /// # Errors
    /// When it is not answered in [`ANSWER`], or refused.
    pub(crate) fn of_cell(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresError> {
        self.ask(sql, |sql| of_cell(sql, self.cell), params, Some(ANSWER))
    }

    /// The rows of a statement as it stands, for which an answer is waited so long; for as long as it takes where there is
    /// no limit.
    ///
    /// # Errors
    /// When it is not answered, or refused.
    pub(crate) fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
        limit: Option<Millis>,
    ) -> Result<Vec<Row>, PostgresError> {
        self.ask(sql, str::to_owned, params, limit)
    }

    /// Several statements without values.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), PostgresError> {
        let open = self.open()?;
        self.answer(open.client.batch_execute(sql), Some(ANSWER))
    }

    /// Begins to read the database as it is at one moment.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn begin(&self) -> Result<(), PostgresError> {
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        self.in_transaction.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends it. A connection that can't is given up.
    pub(crate) fn end(&self) {
        self.in_transaction.store(false, Ordering::Relaxed);
        if self.execute("COMMIT").is_err() {
            self.lose();
        }
    }

    /// Gives the connection up: what was under way on it is not waited for.
    pub(crate) fn lose(&self) {
        *self.lock() = None;
    }

    fn ask(
        &self,
        sql: &str,
        text: impl FnOnce(&str) -> String,
        params: &[&(dyn ToSql + Sync)],
        limit: Option<Millis>,
    ) -> Result<Vec<Row>, PostgresError> {
        let open = self.open()?;
        let statement = self.prepared(&open, sql, text)?;
        self.answer(open.client.query(&statement, params), limit)
    }

    fn prepared(
        &self,
        open: &Open,
        sql: &str,
        text: impl FnOnce(&str) -> String,
    ) -> Result<Statement, PostgresError> {
        let statements = || open.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = statements().get(sql) {
            return Ok(statement);
        }
        let statement = self.answer(open.client.prepare(&text(sql)), Some(ANSWER))?;
        statements().keep(sql, statement.clone());
        Ok(statement)
    }

    fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
        limit: Option<Millis>,
    ) -> Result<T, PostgresError> {
        let answer = block::on(asked, limit);
        let answer = answer.map_or_else(
            || Err(PostgresError::Unanswered(format!("nothing came for {} s", ANSWER.0 / 1_000))),
            |answer| answer.map_err(PostgresError::from),
        );
        if let Err(PostgresError::Unanswered(_)) = answer {
            self.lose();
        }
        answer
    }

    fn open(&self) -> Result<Arc<Open>, PostgresError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(PostgresError::Unanswered("the read was ended".to_owned()));
        }
        let mut open = self.lock();
        if let Some(open) = open.as_ref().filter(|open| !open.client.is_closed()) {
            return Ok(open.clone());
        }
        if self.in_transaction.load(Ordering::Relaxed) {
            return Err(PostgresError::Unanswered(
                "the connection was lost in the middle of a read".to_owned(),
            ));
        }
        let new = Open { client: self.server.connect()?, statements: Mutex::default() };
        Ok(open.insert(Arc::new(new)).clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
