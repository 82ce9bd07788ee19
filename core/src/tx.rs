//! The transaction in which handlers work on one agent: they read its state, and change it only by
//! recording facts.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::event::Event;
use holon_facts::event::lifecycle::ClockStepped;
use holon_facts::event::operation::{OpKind, OperationOpened, OperationSettled, Settlement};
use holon_facts::event::turn::BudgetSettled;
use holon_facts::ids::{OpId, ReplyId, RunId, Seed, StepSeq, TaskId};
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::price::Amount;
use holon_facts::record::Record;
use holon_facts::request::RequestRecord;
use holon_facts::template::AgentTemplate;
use holon_facts::time::{Millis, Mono, Wall};
use holon_facts::workspace::WorktreePlan;

use crate::agent::Agent;
use crate::agent::budget::Others;
use crate::effect::{Answer, Effect, Work};
use crate::grants::Grants;
use crate::names::Names;
use crate::occupancy::Occupied;
use crate::prompt::extended::Extended;
use crate::scheduler::HostFacts;

/// What a step has brought so far.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) seq: StepSeq,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
}

/// Deadlines of runs and stops, on the monotonic clock. They end with their process: a run that a crash
/// interrupts takes none of them along, and a start of the runtime asks for the end of tasks again.
pub(crate) type Alarms = BTreeMap<Alarm, Mono>;

/// Callers who are answered when an operation has ended. They are gone with their process.
pub(crate) type Waiting = BTreeMap<OpId, Vec<ReplyId>>;

/// Why the core wants to look at a run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// An operation has not been completed in time.
    Op(OpId),
    /// The next attempt may be made.
    Backoff,
    /// What the next request needs of a budget was not lent in time.
    Grant,
    /// The turn has taken as long as it may.
    TurnLimit,
    /// A task that was asked to end has not done so in time.
    StopTask(TaskId),
}

/// What an operation is, before it has a number.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) kind: OpKind,
    pub(crate) run_id: Option<RunId>,
    pub(crate) task_id: Option<TaskId>,
    /// None waits for ever: only what an operator can end.
    pub(crate) timeout: Option<Millis>,
    pub(crate) supervisor: Option<SupervisorIdentity>,
    pub(crate) command: Option<CommandSpec>,
    pub(crate) execution_root: Option<String>,
    pub(crate) worktree: Option<WorktreePlan>,
    pub(crate) template: Option<Box<AgentTemplate>>,
    pub(crate) request: Option<Box<RequestRecord>>,
}

impl Opening {
    pub(crate) fn new(kind: OpKind, timeout: Millis) -> Self {
        Self {
            kind,
            run_id: None,
            task_id: None,
            timeout: Some(timeout),
            supervisor: None,
            command: None,
            execution_root: None,
            worktree: None,
            template: None,
            request: None,
        }
    }

    /// It ends when something inside does.
    pub(crate) fn without_end(kind: OpKind) -> Self {
        Self { timeout: None, ..Self::new(kind, Millis(0)) }
    }

    /// Of a run.
    pub(crate) fn of(run_id: RunId, kind: OpKind, timeout: Millis) -> Self {
        Self { run_id: Some(run_id), ..Self::new(kind, timeout) }
    }
}

/// What a handler sees beside its agent.
pub(crate) struct Env<'a> {
    pub(crate) config: &'a Config,
    /// Of all agents that there are.
    pub(crate) names: &'a Names,
    pub(crate) occupied: &'a Occupied,
    pub(crate) seed: Seed,
    pub(crate) host: HostFacts,
    pub(crate) others: Others,
    pub(crate) grants: &'a Grants,
    pub(crate) mono: Mono,
    /// What the wall clock would show without its last step back.
    pub(crate) expected: Option<Wall>,
}

/// One agent, open for reading and recording.
pub(crate) struct Tx<'a> {
    agent: &'a mut Agent,
    alarms: &'a mut Alarms,
    waiting: &'a mut Waiting,
    batch: &'a mut Batch,
    extended: &'a mut Extended,
    pub(crate) env: Env<'a>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(
        agent: &'a mut Agent,
        alarms: &'a mut Alarms,
        waiting: &'a mut Waiting,
        batch: &'a mut Batch,
        extended: &'a mut Extended,
        env: Env<'a>,
    ) -> Self {
        Self { agent, alarms, waiting, batch, extended, env }
    }

    pub(crate) fn agent(&self) -> &Agent {
        self.agent
    }

    /// The agent, beside what its last request said.
    pub(crate) fn extending(&mut self) -> (&Agent, &mut Extended) {
        (self.agent, self.extended)
    }

    /// Recorded time: the host's, once a step back of the clock has been recorded.
    pub(crate) fn now(&self) -> Wall {
        self.env.host.now
    }

    /// Applies a fact and appends it to the step.
    pub(crate) fn record(&mut self, event: impl Into<Event>) {
        self.follow_clock();
        self.append(event.into());
    }

    /// Records that the clock went back, when it did so since the agent's last record.
    pub(crate) fn follow_clock(&mut self) {
        if self.env.host.now < self.agent.last_at {
            self.follow_step();
        }
    }

    /// The same for an agent that has recorded nothing since the clock went back: its waits move by as much, also where the
    /// clock is not behind its last record.
    pub(crate) fn follow_step(&mut self) {
        let (from, to) = (self.agent.last_at, self.env.host.now);
        let expected = self.env.expected.filter(|expected| *expected >= from);
        if expected.is_some() || to < from {
            self.append(ClockStepped { from, to, expected }.into());
        }
    }

    fn append(&mut self, event: Event) {
        let record = Record {
            step: self.batch.seq,
            agent: self.agent.id.clone(),
            event_seq: self.agent.event_seq.next(),
            at: self.env.host.now,
            event,
        };
        self.agent.apply(&record);
        self.batch.records.push(record);
    }

    /// Opens an operation: the record first, then the effect, with a deadline in case its performer is
    /// never heard of again. One without work waits for something inside.
    pub(crate) fn open(&mut self, opening: Opening, work: impl Into<Option<Work>>) -> OpId {
        let op = self.agent.next.op;
        let Opening {
            kind,
            run_id,
            task_id,
            timeout: timeout_ms,
            supervisor,
            command,
            execution_root,
            worktree,
            template,
            request,
        } = opening;
        self.record(OperationOpened {
            op,
            kind,
            run_id,
            task_id,
            timeout_ms,
            supervisor,
            command,
            execution_root,
            worktree,
            template,
            request,
        });
        if let Some(timeout) = timeout_ms {
            self.alarms.insert(Alarm::Op(op), self.env.mono.after(timeout));
        }
        if let Some(work) = work.into() {
            self.effect(Effect::Perform { agent: self.agent.id.clone(), op, work });
        }
        op
    }

    /// Whatever was reserved for it is settled with it.
    pub(crate) fn settle(&mut self, op: OpId, settlement: Settlement) {
        self.settle_unknown(op);
        self.record(OperationSettled { op, settlement });
        self.alarms.remove(&Alarm::Op(op));
    }

    /// Settles what was reserved for a request: it took this much.
    pub(crate) fn settle_budget(&mut self, op: OpId, amount: Amount) {
        if self.agent.account.reservation(op).is_some() {
            self.follow_clock();
        }
        let Some(reservation) = self.agent.account.reservation(op) else { return };
        let run = self.agent.run.as_ref().map(|run| run.id);
        let Some(run_id) = reservation.run_id.or(run) else { return };
        let day = reservation.day.unwrap_or(self.agent.account.day);
        self.record(BudgetSettled { run_id, op, day, amount });
    }

    /// Nobody knows what became of the request: its question counts as heard.
    pub(crate) fn settle_unknown(&mut self, op: OpId) {
        let sent = self.agent.account.reservation(op).map(|reservation| reservation.sent);
        self.settle_budget(op, sent.unwrap_or_default());
    }

    /// Gives up on every open operation of the run.
    pub(crate) fn cancel_run_ops(&mut self, settlement: Settlement) {
        for op in self.agent.run_ops() {
            self.settle(op, settlement);
            if settlement != Settlement::Lost {
                self.dismiss(op);
            }
        }
    }

    pub(crate) fn cancel(&mut self, op: OpId, settlement: Settlement) {
        self.settle(op, settlement);
        self.dismiss(op);
    }

    /// Whatever is done for the operation is not wanted any more.
    pub(crate) fn dismiss(&mut self, op: OpId) {
        let agent = self.agent.id.clone();
        self.effect(Effect::Cancel { agent, op });
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.batch.effects.push(effect);
    }

    /// The caller is answered when the operation has ended.
    pub(crate) fn answer_later(&mut self, op: OpId, reply: ReplyId) {
        self.waiting.entry(op).or_default().push(reply);
    }

    /// Who waits for the end of the operation; whoever asks has to answer.
    pub(crate) fn answers(&mut self, op: OpId) -> Vec<ReplyId> {
        self.waiting.remove(&op).unwrap_or_default()
    }

    pub(crate) fn reply(&mut self, reply: ReplyId, answer: Answer) {
        self.batch.effects.push(Effect::Reply { reply, answer });
    }

    pub(crate) fn arm(&mut self, alarm: Alarm, after: Millis) {
        self.alarms.insert(alarm, self.env.mono.after(after));
    }

    pub(crate) fn disarm(&mut self, alarm: Alarm) {
        self.alarms.remove(&alarm);
    }

    /// The end of a run ends everything that was armed for it.
    pub(crate) fn disarm_run(&mut self) {
        self.alarms.retain(|alarm, _| match alarm {
            Alarm::Op(_) | Alarm::StopTask(_) => true,
            Alarm::Backoff | Alarm::Grant | Alarm::TurnLimit => false,
        });
    }
}
