//! Statements about a cell, one at a time. Their connection comes about with the first one, and again after it was lost.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::Millis;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::pool::{Lent, Work};
use super::statement::Form;
use super::{PostgresError, Server, Statements, block};

/// How long an answer to a read is waited for.
pub(super) const ANSWER: Millis = Millis::seconds(30);

/// Asks a database about a cell, for one caller at a time.
pub(crate) struct Session {
    server: Server,
    cell: i64,
    /// None: the connection is its own for as long as it lives.
    shares: Option<Work>,
    connection: Mutex<Option<Connection>>,
    /// A lost connection has lost it, too: no other one goes on in its place.
    in_transaction: AtomicBool,
    /// The same of a lock.
    holds_lock: AtomicBool,
    stopped: Arc<AtomicBool>,
}

enum Connection {
    Own(Arc<Open>),
    Lent(Lent),
}

/// A connection, with the statements that it knows.
pub(super) struct Open {
    client: Client,
    statements: Mutex<Statements>,
}

impl Open {
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

impl Connection {
    fn open(&self) -> &Arc<Open> {
        match self {
            Self::Own(open) => open,
            Self::Lent(lent) => lent.open(),
        }
    }
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
    /// With a connection of its own.
    pub(crate) fn new(server: Server, cell: i64) -> Self {
        Self::with(server, cell, None)
    }

    /// With a connection that others use in between.
    pub(crate) fn shared(server: Server, cell: i64, work: Work) -> Self {
        Self::with(server, cell, Some(work))
    }

    /// The same with a connection of its own.
    pub(crate) fn apart(&self) -> Self {
        Self::new(self.server.clone(), self.cell)
    }

    fn with(server: Server, cell: i64, shares: Option<Work>) -> Self {
        Self {
            server,
            cell,
            shares,
            connection: Mutex::new(None),
            in_transaction: AtomicBool::new(false),
            holds_lock: AtomicBool::new(false),
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
        self.ask(sql, Form::of(self.cell), params, Some(ANSWER))
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
        self.ask(sql, Form::AsItStands, params, limit)
    }

    /// Several statements without values. Where one is refused, the connection is given up, with what was begun on it.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), PostgresError> {
        let done = self.execute_here(sql);
        self.give_back();
        done
    }

    /// Begins to read the database as it is at one moment.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn begin(&self) -> Result<(), PostgresError> {
        self.begin_by("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Begins to change the database as a whole: what follows is done with [`Self::commit`], or not at all. Where the connection
    /// is lost on the way, everything up to [`Self::rollback`] is refused.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn begin_write(&self) -> Result<(), PostgresError> {
        self.begin_by("BEGIN")
    }

    fn begin_by(&self, sql: &str) -> Result<(), PostgresError> {
        self.execute_here(sql)?;
        self.in_transaction.store(true, Ordering::Relaxed);
        self.is_clean(false);
        Ok(())
    }

    /// Makes what was changed since [`Self::begin_write`] durable.
    ///
    /// # Errors
    /// When its connection was lost before, or it is not answered: whether it was done is not known then.
    pub(crate) fn commit(&self) -> Result<(), PostgresError> {
        let committed = self.execute_here("COMMIT");
        self.in_transaction.store(false, Ordering::Relaxed);
        self.is_clean(committed.is_ok());
        self.give_back();
        committed
    }

    /// Gives up what was changed since [`Self::begin_write`]. A lost connection has done so already.
    pub(crate) fn rollback(&self) {
        let is_open = self.lock().as_ref().is_some_and(|connection| !connection.open().is_closed());
        let is_clean = is_open && self.execute_here("ROLLBACK").is_ok();
        self.in_transaction.store(false, Ordering::Relaxed);
        self.is_clean(is_clean);
        self.give_back();
    }

    /// Its connection holds a lock from now on, until [`Self::lose`]: where it is lost, everything is refused.
    pub(crate) fn holds_lock(&self) {
        self.holds_lock.store(true, Ordering::Relaxed);
    }

    /// Ends it. A connection that can't is given up.
    pub(crate) fn end(&self) {
        self.in_transaction.store(false, Ordering::Relaxed);
        let is_open = self.lock().is_some();
        if is_open && self.execute_here("COMMIT").is_ok() {
            self.is_clean(true);
        }
        self.give_back();
    }

    /// Gives the connection up, with what was begun on it. The next statement has another one.
    pub(crate) fn lose(&self) {
        self.give_up();
        self.in_transaction.store(false, Ordering::Relaxed);
        self.holds_lock.store(false, Ordering::Relaxed);
    }

    /// What was under way on the connection is not waited for.
    fn give_up(&self) {
        let mut connection = self.lock();
        if let Some(Connection::Lent(lent)) = &mut *connection {
            lent.is_lost();
        }
        *connection = None;
    }

    /// Lets others have it, where it is shared and nothing was begun on it.
    fn give_back(&self) {
        if self.shares.is_some() && !self.in_transaction.load(Ordering::Relaxed) {
            *self.lock() = None;
        }
    }

    fn is_clean(&self, is_clean: bool) {
        if let Some(Connection::Lent(lent)) = &mut *self.lock() {
            lent.is_clean = is_clean;
        }
    }

    fn execute_here(&self, sql: &str) -> Result<(), PostgresError> {
        let open = self.open(Some(ANSWER))?;
        let done = self.answer(open.client.batch_execute(sql), Some(ANSWER));
        if done.is_err() {
            self.give_up();
        }
        done
    }

    fn ask(
        &self,
        sql: &str,
        form: Form,
        params: &[&(dyn ToSql + Sync)],
        limit: Option<Millis>,
    ) -> Result<Vec<Row>, PostgresError> {
        let open = self.open(limit)?;
        let asked = self.prepared(&open, sql, form, params.len()).and_then(|statement| {
            let mut params = params.to_vec();
            if statement.params().len() > params.len() && form == Form::OfCell {
                params.push(&self.cell);
            }
            self.answer(open.client.query(&statement, &params), limit)
        });
        self.give_back();
        asked
    }

    fn prepared(
        &self,
        open: &Open,
        sql: &str,
        form: Form,
        values: usize,
    ) -> Result<Statement, PostgresError> {
        let statements = || open.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = statements().get(form, sql) {
            return Ok(statement);
        }
        let statement = self.answer(open.client.prepare(&form.text(sql, values)), Some(ANSWER))?;
        statements().keep(form, sql, statement.clone());
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
            self.give_up();
        }
        answer
    }

    /// Its connection. Where all that are shared are in use, one is waited for.
    fn open(&self, limit: Option<Millis>) -> Result<Arc<Open>, PostgresError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(PostgresError::Unanswered("the read was ended".to_owned()));
        }
        let mut connection = self.lock();
        if let Some(open) = connection.as_ref().map(Connection::open).filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        let lost = |with: &str| {
            Err(PostgresError::Unanswered(format!("the connection was lost, and {with} with it")))
        };
        if self.in_transaction.load(Ordering::Relaxed) {
            return lost("what was begun");
        }
        if self.holds_lock.load(Ordering::Relaxed) {
            return lost("a lock");
        }
        // One that is closed goes back before another is waited for.
        *connection = None;
        let connect = || self.server.connect().map(|client| Open { client, statements: Mutex::default() });
        let new = match self.shares {
            None => Connection::Own(Arc::new(connect()?)),
            Some(work) => Connection::Lent(self.server.pool(work).lend(limit.unwrap_or(ANSWER), connect)?),
        };
        Ok(connection.insert(new).open().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::testing::Database;

    #[test]
    fn a_transaction_ends_with_its_connection() {
        let Some((server, database)) = Database::with_cells() else { return };
        let session = Session::new(server.clone(), 0);
        let labels = |session: &Session| {
            let rows = session.query("SELECT count(*) FROM cells WHERE label IS NOT NULL", &[], Some(ANSWER));
            rows.unwrap()[0].get::<_, i64>(0)
        };
        let set = |cell: i64| {
            let sql = "UPDATE cells SET label = 'a' WHERE cell = $1";
            session.query(sql, &[&cell], Some(ANSWER))
        };
        let is_lost = |done: Result<(), PostgresError>| {
            let error = done.unwrap_err();
            assert!(matches!(error, PostgresError::Unanswered(_)), "{error}");
        };
        session.begin_write().unwrap();
        set(1).unwrap();
        database.cut();
        for cell in [2, 3] {
            is_lost(set(cell).map(drop));
        }
        is_lost(session.execute("UPDATE cells SET label = 'b'"));
        is_lost(session.commit());
        assert_eq!(labels(&session), 0);
        // Given up, it is over too, with its connection or without.
        for cut in [false, true] {
            session.begin_write().unwrap();
            set(1).unwrap();
            if cut {
                database.cut();
            }
            session.rollback();
            assert_eq!(labels(&session), 0);
        }
        session.begin_write().unwrap();
        set(1).unwrap();
        session.commit().unwrap();
        assert_eq!(labels(&Session::new(server, 0)), 1);
    }

    #[test]
    fn a_lock_ends_with_its_connection() {
        let Some((server, database)) = Database::with_cells() else { return };
        let session = Session::new(server, 0);
        let asks = || session.query("SELECT pg_advisory_lock(7, 7)", &[], Some(ANSWER)).map(drop);
        asks().unwrap();
        session.holds_lock();
        database.cut();
        for _ in 0..2 {
            let error = asks().unwrap_err();
            assert!(matches!(error, PostgresError::Unanswered(_)), "{error}");
        }
        session.lose();
        asks().unwrap();
    }
}
