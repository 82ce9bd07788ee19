//! The real writer's queue over the simulated disk, which is slow, stuck or full, or fails and ends the process.
//! Effects leave once their rows are durable.

use std::collections::VecDeque;
use std::time::Duration;

use holon_core::{Durable, Effect};
use holon_ledger::{AppendError, Load, Message, Queue, Report, Tidied, Turn};

use super::World;
use super::agenda::Happening;
use super::step::ends;
use crate::choices::Site;
use crate::disk::group::{DiskError, Group, Held};
use crate::failure::{Failure, ensure};
use crate::fault::Ill;
use crate::options::{Judges, Sabotage};

/// A real disk is tidied after this time without a write.
const TIDY_AFTER: Duration = Duration::from_secs(5);
/// A driver that waits for a stuck disk checks again after this time.
const LOOK: u64 = 1_000_000;
/// A disk that has space again is tried within this time.
const NOTICED: u64 = 5_000_000;
/// Unit of how long a broken disk stays broken.
const BROKEN: u64 = 4_000_000;

/// The writer of one life: the real decisions, in virtual time.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Queue<Group, DiskError>,
    /// The group that the disk is writing.
    under_way: Option<Group>,
    /// When the disk finishes that group, or when the writer goes on by itself.
    pub(super) due: Option<u64>,
    /// Batches that are not durable, in the order in which they were handed over.
    handed: VecDeque<Handed>,
    /// Batches that were ever handed over.
    batches: u64,
    /// Groups that a sabotaged writer has not pushed to its queue yet.
    kept_back: Vec<Group>,
    /// Nothing more is written, or acknowledged.
    failed: bool,
    /// No batch is handed over any more.
    closed: bool,
    /// The reserved disk space is free for now.
    free: bool,
    /// The steps that are released now used the reserved disk space.
    pub(super) by_reserve: bool,
}

/// A batch that is not durable.
#[derive(Debug)]
struct Handed {
    number: u64,
    at: u64,
    /// A full disk must not delay it.
    urgent: bool,
}

/// Finished waits for the disk: when each ended, and how long it took.
#[derive(Debug, Default)]
pub(super) struct Waits(Vec<(u64, u64)>);

impl Default for Writer {
    fn default() -> Self {
        Self::new(Load::GROUP)
    }
}

impl Writer {
    pub(super) fn new(group: Load) -> Self {
        Self {
            queue: Queue::new(group, TIDY_AFTER),
            under_way: None,
            due: None,
            handed: VecDeque::new(),
            batches: 0,
            kept_back: Vec::new(),
            failed: false,
            closed: false,
            free: false,
            by_reserve: false,
        }
    }

    /// How long the oldest waiting row has waited.
    pub(super) fn waits(&self, at: u64) -> u64 {
        self.handed.front().map_or(0, |oldest| at.saturating_sub(oldest.at))
    }

    /// Whether the writer takes nothing new in.
    pub(super) fn is_stalled(&self) -> bool {
        self.queue.is_stalled()
    }

    /// Takes a group that was handed over.
    pub(super) fn push(&mut self, mut group: Group, at: u64, sabotage: Option<Sabotage>) {
        let number = self.batches;
        self.batches += 1;
        self.handed.push_back(Handed { number, at, urgent: group.urgent });
        group.handed.push(number);
        group.urgent |= sabotage == Some(Sabotage::OpenReserve);
        if sabotage == Some(Sabotage::NewestFirst) {
            self.kept_back.push(group);
        } else {
            self.queue.push(group);
        }
    }

    /// Whether the writer waits for disk space under this sabotage.
    pub(super) fn stalls_and(&self, sabotage: Option<Sabotage>, what: Sabotage) -> bool {
        self.is_stalled() && sabotage == Some(what)
    }
}

impl Waits {
    pub(super) fn took(&mut self, end: u64, micros: u64) {
        if micros > 0 {
            self.0.push((end, micros));
        }
    }

    /// Total length of the waits that ended since a moment.
    pub(super) fn all(&self, since: u64) -> u64 {
        self.0.iter().filter(|(end, _)| *end >= since).map(|(_, micros)| *micros).sum()
    }

    /// The longest of the waits that ended since a moment.
    pub(super) fn longest(&self, since: u64) -> u64 {
        self.0.iter().filter(|(end, _)| *end >= since).map(|(_, micros)| *micros).max().unwrap_or(0)
    }
}

impl World<'_> {
    /// What one transaction takes, and how far ahead the driver may be.
    pub(super) fn group(&self) -> Load {
        match usize::try_from(self.scenario.faults.ahead) {
            Ok(0) | Err(_) => Load::GROUP,
            Ok(calls) => Load { calls, ..Load::GROUP },
        }
    }

    /// Whether the driver is so far ahead of the disk that it takes no input.
    pub(super) fn waits_for_the_disk(&self) -> bool {
        self.life.engine.as_ref().is_some_and(|engine| !engine.has_capacity(false))
    }

    /// When to check for capacity again: the end of the faults may bring it before the disk finishes.
    pub(super) fn when_there_is_capacity(&mut self) -> Result<u64, Failure> {
        self.injector.saw("the driver waits for the disk");
        let due = self.life.writer.due;
        ensure!(due.is_some(), "D13", "the driver waits for the disk, and the disk for nothing");
        Ok(due.unwrap_or_default().clamp(self.at, self.at + LOOK) + 1)
    }

    /// Starts the writer of a new life.
    pub(super) fn begin_writing(&mut self) -> Result<(), Failure> {
        self.life.writer = Writer::new(self.group());
        let begun = self.with_reserve(|queue, reserve| queue.begin(reserve));
        ensure!(begun.is_ok(), "D10", "the room held back can't be set aside: {begun:?}");
        Ok(())
    }

    fn with_reserve<T>(&mut self, with: impl FnOnce(&mut Queue<Group, DiskError>, &mut Held<'_>) -> T) -> T {
        let (full, mut gone) = (self.is_full(), true);
        let writer = &mut self.life.writer;
        let none = self.options.sabotage == Some(Sabotage::ClosedReserve);
        let used = if none { &mut gone } else { &mut self.disk.get_mut().reserve_used };
        let mut reserve = Held { full, used, free: &mut writer.free };
        with(&mut writer.queue, &mut reserve)
    }

    /// Runs the queue until it waits for something.
    pub(super) fn go_on_writing(&mut self) -> Result<(), Failure> {
        let life = self.life.number;
        while self.life.number == life && self.life.writer.under_way.is_none() {
            self.take_reports()?;
            while let Some(newest) = self.life.writer.kept_back.pop() {
                self.life.writer.queue.push(newest);
            }
            match self.life.writer.queue.turn() {
                Turn::Append(group) => {
                    self.life.writer.under_way = Some(group);
                    let takes = self.takes();
                    if takes == 0 {
                        self.sync()?;
                    } else {
                        self.sync_at(self.at + takes);
                    }
                }
                Turn::Mend => {
                    let mended = self.with_reserve(|queue, reserve| queue.mend(reserve));
                    ensure!(mended.is_ok(), "D10", "the room held back can't be set aside: {mended:?}");
                }
                Turn::Tidy(states) => {
                    self.disk.get_mut().keep(states);
                    self.life.writer.queue.tidied(Tidied::Done);
                }
                Turn::Wait(Some(pause)) if pause.is_zero() => self.life.writer.queue.waited(),
                Turn::Wait(pause) => {
                    self.life.writer.due = None;
                    let sleeps = self.life.writer.stalls_and(self.options.sabotage, Sabotage::NeverWake);
                    if let Some(pause) = pause.filter(|_| !sleeps) {
                        self.sync_at(self.at + u64::try_from(pause.as_micros()).unwrap_or(u64::MAX));
                    }
                    return Ok(());
                }
                Turn::End(states) => {
                    self.disk.get_mut().keep(states);
                    self.life.writer.due = None;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// How long the disk takes for the next group.
    fn takes(&mut self) -> u64 {
        if self.life.writer.is_stalled() {
            return 0;
        }
        let site = self.site("disk", 0, "");
        let takes = self.scenario.faults.sync;
        let sticks = self.scenario.faults.sync_sticks;
        let stuck = !self.quiet
            && self.injector.strikes(&self.scenario.faults, &mut *self.choices, site, "sticks", sticks);
        if !stuck {
            return takes;
        }
        takes + 1_000_000 * (1 + u64::from(self.choices.below(site.about("stuck for"), 600)))
    }

    fn sync_at(&mut self, at: u64) {
        self.life.writer.due = Some(at);
        self.agenda.plan(at, 0, Happening::Sync(self.life.number));
    }

    /// The disk finishes a group, well or not, or the writer goes on by itself.
    pub(super) fn writer_wakes(&mut self) -> Result<(), Failure> {
        self.life.writer.due = None;
        if self.life.writer.under_way.is_some() {
            self.sync()?;
        } else {
            self.life.writer.queue.waited();
        }
        self.go_on_writing()
    }

    /// Closes the queue: what waits is written, or given up.
    pub(super) fn close_writer(&mut self) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.life.writer.closed, true) {
            self.life.writer.queue.close();
            return self.go_on_writing();
        }
        Ok(())
    }

    /// The disk finishes the group.
    fn sync(&mut self) -> Result<(), Failure> {
        self.life.writer.due = None;
        let Some(group) = self.life.writer.under_way.take() else { return Ok(()) };
        if self.is_full() && !self.life.writer.free {
            return self.full(group);
        }
        let site = self.site("disk", 0, "");
        let (faults, broken) = (&self.scenario.faults, self.at < self.broken_until);
        let fails = !self.quiet
            && (broken
                || self.injector.strikes(faults, &mut *self.choices, site, "fails", faults.sync_fails));
        if fails {
            self.life.writer.under_way = Some(group);
            return self.fail(site);
        }
        let is_lost =
            !self.quiet && self.injector.strikes(faults, &mut *self.choices, site, "lies", faults.sync_lies);
        self.written(group, is_lost)
    }

    fn is_full(&self) -> bool {
        !self.quiet && self.scenario.faults.ill(Ill::DiskFull, self.at)
    }

    /// The group is written; of a lost sync, that is only a claim.
    fn written(&mut self, mut group: Group, is_lost: bool) -> Result<(), Failure> {
        self.space_is_noticed()?;
        let writer = &mut self.life.writer;
        let by_reserve = std::mem::take(&mut writer.free);
        if by_reserve {
            self.injector.saw("a full disk takes a stop");
            self.injector.saw("disk full, then stop");
        } else if let Some(oldest) = writer.handed.front() {
            self.waits.took(self.at, self.at - oldest.at);
        }
        let next = writer.handed.drain(..group.handed.len().min(writer.handed.len()));
        let in_order = next.map(|batch| batch.number).eq(group.handed.iter().copied());
        ensure!(in_order, "D13", "batches {:?} become durable before others", group.handed);
        self.checks.say("D13");
        let durable = self.disk.get_mut().write(&mut group, is_lost);
        if self.boundary()? {
            return Ok(());
        }
        self.life.writer.by_reserve = by_reserve;
        let appended = self.appended(group, Ok(durable));
        self.life.writer.by_reserve = false;
        appended
    }

    /// D10: once a full disk has space, waiting batches are written soon.
    fn space_is_noticed(&self) -> Result<(), Failure> {
        let writer = &self.life.writer;
        let (true, Some(oldest)) = (writer.is_stalled() && !writer.free, writer.handed.front()) else {
            return Ok(());
        };
        let spells = self.scenario.faults.spells.iter().filter(|spell| spell.what == Ill::DiskFull);
        let space_since =
            spells.map(|spell| spell.until.min(self.when_quiet())).filter(|until| *until <= self.at).max();
        let since = space_since.unwrap_or_default().max(oldest.at);
        let took = (self.at - since).saturating_sub(self.life.slept + self.halts.all(since));
        ensure!(took <= NOTICED, "D10", "the disk has room, and is tried after {took} µs");
        Ok(())
    }

    /// D10: on a full disk, urgent batches use the reserved space; the others wait.
    fn full(&mut self, mut group: Group) -> Result<(), Failure> {
        self.injector.saw("disk full");
        let since = self.life.writer.handed.front().filter(|_| !self.life.writer.is_stalled());
        self.waits.took(self.at, self.at - since.map_or(self.at, |oldest| oldest.at));
        if self.options.sabotage == Some(Sabotage::LoseGroup) {
            group = Group::default();
        }
        self.appended(group, Err(AppendError::Full))
    }

    /// Reports the result to the queue, and handles what the queue reports back.
    fn appended(
        &mut self,
        group: Group,
        result: Result<Durable, AppendError<DiskError>>,
    ) -> Result<(), Failure> {
        let held = !self.disk.get().reserve_used;
        let goes_on = self.with_reserve(|queue, reserve| queue.appended(group, result, reserve));
        if held && self.disk.get().reserve_used {
            let writer = &self.life.writer;
            let urgent = writer.closed || writer.handed.iter().any(|batch| batch.urgent);
            ensure!(urgent, "D10", "the room held back is used, and nothing urgent waits");
        }
        let life = self.life.number;
        self.take_reports()?;
        // The append was tried often enough: batches that nobody was notified of are given up.
        if goes_on.is_err() && self.life.number == life { self.crash() } else { Ok(()) }
    }

    /// Passes the writer's reports to the driver, and releases durable steps.
    fn take_reports(&mut self) -> Result<(), Failure> {
        let life = self.life.number;
        for message in self.life.writer.queue.take_messages() {
            let loses_reports = self.options.sabotage == Some(Sabotage::LoseReport);
            if loses_reports && matches!(message.report, Report::Durable(_)) && self.life.writer.is_stalled()
            {
                continue;
            }
            let Some(engine) = self.life.engine.as_mut().filter(|_| self.life.number == life) else {
                return Ok(());
            };
            engine.report(message).map_err(ends)?;
            self.answer_waiting()?;
            self.release()?;
        }
        Ok(())
    }

    /// Reports everything as durable to the driver, whatever the disk has.
    pub(super) fn release_early(&mut self) -> Result<(), Failure> {
        let Some(engine) = &mut self.life.engine else { return Ok(()) };
        let disk = self.disk.get();
        let report = Report::Durable(disk.attest(disk.last_step()));
        drop(disk);
        engine.report(Message { report, done: Load::NONE }).map_err(ends)?;
        self.release()
    }

    /// D9: after a failed sync nothing more is acknowledged. The process ends, and the next start reads the disk, which
    /// has any part of what was handed over.
    fn fail(&mut self, site: Site) -> Result<(), Failure> {
        self.life.writer.failed = true;
        self.checks.say("D9");
        if !self.outside.clients.waiting.is_empty() {
            self.injector.saw("a sync fails while somebody waits");
        }
        if self.at >= self.broken_until && self.choices.below(site.about("stays broken"), 2) == 0 {
            self.injector.saw("disk.sticky");
            self.broken_until = self.at + u64::from(self.choices.below(site.about("broken for"), 4)) * BROKEN;
        }
        self.trace.note(self.at, "a sync fails");
        if let Some(group) = self.life.writer.under_way.take()
            && self.options.sabotage == Some(Sabotage::IgnoreFailure)
        {
            return self.written(group, false);
        }
        self.crash()
    }

    fn release(&mut self) -> Result<(), Failure> {
        let clock = self.now().mono;
        while let Some(engine) = &mut self.life.engine {
            let Some((step, durable)) = engine.release(clock).map_err(ends)? else { return Ok(()) };
            ensure!(!self.life.writer.failed, "D9", "step {} leaves after a failed sync", step.seq());
            let due = self.life.due.pop_front().unwrap_or_default();
            let seq = step.seq();
            self.observe(&step)?;
            let mut effects = step.release(durable);
            self.misdirect(&mut effects);
            if self.options.judges == Judges::All {
                let released = due.check(&effects)?;
                self.checks.say_often("E1", released);
            }
            let replies = effects.iter().any(|effect| matches!(effect, Effect::Reply { .. }));
            self.disk.get_mut().released(seq, &effects, replies);
            for effect in effects {
                self.trace.effect(&effect);
                self.perform(effect, seq)?;
                if self.boundary()? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// G4: a follower of the records sees each once, in order, across all lives.
    fn observe(&mut self, step: &holon_core::Step) -> Result<(), Failure> {
        let lost = self.options.sabotage == Some(Sabotage::LoseObserved) && step.seq().0.is_multiple_of(7);
        for record in step.records().iter().skip(usize::from(lost)) {
            let last = self.outside.observed.entry(record.agent.clone()).or_default();
            let (expected, got) = (last.next(), record.event_seq);
            ensure!(got == expected, "G4", "{} is shown event {got}, expected {expected}", record.agent);
            *last = got;
        }
        self.checks.say("G4");
        Ok(())
    }
}
