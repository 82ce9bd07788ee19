//! The loop around the core: select an input (async, decides nothing), step (sync), stage for the ledger,
//! and release the effects of what has become durable. One task owns it; everybody else asks it.

mod absent;
mod ask;
mod effect;
mod fork;
mod gate;
mod judge;
mod pace;
mod restore;
mod room;
mod start;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use holon_core::event::{OperationFact, TaskFact};
use holon_core::law::Violation;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_core::{
    AgentId, Config, Durable, Event, EventSeq, Host, Input, Millis, Mono, Now, OpId, Record, ReplyId, Step,
    Wall,
};
use holon_platform::clock;
use holon_platform::crash_point::{Point, reached};
use holon_text::Texts;
use tokio::time::Instant;

use crate::ledger::{AgentRow, Batch, EncodeError, EncodedCall, LedgerError, Reader, Report, Stall, Writer};
use crate::perform::Performers;
use crate::work::Work;
use absent::Absent;
use ask::Waiting;
use judge::Judge;
use pace::Pace;
use stored::Stored;

pub use ask::{Answered, DiskFull, NoAnswer};
pub use gate::{Gate, Latch};
pub use restore::LoadError;
pub use room::Room;
pub use start::{Start, StartError};

/// The longest sleep: a deadline further away is looked at again.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Sees every record once it is durable, in order.
pub type Observer = Box<dyn FnMut(&Record) + Send>;

/// One runtime.
pub struct Driver {
    host: Host,
    writer: Writer,
    reader: std::sync::Arc<Reader>,
    texts: Texts,
    performers: Performers,
    work: Work,
    observer: Observer,
    judge: Judge,
    /// Tools begin when it is open.
    tools_from: Gate,
    next_reply: u64,
    waiting: BTreeMap<ReplyId, Waiting>,
    /// Steps that are on their way to the disk.
    ahead: VecDeque<Ahead>,
    /// When whose state is stored again.
    stored: Stored,
    /// When the last step was made.
    stepped_at: Mono,
    pace: Pace,
    /// The clock stood still: what is due by now is to be looked at.
    look: bool,
    /// What went wrong without harm, for whoever started the runtime.
    warnings: Vec<String>,
    /// While the disk is full, nothing new is taken in.
    room: Room,
    /// Children that have to be told something, with the agent and the operation that ask for them.
    to_load: VecDeque<(AgentId, OpId, AgentId)>,
    /// Those who are not in memory, and when they are to be loaded.
    absent: Absent,
    /// Those who have come into memory.
    arrived: Vec<AgentId>,
    /// The host's clock after the last step.
    wall: Wall,
}

/// A step on its way to the disk.
struct Ahead {
    /// When it was made.
    at: Mono,
    step: Step,
}

/// The runtime can't go on; what the ledger acknowledged is safe.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("the ledger failed, so the runtime ends: {0}")]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    #[error("the agent {agent} can't be loaded: {source}")]
    Restore { agent: AgentId, source: holon_core::host::RestoreError },
    #[error(
        "a law is broken, so the runtime ends: {0}. This is a defect of Holon; nothing was done on the ground of \
         that record, and `holon ledger verify` shows it"
    )]
    Law(#[from] Violation),
}

/// What the loop woke up for.
enum Woken {
    Report(Report),
    Completed(Box<Input>),
    Deadline,
}

/// Whose deadline has come.
#[derive(Debug, Clone, Copy)]
enum Whose {
    Host,
    /// Of agents that are not in memory.
    Absent,
}

impl Driver {
    /// Reads of the state between two steps.
    pub fn view(&self) -> View<'_> {
        self.host.view()
    }

    pub fn config(&self) -> &Config {
        self.host.config()
    }

    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    pub fn performers(&self) -> &Performers {
        &self.performers
    }

    /// Whether the disk has room, also for those who can't wait for the driver.
    pub fn room_on_disk(&self) -> &Room {
        &self.room
    }

    /// Lets agents leave memory that have nothing to do but to wait; says which. They come back by [`Driver::load`], and
    /// by themselves when something is due for them.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn park(&mut self, agents: &[AgentId]) -> Result<BTreeSet<AgentId>, DriverError> {
        let mut left = BTreeSet::new();
        // What is not on the disk yet could not be read back.
        if !self.caught_up() || !self.has_room() {
            return Ok(left);
        }
        let mut batch = Batch::default();
        for agent in agents {
            let deadline = self.host.wall_deadline(agent);
            let Some(snapshot) = self.host.park(agent) else { continue };
            self.stored.forget(agent);
            if let Some((at, _)) = deadline {
                self.absent.wait(agent.clone(), at);
            }
            batch.call(EncodedCall::new(&Call::Park { agent: agent.clone() })?);
            batch.rests(AgentRow::of(&snapshot.agent));
            left.insert(agent.clone());
        }
        if !left.is_empty() {
            self.writer.send(batch)?;
        }
        Ok(left)
    }

    /// How long until the wall clock brings an agent in memory something to do.
    pub fn idles_for(&self, agent: &AgentId) -> Option<Millis> {
        let (at, _) = self.host.wall_deadline(agent)?;
        Some(self.host.facts().now.until(at))
    }

    /// Those who have come into memory since the last look.
    pub fn take_arrived(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.arrived)
    }

    /// Reads what is durable.
    pub fn reader(&self) -> std::sync::Arc<Reader> {
        self.reader.clone()
    }

    /// What went wrong without harm since the last look.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Whether it may take something in that is not urgent.
    pub fn has_room(&self) -> bool {
        self.writer.has_room(false)
    }

    /// Waits until the disk has caught up so far that something may be handed over; nothing else is listened to.
    async fn room(&mut self) -> Result<(), DriverError> {
        while !self.writer.has_room(false) {
            self.hear().await?;
        }
        Ok(())
    }

    /// What the writer says next.
    async fn hear(&mut self) -> Result<(), DriverError> {
        let report = self.writer.report().await;
        self.report(report)
    }

    /// Whether everything that was decided is durable and was given to its performers.
    pub fn caught_up(&self) -> bool {
        self.ahead.is_empty()
    }

    /// One turn of the loop: waits for something, and handles it.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn pump(&mut self) -> Result<(), DriverError> {
        // As long as the disk is too far behind, nothing but the disk is listened to.
        let stepping = self.writer.has_room(false);
        let (deadline, whose) = self.deadline();
        let rings = stepping && deadline.is_some();
        let event = tokio::select! {
            biased;
            report = self.writer.report() => Woken::Report(report),
            input = self.work.next(), if stepping => Woken::Completed(Box::new(input)),
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if rings => Woken::Deadline,
        };
        match event {
            Woken::Report(report) => self.report(report),
            Woken::Completed(input) => {
                reached(Point::OutcomeTaken);
                self.step(*input)
            }
            Woken::Deadline => match whose {
                Whose::Host => self.step(Input::Tick),
                // Loading is for whoever can wait for it.
                Whose::Absent => {
                    self.absent.rung();
                    Ok(())
                }
            },
        }
    }

    /// Shuts down in good order: runs are interrupted, everything decided becomes durable.
    ///
    /// # Errors
    /// When the ledger fails on the way.
    pub async fn shut_down(mut self) -> Result<(), DriverError> {
        self.ask(|reply| Input::Drain { reply }).await?;
        reached(Point::DrainDurable);
        while !self.caught_up() {
            self.pump().await?;
        }
        self.work.stop().await;
        // A patch is written to its end, and a command that was told to end may take its time.
        self.performers.at_rest().await;
        reached(Point::WorkStopped);
        self.writer.close()?;
        Ok(())
    }

    /// When to look again, and for whom; none when the disk comes first.
    fn deadline(&self) -> (Option<Instant>, Whose) {
        if self.look {
            return (Some(Instant::now()), Whose::Host);
        }
        let (host, absent) = (self.host.next_deadline().map(|next| next.wait), self.absent_wait());
        let sooner = absent.is_some_and(|absent| host.is_none_or(|host| absent < host));
        let whose = if sooner { Whose::Absent } else { Whose::Host };
        let wait = match host.into_iter().chain(absent).min() {
            Some(wait) => self.pace.until(clock::now().mono, self.oldest(), self.stepped_at.after(wait)),
            None => self.caught_up().then_some(LONGEST_WAIT),
        };
        (wait.map(|wait| Instant::now() + wait.min(LONGEST_WAIT)), whose)
    }

    /// When the oldest step was made that is not durable.
    fn oldest(&self) -> Option<Mono> {
        self.ahead.front().map(|ahead| ahead.at)
    }

    /// Both clocks, as the core is to see them.
    fn now(&self) -> Now {
        let now = clock::now();
        Now { mono: self.pace.at(now.mono, self.oldest()), ..now }
    }

    /// Makes steps until the host has nothing more to decide at this moment.
    fn step(&mut self, input: Input) -> Result<(), DriverError> {
        self.judge.holds()?;
        let mut input = Some(input);
        loop {
            let now = self.now();
            let call = Call::Step { now, input: input.take().unwrap_or(Input::Tick) };
            let encoded = EncodedCall::new(&call)?;
            let Call::Step { input, .. } = call else { return Ok(()) };
            let step = self.host.step(now, input);
            let more = step.more();
            self.stage(now, encoded, step)?;
            reached(Point::Decided);
            if !more {
                return Ok(());
            }
        }
    }

    /// Hands a step to the ledger; its effects wait here.
    fn stage(&mut self, now: Now, call: EncodedCall, step: Step) -> Result<(), DriverError> {
        (self.stepped_at, self.look) = (now.mono, false);
        let wall = self.host.facts().now;
        if wall < std::mem::replace(&mut self.wall, wall) {
            self.absent.clock_went_back();
        }
        let new = step.records().iter().filter(|record| record.event_seq == EventSeq(1));
        self.arrived.extend(new.map(|record| record.agent.clone()));
        let mut batch = Batch::default();
        batch.step(call, &step, self.host.view(), &self.texts)?;
        self.add_snapshots(&mut batch);
        self.ahead.push_back(Ahead { at: now.mono, step });
        self.writer.send(batch)?;
        Ok(())
    }

    fn add_snapshots(&mut self, batch: &mut Batch) {
        let mut due = Vec::new();
        for (agent, bytes) in batch.written() {
            self.stored.grows(agent, *bytes);
            if self.stored.takes(agent) {
                due.extend(self.host.snapshot(agent));
            }
        }
        due.into_iter().for_each(|snapshot| batch.snapshot(snapshot));
    }

    fn report(&mut self, report: Report) -> Result<(), DriverError> {
        match report {
            Report::Durable(durable) => self.release(durable)?,
            Report::Stalled(stall) => {
                self.warnings.push(stall.to_string());
                self.room.is_now(Some(stall));
            }
            Report::Waits(through) => self.tell_who_waits(through),
            Report::Packed { agent, bytes } => self.stored.packed(&agent, bytes),
            Report::Recovered => {
                let was = match self.room.stall() {
                    Some(Stall::Full) | None => "the disk of the ledger has room again",
                    Some(Stall::Locked { .. }) => "the ledger is not locked any more",
                };
                self.room.is_now(None);
                self.warnings.push(was.to_owned());
            }
            Report::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Performs the effects of every step that is durable now.
    fn release(&mut self, durable: Durable) -> Result<(), DriverError> {
        while self.ahead.front().is_some_and(|ahead| ahead.step.seq() <= durable.through()) {
            let Some(Ahead { at, step }) = self.ahead.pop_front() else { break };
            // A look that found nothing asks for no other, or a slow disk would be looked at without an end.
            let stood = self.pace.goes_on(clock::now().mono, at);
            self.look |= stood && !step.records().is_empty();
            reached(Point::Durable);
            self.judge.durable(step.records())?;
            for record in step.records() {
                (self.observer)(record);
                if let Record { agent, event: Event::Operation(fact), .. } = record
                    && let OperationFact::OperationSettled(settled) = fact
                {
                    reached(Point::SettledIsDurable);
                    self.performers.settled(agent, settled.op);
                }
                if let Record { agent, event: Event::Task(TaskFact::TaskCreated(created)), .. } = record
                    && let Some(op) = created.op
                {
                    reached(Point::TaskIsDurable);
                    self.performers.goes_on(agent, op);
                }
            }
            for effect in step.release(durable) {
                self.perform(effect);
            }
        }
        Ok(())
    }
}
