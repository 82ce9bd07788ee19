//! The driver's end of the writing thread: it hands over batches, and hears what became of them.

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_platform::spawn;
use holon_text::Texts;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::disk::Disk;
#[cfg(feature = "postgres")]
use super::disk::NoReserve;
use super::thread::Thread;
use crate::error::LedgerError;
use crate::load::Load;
use crate::queue::Reserve;
use crate::report::{Message, Report};
use crate::rows::batch::{Batch, EncodedCall};
#[cfg(any(test, feature = "testing"))]
use crate::store::Batch as _;
use crate::store::LedgerWriter;

/// Batches under way at most; the driver stays far below when it heeds its bounds.
const BATCHES: usize = 4 * Load::GROUP.calls;

/// The driver's end of the writing thread.
pub struct Writer {
    batches: SyncSender<Batch>,
    reports: UnboundedReceiver<Message<LedgerError>>,
    thread: JoinHandle<Result<(), LedgerError>>,
    texts: Texts,
    #[cfg(any(test, feature = "testing"))]
    clock: Option<super::paused_clock::PausedClock>,
}

impl Writer {
    /// Starts the thread on a store outside this machine, which keeps no reserve.
    #[cfg(feature = "postgres")]
    pub(crate) fn start_on_disk(disk: impl Disk, texts: Texts) -> io::Result<Self> {
        Self::start_on(disk, NoReserve, texts)
    }

    /// Starts the thread. Texts leave `texts`' memory as they become durable.
    pub(crate) fn start_on(
        disk: impl Disk,
        reserve: impl Reserve<Error = LedgerError> + Send + 'static,
        texts: Texts,
    ) -> io::Result<Self> {
        let (batches, inbox) = sync_channel(BATCHES);
        let (outbox, reports) = unbounded_channel();
        let work = Thread::new(disk, reserve, texts.clone(), inbox, outbox);
        let thread = spawn::thread("ledger", move || work.run())?;
        Ok(Self {
            batches,
            reports,
            thread,
            texts,
            #[cfg(any(test, feature = "testing"))]
            clock: None,
        })
    }

    /// The next report; dropping the future loses none.
    pub async fn report(&mut self) -> Message<LedgerError> {
        let message = self.reports.recv().await;
        self.take(message)
    }

    /// The next report, if there is one already.
    pub fn try_report(&mut self) -> Option<Message<LedgerError>> {
        match self.reports.try_recv() {
            Ok(message) => Some(self.take(Some(message))),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.take(None)),
        }
    }

    /// Writes what is under way, and closes the ledger. Blocks until that is done; meant for the end of the
    /// process.
    ///
    /// # Errors
    /// When something that was sent could not be written.
    pub fn close(self) -> Result<(), LedgerError> {
        let Self { batches, reports, thread, .. } = self;
        drop(batches);
        let ended = thread.join().unwrap_or(Err(LedgerError::WriterEnded));
        drop(reports);
        ended
    }

    fn take(&mut self, message: Option<Message<LedgerError>>) -> Message<LedgerError> {
        let ended = || Message { report: Report::Failed(LedgerError::WriterEnded), done: Load::GROUP };
        let message = message.unwrap_or_else(ended);
        #[cfg(any(test, feature = "testing"))]
        if let Some(clock) = &mut self.clock {
            clock.done(message.done);
        }
        message
    }
}

#[cfg(any(test, feature = "testing"))]
impl Writer {
    /// The paused clock of a test does not advance while something is under way.
    #[must_use]
    pub fn with_paused_clock(self) -> Self {
        Self { clock: Some(super::paused_clock::PausedClock::default()), ..self }
    }

    fn hold_clock(&mut self, load: Load) {
        if let Some(clock) = &mut self.clock {
            clock.begun(load.within(Load::GROUP));
        }
    }
}

impl LedgerWriter for Writer {
    type Error = LedgerError;
    type Call = EncodedCall;
    type Batch = Batch;

    fn encode(&self, call: &Call) -> Result<EncodedCall, LedgerError> {
        EncodedCall::new(call)
    }

    fn call(&self, batch: &mut Batch, call: EncodedCall) {
        batch.call(call);
    }

    fn step(
        &self,
        batch: &mut Batch,
        call: EncodedCall,
        step: &Step,
        view: View<'_>,
    ) -> Result<(), LedgerError> {
        batch.step(call, step, view, &self.texts)
    }

    fn send(&mut self, batch: Batch) -> Result<(), LedgerError> {
        #[cfg(any(test, feature = "testing"))]
        self.hold_clock(batch.load());
        match self.batches.try_send(batch) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(LedgerError::Overrun { limit: BATCHES }),
            Err(TrySendError::Disconnected(_)) => Err(LedgerError::WriterEnded),
        }
    }
}
