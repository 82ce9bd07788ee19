//! The loop around the core: select an input (async, decides nothing), step (sync), stage for the ledger,
//! and release the effects of what has become durable. One task owns it; everybody else asks it.

mod ask;
mod disk_state;
mod effect;
mod fork;
mod gate;
mod logins;
mod restore;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holon_core::Input;
use holon_core::view::View;
use holon_driver::{Engine, EngineError, Whose};
use holon_facts::event::{OperationFact, TaskFact};
use holon_facts::{AgentId, Config, Event, Millis, Now, Record};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_ledger::write::Writer;
use holon_ledger::{Message, Permit};
use holon_platform::clock;
use holon_platform::crash_point::{Point, reached};
use holon_text::Texts;
use tokio::time::Instant;

use crate::perform::Performers;
use crate::shared_turns::BorrowedTurns;
use crate::work::Work;
use logins::Logins;

pub use ask::Answered;
pub use disk_state::DiskState;
pub use fork::ForkOrder;
pub use gate::{Gate, Latch};
pub use holon_driver::{DiskFull, NoAnswer};
pub use start::{Start, StartError};

/// The longest sleep: a deadline further away is looked at again.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Between two looks at the wall clock while a deadline is awaited: the timer of the process stands still while the machine
/// sleeps, and does not follow when the clock is set.
const CLOCK_CHECK: Duration = Duration::from_secs(30);

/// The wall clock has gone on without the timer when it is so much further since the last step.
const CLOCK_JUMP: Millis = Millis::seconds(1);
/// The wall clock has gone back when it is so far behind; a host believes no smaller step.
const CLOCK_BACK: Millis = Millis::hours(1);
/// Seconds for which a shutdown waits for a ledger that can't be written.
const LEDGER_PATIENCE: u32 = 10;

/// The runtime can't go on; what the ledger acknowledged is safe.
pub type DriverError = EngineError<LedgerError>;

/// One agent that can't be brought into memory.
pub type LoadError = holon_driver::LoadError<LedgerError>;

/// Sees every record once it is durable, in order.
pub type Observer = Box<dyn FnMut(&Record) + Send>;

/// One runtime: what the engine decides, it waits for and performs.
pub struct Driver {
    engine: Engine<Writer, Arc<Reader>, Answered>,
    texts: Texts,
    performers: Performers,
    work: Work,
    logins: Logins,
    /// Those that are lent to it, where the runtimes of a process have their turns together.
    turns: Option<BorrowedTurns>,
    observer: Observer,
    /// Tools begin when it is open.
    tools_from: Gate,
    /// Effects begin while it allows them.
    permit: Permit,
    /// Whether the disk has room, for others.
    disk: DiskState,
    /// The moment of the last step of its own.
    stepped: Now,
}

/// Whether the wall clock has gone on further than the timer of the process, or back.
fn has_jumped(then: Now, now: Now) -> bool {
    let expected = then.wall.after(now.mono.since(then.mono));
    now.wall > expected.after(CLOCK_JUMP) || now.wall.after(CLOCK_BACK) < expected
}

/// What the loop woke up for.
enum Woken {
    Report(Message<LedgerError>),
    Completed(Box<Input>),
    Lent(u64),
    Deadline,
}

impl Driver {
    /// Reads of the state between two steps.
    pub fn view(&self) -> View<'_> {
        self.engine.view()
    }

    pub fn config(&self) -> &Config {
        self.engine.config()
    }

    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    pub fn performers(&self) -> &Performers {
        &self.performers
    }

    /// Whether the disk has room, also for those who can't wait for the driver.
    pub fn disk_state(&self) -> &DiskState {
        &self.disk
    }

    /// Evicts the agents among these that have nothing to do but to wait, and returns them. They come back by
    /// [`Driver::load`], and by themselves when something is due for them.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn evict(&mut self, agents: &[AgentId]) -> Result<BTreeSet<AgentId>, DriverError> {
        self.engine.evict(agents)
    }

    /// How long until the wall clock brings an agent in memory something to do.
    pub fn idles_for(&self, agent: &AgentId) -> Option<Millis> {
        self.engine.idles_for(agent)
    }

    /// Those who have come into memory since the last look.
    pub fn take_arrived(&mut self) -> Vec<AgentId> {
        self.engine.take_arrived()
    }

    /// Reads what is durable.
    pub fn reader(&self) -> Arc<Reader> {
        self.engine.reader().clone()
    }

    /// What went wrong without harm since the last look.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.engine.take_warnings()
    }

    /// Whether it may take something in that is not urgent.
    pub fn has_capacity(&self) -> bool {
        self.engine.has_capacity(false)
    }

    /// Waits until the disk has caught up so far that something may be handed over; nothing else is listened to.
    async fn wait_for_capacity(&mut self) -> Result<(), DriverError> {
        while !self.has_capacity() {
            self.next_report().await?;
        }
        Ok(())
    }

    /// What the writer says next.
    async fn next_report(&mut self) -> Result<(), DriverError> {
        let message = self.engine.writer().report().await;
        self.report(message)
    }

    /// Whether everything that was decided is durable and was given to its performers.
    pub fn caught_up(&self) -> bool {
        self.engine.caught_up()
    }

    /// One turn of the loop: waits for something, and handles it.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn pump(&mut self) -> Result<(), DriverError> {
        // As long as the disk is too far behind, nothing but the disk is listened to.
        let stepping = self.has_capacity();
        let deadline = self.engine.deadline(clock::now().mono);
        let wait = deadline.map(|(wait, _)| wait).or_else(|| self.caught_up().then_some(LONGEST_WAIT));
        let rings = stepping && wait.is_some();
        let wait = wait.unwrap_or_default().min(LONGEST_WAIT);
        let checks = deadline.is_some() && wait > CLOCK_CHECK;
        let until = Instant::now() + if checks { CLOCK_CHECK } else { wait };
        let event = tokio::select! {
            biased;
            message = self.engine.writer().report() => Woken::Report(message),
            input = self.work.next(), if stepping => Woken::Completed(Box::new(input)),
            turns = lent(&mut self.turns), if stepping => Woken::Lent(turns),
            () = tokio::time::sleep_until(until), if rings => Woken::Deadline,
        };
        match event {
            Woken::Report(message) => self.report(message),
            Woken::Completed(input) => {
                reached(Point::OutcomeTaken);
                self.step(*input)
            }
            Woken::Lent(turns) => self.step(Input::TurnsLent { turns }),
            Woken::Deadline if checks => match has_jumped(self.stepped, clock::now()) {
                true => self.step(Input::Tick),
                false => Ok(()),
            },
            Woken::Deadline => match deadline.map_or(Whose::Host, |(_, whose)| whose) {
                Whose::Host => self.step(Input::Tick),
                // Loading is for whoever can wait for it.
                Whose::Absent => {
                    self.engine.absent_is_due();
                    Ok(())
                }
            },
        }
    }

    /// Shuts down in good order: runs are interrupted, everything decided becomes durable.
    ///
    /// # Errors
    /// When the ledger fails on the way, or can't be written: then runs are as after a crash.
    pub async fn shut_down(mut self) -> Result<(), DriverError> {
        let disk = self.disk.clone();
        tokio::select! {
            drained = self.drain() => drained?,
            stall = disk.stalled_for(LEDGER_PATIENCE) => return Err(DriverError::Ledger(stall.into())),
        }
        self.work.stop().await;
        // A patch is written to its end, and a command that was told to end may take its time.
        self.performers.at_rest().await;
        reached(Point::WorkStopped);
        Ok(self.engine.into_writer().close()?)
    }

    async fn drain(&mut self) -> Result<(), DriverError> {
        self.ask(|reply| Input::Drain { reply }).await?;
        reached(Point::DrainDurable);
        while !self.caught_up() {
            self.pump().await?;
        }
        Ok(())
    }

    /// Makes steps until the host has nothing more to decide at this moment.
    fn step(&mut self, input: Input) -> Result<(), DriverError> {
        self.stepped = clock::now();
        let more = self.engine.step(self.stepped, input)?;
        self.follow_up(more)
    }

    /// The steps that follow one at once.
    fn follow_up(&mut self, mut more: bool) -> Result<(), DriverError> {
        reached(Point::Decided);
        while more {
            more = self.engine.step(clock::now(), Input::Tick)?;
            reached(Point::Decided);
        }
        Ok(())
    }

    fn report(&mut self, message: Message<LedgerError>) -> Result<(), DriverError> {
        self.engine.report(message)?;
        self.disk.set(self.engine.stall());
        self.engine.take_put_off().into_iter().for_each(|answered| answered(Err(NoAnswer::Waits)));
        self.release()
    }

    /// Performs the effects of every step that is durable now.
    fn release(&mut self) -> Result<(), DriverError> {
        while let Some((step, durable)) = self.engine.release(clock::now().mono)? {
            reached(Point::Durable);
            for record in step.records() {
                (self.observer)(record);
                self.logins.follow(record, &self.performers, &mut self.work);
                self.performers.follow_roots(record);
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

/// Waits until as many turns are lent as were not before; for ever where they are not lent.
async fn lent(turns: &mut Option<BorrowedTurns>) -> u64 {
    match turns {
        Some(turns) => turns.next().await,
        None => std::future::pending().await,
    }
}
