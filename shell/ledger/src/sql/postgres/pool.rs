//! Connections that the sessions of a server share: a session has one for a statement, or for a read of one moment. So a
//! node needs no more of them the more cells it owns.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::Millis;
use holon_platform::clock;

use super::PostgresError;
use super::session::Open;

/// Connections of a server for each kind of work at most.
const MOST: usize = 8;

/// What a session shares connections for. What is written does not wait for what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Reading,
    Appending,
}

#[derive(Default)]
pub(super) struct Pool {
    connections: Mutex<Connections>,
    given_back: Condvar,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Arc<Open>>,
    lent: usize,
}

/// A connection that goes back when it is dropped.
pub(super) struct Lent {
    pool: Arc<Pool>,
    open: Arc<Open>,
    /// Whether the next one can go on with it.
    pub(super) is_clean: bool,
}

impl Pool {
    /// A connection, for which so long is waited where all of them are in use.
    pub(super) fn lend(
        self: &Arc<Self>,
        within: Millis,
        connect: impl FnOnce() -> Result<Open, PostgresError>,
    ) -> Result<Lent, PostgresError> {
        let began = clock::now();
        let mut connections = self.lock();
        loop {
            while let Some(open) = connections.idle.pop() {
                if !open.is_closed() {
                    connections.lent += 1;
                    return Ok(self.lent(open));
                }
            }
            if connections.lent < MOST {
                break;
            }
            let left = within.0.saturating_sub(clock::since(began).0);
            if left == 0 {
                return Err(PostgresError::Unanswered(format!("all {MOST} connections to it are in use")));
            }
            let waited = self.given_back.wait_timeout(connections, Duration::from_millis(left));
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        connections.lent += 1;
        drop(connections);
        match connect() {
            Ok(open) => Ok(self.lent(Arc::new(open))),
            Err(error) => {
                self.take_back(None);
                Err(error)
            }
        }
    }

    fn lent(self: &Arc<Self>, open: Arc<Open>) -> Lent {
        Lent { pool: self.clone(), open, is_clean: true }
    }

    /// Closes those that nobody uses.
    fn close_idle(&self) {
        self.lock().idle.clear();
    }

    fn take_back(&self, open: Option<Arc<Open>>) {
        let mut connections = self.lock();
        connections.lent -= 1;
        connections.idle.extend(open);
        self.given_back.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    pub(super) fn open(&self) -> &Arc<Open> {
        &self.open
    }

    /// It does not answer. The others lead to the same database: whoever asks next does not find out one after the other.
    pub(super) fn is_lost(&mut self) {
        self.is_clean = false;
        self.pool.close_idle();
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.take_back(self.is_clean.then(|| self.open.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Server, Session};
    use super::*;
    use crate::postgres::testing::Database;

    const READING: Work = Work::Reading;

    /// Connections that a user of the database has.
    fn connections(session: &Session) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user";
        session.query(sql, &[], None).unwrap()[0].get(0)
    }

    fn answers(session: &Session) -> bool {
        session.query("SELECT 1", &[], Some(Millis(20))).is_ok()
    }

    fn sessions(server: &Server, count: i64) -> Vec<Session> {
        (0..count).map(|cell| Session::shared(server.clone(), cell, READING)).collect()
    }

    #[test]
    fn many_sessions_share_few_connections() {
        let Some(database) = Database::new() else { return };
        let server = database.server();
        let sessions = sessions(&server, 100);
        for session in &sessions {
            assert_eq!(connections(session), 1, "one after the other");
        }
        std::thread::scope(|scope| {
            for session in &sessions {
                scope.spawn(|| session.query("SELECT pg_sleep(0.01)", &[], None).unwrap());
            }
        });
        assert!(connections(&sessions[0]) <= 8);
    }

    #[test]
    fn a_read_of_one_moment_has_its_connection_to_its_end() {
        let Some(database) = Database::new() else { return };
        let server = database.server();
        let sessions = sessions(&server, 10);
        for session in &sessions[..MOST] {
            session.begin().unwrap();
            assert!(answers(session));
        }
        assert!(!answers(&sessions[8]), "all are in use");
        assert!(answers(&Session::shared(server, 1, Work::Appending)), "those who write have their own");
        sessions[0].end();
        assert!(answers(&sessions[8]) && answers(&sessions[9]));
        // One that breaks off takes its transaction along.
        let mut sessions = sessions;
        drop(sessions.remove(1));
        let sql = "SELECT current_setting('transaction_read_only')";
        assert_eq!(sessions[7].query(sql, &[], None).unwrap()[0].get::<_, &str>(0), "off");
    }

    #[test]
    fn a_connection_that_is_lost_is_replaced() {
        let Some(database) = Database::new() else { return };
        let server = database.server();
        let sessions = sessions(&server, 3);
        sessions.iter().for_each(|session| assert!(answers(session)));
        sessions[0].begin().unwrap();
        database.cut();
        assert!(!answers(&sessions[0]), "what it had begun is gone");
        sessions[0].end();
        assert!((0..20).any(|_| sessions.iter().all(answers)));
    }
}
