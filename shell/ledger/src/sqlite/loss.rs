//! Whether everything that was acknowledged is still there, looked at before SQLite recovers the write-ahead log: what
//! SQLite can't use it drops without a word (contract: decisions.md 35).

use std::io;
use std::path::Path;
use std::time::Duration;

use super::wal::Wal;
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::Reader;
use crate::read::loss::{behind, shorter};
use crate::rows::head::{self, Head, HeadFile, Kept};
use crate::rows::link::{self, BatchRow};
use crate::sql::Source;

/// A runtime that lives writes its log meanwhile: damage stays where it is.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What a look at the files of a ledger found.
#[derive(Debug)]
pub(super) struct Files {
    head: Kept,
    /// A write-ahead log that an unfinished commit left frames in.
    torn: Option<Wal>,
    warnings: Vec<String>,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> LedgerError {
    move |error| LedgerError::Open { path: path.to_owned(), problem: error.to_string() }
}

impl Files {
    /// Looks at the files of a ledger that nobody writes.
    ///
    /// # Errors
    /// When something that was acknowledged is gone.
    pub(super) fn look(path: &Path) -> Result<Self, LedgerError> {
        let head = head::read(path).map_err(failed(path))?;
        let wal = Wal::read(path).map_err(failed(path))?;
        let mut warnings = Vec::new();
        if let Kept::Unreadable = head {
            let file = head::path_of(path);
            warnings.push(format!(
                "{} is damaged and was written anew: whether the end of the ledger is there could not be compared",
                file.display()
            ));
        }
        if std::fs::metadata(path).map_or(0, |file| file.len()) == 0 {
            missing(path, head.acknowledged(), wal.as_ref())?;
        }
        if let Some(damage) = wal.as_ref().and_then(Wal::damage) {
            let end =
                head.acknowledged().map_or(String::new(), |head| format!("; {head} was acknowledged last"));
            let problem = format!("it is damaged {damage}{end}");
            if !head.acknowledged().is_some_and(Head::may_be_lost) {
                return Err(LedgerError::Lost { path: path.to_owned(), problem });
            }
            warnings.push(format!(
                "the machine has ended meanwhile, and this ledger survives processes only: {problem}"
            ));
        }
        let torn = wal.filter(Wal::has_torn_end);
        Ok(Self { head, torn, warnings })
    }

    /// Compares what opens with what was acknowledged, cuts the torn end of an unfinished commit off the write-ahead log,
    /// and begins the heads of this process. Returns what is to be said to whoever starts the runtime, too.
    ///
    /// # Errors
    /// When the ledger ends before its head, or is another one; nothing is changed then.
    pub(super) fn compare(
        self,
        path: &Path,
        source: Source<'_>,
        newest: &BatchRow,
        durability: Durability,
    ) -> Result<(HeadFile, Vec<String>), LedgerError> {
        let mut warnings = self.warnings;
        if let Some(head) = self.head.acknowledged()
            && let Some(problem) = behind(source, newest, head)?
        {
            if !head.may_be_lost() {
                return Err(LedgerError::Lost { path: path.to_owned(), problem });
            }
            warnings.push(format!(
                "the machine has ended meanwhile, and this ledger survives processes only: {problem}"
            ));
        }
        // Behind what opens, and so behind what was acknowledged.
        self.torn.map_or(Ok(()), |wal| wal.cut(path)).map_err(failed(path))?;
        let file = HeadFile::open(path, durability);
        if let Err(error) = file.begin(Head::of(newest)) {
            let file = head::path_of(path);
            warnings.push(format!("{} can't be written: {error}; a loss may go unnoticed", file.display()));
        }
        Ok((file, warnings))
    }
}

/// A file without content, or none at all, is the beginning of a ledger, unless there was one.
fn missing(path: &Path, head: Option<&Head>, wal: Option<&Wal>) -> Result<(), LedgerError> {
    let lost = |problem| Err(LedgerError::Lost { path: path.to_owned(), problem });
    match head {
        Some(head) if !head.may_be_lost() => {
            lost(format!("the file is missing or empty, and {head} was acknowledged"))
        }
        None if wal.is_some_and(Wal::has_commits) => {
            lost("the file is missing or empty, and its write-ahead log is not".to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether everything that was acknowledged is there, for readers, also while a runtime writes the ledger.
///
/// # Errors
/// When something that was acknowledged is gone, or the ledger can't be read.
pub fn check_end(path: &Path) -> Result<(), LedgerError> {
    let head = head::read(path).map_err(failed(path))?;
    let damage = || Wal::read(path).map(|wal| wal.and_then(|wal| wal.damage())).map_err(failed(path));
    if let Some(found) = damage()? {
        std::thread::sleep(LOOK_AGAIN);
        if damage()? == Some(found.clone()) {
            let problem = format!("it is damaged {found}");
            return Err(LedgerError::Lost { path: path.to_owned(), problem });
        }
    }
    if std::fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        let wal = Wal::read(path).map_err(failed(path))?;
        return missing(path, head.acknowledged(), wal.as_ref());
    }
    let Some(head) = head.acknowledged().filter(|head| !head.may_be_lost()) else { return Ok(()) };
    let problem = match Reader::open(path) {
        Ok(reader) => reader.at_one_moment(|source| {
            let newest = link::newest(source)?;
            behind(source, &newest, head)
        })?,
        Err(error) if error.is_empty() => Some(shorter(&BatchRow::START, head)),
        Err(error) => return Err(error),
    };
    match problem {
        Some(problem) => Err(LedgerError::Lost { path: path.to_owned(), problem }),
        None => Ok(()),
    }
}
