//! The writer of a cell that a node has claimed. The writer has the rows; the actor of the node decides when they are
//! appended, whether they are appended again, and whether they are durable.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use holon_cluster::{Answer, AskId, BatchNumber, CellId, Dropped, Epoch, Input, Link, Refusal, Stopped};
use holon_core::Durable;
use holon_facts::Millis;

use super::actor::Note;
use super::statement::number;
use crate::error::{AppendError, LedgerError};
use crate::postgres::append::{self, Appended};
use crate::postgres::arrays::{Arrays, Held};
use crate::postgres::cell_writer::{away, gap};
use crate::postgres::tip::Tip;
use crate::quiet::Tidied;
use crate::rows::batch::Batch;
use crate::rows::link::BatchRow;
use crate::rows::packed::Packed;
use crate::rows::row::count;
use crate::sql::postgres::{PostgresError, Session};
use crate::write::Disk;

/// How long an append waits for an order; then it reports that nothing is known yet.
const ORDER_TIMEOUT: Duration = Duration::from_secs(2);

/// What the actor orders the writer of a cell to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Append the batch that was given; the answer goes under this id.
    Append(AskId),
    Durable(BatchNumber),
    Refused(Refusal),
    Dropped(Dropped),
    Stopped(Stopped),
}

/// A batch that was announced to the actor. What it leaves out because the ledger holds it stays left out: its link depends
/// on it.
struct Given {
    calls: i64,
    held: Held,
}

/// Writes a claimed cell until it is dropped. Owned by one thread.
pub struct ClaimedWriter {
    pub(super) session: Session,
    pub(super) cell: CellId,
    pub(super) epoch: Epoch,
    pub(super) tip: Tip,
    pub(super) orders: Receiver<Order>,
    pub(super) notes: Sender<Note>,
    /// How long an append may take before its connection is given up.
    pub(super) within: Millis,
    pub(super) progress: Progress,
}

/// What is under way.
#[derive(Default)]
pub(super) struct Progress {
    given: Option<Given>,
    /// The error behind what the actor knows as a defect only.
    defect: Option<LedgerError>,
    failed: bool,
}

impl std::fmt::Debug for ClaimedWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClaimedWriter({:?}, {:?})", self.cell, self.epoch)
    }
}

impl ClaimedWriter {
    fn write(&mut self, batch: &Batch) -> Result<BatchRow, AppendError> {
        let given = match self.progress.given.take() {
            Some(given) if given.calls == count(batch.calls.len()) => given,
            // What landed would stand for more than it holds.
            Some(_) => return Err(LedgerError::Unsettled.into()),
            None => self.give(batch)?,
        };
        let arrays = self.arrays(batch, &given.held)?;
        let row = arrays.row;
        self.progress.given = Some(given);
        loop {
            let order = match self.orders.recv_timeout(ORDER_TIMEOUT) {
                Ok(order) => self.newest(order),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(AppendError::Away("whether it has a batch is not known yet".to_owned()));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(LedgerError::NotOwner.into()),
            };
            match order {
                Order::Append(ask) => self.append_now(ask, &arrays)?,
                Order::Durable(through) if number(row.batch) <= through.0 => return Ok(row),
                Order::Durable(_) => {}
                Order::Refused(why) => return Err(self.refused(why).into()),
                Order::Dropped(why) => return Err(self.dropped(why).into()),
                Order::Stopped(why) => return Err(self.stopped(why).into()),
            }
        }
    }

    /// Announces a batch to the actor.
    fn give(&self, batch: &Batch) -> Result<Given, AppendError> {
        let held = append::held(&self.session, batch);
        let held = held.map_err(|error| away("looking for texts", error))?;
        let row = self.arrays(batch, &held)?.row;
        let calls = count(batch.calls.len());
        let input = Input::Append {
            cell: self.cell,
            epoch: self.epoch,
            batch: BatchNumber(number(row.batch)),
            link: Link(row.link),
        };
        self.tell(input)?;
        Ok(Given { calls, held })
    }

    fn arrays<'a>(&self, batch: &'a Batch, held: &Held) -> Result<Arrays<'a>, LedgerError> {
        let epoch = super::statement::id(self.epoch.0);
        Arrays::new(batch, &self.tip.last, epoch, &self.tip.kinds, held)
    }

    /// An append that waits behind others is not needed any more when another one was ordered since.
    fn newest(&self, mut order: Order) -> Order {
        while let (Order::Append(_), Ok(next)) = (&order, self.orders.try_recv()) {
            order = next;
        }
        order
    }

    /// Executes the append, and reports what was answered.
    fn append_now(&mut self, ask: AskId, arrays: &Arrays<'_>) -> Result<(), AppendError> {
        let cells = |landed: bool| if landed { vec![self.cell] } else { Vec::new() };
        let (answer, error) =
            match append::append_within(&self.session, &self.tip.last.link, arrays, Some(self.within)) {
                Ok(appended) => (Answer::Appended { landed: cells(appended == Appended::Landed) }, None),
                Err(PostgresError::Unanswered(problem)) => {
                    self.tell(Input::NoAnswer { ask })?;
                    return Err(AppendError::Away(problem));
                }
                Err(PostgresError::Refused(refusal)) if refusal.is_miscounted() => {
                    self.progress.defect = Some(gap(&self.session, arrays));
                    (Answer::RolledBack { defect: true }, None)
                }
                Err(refused @ PostgresError::Refused(_)) => {
                    (Answer::RolledBack { defect: false }, Some(away("appending a batch", refused)))
                }
            };
        self.tell(Input::Answer { ask, answer })?;
        error.map_or(Ok(()), Err)
    }

    fn tell(&self, input: Input) -> Result<(), LedgerError> {
        self.notes.send(Note::Input(input)).map_err(|_| LedgerError::NotOwner)
    }

    fn refused(&self, why: Refusal) -> LedgerError {
        match why {
            Refusal::NotOwner => LedgerError::NotOwner,
            Refusal::NotNext { .. } | Refusal::Full => LedgerError::Unsettled,
        }
    }

    fn dropped(&self, why: Dropped) -> LedgerError {
        match why {
            Dropped::Fenced { own, found } => {
                let id = super::statement::id;
                LedgerError::Fenced { own: id(own.0), found: id(found.0) }
            }
            Dropped::LeaseLost | Dropped::HandedOver | Dropped::TookTooLong => LedgerError::NotOwner,
        }
    }

    fn stopped(&mut self, why: Stopped) -> LedgerError {
        let database = self.session.to_string();
        let lost = |problem| LedgerError::HistoryLost { database, problem, head: None };
        match why {
            Stopped::HistoryLost { remembered, found } => lost(format!(
                "it ends with batch {}, and batch {} was acknowledged to this node",
                found.batch.0, remembered.batch.0
            )),
            Stopped::Conflict { expected, found } => lost(format!(
                "it ends with batch {}, which is not batch {} of this node",
                found.batch.0, expected.batch.0
            )),
            Stopped::Defect => self.progress.defect.take().unwrap_or(LedgerError::Refused {
                doing: "appending a batch",
                problem: "the batch breaks a rule of the database".to_owned(),
            }),
            Stopped::HostFailed => LedgerError::NotOwner,
        }
    }
}

impl Disk for ClaimedWriter {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        if self.progress.failed {
            return Err(LedgerError::WriterEnded.into());
        }
        match self.write(batch) {
            Ok(row) => {
                self.progress.given = None;
                Ok(self.tip.advance(row, batch))
            }
            Err(error) => {
                self.progress.failed = matches!(error, AppendError::Fatal(_));
                Err(error)
            }
        }
    }

    /// States of agents and rows that rest. What can't be written now is not needed: the log is there.
    fn tend(&mut self) -> Result<(), LedgerError> {
        drop(self.tip.states.write(&self.session, super::statement::id(self.epoch.0)));
        Ok(())
    }

    fn close(mut self) -> Result<(), LedgerError> {
        self.tend()?;
        self.tip.sync_head();
        Ok(())
    }

    fn keep(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        self.tip.states.keep(packed);
        Ok(self.tend()?)
    }

    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        self.tip.sync_head();
        Ok(Tidied::Done)
    }
}
