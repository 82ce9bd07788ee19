//! E1: everything that is to happen at a time is armed in every life of the process, and does not happen before:
//! timeouts of operations and turns, the next attempt, the end of a command that does not obey. The driver's next
//! deadline is never later than the earliest of these that records promise, and what a deadline brings about is never
//! recorded before the promised time.

#![expect(clippy::wildcard_enum_match_arm, reason = "an alarm is about some facts alone")]

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_core::host::Deadline;
use holon_core::replay::Call;
use holon_facts::config::TaskLimits;
use holon_facts::event::operation::{OpKind, OperationOpened, OperationSettled, Settlement};
use holon_facts::event::task::TaskCause;
use holon_facts::event::{OperationFact, TaskFact, TurnFact};
use holon_facts::task::TaskStatus;
use holon_facts::terminal::TurnReason;
use holon_facts::{AgentId, Config, Event, Millis, Mono, Now, OpId, Record};

use super::{Due, times};
use crate::disk::Row;
use crate::failure::{Failure, ensure};

/// A supervisor reports within this time beyond the grace, and once more after a kill.
const REPORT: Millis = Millis::seconds(15);
/// Delay before an agent asks again for a shared budget that others have reserved.
const RESERVED_RETRY: Millis = Millis::seconds(5);
/// Tolerance for rounding recorded time to the deadline's unit, in microseconds.
pub(super) const ROUNDING: i64 = 2_000;

/// Deadlines of one life of the process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Armed {
    at: BTreeMap<(AgentId, Alarm), Window>,
    /// All deadlines, the earliest first.
    order: BTreeSet<(Mono, AgentId, Alarm)>,
    /// How often something that a deadline brought about was checked.
    pub(crate) checked: u64,
}

/// When something is to happen: not before the first moment, and by the second.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: Mono,
    to: Mono,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// An operation times out.
    Op(OpId),
    /// The call of a command has waited long enough.
    Command(OpId),
    Attempt,
    Turn,
    /// The command of an operation was asked to end.
    Stop(OpId),
}

impl Armed {
    /// Applies the records of a call, and what is released with them.
    ///
    /// # Errors
    /// When something happens before its time, or an operation gets another time than its kind has.
    pub(crate) fn step(&mut self, row: &Row, due: &Due, now: Now, config: &Config) -> Result<(), Failure> {
        let records = &row.records;
        for record in records {
            self.record(record, now.mono, config)?;
        }
        self.grace_is_over(records, due, now.mono)?;
        for (agent, op, force) in due.stops() {
            let TaskLimits { stop_grace, .. } = config.tasks;
            let wait = if force { REPORT } else { Millis(stop_grace.0.saturating_add(REPORT.0)) };
            self.arm(agent, Alarm::Stop(op), now.mono.after(wait));
        }
        let granted = matches!(row.call, Call::Step { input: Input::Granted { .. }, .. });
        self.retry_reserved_budgets(now.mono, config, granted);
        // A command may have ended in the step that asked for its end.
        for record in records {
            if let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event {
                self.disarm(&record.agent, Alarm::Stop(fact.op));
            }
        }
        Ok(())
    }

    /// An agent that was due and finds a budget reserved, by others or for a summary, asks again soon. A granted loan
    /// lets all agents that wait for it ask at once. An attempt whose wait goes on is not due earlier for that.
    fn retry_reserved_budgets(&mut self, now: Mono, config: &Config, granted: bool) {
        if config.budgets.bounds().next().is_none() {
            return;
        }
        let until = if granted { now.after(RESERVED_RETRY) } else { now };
        let due = self.order.iter().take_while(|(at, ..)| *at <= until);
        let due = due.filter(|(.., alarm)| *alarm == Alarm::Attempt).map(|(_, agent, _)| agent.clone());
        for agent in due.collect::<Vec<_>>() {
            if let Some(Window { from, .. }) = self.take(&agent, Alarm::Attempt) {
                self.arm_within(&agent, Alarm::Attempt, Window { from, to: now.after(RESERVED_RETRY) });
            }
        }
    }

    /// The earliest deadline.
    fn first(&self) -> Option<&(Mono, AgentId, Alarm)> {
        self.order.first()
    }

    fn arm(&mut self, agent: &AgentId, alarm: Alarm, at: Mono) {
        self.disarm(agent, alarm);
        self.arm_within(agent, alarm, Window { from: at, to: at });
    }

    fn arm_within(&mut self, agent: &AgentId, alarm: Alarm, window: Window) {
        self.order.insert((window.to, agent.clone(), alarm));
        self.at.insert((agent.clone(), alarm), window);
    }

    fn disarm(&mut self, agent: &AgentId, alarm: Alarm) {
        self.take(agent, alarm);
    }

    fn take(&mut self, agent: &AgentId, alarm: Alarm) -> Option<Window> {
        let window = self.at.remove(&(agent.clone(), alarm))?;
        self.order.remove(&(window.to, agent.clone(), alarm));
        Some(window)
    }

    /// What follows from one of these deadlines does not come before it.
    fn is_due(&mut self, agent: &AgentId, among: &[Alarm], now: Mono) -> Result<(), Failure> {
        let armed = among.iter().filter_map(|alarm| self.at.get(&(agent.clone(), *alarm)));
        let from = armed.map(|window| window.from).min();
        self.checked += 1;
        ensure!(
            from.is_some_and(|from| from.0 <= now.0.saturating_add_signed(ROUNDING)),
            "E1",
            "{among:?} of {agent} comes at {now:?}, and is promised for {from:?}"
        );
        Ok(())
    }

    /// A command is asked to end at once where its grace is over, and not before.
    fn grace_is_over(&mut self, records: &[Record], due: &Due, now: Mono) -> Result<(), Failure> {
        for agent in records.iter().filter(|record| is_over(record)).map(|record| &record.agent) {
            let forced = due.stops().filter(|(whose, _, force)| *whose == agent && *force);
            let waits: Vec<Alarm> = forced.map(|(_, op, _)| Alarm::Stop(op)).collect();
            self.is_due(agent, &waits, now)?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, now: Mono, config: &Config) -> Result<(), Failure> {
        let agent = &record.agent;
        match &record.event {
            Event::Operation(OperationFact::OperationOpened(fact)) => {
                self.opened(agent, fact, now, config)?;
            }
            Event::Operation(OperationFact::OperationSettled(fact)) => self.settled(agent, fact, now)?,
            Event::Turn(TurnFact::TurnStarted(_)) => {
                self.arm(agent, Alarm::Turn, now.after(config.turn.wall_time));
            }
            Event::Turn(TurnFact::TurnTerminal(fact)) => {
                if fact.reason == Some(TurnReason::WallTime) {
                    self.is_due(agent, &[Alarm::Turn], now)?;
                }
                self.disarm(agent, Alarm::Turn);
                self.disarm(agent, Alarm::Attempt);
            }
            Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => match fact.attempt.backoff_ms {
                Some(wait) => self.arm(agent, Alarm::Attempt, now.after(wait)),
                None => self.disarm(agent, Alarm::Attempt),
            },
            Event::Turn(TurnFact::ProvidersAwaited(fact)) => {
                self.arm(agent, Alarm::Attempt, now.after(fact.pause_ms));
            }
            Event::Task(TaskFact::TaskCreated(fact)) => {
                // A task has no timeout.
                fact.op.into_iter().for_each(|op| self.disarm_op(agent, op));
            }
            _ => {}
        }
        Ok(())
    }

    fn opened(
        &mut self,
        agent: &AgentId,
        fact: &OperationOpened,
        now: Mono,
        config: &Config,
    ) -> Result<(), Failure> {
        times::fit(fact, config)?;
        match fact.kind {
            OpKind::CallModel => {
                if self.at.contains_key(&(agent.clone(), Alarm::Attempt)) {
                    self.is_due(agent, &[Alarm::Attempt], now)?;
                }
                self.disarm(agent, Alarm::Attempt);
            }
            // The call of this command has waited long enough, and is about to get that result.
            OpKind::PromoteCommand => {
                let of_agent = (agent.clone(), Alarm::Command(OpId(0)))
                    ..=(agent.clone(), Alarm::Command(OpId(u64::MAX)));
                let waits: Vec<Alarm> = self.at.range(of_agent).map(|((_, alarm), _)| *alarm).collect();
                self.is_due(agent, &waits, now)?;
                waits.into_iter().for_each(|alarm| self.disarm(agent, alarm));
            }
            _ => {}
        }
        if let Some(timeout) = fact.timeout_ms {
            let alarm = if fact.kind == OpKind::RunCommand { Alarm::Command } else { Alarm::Op };
            self.arm(agent, alarm(fact.op), now.after(timeout));
        }
        Ok(())
    }

    fn settled(&mut self, agent: &AgentId, fact: &OperationSettled, now: Mono) -> Result<(), Failure> {
        if fact.settlement == Settlement::TimedOut {
            let op = fact.op;
            self.is_due(agent, &[Alarm::Op(op), Alarm::Command(op), Alarm::Stop(op)], now)?;
        }
        self.disarm_op(agent, fact.op);
        Ok(())
    }

    fn disarm_op(&mut self, agent: &AgentId, op: OpId) {
        self.disarm(agent, Alarm::Op(op));
        self.disarm(agent, Alarm::Command(op));
    }

    /// Checks the driver's next deadline; returns whether any deadline is armed.
    pub(crate) fn check(&self, next: Option<&Deadline>, now: Now) -> Result<bool, Failure> {
        let Some((at, agent, alarm)) = self.first() else { return Ok(false) };
        let looks = next.map(|next| now.mono.after(next.wait));
        ensure!(
            looks.is_some_and(|looks| looks.0 <= at.0.saturating_add_signed(ROUNDING)),
            "E1",
            "{alarm:?} of {agent} is to be at {at:?}, and the driver looks at {looks:?}"
        );
        Ok(true)
    }
}

/// Whether a command that was asked to end is asked to end at once, since it has not done so in time.
fn is_over(record: &Record) -> bool {
    let Event::Task(TaskFact::TaskStatusUpdated(fact)) = &record.event else { return false };
    fact.status == TaskStatus::Cancelling && fact.cause == TaskCause::GraceOver
}
