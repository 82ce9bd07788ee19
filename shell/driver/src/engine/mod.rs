//! The engine: one host, a ledger, and the steps that are on their way to it.

mod absent;
mod ask;
mod evict;
mod load;

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::time::Duration;

use absent::Absent;
use ask::Waiting;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_core::{Durable, Host, Input, Step};
use holon_facts::{AgentId, Config, EventSeq, Millis, Mono, Now, OpId, ReplyId, StepSeq, Wall};
use holon_ledger::{AgentRow, Batch, LedgerReader, LedgerWriter, Load, Message, Report, Stall};

use crate::error::EngineError;
use crate::invariants::InvariantCheck;
use crate::run_clock::RunClock;
use crate::stored::Stored;

pub use ask::{Admits, NoAnswer};
pub use load::{Commands, Loaded, Wanted};

/// What an engine is made of.
pub struct Parts<W, R> {
    /// One with nobody in memory that knows nothing of the ledger.
    pub host: Host,
    pub writer: W,
    pub reader: R,
    /// What one transaction takes at most, and what may be under way before the driver waits.
    pub group: Load,
    /// Bytes of records after which the state of an agent is stored again, at least.
    pub store_after: usize,
    pub invariants: InvariantCheck,
}

/// The driver of one runtime. `C` is a caller who waits for an answer.
pub struct Engine<W, R, C> {
    pub(crate) host: Host,
    pub(crate) writer: W,
    pub(crate) reader: R,
    pub(crate) invariants: InvariantCheck,
    group: Load,
    under_way: Load,
    pub(crate) next_reply: ReplyId,
    pub(crate) waiting: BTreeMap<ReplyId, Waiting<C>>,
    pub(crate) put_off: Vec<C>,
    /// Steps that are on their way to the disk.
    pub(crate) ahead: VecDeque<Ahead>,
    /// The disk has everything through this step.
    durable: Option<Durable>,
    /// When whose state is stored again.
    pub(crate) stored: Stored,
    /// When the last step was made.
    pub(crate) stepped_at: Mono,
    pub(crate) run_clock: RunClock,
    /// The clock was paused: what is due by now must be handled.
    look: bool,
    /// What went wrong without harm, for whoever started the runtime.
    pub(crate) warnings: Vec<String>,
    /// While nothing can be written, nothing new is taken in.
    pub(crate) stall: Option<Stall>,
    /// Children that have to be told something, with the agent and the operation that ask for them.
    pub(crate) to_load: VecDeque<(AgentId, OpId, AgentId)>,
    /// Those whom a look at the absent has brought up.
    pub(crate) wanted: VecDeque<Wanted>,
    /// Those who are not in memory, and when they are to be loaded.
    pub(crate) absent: Absent,
    /// Those who have come into memory.
    pub(crate) arrived: Vec<AgentId>,
    /// The host's clock after the last step.
    wall: Wall,
    /// Steps back of the clock by then.
    steps_back: u64,
}

/// A step on its way to the disk.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// When it was made.
    pub(crate) at: Mono,
    pub(crate) step: Step,
}

/// Whose deadline has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Host,
    /// Of agents that are not in memory.
    Absent,
}

impl<W: LedgerWriter, R: LedgerReader<Error = W::Error>, C> Engine<W, R, C> {
    /// Takes up what a ledger holds, and writes the start down. Says who has something to do now: they are brought in,
    /// one after the other, and then recovered.
    ///
    /// # Errors
    /// When the ledger can't be read or takes nothing.
    pub fn start(
        parts: Parts<W, R>,
        clock: Now,
        started: &Call,
    ) -> Result<(Self, Vec<AgentId>), EngineError<W::Error>> {
        let Parts { mut host, writer, reader, group, store_after, invariants } = parts;
        host.resume_after(reader.last_step()?);
        host.resume_accounts(reader.accounts()?);
        let (mut names, mut open, mut absent) = (Vec::new(), Vec::new(), Absent::default());
        reader.each_agent(|row| {
            if !row.archived {
                names.push((row.agent.clone(), row.name.clone()));
            }
            match row.next_deadline {
                _ if row.open_work > 0 => open.push(row.agent),
                Some(at) if at <= clock.wall => open.push(row.agent),
                Some(at) => absent.wait(row.agent, at),
                None => {}
            }
        })?;
        host.resume_names(names);
        if let Some(newest) = reader.newest_record()? {
            host.resume_clock(newest);
        }
        let wall = host.facts().now;
        let mut engine = Self {
            host,
            writer,
            reader,
            invariants,
            group,
            under_way: Load::NONE,
            next_reply: ReplyId(0),
            waiting: BTreeMap::new(),
            put_off: Vec::new(),
            ahead: VecDeque::new(),
            durable: None,
            stored: Stored::new(store_after),
            stepped_at: clock.mono,
            run_clock: RunClock::default(),
            look: false,
            warnings: Vec::new(),
            stall: None,
            to_load: VecDeque::new(),
            wanted: VecDeque::new(),
            absent,
            arrived: Vec::new(),
            wall,
            steps_back: 0,
        };
        let mut batch = W::Batch::default();
        engine.writer.call(&mut batch, engine.writer.encode(started)?);
        engine.send(batch)?;
        Ok((engine, open))
    }

    /// Reads of the state between two steps.
    pub fn view(&self) -> View<'_> {
        self.host.view()
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn config(&self) -> &Config {
        self.host.config()
    }

    pub fn reader(&self) -> &R {
        &self.reader
    }

    pub fn writer(&mut self) -> &mut W {
        &mut self.writer
    }

    /// The end of the runtime: what is under way is the writer's business.
    pub fn into_writer(self) -> W {
        self.writer
    }

    pub fn invariants(&mut self) -> &mut InvariantCheck {
        &mut self.invariants
    }

    /// Whether it may take something in. What is urgent may go twice as far ahead of the disk.
    pub fn has_capacity(&self, urgent: bool) -> bool {
        self.under_way.is_below(self.group, if urgent { 2 } else { 1 })
    }

    /// Whether everything that was decided is durable and was given to its performers.
    pub fn caught_up(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Why nothing new is taken in.
    pub fn stall(&self) -> Option<&Stall> {
        self.stall.as_ref()
    }

    /// How long until the wall clock brings an agent in memory something to do.
    pub fn idles_for(&self, agent: &AgentId) -> Option<Millis> {
        let (at, _) = self.host.wall_deadline(agent)?;
        Some(self.host.facts().now.until(at))
    }

    /// Those who have come into memory since the last look.
    pub fn take_arrived(&mut self) -> Vec<AgentId> {
        mem::take(&mut self.arrived)
    }

    /// What went wrong before the engine was there.
    pub fn warn(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings);
    }

    /// What went wrong without harm since the last look.
    pub fn take_warnings(&mut self) -> Vec<String> {
        mem::take(&mut self.warnings)
    }

    /// How long until something is due, and for whom; none while nothing is, or the disk comes first.
    pub fn deadline(&self, clock: Mono) -> Option<(Duration, Whose)> {
        if self.look {
            return Some((Duration::ZERO, Whose::Host));
        }
        let (host, absent) = (self.host.next_deadline().map(|next| next.wait), self.absent_wait());
        let sooner = absent.is_some_and(|absent| host.is_none_or(|host| absent < host));
        let whose = if sooner { Whose::Absent } else { Whose::Host };
        let wait = host.into_iter().chain(absent).min()?;
        let until = self.run_clock.until(clock, self.oldest(), self.stepped_at.after(wait))?;
        Some((until, whose))
    }

    /// Both clocks, as the core is to see them.
    pub fn now(&self, clock: Now) -> Now {
        Now { mono: self.run_clock.at(clock.mono, self.oldest()), ..clock }
    }

    /// One step. Says whether another is to follow at once, with [`Input::Tick`].
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn step(&mut self, clock: Now, input: Input) -> Result<bool, EngineError<W::Error>> {
        self.invariants.holds().map_err(EngineError::Law)?;
        let now = self.now(clock);
        let call = Call::Step { now, input };
        let written = self.writer.encode(&call)?;
        let Call::Step { input, .. } = call else { return Ok(false) };
        let step = self.host.step(now, input);
        let more = step.more();
        self.stage(now, written, step)?;
        Ok(more)
    }

    /// Hands a step to the ledger; its effects wait here.
    pub(crate) fn stage(&mut self, now: Now, call: W::Call, step: Step) -> Result<(), EngineError<W::Error>> {
        (self.stepped_at, self.look) = (now.mono, false);
        let (wall, steps_back) = (self.host.facts().now, self.host.steps_back());
        let stepped = steps_back > mem::replace(&mut self.steps_back, steps_back);
        if wall < mem::replace(&mut self.wall, wall) || stepped {
            self.absent.clock_went_back();
        }
        let new = step.records().iter().filter(|record| record.event_seq == EventSeq(1));
        self.arrived.extend(new.map(|record| record.agent.clone()));
        let mut batch = W::Batch::default();
        self.writer.step(&mut batch, call, &step, self.host.view())?;
        self.add_snapshots(&mut batch);
        self.ahead.push_back(Ahead { at: now.mono, step });
        self.send(batch)
    }

    pub(crate) fn add_snapshots(&mut self, batch: &mut W::Batch) {
        let mut due = Vec::new();
        for (agent, bytes) in batch.written() {
            self.stored.grows(agent, *bytes);
            if self.stored.takes(agent) {
                due.extend(self.host.snapshot(agent));
            }
        }
        due.into_iter().for_each(|snapshot| batch.snapshot(snapshot));
    }

    pub(crate) fn send(&mut self, batch: W::Batch) -> Result<(), EngineError<W::Error>> {
        let load = batch.load().within(self.group);
        self.writer.send(batch)?;
        self.under_way = self.under_way.plus(load);
        Ok(())
    }

    /// What the writer has to say. Afterwards steps may be released.
    ///
    /// # Errors
    /// When the writer has failed.
    pub fn report(&mut self, message: Message<W::Error>) -> Result<(), EngineError<W::Error>> {
        self.under_way = self.under_way.minus(message.done);
        match message.report {
            Report::Durable(durable) => self.durable = Some(durable),
            Report::Stalled(stall) => {
                self.warnings.push(stall.to_string());
                self.stall = Some(stall);
            }
            Report::Waits(through) => self.put_off(through),
            Report::Packed { agent, bytes } => self.stored.packed(&agent, bytes),
            Report::Recovered => {
                let was = match self.stall.take() {
                    Some(Stall::Full) | None => "the disk of the ledger has free space again",
                    Some(Stall::Locked { .. }) => "the ledger is not locked any more",
                    Some(Stall::Away { .. }) => "the database of the ledger answers again",
                };
                self.warnings.push(was.to_owned());
            }
            Report::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The next step that is durable: whoever performs shows its records and releases its effects.
    ///
    /// # Errors
    /// When one of its records breaks a law.
    pub fn release(&mut self, clock: Mono) -> Result<Option<(Step, Durable)>, EngineError<W::Error>> {
        let Some(durable) = self.durable else { return Ok(None) };
        let next = self.ahead.pop_front_if(|ahead| ahead.step.seq() <= durable.through());
        let Some(Ahead { at, step }) = next else { return Ok(None) };
        // A look that found nothing asks for no other, or a slow disk would be looked at without an end.
        let paused = self.run_clock.resume(clock, at);
        self.look |= paused && !step.records().is_empty();
        self.invariants.check(step.records()).map_err(EngineError::Law)?;
        Ok(Some((step, durable)))
    }

    /// When the oldest step was made that is not durable.
    fn oldest(&self) -> Option<Mono> {
        self.ahead.front().map(|ahead| ahead.at)
    }

    /// The newest step that was made.
    pub fn last_step(&self) -> Option<StepSeq> {
        self.ahead.back().map(|ahead| ahead.step.seq())
    }

    /// Takes what was prepared outside, as a copy of an agent: its steps are in the host already.
    ///
    /// # Errors
    /// When the ledger takes nothing.
    pub fn stage_copy(
        &mut self,
        clock: Now,
        steps: Vec<Step>,
        mut batch: W::Batch,
    ) -> Result<(), EngineError<W::Error>> {
        let at = self.now(clock).mono;
        self.add_snapshots(&mut batch);
        self.ahead.extend(steps.into_iter().map(|step| Ahead { at, step }));
        self.send(batch)
    }

    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The row of an agent that leaves memory, and its call.
    pub(crate) fn write_rest(
        &self,
        batch: &mut W::Batch,
        row: AgentRow,
    ) -> Result<(), EngineError<W::Error>> {
        let call = Call::Park { agent: row.agent.clone() };
        self.writer.call(batch, self.writer.encode(&call)?);
        batch.rests(row);
        Ok(())
    }
}
