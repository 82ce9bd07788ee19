//! What a ledger gives back when nobody writes: free pages of the file, some at a time, and the write-ahead log, which is
//! moved into the file and cut.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holon_platform::crash_point::{Point, half_of, reached};
use rusqlite::Connection;

use super::append::{BUSY, Ledger};
use crate::error::LedgerError;
use crate::quiet::Tidied;

/// Free pages of 4 KiB that are kept for what is written next.
const KEPT_PAGES: i64 = 256;
/// Pages that are given back in one transaction.
const PAGES_AT_ONCE: i64 = 1_024;

impl Ledger {
    /// A part of it. Nobody is waited for: what is in the write-ahead log is as durable there.
    ///
    /// # Errors
    /// When the disk fails; the ledger takes nothing more then.
    pub(super) fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        let tidied = self.without_waiting(|ledger| match ledger.give_pages_back() {
            Ok(true) => Ok(Tidied::More),
            // On a full disk the write-ahead log is what there is to give.
            Ok(false) | Err(LedgerError::Full) => ledger.cut_log(),
            Err(error) => Err(error),
        });
        match tidied {
            Ok(tidied) => {
                if tidied == Tidied::Done {
                    // There is time. Where it can't be synced, it is older than the ledger after the end of the machine.
                    self.head.sync().unwrap_or_default();
                }
                Ok(tidied)
            }
            Err(LedgerError::Full | LedgerError::Locked { .. }) => Ok(Tidied::Hindered),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    /// Locks of others are for whoever has something to write.
    fn without_waiting<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let failed = "tidying the ledger";
        self.connection.busy_timeout(Duration::ZERO).map_err(LedgerError::sqlite(failed))?;
        let done = work(self);
        self.connection.busy_timeout(BUSY).map_err(LedgerError::sqlite(failed))?;
        done
    }

    /// Whether there are more of them. Ledgers of earlier builds keep theirs.
    fn give_pages_back(&self) -> Result<bool, LedgerError> {
        let before = free_pages(&self.connection)?;
        if before <= KEPT_PAGES {
            return Ok(false);
        }
        let pages = PAGES_AT_ONCE.min(before - KEPT_PAGES);
        self.connection
            .execute_batch(&format!("PRAGMA incremental_vacuum({pages})"))
            .map_err(LedgerError::sqlite("giving free pages back"))?;
        let left = free_pages(&self.connection)?;
        Ok(left < before && left > KEPT_PAGES)
    }

    fn cut_log(&self) -> Result<Tidied, LedgerError> {
        let file = Path::new(self.connection.path().unwrap_or_default());
        reached(Point::LogCutBegins);
        let busy = half_of(Point::LogCutHalf, file, || {
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))
        });
        reached(Point::LogCutEnded);
        if busy.map_err(LedgerError::sqlite("moving the write-ahead log into the file"))? {
            return Ok(Tidied::Hindered);
        }
        self.wal_pages.store(0, Ordering::Relaxed);
        Ok(Tidied::Done)
    }
}

fn free_pages(connection: &Connection) -> Result<i64, LedgerError> {
    connection
        .pragma_query_value(None, "freelist_count", |row| row.get(0))
        .map_err(LedgerError::sqlite("counting free pages"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::super::open::LOG_BYTES;
    use super::super::testing::{Home, World};
    use super::super::wal;
    use super::*;
    use crate::read::verify;

    fn size(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().len()
    }

    /// A ledger of some megabytes.
    fn filled(home: &Home) -> World {
        let mut world = home.start();
        world.create("main");
        for turn in 0..12 {
            let text: String =
                (0..700_000).map(|at| char::from(b'a' + ((at * 7 + turn) % 26) as u8)).collect();
            world.prompt("main", &format!("{turn}{text}"));
        }
        world
    }

    fn tidy(world: &mut World) -> usize {
        let mut steps = 1;
        while world.ledger.tidy().unwrap() == Tidied::More {
            steps += 1;
        }
        steps
    }

    #[test]
    fn the_write_ahead_log_is_cut_and_free_pages_are_given_back_in_steps() {
        let home = Home::new();
        let mut world = filled(&home);
        let (file, log) = (home.ledger(), wal::path_of(&home.ledger()));
        assert!(size(&log) > 1_000_000);
        assert_eq!(tidy(&mut world), 1);
        assert_eq!(size(&log), 0);
        let whole = size(&file);
        assert!(whole > 8_000_000);
        world.ledger.connection.execute("UPDATE content SET text = NULL", []).unwrap();
        assert!(tidy(&mut world) > 1);
        assert!(size(&file) < 2_000_000, "{} of {whole}", size(&file));
        assert_eq!(size(&log), 0);
        world.prompt("main", "it goes on");
        verify(&world.reader, &mut |_| Ok(())).unwrap();
        world.ledger.close().unwrap();
        home.start().prompt("main", "and on");
        verify(&home.reader(), &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn a_write_ahead_log_that_a_reader_kept_is_cut_when_it_begins_anew() {
        let home = Home::new();
        let mut world = filled(&home);
        let log = wal::path_of(&home.ledger());
        let other = Connection::open(home.ledger()).unwrap();
        other.execute_batch("BEGIN; SELECT count(*) FROM records").unwrap();
        let limit = LOG_BYTES.unsigned_abs();
        for turn in 0..60 {
            if size(&log) > limit + (4 << 20) {
                break;
            }
            world.prompt("main", &format!("{turn} {}", "xyz ".repeat(170_000)));
            world.ledger.tend().unwrap();
        }
        assert!(size(&log) > limit + (4 << 20), "{}", size(&log));
        other.execute_batch("ROLLBACK").unwrap();
        for turn in 0..4 {
            world.prompt("main", &format!("{turn} {}", "abc ".repeat(1_500_000)));
            world.ledger.tend().unwrap();
        }
        assert!(size(&log) <= limit, "{}", size(&log));
        verify(&world.reader, &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn a_ledger_of_an_earlier_build_keeps_its_pages_and_goes_on() {
        let home = Home::new();
        // Before the first table this can be chosen, and later not.
        home.vandal("PRAGMA auto_vacuum = NONE; CREATE TABLE t (x); DROP TABLE t");
        let mut world = filled(&home);
        world.ledger.connection.execute("UPDATE content SET text = NULL", []).unwrap();
        assert_eq!(tidy(&mut world), 1);
        assert!(size(&home.ledger()) > 8_000_000);
        assert_eq!(size(&wal::path_of(&home.ledger())), 0);
        world.prompt("main", "it goes on");
        verify(&world.reader, &mut |_| Ok(())).unwrap();
    }

    /// How often SQLite has asked whether to wait for a lock.
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn a_reader_and_a_writer_in_the_way_are_not_waited_for() {
        let home = Home::new();
        let mut world = filled(&home);
        let log = wal::path_of(&home.ledger());
        let other = Connection::open(home.ledger()).unwrap();
        let waits = |ledger: &Ledger| {
            let asked =
                ledger.connection.pragma_query_value(None, "busy_timeout", |row| row.get::<_, i64>(0));
            asked.map_err(LedgerError::sqlite("asking how long it waits"))
        };
        assert_eq!(world.ledger.without_waiting(waits).unwrap(), 0);
        for begins in ["BEGIN; SELECT count(*) FROM records", "BEGIN IMMEDIATE"] {
            other.execute_batch(begins).unwrap();
            let asks = |_| ASKED.fetch_add(1, Ordering::Relaxed) > 1_000_000;
            world.ledger.connection.busy_handler(Some(asks)).unwrap();
            assert_eq!(world.ledger.tidy().unwrap(), Tidied::Hindered, "{begins}");
            assert_eq!(ASKED.load(Ordering::Relaxed), 0, "{begins}");
            assert!(size(&log) > 0);
            other.execute_batch("ROLLBACK").unwrap();
        }
        world.prompt("main", "it goes on");
        assert_eq!(world.ledger.tidy().unwrap(), Tidied::Done);
        assert_eq!(size(&log), 0);
    }
}
