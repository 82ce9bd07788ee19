//! How far the ledger was exported, in a file of the home.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use holon_ledger::error::LedgerError;
use holon_ledger::read::{LedgerSeq, Reader};
use serde::{Deserialize, Serialize};

use crate::home::secret;

/// A position, and the sum of the record there: another ledger has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Exported {
    after: u64,
    sum: Option<i64>,
}

/// The file of one exporter.
#[derive(Debug)]
pub(super) struct Cursor {
    file: PathBuf,
}

impl Cursor {
    pub(super) fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Where to go on; none where nobody has exported this ledger.
    ///
    /// # Errors
    /// When the file or the ledger can't be read.
    pub(super) fn read(&self, reader: &Reader) -> Result<Option<LedgerSeq>, CursorError> {
        let text = match fs::read(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // What can't be read as one is as good as none.
        let Ok(exported) = holon_facts::json::read::<Exported>(&text) else { return Ok(None) };
        let here = LedgerSeq(exported.after);
        Ok((reader.sum_at(here)? == exported.sum).then_some(here))
    }

    /// Everything up to there was taken by the collector.
    ///
    /// # Errors
    /// When the file or the ledger can't be used.
    pub(super) fn put(&self, reader: &Reader, here: LedgerSeq) -> Result<(), CursorError> {
        let exported = Exported { after: here.0, sum: reader.sum_at(here)? };
        Ok(secret::put(&self.file, &serde_json::to_string(&exported).map_err(io::Error::from)?)?)
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CursorError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
