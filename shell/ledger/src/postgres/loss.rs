//! Whether a database still holds what it acknowledged to this machine.

use std::io;
use std::path::Path;

use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::loss::behind;
use crate::rows::head::{self, Head, HeadFile, Kept};
use crate::rows::link::BatchRow;
use crate::sql::Source;

/// What a head alone says of a ledger that is in no file.
#[derive(Debug)]
pub(super) struct HeadOnly {
    kept: Kept,
    /// The latest loss that an operator has accepted.
    acceptance: i64,
}

impl HeadOnly {
    /// # Errors
    /// When the file can't be read.
    pub(super) fn look(path: &Path) -> Result<Self, LedgerError> {
        let failed =
            |error: io::Error| LedgerError::Open { path: path.to_owned(), problem: error.to_string() };
        head::read(path).map(|kept| Self { kept, acceptance: 0 }).map_err(failed)
    }

    /// A head of before this acceptance does not count: an operator goes on without what it names.
    pub(super) fn since(self, acceptance: i64) -> Self {
        Self { acceptance, ..self }
    }

    /// Compares what the database holds with what was acknowledged, and begins the heads of this process. Returns what is
    /// to be said to whoever starts the runtime, too.
    ///
    /// # Errors
    /// When the database ends before the head, or holds another ledger; nothing is changed then.
    pub(super) fn compare(
        self,
        database: &str,
        path: &Path,
        source: Source<'_>,
        newest: &BatchRow,
        durability: Durability,
    ) -> Result<(HeadFile, Vec<String>), LedgerError> {
        self.check(database, path, source, newest)?;
        let file = HeadFile::open(path, durability).since(self.acceptance);
        let begun = file.begin(Head::of(newest));
        let shown = head::path_of(path);
        let warning =
            |error| format!("{} can't be written: {error}; a loss may go unnoticed", shown.display());
        Ok((file, begun.err().map(warning).into_iter().collect()))
    }

    /// Compares what the database holds with what was acknowledged.
    ///
    /// # Errors
    /// When it ends before the head, or holds another ledger.
    pub(super) fn check(
        &self,
        database: &str,
        path: &Path,
        source: Source<'_>,
        newest: &BatchRow,
    ) -> Result<(), LedgerError> {
        let head = self.kept.acknowledged().filter(|head| head.acceptance >= self.acceptance);
        let Some(head) = head else { return Ok(()) };
        let Some(problem) = behind(source, newest, head)? else { return Ok(()) };
        let (database, head) = (database.to_owned(), Some(head::path_of(path)));
        Err(LedgerError::HistoryLost { database, problem, head })
    }
}
