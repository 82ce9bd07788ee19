//! Where a ledger is: in a file, or in a cell of a database.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use holon_facts::{StepSeq, Wall};
use holon_text::Texts;

use crate::durability::Durability;
use crate::error::{self, LedgerError};
use crate::permit::Permit;
#[cfg(feature = "postgres")]
use crate::postgres::node::{ClaimedWriter, Lot, OpenedLot};
#[cfg(feature = "postgres")]
use crate::postgres::{self, CellWriter, Server};
use crate::read::{self, OldTexts, Plan, Reader};
use crate::rows::schema::check_kinds;
use crate::sqlite::{self, Copied, Ledger};
#[cfg(feature = "postgres")]
use crate::transfer;
use crate::write::Writer;

/// Where a ledger is.
#[derive(Debug, Clone)]
pub enum LedgerPlace {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Cell {
        server: Server,
        cell: i64,
        /// Names a file of this machine that says what was acknowledged last; it lies beside the name, as `*.head`.
        head: PathBuf,
    },
    /// A cell that this node has claimed.
    #[cfg(feature = "postgres")]
    Lot(Lot),
}

/// What writes a ledger.
#[derive(Debug)]
pub enum Store {
    File(Box<Ledger>),
    #[cfg(feature = "postgres")]
    Cell(Box<CellWriter>),
    #[cfg(feature = "postgres")]
    Lot(Box<ClaimedWriter>),
}

/// A ledger that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    /// For everything that is read while the ledger is written.
    pub reader: Reader,
    /// The newest step that it holds.
    pub last_step: StepSeq,
    /// What whoever starts the runtime is to know.
    pub warnings: Vec<String>,
    /// Whether effects may begin.
    pub permit: Permit,
}

/// As messages name it.
impl fmt::Display for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Cell { server, .. } => write!(f, "{server}"),
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => lot.fmt(f),
        }
    }
}

impl From<PathBuf> for LedgerPlace {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl LedgerPlace {
    /// Opens it for writing, creates it where there is none, and takes it over from its last writer.
    ///
    /// # Errors
    /// When it can't be opened, is damaged at its end, or holds what this build does not know.
    pub fn open(&self, durability: Durability) -> Result<Opened, LedgerError> {
        match self {
            Self::File(path) => {
                let opened = Ledger::open(path, durability)?;
                let sqlite::Opened { ledger, reader, last_step, warnings, .. } = opened;
                let (store, permit) = (Store::File(Box::new(ledger)), Permit::default());
                Ok(Opened { store, reader, last_step, warnings, permit })
            }
            #[cfg(feature = "postgres")]
            Self::Cell { server, cell, head } => {
                let opened = postgres::open(server, *cell, head)?;
                let postgres::Opened { writer, reader, last_step, warnings, .. } = opened;
                let (store, permit) = (Store::Cell(Box::new(writer)), Permit::default());
                Ok(Opened { store, reader, last_step, warnings, permit })
            }
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => {
                let OpenedLot { writer, reader, last_step, warnings } = lot.open()?;
                let (store, permit) = (Store::Lot(Box::new(writer)), lot.permit());
                Ok(Opened { store, reader, last_step, warnings, permit })
            }
        }
    }

    /// Reads it, also while it is written.
    ///
    /// # Errors
    /// When there is none, or this build does not know its tables.
    pub fn reader(&self) -> Result<Reader, LedgerError> {
        match self {
            Self::File(path) => Reader::open(path),
            #[cfg(feature = "postgres")]
            Self::Cell { server, cell, .. } => postgres::read(server, *cell),
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => Ok(lot.reader()),
        }
    }

    /// Whether everything that was acknowledged is still there.
    ///
    /// # Errors
    /// When it is not, or the ledger can't be read.
    pub fn check_end(&self) -> Result<(), LedgerError> {
        match self {
            Self::File(path) => sqlite::check_end(path),
            #[cfg(feature = "postgres")]
            Self::Cell { server, cell, head } => postgres::check_end(server, *cell, head),
            // It was compared with what was acknowledged when it was claimed.
            #[cfg(feature = "postgres")]
            Self::Lot(_) => Ok(()),
        }
    }

    /// Whether a start of this build takes it, as far as that shows while another runtime has it: it has lost nothing, and nothing in it
    /// is for newer builds alone. One that is not there yet is made by the start. Changes nothing.
    ///
    /// # Errors
    /// What a start would be refused for; or it can't be read.
    pub fn check_start(&self) -> Result<(), LedgerError> {
        if self.file().is_some()
            && let Err(error @ LedgerError::Lost { .. }) = self.check_end()
        {
            return Err(error);
        }
        if self.is_absent() {
            return Ok(());
        }
        match self.reader().and_then(|reader| reader.read(check_kinds)) {
            Err(LedgerError::NoCell { .. }) => Ok(()),
            // A start that was cut short leaves an empty one, and the next start goes on with it.
            Err(error) if error.is_empty() => Ok(()),
            checked => checked,
        }
    }

    /// Looks what of it may go, where it is whole.
    ///
    /// # Errors
    /// When it has lost something, can't be read, or has records that this build does not know.
    pub fn garbage(&self, cutoff: Wall, texts: OldTexts) -> Result<Plan, LedgerError> {
        self.check_end()?;
        read::plan(&self.reader()?, cutoff, texts)
    }

    /// Copies it, as it is at one moment, into a file that is not there yet.
    ///
    /// # Errors
    /// When it has lost something, is damaged at its end or can't be read, or the copy can't be written.
    pub fn copy(&self, to: &Path) -> Result<Copied, LedgerError> {
        match self {
            Self::File(path) => sqlite::copy(path, to),
            #[cfg(feature = "postgres")]
            Self::Cell { server, cell, .. } => {
                self.check_end()?;
                transfer::copy(server, *cell, to)
            }
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => {
                Err(LedgerError::Refused { doing: "copying", problem: format!("this process owns {lot}") })
            }
        }
    }

    /// Takes away what may go, where nobody writes it. A file gets smaller; a database uses the space again.
    ///
    /// # Errors
    /// When somebody writes it, a row is damaged, or it can't be written.
    pub fn collect(&self, plan: &Plan) -> Result<(), LedgerError> {
        match self {
            Self::File(path) => sqlite::collect(path, plan),
            #[cfg(feature = "postgres")]
            Self::Cell { server, cell, .. } => postgres::collect(server, *cell, plan),
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => Err(LedgerError::Refused {
                doing: "removing what is old",
                problem: format!("this process owns {lot}"),
            }),
        }
    }

    /// Reads what all ledgers of its database say of agents; positions, steps and batches mean nothing in it.
    ///
    /// # Errors
    /// As [`LedgerPlace::reader`].
    pub fn reader_of_all(&self) -> Result<Reader, LedgerError> {
        match self {
            Self::File(_) => self.reader(),
            #[cfg(feature = "postgres")]
            Self::Cell { server, .. } => Ok(Reader::of_all_cells(server.clone())),
            #[cfg(feature = "postgres")]
            Self::Lot(lot) => Ok(lot.reader_of_all()),
        }
    }

    /// Whether nothing was ever written, as far as that is known without asking anybody else.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::File(path) => !path.is_file(),
            #[cfg(feature = "postgres")]
            Self::Cell { .. } | Self::Lot(_) => false,
        }
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            Self::Cell { .. } | Self::Lot(_) => None,
        }
    }
}

impl Store {
    /// Starts the thread that writes it. Texts leave `texts`' memory as they become durable. A reserve is kept in
    /// `home` for a file; room in a database is its operator's business.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn start(self, home: Option<&Path>, texts: Texts) -> io::Result<Writer> {
        match self {
            Self::File(ledger) => Writer::start(*ledger, home, texts),
            #[cfg(feature = "postgres")]
            Self::Cell(writer) => Writer::start_on_disk(*writer, texts),
            #[cfg(feature = "postgres")]
            Self::Lot(writer) => Writer::start_on_disk(*writer, texts),
        }
    }
}

/// A ledger that can't be read, and why: it is named whatever it is.
pub fn unreadable(place: &LedgerPlace, error: &LedgerError) -> String {
    match place {
        LedgerPlace::File(path) => error::unreadable(path, error),
        #[cfg(feature = "postgres")]
        LedgerPlace::Cell { .. } | LedgerPlace::Lot(_) => format!("{place} can't be read: {error}"),
    }
}
