//! The writing thread: it takes whatever has piled up while it was writing, makes it durable in one
//! transaction, and says so. A full disk and locks of others are waited out; any other failure ends it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use holon_core::{Durable, StepSeq};
use holon_text::Texts;
use tokio::sync::mpsc::UnboundedSender;

use super::append::Ledger;
use super::batch::Batch;
use super::error::{AppendError, LedgerError};
use super::locked::Holders;
use super::packed::Packed;
use super::quiet::{Chore, Quiet, Tidied};
use super::reserve::Reserve;
use super::writer::{GROUP_BYTES, GROUP_STEPS, Load, Message, Report, Stall};

/// Between two attempts at a full disk.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Attempts at a full disk once nobody sends any more.
const LAST_ATTEMPTS: u32 = 4;

/// What the thread writes to; a ledger, but in tests.
pub(super) trait Disk: Send + 'static {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError>;
    fn tend(&mut self) -> Result<(), LedgerError>;
    fn close(self) -> Result<(), LedgerError>;
    /// Writes states of agents without a batch.
    fn keep(&mut self, _packed: &[Packed]) -> Result<(), AppendError> {
        Ok(())
    }
    /// Nobody has written for a while.
    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        Ok(Tidied::Done)
    }
    /// Who has it locked.
    fn holders(&self) -> Holders {
        Holders::default()
    }
}

impl Disk for Ledger {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        self.append(batch)
    }

    fn tend(&mut self) -> Result<(), LedgerError> {
        self.tend()
    }

    fn close(self) -> Result<(), LedgerError> {
        self.close()
    }

    fn keep(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        self.keep(packed)
    }

    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        Self::tidy(self)
    }

    fn holders(&self) -> Holders {
        self.holders()
    }
}

/// Everything that the thread has.
pub(super) struct Thread<D> {
    disk: D,
    reserve: Reserve,
    texts: Texts,
    inbox: Receiver<Batch>,
    outbox: UnboundedSender<Message>,
    queue: VecDeque<Batch>,
    /// While nothing can be written, how long to wait before the next attempt.
    full: Option<Duration>,
    /// Why, as it was reported.
    stalled: Option<Stall>,
    closed: bool,
    attempts_left: u32,
    /// The next attempt comes before its pause is over, for something new is there.
    early: bool,
    /// Through which step it was said that they wait.
    said: StepSeq,
    quiet: Quiet,
}

impl<D: Disk> Thread<D> {
    pub(super) fn new(
        disk: D,
        reserve: Reserve,
        texts: Texts,
        inbox: Receiver<Batch>,
        outbox: UnboundedSender<Message>,
    ) -> Self {
        Self {
            disk,
            reserve,
            texts,
            inbox,
            outbox,
            queue: VecDeque::new(),
            full: None,
            stalled: None,
            closed: false,
            attempts_left: LAST_ATTEMPTS,
            early: false,
            said: StepSeq::default(),
            quiet: Quiet::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<(), LedgerError> {
        match self.write_all() {
            Ok(()) => {
                self.pack();
                self.keep_packed()?;
                self.disk.close()
            }
            Err(error) => {
                self.say(Report::Failed(error), Load::default());
                Err(LedgerError::WriterEnded)
            }
        }
    }

    fn write_all(&mut self) -> Result<(), LedgerError> {
        if !self.reserve.hold()? {
            self.is_full();
        }
        while self.wait()? {
            match self.next_group() {
                Some(group) => self.write(group)?,
                None => self.mend()?,
            }
        }
        Ok(())
    }

    /// Waits for work, or for the next attempt; false when there will be none.
    fn wait(&mut self) -> Result<bool, LedgerError> {
        self.early = false;
        if self.closed {
            std::thread::sleep(self.full.unwrap_or_default());
        } else if let Some(pause) = self.full {
            match self.inbox.recv_timeout(pause) {
                Ok(batch) => {
                    self.queue.push_back(batch);
                    self.early = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.closed = true,
            }
        } else if self.queue.is_empty() {
            self.wait_for_a_batch()?;
        }
        self.queue.extend(self.inbox.try_iter());
        Ok(!(self.closed && self.queue.is_empty()))
    }

    /// Meanwhile it does what was put off until nobody writes.
    fn wait_for_a_batch(&mut self) -> Result<(), LedgerError> {
        loop {
            let next = self.quiet.next();
            let batch = match next {
                Some((pause, _)) => self.inbox.recv_timeout(pause),
                None => self.inbox.recv().map_err(RecvTimeoutError::from),
            };
            match (batch, next) {
                (Ok(batch), _) => {
                    self.queue.push_back(batch);
                    return Ok(());
                }
                (Err(RecvTimeoutError::Timeout), Some((_, Chore::Pack))) => self.pack(),
                (Err(RecvTimeoutError::Timeout), Some((_, Chore::Tidy))) => {
                    self.keep_packed()?;
                    let tidied = self.disk.tidy()?;
                    self.quiet.tidied(tidied);
                }
                (Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected), _) => {
                    self.closed = true;
                    return Ok(());
                }
            }
        }
    }

    /// Compresses states that wait for it.
    fn pack(&mut self) {
        for (agent, bytes) in self.quiet.pack() {
            self.say(Report::Packed { agent, bytes }, Load::default());
        }
    }

    /// States that no batch came for. Where they can't be written now, they are not needed: the log is there.
    fn keep_packed(&mut self) -> Result<(), LedgerError> {
        let packed = self.quiet.take_packed();
        if packed.is_empty() {
            return Ok(());
        }
        match self.disk.keep(&packed) {
            Ok(()) | Err(AppendError::Full | AppendError::Locked) => Ok(()),
            Err(AppendError::Fatal(error)) => Err(error),
        }
    }

    /// What has piled up, as one transaction takes it.
    fn next_group(&mut self) -> Option<Batch> {
        let mut group = self.queue.pop_front()?;
        while let Some(next) = self.queue.front() {
            let calls = group.calls.len() + next.calls.len();
            if calls > GROUP_STEPS || group.bytes() + next.bytes() > GROUP_BYTES {
                break;
            }
            if let Some(next) = self.queue.pop_front() {
                group.merge(next);
            }
        }
        Some(group)
    }

    fn write(&mut self, mut group: Batch) -> Result<(), LedgerError> {
        group.packed.extend(self.quiet.take_packed());
        match self.disk.append(&group) {
            Ok(durable) => {
                self.texts.stored(group.contents.keys().copied());
                self.say(Report::Durable(durable), Load::of(&group));
                self.quiet.written(group.snapshots);
                if self.quiet.packs_now() {
                    self.pack();
                }
                self.mend()?;
                self.disk.tend()
            }
            Err(AppendError::Full) => {
                self.queue.push_front(group);
                self.is_full();
                let urgent = self.closed || self.queue.iter().any(Batch::urgent);
                if urgent && self.reserve.release() {
                    self.full = Some(Duration::ZERO);
                    return Ok(());
                }
                if self.closed {
                    self.attempts_left = self.attempts_left.checked_sub(1).ok_or(LedgerError::Full)?;
                }
                self.say_who_waits();
                Ok(())
            }
            Err(AppendError::Locked) => {
                self.queue.push_front(group);
                let by = self.disk.holders();
                if self.closed {
                    let left = self.attempts_left.checked_sub(1);
                    self.attempts_left = left.ok_or_else(|| LedgerError::Locked { by: by.clone() })?;
                }
                self.stalls(Stall::Locked { by });
                self.say_who_waits();
                Ok(())
            }
            Err(AppendError::Fatal(error)) => Err(error),
        }
    }

    /// The disk has room again once the reserve is back.
    fn mend(&mut self) -> Result<(), LedgerError> {
        if self.full.is_none() {
            return Ok(());
        }
        if self.reserve.hold()? {
            (self.full, self.stalled) = (None, None);
            self.say(Report::Recovered, Load::default());
        } else {
            self.is_full();
        }
        Ok(())
    }

    fn is_full(&mut self) {
        self.stalls(Stall::Full);
    }

    fn stalls(&mut self, why: Stall) {
        match self.full {
            None => self.full = Some(FIRST_PAUSE),
            Some(pause) => {
                // However much comes, only time makes the pauses longer.
                let longer = if self.early { pause } else { pause * 2 };
                // An attempt at a lock waits for it in any case.
                let longest = if why == Stall::Full { LONGEST_PAUSE } else { FIRST_PAUSE };
                self.full = Some(longer.clamp(FIRST_PAUSE, longest));
            }
        }
        if self.stalled.as_ref() != Some(&why) {
            self.stalled = Some(why.clone());
            self.say(Report::Stalled(why), Load::default());
        }
    }

    /// Says once of each step that it waits.
    fn say_who_waits(&mut self) {
        let last = self.queue.iter().rev().find_map(|batch| batch.through);
        if let Some(last) = last.filter(|last| *last > self.said) {
            self.said = last;
            self.say(Report::Waits(last), Load::default());
        }
    }

    /// A driver that is gone needs no report.
    fn say(&self, report: Report, done: Load) {
        self.outbox.send(Message { report, done }).unwrap_or_default();
    }
}
