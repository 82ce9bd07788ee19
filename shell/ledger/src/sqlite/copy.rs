//! A copy of a ledger as it is at one moment, also while a runtime writes it; and the same put in the place of a ledger.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::{sleep, yield_now};
use std::time::Duration;

use holon_platform::clock;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use serde::{Deserialize, Serialize};

use super::{loss, open, reader};
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::Reader;
use crate::rows::head::{Head, HeadFile};
use crate::rows::{link, schema};

/// Pages of 4 KiB that are copied at once: so much of the disk a commit may have to wait for.
const PAGES: std::ffi::c_int = 256;
/// From one part of a copy to the next.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// What a copy holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    pub schema_version: i64,
    /// Its newest batch.
    pub head: Head,
    pub bytes: u64,
}

/// Copies a ledger to where no file is. Who writes it meanwhile is not kept waiting, but its write-ahead log grows until the
/// copy is made.
///
/// # Errors
/// When it has lost something, is damaged at its end or can't be read, or the copy not be written.
pub fn copy(path: &Path, to: &Path) -> Result<Copied, LedgerError> {
    loss::check_end(path)?;
    let source = reader::connect(path)?;
    let at_one_moment = source.unchecked_transaction().map_err(LedgerError::sqlite("beginning to read"))?;
    // The moment is the one of the first read.
    let schema_version = schema::version((&*at_one_moment).into())?;
    if !open::create(to)? {
        let problem = "a file is there already".to_owned();
        return Err(LedgerError::Open { path: to.to_owned(), problem });
    }
    pages(&at_one_moment, to)?;
    Ok(Copied { schema_version, ..copied(to)? })
}

/// What a copy that this build has made has in it.
///
/// # Errors
/// As [`check`].
pub(crate) fn copied(to: &Path) -> Result<Copied, LedgerError> {
    let head = check(to)?;
    let bytes = std::fs::metadata(to).map_or(0, |file| file.len());
    Ok(Copied { schema_version: schema::SCHEMA_VERSION, head, bytes })
}

fn pages(source: &Connection, to: &Path) -> Result<(), LedgerError> {
    let failed = || LedgerError::sqlite("copying the ledger");
    let mut copy = Connection::open(to).map_err(failed())?;
    // A copy that was cut short is removed, and whoever asked for it syncs what it makes of it.
    copy.pragma_update(None, "journal_mode", "OFF").map_err(failed())?;
    copy.pragma_update(None, "synchronous", "OFF").map_err(failed())?;
    let unwritten = |error: io::Error| {
        let full = error.kind() == io::ErrorKind::StorageFull;
        let other = || LedgerError::Open { path: to.to_owned(), problem: error.to_string() };
        if full { LedgerError::Full } else { other() }
    };
    let written = File::open(to).map_err(unwritten)?;
    let backup = Backup::new(source, &mut copy).map_err(failed())?;
    loop {
        let begun = clock::boot();
        match backup.step(PAGES).map_err(failed())? {
            StepResult::Done => break,
            // The disk is half of the time for whoever writes the ledger, and never has much of the copy to write at once.
            StepResult::More => {
                written.sync_data().map_err(unwritten)?;
                let took = Duration::from_micros(clock::boot().saturating_sub(begun));
                sleep(took.min(LONGEST_PAUSE));
            }
            // Locks of others are in the way of neither side: this one reads at one moment, that one is nobody else's.
            StepResult::Busy | StepResult::Locked | _ => yield_now(),
        }
    }
    drop(backup);
    copy.close().map_err(|(_, error)| failed()(error))
}

/// What a file that nobody writes ends with, if it is a ledger that this build may write.
///
/// # Errors
/// When it is none, is for newer builds only, or is damaged at its end.
pub fn check(copy: &Path) -> Result<Head, LedgerError> {
    let reader = Reader::of_copy(copy)?;
    reader.read(|source| {
        let found = schema::version(source)?;
        if found > schema::SCHEMA_VERSION {
            return Err(schema::newer(source, found));
        }
        if found == 0 {
            let problem = LedgerError::EMPTY.to_owned();
            return Err(LedgerError::NotALedger { path: copy.to_owned(), problem });
        }
        schema::check_kinds(source)?;
        link::newest(source).map(|newest| Head::of(&newest))
    })
}

/// Begins the head of a ledger that was put in its place, so that a start notices when it loses something.
///
/// # Errors
/// As [`check`], or when its head can't be written.
pub fn put_in_place(ledger: &Path) -> Result<Head, LedgerError> {
    let head = check(ledger)?;
    let file = HeadFile::open(ledger, Durability::Full);
    file.begin(head.clone())
        .and_then(|()| file.sync())
        .map_err(|error| LedgerError::Open { path: ledger.to_owned(), problem: error.to_string() })?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::super::testing::Home;
    use super::*;
    use crate::read::verify;

    #[test]
    fn a_copy_is_the_ledger_at_one_moment_while_it_is_written() {
        let home = Home::new();
        let mut world = home.start();
        world.create("main");
        world.prompt("main", &"long ".repeat(200_000));
        let newest = world.reader.read(link::newest).unwrap();
        let to = home.folder.path().join("copy");
        let copied = copy(&home.ledger(), &to).unwrap();
        assert_eq!(copied.head, Head::of(&newest));
        assert_eq!((copied.schema_version, copied.bytes > 1_000_000), (schema::SCHEMA_VERSION, true));
        // What comes later is not in it.
        world.prompt("main", "later");
        let report = verify(&Reader::of_copy(&to).unwrap(), &mut |_| Ok(())).unwrap();
        assert_eq!(report.batches, newest.batch.unsigned_abs());
        assert!(copy(&home.ledger(), &to).is_err(), "nothing is overwritten");

        let other = Home::new();
        std::fs::rename(&to, other.ledger()).unwrap();
        assert_eq!(put_in_place(&other.ledger()).unwrap(), copied.head);
        other.start().prompt("main", "it goes on");
        verify(&other.reader(), &mut |_| Ok(())).unwrap();
        std::fs::remove_file(other.ledger()).unwrap();
        assert!(matches!(Ledger::open(&other.ledger(), Durability::Full), Err(LedgerError::Lost { .. })));
    }

    #[test]
    fn what_is_not_in_order_is_not_copied() {
        let home = Home::with_turns(2);
        let to = home.folder.path().join("copy");
        home.vandal("UPDATE batches SET link = zeroblob(32) WHERE batch = (SELECT max(batch) FROM batches)");
        let refused = copy(&home.ledger(), &to).unwrap_err();
        assert!(refused.is_damage(), "{refused}");
        let nothing = Home::new();
        assert!(copy(&nothing.ledger(), &nothing.folder.path().join("copy")).is_err());
    }
}
