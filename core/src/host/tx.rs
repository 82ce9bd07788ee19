//! The transaction in which handlers work on one agent: they read its state, and change it only by
//! recording facts.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::agent::Agent;
use crate::config::Config;
use crate::effect::{Answer, Effect};
use crate::event::Event;
use crate::event::lifecycle::ClockStepped;
use crate::event::operation::{OpKind, OperationOpened, OperationSettled, Settlement};
use crate::ids::{OpId, ReplyId, RunId, Seed, StepSeq};
use crate::outcome::SupervisorIdentity;
use crate::record::Record;
use crate::scheduler::HostFacts;
use crate::time::{Millis, Mono, Wall};

/// What a step has brought so far.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) seq: StepSeq,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
}

/// Deadlines within a run, on the monotonic clock. They end with their process: a run that a crash
/// interrupts takes none of them along.
pub(crate) type Alarms = BTreeMap<Alarm, Mono>;

/// Why the core wants to look at a run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// An operation has not been completed in time.
    Op(OpId),
    /// The next attempt may be made.
    Backoff,
    /// The turn has taken as long as it may.
    TurnLimit,
}

/// One agent, open for reading and recording.
pub(crate) struct Tx<'a> {
    agent: &'a mut Agent,
    alarms: &'a mut Alarms,
    batch: &'a mut Batch,
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
    pub(crate) host: HostFacts,
    pub(crate) mono: Mono,
}

/// What a transaction is opened with.
pub(crate) struct TxParts<'a> {
    pub(crate) agent: &'a mut Agent,
    pub(crate) alarms: &'a mut Alarms,
    pub(crate) batch: &'a mut Batch,
    pub(crate) config: &'a Config,
    pub(crate) seed: Seed,
    pub(crate) host: HostFacts,
    pub(crate) mono: Mono,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(parts: TxParts<'a>) -> Self {
        let TxParts { agent, alarms, batch, config, seed, host, mono } = parts;
        Self { agent, alarms, batch, config, seed, host, mono }
    }

    pub(crate) fn agent(&self) -> &Agent {
        self.agent
    }

    /// Recorded time: the host's, once a step back of the clock has been recorded.
    pub(crate) fn now(&self) -> Wall {
        self.host.now
    }

    /// Applies a fact and appends it to the step.
    pub(crate) fn record(&mut self, event: impl Into<Event>) {
        self.follow_clock();
        self.append(event.into());
    }

    /// Records that the clock went back, when it did so since the agent's last record.
    pub(crate) fn follow_clock(&mut self) {
        if self.host.now < self.agent.last_at {
            let (from, to) = (self.agent.last_at, self.host.now);
            self.append(ClockStepped { from, to }.into());
        }
    }

    fn append(&mut self, event: Event) {
        let record = Record {
            step: self.batch.seq,
            agent: self.agent.id.clone(),
            event_seq: self.agent.event_seq.next(),
            at: self.host.now,
            event,
        };
        self.agent.apply(&record);
        self.batch.records.push(record);
    }

    /// Opens an operation: the record first, then the effect, with a deadline in case its performer is
    /// never heard of again.
    pub(crate) fn open(
        &mut self,
        kind: OpKind,
        run_id: RunId,
        timeout: Millis,
        effect: impl FnOnce(OpId) -> Effect,
    ) -> OpId {
        let op = self.agent.next.op;
        self.begin(OperationOpened { op, kind, run_id, timeout_ms: timeout, supervisor: None }, effect(op));
        op
    }

    /// Opens the operation in which a supervisor executes its command: the record names the supervisor, so
    /// that whoever reads the log after a crash knows whom to ask.
    pub(crate) fn open_command(&mut self, run_id: RunId, timeout: Millis, supervisor: SupervisorIdentity) {
        let (agent, op, kind) = (self.agent.id.clone(), self.agent.next.op, OpKind::RunCommand);
        let opened =
            OperationOpened { op, kind, run_id, timeout_ms: timeout, supervisor: Some(supervisor.clone()) };
        self.begin(opened, Effect::RunCommand { agent, op, supervisor });
    }

    fn begin(&mut self, opened: OperationOpened, effect: Effect) {
        let (op, timeout) = (opened.op, opened.timeout_ms);
        self.record(opened);
        self.alarms.insert(Alarm::Op(op), self.mono.after(timeout));
        self.batch.effects.push(effect);
    }

    pub(crate) fn settle(&mut self, op: OpId, settlement: Settlement) {
        self.record(OperationSettled { op, settlement });
        self.alarms.remove(&Alarm::Op(op));
    }

    /// Gives up on every open operation.
    pub(crate) fn cancel_ops(&mut self, settlement: Settlement) -> Vec<OpId> {
        let ops: Vec<OpId> = self.agent.ops.keys().copied().collect();
        for &op in &ops {
            self.settle(op, settlement);
            if settlement != Settlement::Lost {
                let agent = self.agent.id.clone();
                self.batch.effects.push(Effect::Cancel { agent, op });
            }
        }
        ops
    }

    pub(crate) fn cancel(&mut self, op: OpId, settlement: Settlement) {
        self.settle(op, settlement);
        let agent = self.agent.id.clone();
        self.batch.effects.push(Effect::Cancel { agent, op });
    }

    pub(crate) fn reply(&mut self, reply: ReplyId, answer: Answer) {
        self.batch.effects.push(Effect::Reply { reply, answer });
    }

    pub(crate) fn arm(&mut self, alarm: Alarm, after: Millis) {
        self.alarms.insert(alarm, self.mono.after(after));
    }

    pub(crate) fn disarm(&mut self, alarm: Alarm) {
        self.alarms.remove(&alarm);
    }

    /// The end of a run ends everything that was armed for it.
    pub(crate) fn disarm_all(&mut self) {
        self.alarms.clear();
    }
}
