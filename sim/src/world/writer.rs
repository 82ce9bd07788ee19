//! The ledger's writer as a driver meets it: it groups what piles up, is slow or stuck, meets a full disk and
//! goes on trying, or fails and ends the process. Effects leave when their rows are down.

use holon_core::replay::Call;
use holon_core::{Durable, Effect};

use super::agenda::Happening;
use super::{Judges, Sabotage, World};
use crate::choices::Site;
use crate::failure::{Failure, ensure};
use crate::fault::Ill;

/// Steps that a real driver may be ahead of the disk.
const AHEAD: u64 = 256;
/// Between attempts at a full disk, in microseconds: the first pause doubles up to the last.
const PAUSES: (u64, u64) = (100_000, 5_000_000);
/// Who waits for a stuck disk looks again after so long.
const LOOK: u64 = 1_000_000;
/// A broken disk stays broken for so long, when it does.
const BROKEN: u64 = 4_000_000;

/// What the writer of one life is at.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// When the sync under way will be done.
    pub(super) due: Option<u64>,
    /// When the oldest row that waits was handed over.
    since: Option<u64>,
    /// The disk is full, and this is the pause before the next attempt.
    pub(super) full: Option<u64>,
    /// Nothing more is written, or acknowledged.
    failed: bool,
    /// What is released now owes it to the room held back.
    pub(super) by_reserve: bool,
}

/// Waits for the disk that are over: when each ended, and how long it took.
#[derive(Debug, Default)]
pub(super) struct Waits(Vec<(u64, u64)>);

impl Writer {
    /// How long the oldest row that waits has done so.
    pub(super) fn waits(&self, at: u64) -> u64 {
        self.since.map_or(0, |since| at.saturating_sub(since))
    }
}

impl Waits {
    pub(super) fn took(&mut self, end: u64, micros: u64) {
        if micros > 0 {
            self.0.push((end, micros));
        }
    }

    /// How long all took together that ended since a moment.
    pub(super) fn all(&self, since: u64) -> u64 {
        self.0.iter().filter(|(end, _)| *end >= since).map(|(_, micros)| *micros).sum()
    }

    /// The longest of those that ended since a moment.
    pub(super) fn longest(&self, since: u64) -> u64 {
        self.0.iter().filter(|(end, _)| *end >= since).map(|(_, micros)| *micros).max().unwrap_or(0)
    }
}

impl World<'_> {
    /// When the driver looks again whether it has room for one more step; none when it has.
    pub(super) fn waits_for_the_disk(&self, at: u64, urgent: bool) -> Option<u64> {
        let ahead = match self.scenario.faults.ahead {
            0 => AHEAD,
            steps => steps,
        };
        let most = if urgent { ahead.saturating_mul(2) } else { ahead };
        let full = self.life.pending.len() as u64 >= most;
        // The end of the faults may free it before.
        self.life.writer.due.filter(|_| full).map(|due| due.min(at + LOOK).max(at) + 1)
    }

    /// A row was handed over.
    pub(super) fn write(&mut self, urgent: bool) -> Result<(), Failure> {
        self.life.writer.since.get_or_insert(self.at);
        if self.options.sabotage == Some(Sabotage::ReleaseEarly) {
            return self.release(self.disk.attest(self.disk.last_step()));
        }
        if self.life.writer.full.is_some() {
            // The writer wakes up for every batch, and uses its reserve for an urgent one.
            return if urgent { self.sync() } else { Ok(()) };
        }
        if self.life.writer.due.is_some() {
            return Ok(());
        }
        let site = self.site("disk", 0, "");
        let mut takes = self.scenario.faults.sync;
        let sticks = self.scenario.faults.sync_sticks;
        if !self.quiet
            && self.injector.strikes(&self.scenario.faults, &mut *self.choices, site, "sticks", sticks)
        {
            takes += 1_000_000 * (1 + u64::from(self.choices.below(site.about("stuck for"), 600)));
        }
        if takes == 0 {
            return self.sync();
        }
        self.sync_at(self.at + takes);
        Ok(())
    }

    fn sync_at(&mut self, at: u64) {
        self.life.writer.due = Some(at);
        self.agenda.plan(at, 0, Happening::Sync(self.life.number));
    }

    /// The disk is done with what it was given, in one way or another.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        self.life.writer.due = None;
        if self.is_full() {
            return self.full();
        }
        let site = self.site("disk", 0, "");
        let (faults, broken) = (&self.scenario.faults, self.at < self.broken_until);
        let fails = !self.quiet
            && (broken
                || self.injector.strikes(faults, &mut *self.choices, site, "fails", faults.sync_fails));
        if fails {
            return self.fail(site);
        }
        if self.life.writer.full.take().is_some() {
            self.disk.reserve_used = false;
        }
        let lies =
            !self.quiet && self.injector.strikes(faults, &mut *self.choices, site, "lies", faults.sync_lies);
        self.written(lies)
    }

    fn is_full(&self) -> bool {
        !self.quiet && self.scenario.faults.ill(Ill::DiskFull, self.at)
    }

    /// Everything that was handed over is down; a disk that lies only says so.
    fn written(&mut self, lies: bool) -> Result<(), Failure> {
        if let Some(since) = self.life.writer.since.take() {
            self.waits.took(self.at, self.at - since);
        }
        let durable = if lies { self.disk.lie() } else { self.disk.sync() };
        if self.boundary()? {
            return Ok(());
        }
        self.release(durable)
    }

    /// D10: with a full disk, what is urgent finds the room that was held back; the rest waits.
    fn full(&mut self) -> Result<(), Failure> {
        self.injector.saw("disk full");
        let since = self.life.writer.since.filter(|_| self.life.writer.full.is_none());
        self.waits.took(self.at, self.at - since.unwrap_or(self.at));
        let pause = self.life.writer.full.map_or(PAUSES.0, |pause| (pause * 2).min(PAUSES.1));
        self.life.writer.full = Some(pause);
        self.sync_at(self.at + pause);
        let waits = self.disk.waiting().iter().any(|row| match &row.call {
            Call::Step { input, .. } => input.is_urgent(),
            Call::RuntimeStarted { .. }
            | Call::Admit { .. }
            | Call::Park { .. }
            | Call::Copy { .. }
            | Call::Recover { .. } => false,
        });
        if !waits || self.disk.reserve_used {
            return Ok(());
        }
        self.disk.reserve_used = true;
        self.injector.saw("a full disk takes a stop");
        self.injector.saw("disk full, then stop");
        self.life.writer.by_reserve = true;
        self.life.writer.since = None;
        self.written(false)?;
        self.life.writer.by_reserve = false;
        Ok(())
    }

    /// D9: after a failed sync nothing more is acknowledged: the process ends, and the next start reads what
    /// is on the disk, which may be any part of what was handed over.
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
        if self.options.sabotage == Some(Sabotage::IgnoreFailure) {
            return self.written(false);
        }
        self.crash()
    }

    pub(super) fn release(&mut self, durable: Durable) -> Result<(), Failure> {
        while let Some((step, due)) = self.life.pending.pop_front() {
            ensure!(!self.life.writer.failed, "D9", "step {} leaves after a failed sync", step.seq());
            let seq = step.seq();
            self.observe(&step)?;
            let mut effects = step.release(durable);
            self.misdirect(&mut effects);
            if self.options.judges == Judges::All {
                let released = due.judge(&effects)?;
                self.checks.say_often("E1", released);
            }
            let told = effects.iter().any(|effect| matches!(effect, Effect::Reply { .. }));
            self.disk.released(seq, &effects, told);
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

    /// G4: whoever follows the records sees each once, in order, across all lives.
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
