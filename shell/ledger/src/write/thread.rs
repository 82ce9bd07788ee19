//! The writing thread: it performs what the [`Queue`] says.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use holon_platform::crash_point;
use holon_text::Texts;
use tokio::sync::mpsc::UnboundedSender;

use super::disk::Disk;
use crate::error::{AppendError, LedgerError};
use crate::load::Load;
use crate::queue::{self, Queue, Reserve, Turn};
use crate::report::Message;
use crate::rows::batch::Batch;
use crate::rows::packed::Packed;

/// Without a batch for so long, the disk is tidied.
fn tidy_after() -> Duration {
    Duration::from_millis(if cfg!(test) || crash_point::in_use() { 300 } else { 5_000 })
}

/// Everything that the thread has.
pub(super) struct Thread<D, R> {
    disk: D,
    reserve: R,
    texts: Texts,
    inbox: Receiver<Batch>,
    outbox: UnboundedSender<Message<LedgerError>>,
    queue: Queue<Batch, LedgerError>,
}

impl<D: Disk, R: Reserve<Error = LedgerError>> Thread<D, R> {
    pub(super) fn new(
        disk: D,
        reserve: R,
        texts: Texts,
        inbox: Receiver<Batch>,
        outbox: UnboundedSender<Message<LedgerError>>,
    ) -> Self {
        Self { disk, reserve, texts, inbox, outbox, queue: Queue::new(Load::GROUP, tidy_after()) }
    }

    pub(super) fn run(mut self) -> Result<(), LedgerError> {
        match self.write_all() {
            Ok(()) => self.disk.close(),
            Err(error) => {
                self.queue.failed(error);
                self.report();
                Err(LedgerError::WriterEnded)
            }
        }
    }

    fn write_all(&mut self) -> Result<(), LedgerError> {
        self.queue.begin(&mut self.reserve)?;
        loop {
            self.inbox.try_iter().for_each(|batch| self.queue.push(batch));
            let turn = self.queue.turn();
            self.report();
            match turn {
                Turn::Append(group) => self.write(group)?,
                Turn::Mend => self.queue.mend(&mut self.reserve)?,
                Turn::Tidy(states) => {
                    self.keep(&states)?;
                    let tidied = self.disk.tidy()?;
                    self.queue.tidied(tidied);
                }
                Turn::Wait(pause) => self.wait(pause),
                Turn::End(states) => return self.keep(&states),
            }
        }
    }

    fn wait(&mut self, pause: Option<Duration>) {
        let batch = match pause {
            Some(pause) => self.inbox.recv_timeout(pause),
            None => self.inbox.recv().map_err(RecvTimeoutError::from),
        };
        match batch {
            Ok(batch) => self.queue.push(batch),
            Err(RecvTimeoutError::Timeout) => self.queue.waited(),
            Err(RecvTimeoutError::Disconnected) if self.queue.is_closed() => {
                // Nobody sends any more, and the disk is still full.
                std::thread::sleep(pause.unwrap_or_default());
                self.queue.waited();
            }
            Err(RecvTimeoutError::Disconnected) => self.queue.close(),
        }
    }

    fn write(&mut self, group: Batch) -> Result<(), LedgerError> {
        let result = self.disk.append(&group);
        if result.is_ok() {
            self.texts.stored(group.contents.keys().copied());
        }
        let durable = result.is_ok();
        let result = result.map_err(|error| match error {
            AppendError::Full => queue::AppendError::Full,
            AppendError::Locked => queue::AppendError::Locked { by: self.disk.holders() },
            AppendError::Away(problem) => queue::AppendError::Away { problem },
            AppendError::Fatal(error) => queue::AppendError::Fatal(error),
        });
        let appended = self.queue.appended(group, result, &mut self.reserve);
        self.report();
        appended?;
        if durable { self.disk.tend() } else { Ok(()) }
    }

    /// States that no batch came for. Where they can't be written now, they are not needed: the log is there.
    fn keep(&mut self, states: &[Packed]) -> Result<(), LedgerError> {
        if states.is_empty() {
            return Ok(());
        }
        match self.disk.keep(states) {
            Ok(()) | Err(AppendError::Full | AppendError::Locked | AppendError::Away(_)) => Ok(()),
            Err(AppendError::Fatal(error)) => Err(error),
        }
    }

    /// A driver that is gone needs no report.
    fn report(&mut self) {
        for message in self.queue.take_messages() {
            self.outbox.send(message).unwrap_or_default();
        }
    }
}
