//! The loop around the core: select an input (async, decides nothing), step (sync), stage for the ledger,
//! and release the effects of what has become durable. One task owns it; everybody else asks it.

mod fork;
mod gate;
mod judge;
mod restore;
mod room;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use holon_core::event::OperationFact;
use holon_core::input::ControlRequest;
use holon_core::law::Violation;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_core::{AgentId, Answer, Durable, Effect, EventSeq, Host, Input, Record, ReplyId, Step};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::clock;
use crate::crash_point::{Point, between, reached};
use crate::ledger::{Batch, EncodeError, EncodedCall, LedgerError, Reader, Report, Writer};
use crate::perform::Performers;
use crate::text::Texts;
use crate::work::Work;
use judge::Judge;

pub use gate::{Gate, Latch};
pub use restore::LoadError;
pub use room::Room;
pub use start::{BUILD, Start, StartError};

/// Records of an agent after which its state is stored again.
const SNAPSHOT_EVERY: u64 = if cfg!(feature = "crash-points") { 16 } else { 512 };
/// The longest sleep: a deadline further away is looked at again.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Told what is answered, once it is durable. Dropped when the runtime ends before.
pub type Answered = Box<dyn FnOnce(Result<Answer, DiskFull>) + Send>;

/// Nothing new is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk of the ledger is full (a home keeps 32 MiB in reserve): free some space and try again")]
pub struct DiskFull;

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
    waiting: BTreeMap<ReplyId, Answered>,
    /// Steps that are on their way to the disk.
    ahead: VecDeque<Step>,
    /// The last stored state of each agent.
    snapshots: BTreeMap<AgentId, EventSeq>,
    stepped_at: Instant,
    /// What went wrong without harm, for whoever started the runtime.
    warnings: Vec<String>,
    /// While the disk is full, nothing new is taken in.
    room: Room,
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
enum Event {
    Report(Report),
    Completed(Box<Input>),
    Deadline,
}

impl Driver {
    /// Reads of the state between two steps.
    pub fn view(&self) -> View<'_> {
        self.host.view()
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

    /// Asks for something, and waits until what was answered is durable.
    ///
    /// # Errors
    /// When the disk is full, or the runtime can't go on.
    pub async fn ask(&mut self, make: impl FnOnce(ReplyId) -> Input) -> Result<Answer, DriverError> {
        let (sender, mut receiver) = oneshot::channel();
        self.post(make, Box::new(move |told| drop(sender.send(told)))).await?;
        loop {
            if let Ok(told) = receiver.try_recv() {
                return Ok(told?);
            }
            self.pump().await?;
        }
    }

    /// Asks for something; whoever asks is told when the answer is durable, or at once that the disk is full.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn post(
        &mut self,
        make: impl FnOnce(ReplyId) -> Input,
        answered: Answered,
    ) -> Result<(), DriverError> {
        let reply = ReplyId(self.next_reply);
        self.next_reply += 1;
        let input = make(reply);
        let urgent = may_use_reserve(&input);
        if self.room.is_full() && !urgent {
            answered(Err(DiskFull));
            return Ok(());
        }
        while !self.writer.has_room(urgent) {
            self.pump().await?;
        }
        self.waiting.insert(reply, answered);
        self.step(input)
    }

    /// Lets an agent leave memory that has nothing to do; says whether it did. It comes back by
    /// [`Driver::load`].
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub fn park(&mut self, agent: &AgentId) -> Result<bool, DriverError> {
        // What is not on the disk yet could not be read back.
        if !self.caught_up() || self.host.park(agent).is_none() {
            return Ok(false);
        }
        self.snapshots.remove(agent);
        self.record_call(&Call::Park { agent: agent.clone() })?;
        Ok(true)
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
            let report = self.writer.report().await;
            self.report(report)?;
        }
        Ok(())
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
        let deadline = self.deadline();
        let event = tokio::select! {
            biased;
            report = self.writer.report() => Event::Report(report),
            input = self.work.next(), if stepping => Event::Completed(Box::new(input)),
            () = tokio::time::sleep_until(deadline), if stepping => Event::Deadline,
        };
        match event {
            Event::Report(report) => self.report(report),
            Event::Completed(input) => {
                reached(Point::OutcomeTaken);
                self.step(*input)
            }
            Event::Deadline => self.step(Input::Tick),
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

    fn deadline(&self) -> Instant {
        let wait = self.host.next_deadline().map(|deadline| Duration::from_millis(deadline.wait.0));
        self.stepped_at + wait.map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT))
    }

    /// Makes steps until the host has nothing more to decide at this moment.
    fn step(&mut self, input: Input) -> Result<(), DriverError> {
        self.judge.holds()?;
        let mut input = Some(input);
        loop {
            let now = clock::now();
            let call = Call::Step { now, input: input.take().unwrap_or(Input::Tick) };
            let encoded = EncodedCall::new(&call)?;
            let Call::Step { input, .. } = call else { return Ok(()) };
            let step = self.host.step(now, input);
            let more = step.more();
            self.stage(encoded, step)?;
            reached(Point::Decided);
            if !more {
                return Ok(());
            }
        }
    }

    /// Hands a step to the ledger; its effects wait here.
    fn stage(&mut self, call: EncodedCall, step: Step) -> Result<(), DriverError> {
        self.stepped_at = Instant::now();
        let mut batch = Batch::default();
        batch.step(call, &step, self.host.view(), &self.texts)?;
        self.add_snapshots(&mut batch, &step);
        self.ahead.push_back(step);
        self.writer.send(batch)?;
        Ok(())
    }

    fn add_snapshots(&mut self, batch: &mut Batch, step: &Step) {
        let Some(last) = step.records().last() else { return };
        let stored = self.snapshots.get(&last.agent).copied().unwrap_or_default();
        if last.event_seq.0.saturating_sub(stored.0) < SNAPSHOT_EVERY {
            return;
        }
        if let Some(snapshot) = self.host.snapshot(&last.agent) {
            self.snapshots.insert(last.agent.clone(), last.event_seq);
            batch.snapshot(snapshot);
        }
    }

    fn report(&mut self, report: Report) -> Result<(), DriverError> {
        match report {
            Report::Durable(durable) => self.release(durable)?,
            Report::Full => {
                self.room.is_now(true);
                self.warnings.push("the disk of the ledger is full; waiting for room".to_owned());
            }
            Report::Recovered => {
                self.room.is_now(false);
                self.warnings.push("the disk of the ledger has room again".to_owned());
            }
            Report::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Performs the effects of every step that is durable now.
    fn release(&mut self, durable: Durable) -> Result<(), DriverError> {
        while self.ahead.front().is_some_and(|step| step.seq() <= durable.through()) {
            let Some(step) = self.ahead.pop_front() else { break };
            reached(Point::Durable);
            self.judge.durable(step.records())?;
            for record in step.records() {
                (self.observer)(record);
                if let Record { agent, event: holon_core::Event::Operation(fact), .. } = record
                    && let OperationFact::OperationSettled(settled) = fact
                {
                    reached(Point::SettledIsDurable);
                    self.performers.settled(agent, settled.op);
                }
            }
            for effect in step.release(durable) {
                self.perform(effect);
            }
        }
        Ok(())
    }

    fn perform(&mut self, effect: Effect) {
        let performers = self.performers.clone();
        match effect {
            Effect::Reply { reply, answer } => {
                reached(Point::ReplyReleased);
                if let Some(answered) = self.waiting.remove(&reply) {
                    answered(Ok(answer));
                }
            }
            Effect::LoadContext { agent, op, execution } => {
                let name = agent.clone();
                let work = async move { performers.load_context(&name, &execution).await };
                self.work.start(agent, op, between(Point::ContextBegins, work, Point::ContextEnded));
            }
            Effect::CallModel { agent, op, request } => {
                let work = async move { performers.call_model(op, request).await };
                self.work.start(agent, op, between(Point::ModelBegins, work, Point::ModelEnded));
            }
            Effect::CallTool { agent, op, call } => {
                let gate = self.tools_from.clone();
                self.work.start(agent, op, async move {
                    gate.opened().await;
                    between(Point::ToolBegins, performers.call_tool(call), Point::ToolEnded).await
                });
            }
            Effect::PrepareCommand { agent, op, call } => {
                let (name, gate) = (agent.clone(), self.tools_from.clone());
                self.work.start(agent, op, async move {
                    gate.opened().await;
                    let work = performers.prepare_command(&name, op, call);
                    between(Point::PrepareBegins, work, Point::PrepareEnded).await
                });
            }
            Effect::RunCommand { agent, op, supervisor } => {
                let name = agent.clone();
                let work = async move { performers.run_command(&name, op, supervisor).await };
                self.work.start(agent, op, between(Point::CommandBegins, work, Point::CommandEnded));
            }
            Effect::Cancel { agent, op } => {
                self.work.cancel(&agent, op);
                performers.cancelled(&agent);
            }
        }
    }
}

/// What a full disk must not keep out.
fn may_use_reserve(input: &Input) -> bool {
    match input {
        Input::Drain { .. } => true,
        Input::Control { request, .. } => match request {
            ControlRequest::Stop | ControlRequest::Abort { .. } => true,
            ControlRequest::Start => false,
        },
        Input::CreateAgent { .. }
        | Input::Ingress { .. }
        | Input::SetModel { .. }
        | Input::Completed { .. }
        | Input::Tick => false,
    }
}
