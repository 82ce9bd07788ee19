//! A cell that a node has claimed, to be opened once.

use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use holon_cluster::{Acceptance, CellId, Epoch, Head};
use holon_facts::{Millis, StepSeq};

use super::super::loss::HeadOnly;
use super::actor::Note;
use super::claimed_writer::{ClaimedWriter, Order, Progress};
use super::statement::{id, number};
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::permit::Permit;
use crate::postgres::open::kinds;
use crate::postgres::tip::Tip;
use crate::read::Reader;
use crate::rows::link::newest;
use crate::sql::postgres::{Server, Session, Work};

/// A claimed cell. Cheap to clone; whoever opens it first is its writer.
#[derive(Clone)]
pub struct Lot(Arc<Inner>);

struct Inner {
    parts: Parts,
    orders: Mutex<Option<Receiver<Order>>>,
}

pub(super) struct Parts {
    pub(super) server: Server,
    pub(super) cell: CellId,
    pub(super) epoch: Epoch,
    pub(super) head: Head,
    /// What this machine remembers of before it does not count.
    pub(super) acceptance: Acceptance,
    /// Names a file of this machine that says what was acknowledged last.
    pub(super) file: PathBuf,
    /// Whether what this machine remembers counts no more: an operator goes on without what is lost.
    pub(super) accepts_loss: bool,
    pub(super) within: Millis,
    pub(super) notes: Sender<Note>,
    pub(super) permit: Permit,
}

/// A claimed cell, open.
pub(crate) struct OpenedLot {
    pub(crate) writer: ClaimedWriter,
    pub(crate) reader: Reader,
    pub(crate) last_step: StepSeq,
    pub(crate) warnings: Vec<String>,
}

impl fmt::Debug for Lot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lot({:?}, {:?} of {})", self.0.parts.cell, self.0.parts.epoch, self.0.parts.server)
    }
}

impl fmt::Display for Lot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.parts.server.fmt(f)
    }
}

impl Lot {
    pub(super) fn new(parts: Parts, orders: Receiver<Order>) -> Self {
        Self(Arc::new(Inner { parts, orders: Mutex::new(Some(orders)) }))
    }

    pub fn cell(&self) -> CellId {
        self.0.parts.cell
    }

    pub fn epoch(&self) -> Epoch {
        self.0.parts.epoch
    }

    /// Whether effects of the cell may begin.
    pub fn permit(&self) -> Permit {
        self.0.parts.permit.clone()
    }

    /// For reads while the cell is written.
    pub fn reader(&self) -> Reader {
        Reader::of_cell(self.0.parts.server.clone(), id(self.0.parts.cell.0))
    }

    /// For what is listed of the agents of all cells.
    pub(crate) fn reader_of_all(&self) -> Reader {
        Reader::of_all_cells(self.0.parts.server.clone())
    }

    /// Reads where the cell ends. Nobody else can have written it since the claim.
    pub(crate) fn open(&self) -> Result<OpenedLot, LedgerError> {
        let parts = &self.0.parts;
        let orders = self.0.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let orders = orders.ok_or(LedgerError::NotOwner)?;
        let session = Session::shared(parts.server.clone(), id(parts.cell.0), Work::Appending);
        let kinds = kinds(&session)?;
        let reader = self.reader();
        let last = reader.read(newest)?;
        if number(last.batch) != parts.head.batch.0 || last.link != parts.head.link.0 {
            let problem =
                format!("its newest batch is {}, and its row names batch {}", last.batch, parts.head.batch.0);
            let database = parts.server.to_string();
            return Err(LedgerError::HistoryLost { database, problem, head: None });
        }
        if parts.accepts_loss {
            // One that stays is named by what follows.
            drop(std::fs::remove_file(parts.file.with_extension("head")));
        }
        let kept = HeadOnly::look(&parts.file)?.since(id(parts.acceptance.0));
        let (head, warnings) = reader.read(|source| {
            kept.compare(&parts.server.to_string(), &parts.file, source, &last, Durability::Full)
        })?;
        let last_step = StepSeq(number(last.ends.step));
        let writer = ClaimedWriter {
            session,
            cell: parts.cell,
            epoch: parts.epoch,
            tip: Tip::new(last, kinds, head),
            orders,
            notes: parts.notes.clone(),
            within: parts.within,
            progress: Progress::default(),
        };
        Ok(OpenedLot { writer, reader, last_step, warnings })
    }
}
