//! What a writer does next. It takes whatever has piled up while it was writing, makes it durable in one transaction,
//! and says so. A full disk and locks of others are waited out; any other failure ends it.
//!
//! Whoever performs it asks for a [`Turn`], does that, and says how it went; batches may be pushed at any time.

use std::collections::VecDeque;
use std::time::Duration;

use holon_core::Durable;
use holon_facts::StepSeq;

use crate::load::Load;
use crate::quiet::{Chore, Quiet, Tidied};
use crate::report::{Holders, Message, Report, Stall};
use crate::store::{Batch, StoreError};

/// Between two attempts at a full disk.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Between two attempts to reach a database.
const LONGEST_AWAY: Duration = Duration::from_millis(500);

/// Attempts at a full disk once nobody sends any more.
const LAST_ATTEMPTS: u32 = 4;

/// What is to be done next.
#[derive(Debug)]
pub enum Turn<B: Batch> {
    /// Make it durable, wholly or not at all, then [`Queue::appended`].
    Append(B),
    /// [`Queue::mend`].
    Mend,
    /// Write these states without a batch; where that can't be now, they are not needed. Tidy the disk, then
    /// [`Queue::tidied`].
    Tidy(Vec<B::State>),
    /// Wait for a batch, and [`Queue::push`] it, or so long, then [`Queue::waited`]; none for as long as it takes.
    Wait(Option<Duration>),
    /// Nothing will come any more: write these states as for a tidy disk, and close it.
    End(Vec<B::State>),
}

/// Why a batch is not durable.
#[derive(Debug)]
pub enum AppendError<E> {
    /// Nothing of the batch was written; the same batch may be appended again later.
    Full,
    /// Another process holds a lock; the same.
    Locked { by: Holders },
    /// The database gives no answer. Whether the batch was written is not known: the same batch is appended again, with
    /// nothing added to it, which settles it.
    Away { problem: String },
    /// It is not known what was written. The ledger takes nothing more; the runtime ends.
    Fatal(E),
}

/// Room on the disk that is held back for what is urgent.
pub trait Reserve {
    type Error;

    /// Sets the room aside; false when the disk has none.
    ///
    /// # Errors
    /// When it can't be set aside for another reason.
    fn hold(&mut self) -> Result<bool, Self::Error>;

    /// Gives the room up; false when there was none.
    fn release(&mut self) -> bool;
}

/// Batches on their way to the disk.
#[derive(Debug)]
pub struct Queue<B: Batch, E> {
    group: Load,
    batches: VecDeque<B>,
    /// While nothing can be written, how long to wait before the next attempt.
    full: Option<Duration>,
    /// Why, as it was reported.
    stalled: Option<Stall>,
    /// What became of the first batch is not known: nothing joins it.
    unsettled: bool,
    closed: bool,
    attempts_left: u32,
    /// The pause is over, or something new is there.
    awake: bool,
    /// The next attempt comes before its pause is over, for something new is there.
    early: bool,
    /// Through which step it was said that they wait.
    reported: StepSeq,
    quiet: Quiet<B::State>,
    messages: Vec<Message<E>>,
}

impl<B: Batch, E: StoreError> Queue<B, E> {
    /// One transaction takes one `group` at most, unless a single batch is larger. The disk is tidied when nobody has
    /// written for so long.
    pub fn new(group: Load, tidy_after: Duration) -> Self {
        Self {
            group,
            batches: VecDeque::new(),
            full: None,
            stalled: None,
            unsettled: false,
            closed: false,
            attempts_left: LAST_ATTEMPTS,
            awake: false,
            early: false,
            reported: StepSeq::default(),
            quiet: Quiet::new(tidy_after),
            messages: Vec::new(),
        }
    }

    /// Sets the reserve aside before anything is written.
    ///
    /// # Errors
    /// When that fails for another reason than a full disk.
    pub fn begin(&mut self, reserve: &mut impl Reserve<Error = E>) -> Result<(), E> {
        if !reserve.hold()? {
            self.stalls(Stall::Full);
        }
        Ok(())
    }

    /// A batch was handed over.
    pub fn push(&mut self, batch: B) {
        self.batches.push_back(batch);
        self.early = self.full.is_some();
        self.awake = self.early;
    }

    /// Nobody sends any more.
    pub fn close(&mut self) {
        (self.closed, self.awake) = (true, true);
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The pause is over.
    pub fn waited(&mut self) {
        (self.awake, self.early) = (true, false);
    }

    /// Whether nothing can be written for now.
    pub fn is_stalled(&self) -> bool {
        self.full.is_some()
    }

    /// What is to be done next.
    pub fn turn(&mut self) -> Turn<B> {
        if self.closed && self.batches.is_empty() {
            self.pack();
            return Turn::End(self.quiet.take_packed());
        }
        // Only now: whoever waits for what was written last has heard of it.
        if self.quiet.packs_now() {
            self.pack();
        }
        let awake = std::mem::take(&mut self.awake);
        if let Some(pause) = self.full.filter(|_| !awake) {
            return Turn::Wait(Some(pause));
        }
        if let Some(group) = self.next_group() {
            return Turn::Append(group);
        }
        if self.full.is_some() {
            return Turn::Mend;
        }
        match self.quiet.next() {
            Some((_, Chore::Tidy)) if awake => Turn::Tidy(self.quiet.take_packed()),
            Some((_, Chore::Pack)) if awake => {
                self.pack();
                Turn::Wait(self.quiet.next().map(|(pause, _)| pause))
            }
            next => Turn::Wait(next.map(|(pause, _)| pause)),
        }
    }

    /// What there is to say since the last call.
    pub fn take_messages(&mut self) -> Vec<Message<E>> {
        std::mem::take(&mut self.messages)
    }

    /// What became of a batch that a turn gave.
    ///
    /// # Errors
    /// When nothing more can be written: the writer ends.
    pub fn appended(
        &mut self,
        mut group: B,
        result: Result<Durable, AppendError<E>>,
        reserve: &mut impl Reserve<Error = E>,
    ) -> Result<(), E> {
        self.unsettled = matches!(result, Err(AppendError::Away { .. }));
        let why = match result {
            Ok(durable) => {
                self.send(Report::Durable(durable), group.load());
                self.quiet.written(group.take_snapshots());
                return self.mend(reserve);
            }
            Err(AppendError::Full) => Stall::Full,
            Err(AppendError::Locked { by }) => Stall::Locked { by },
            Err(AppendError::Away { problem }) => Stall::Away { problem },
            Err(AppendError::Fatal(error)) => return Err(error),
        };
        self.batches.push_front(group);
        self.stalls(why.clone());
        let urgent = self.closed || self.batches.iter().any(Batch::is_urgent);
        if why == Stall::Full && urgent && reserve.release() {
            self.full = Some(Duration::ZERO);
            return Ok(());
        }
        if self.closed {
            self.attempts_left = self.attempts_left.checked_sub(1).ok_or(why)?;
        }
        self.report_waiting();
        Ok(())
    }

    /// The disk has room again once the reserve is back.
    ///
    /// # Errors
    /// When the reserve can't be set aside for another reason than a full disk.
    pub fn mend(&mut self, reserve: &mut impl Reserve<Error = E>) -> Result<(), E> {
        if self.full.is_none() {
            return Ok(());
        }
        if reserve.hold()? {
            (self.full, self.stalled) = (None, None);
            self.send(Report::Recovered, Load::NONE);
        } else {
            self.stalls(Stall::Full);
        }
        Ok(())
    }

    /// The disk was tidied, or something was in the way.
    pub fn tidied(&mut self, tidied: Tidied) {
        self.quiet.tidied(tidied);
    }

    /// The writer ends.
    pub fn failed(&mut self, error: E) {
        self.send(Report::Failed(error), Load::NONE);
    }

    /// What has piled up, as one transaction takes it.
    fn next_group(&mut self) -> Option<B> {
        let mut group = self.batches.pop_front()?;
        while let Some(next) = self.batches.front().filter(|_| !self.unsettled) {
            let load = group.load().plus(next.load());
            if load.calls > self.group.calls || load.bytes > self.group.bytes {
                break;
            }
            group.merge(self.batches.pop_front()?);
        }
        group.add_states(self.quiet.take_packed());
        Some(group)
    }

    /// Compresses states that wait for it.
    fn pack(&mut self) {
        for (agent, bytes) in self.quiet.pack() {
            self.send(Report::Packed { agent, bytes }, Load::NONE);
        }
    }

    fn stalls(&mut self, why: Stall) {
        match self.full {
            None => self.full = Some(FIRST_PAUSE),
            Some(pause) => {
                // However much comes, only time makes the pauses longer.
                let longer = if self.early { pause } else { pause * 2 };
                // An attempt at a lock waits for it in any case.
                let longest = match why {
                    Stall::Full => LONGEST_PAUSE,
                    Stall::Locked { .. } => FIRST_PAUSE,
                    Stall::Away { .. } => LONGEST_AWAY,
                };
                self.full = Some(longer.clamp(FIRST_PAUSE, longest));
            }
        }
        if self.stalled.as_ref() != Some(&why) {
            self.stalled = Some(why.clone());
            self.send(Report::Stalled(why), Load::NONE);
        }
    }

    /// Reports once for each step that it waits.
    fn report_waiting(&mut self) {
        let last = self.batches.iter().rev().find_map(Batch::through);
        if let Some(last) = last.filter(|last| *last > self.reported) {
            self.reported = last;
            self.send(Report::Waits(last), Load::NONE);
        }
    }

    fn send(&mut self, report: Report<E>, done: Load) {
        self.messages.push(Message { report, done: done.within(self.group) });
    }
}
