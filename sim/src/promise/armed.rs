//! E1: everything that is to happen at a time is armed in every life of the process: timeouts of operations and turns,
//! the next attempt, the end of a command that does not obey, the end of a sleep. The driver's next deadline is never
//! later than the earliest of these that records promise.

#![expect(clippy::wildcard_enum_match_arm, reason = "an alarm is about some facts alone")]

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_core::host::Deadline;
use holon_core::replay::Call;
use holon_facts::config::TaskLimits;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::{LifecycleFact, OperationFact, SchedulingFact, TaskFact, TurnFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::{AgentId, Config, Event, Millis, Mono, Now, OpId, Record, Wall};

use super::Due;
use crate::disk::Row;
use crate::failure::{Failure, ensure};

/// A supervisor reports within this time beyond the grace, and once more after a kill.
const REPORT: Millis = Millis::seconds(15);
/// Delay before an agent asks again for a shared budget that others have reserved.
const RESERVED_RETRY: Millis = Millis::seconds(5);
/// Tolerance for rounding recorded time to the deadline's unit, in microseconds.
const ROUNDING: i64 = 2_000;

/// Deadlines of one life of the process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Armed {
    at: BTreeMap<(AgentId, Alarm), Mono>,
    /// All deadlines, the earliest first.
    order: BTreeSet<(Mono, AgentId, Alarm)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// An operation times out.
    Op(OpId),
    Attempt,
    Turn,
    /// The command of an operation was asked to end.
    Stop(OpId),
}

/// Sleeps that agents chose, by their records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sleeps {
    until: BTreeMap<AgentId, Wall>,
    stopped: BTreeSet<AgentId>,
}

impl Armed {
    /// Applies the records of a call, and what is released with them.
    pub(crate) fn step(&mut self, row: &Row, due: &Due, now: Now, config: &Config) {
        let records = &row.records;
        for record in records {
            self.record(record, now.mono, config);
        }
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
    }

    /// An agent that was due and finds a budget reserved, by others or for a summary, asks again soon. A granted loan
    /// lets all agents that wait for it ask at once.
    fn retry_reserved_budgets(&mut self, now: Mono, config: &Config, granted: bool) {
        if config.budgets.bounds().next().is_none() {
            return;
        }
        let until = if granted { now.after(RESERVED_RETRY) } else { now };
        let due = self.order.iter().take_while(|(at, ..)| *at <= until);
        let due = due.filter(|(.., alarm)| *alarm == Alarm::Attempt).map(|(_, agent, _)| agent.clone());
        for agent in due.collect::<Vec<_>>() {
            self.arm(&agent, Alarm::Attempt, now.after(RESERVED_RETRY));
        }
    }

    /// The earliest deadline.
    fn first(&self) -> Option<&(Mono, AgentId, Alarm)> {
        self.order.first()
    }

    fn arm(&mut self, agent: &AgentId, alarm: Alarm, at: Mono) {
        self.disarm(agent, alarm);
        self.at.insert((agent.clone(), alarm), at);
        self.order.insert((at, agent.clone(), alarm));
    }

    fn disarm(&mut self, agent: &AgentId, alarm: Alarm) {
        if let Some(at) = self.at.remove(&(agent.clone(), alarm)) {
            self.order.remove(&(at, agent.clone(), alarm));
        }
    }

    fn record(&mut self, record: &Record, now: Mono, config: &Config) {
        let agent = &record.agent;
        match &record.event {
            Event::Operation(OperationFact::OperationOpened(fact)) => self.opened(agent, fact, now),
            Event::Operation(OperationFact::OperationSettled(fact)) => {
                self.disarm(agent, Alarm::Op(fact.op));
            }
            Event::Turn(TurnFact::TurnStarted(_)) => {
                self.arm(agent, Alarm::Turn, now.after(config.turn.wall_time));
            }
            Event::Turn(TurnFact::TurnTerminal(_)) => {
                self.disarm(agent, Alarm::Turn);
                self.disarm(agent, Alarm::Attempt);
            }
            Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => match fact.attempt.backoff_ms {
                Some(wait) => self.arm(agent, Alarm::Attempt, now.after(wait)),
                None => self.disarm(agent, Alarm::Attempt),
            },
            Event::Task(TaskFact::TaskCreated(fact)) => {
                // A task has no timeout.
                fact.op.into_iter().for_each(|op| self.disarm(agent, Alarm::Op(op)));
            }
            _ => {}
        }
    }

    fn opened(&mut self, agent: &AgentId, fact: &OperationOpened, now: Mono) {
        match fact.kind {
            OpKind::CallModel => self.disarm(agent, Alarm::Attempt),
            // The call of this command has waited long enough, and is about to get that result.
            OpKind::PromoteCommand => {
                let of_agent =
                    (agent.clone(), Alarm::Op(OpId(0)))..=(agent.clone(), Alarm::Op(OpId(u64::MAX)));
                let due = self.at.range(of_agent).filter(|(_, at)| **at <= now);
                let due: Vec<Alarm> = due.map(|((_, alarm), _)| *alarm).collect();
                due.into_iter().for_each(|alarm| self.disarm(agent, alarm));
            }
            _ => {}
        }
        if let Some(timeout) = fact.timeout_ms {
            self.arm(agent, Alarm::Op(fact.op), now.after(timeout));
        }
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

impl Sleeps {
    pub(crate) fn follow(&mut self, record: &Record) {
        let agent = &record.agent;
        match &record.event {
            Event::Scheduling(SchedulingFact::SleepBegun(fact)) => match fact.until {
                Some(until) => drop(self.until.insert(agent.clone(), until)),
                None => drop(self.until.remove(agent)),
            },
            Event::Scheduling(SchedulingFact::SleepElapsed(_)) | Event::Turn(TurnFact::TurnStarted(_)) => {
                self.until.remove(agent);
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) => {
                match fact.action {
                    ControlAction::Stop => drop(self.stopped.insert(agent.clone())),
                    ControlAction::Start => drop(self.stopped.remove(agent)),
                    ControlAction::Abort => return,
                }
                self.until.remove(agent);
            }
            Event::Lifecycle(LifecycleFact::AgentRetired(_)) => {
                self.stopped.insert(agent.clone());
                self.until.remove(agent);
            }
            // A step of the clock does not change the length of a sleep.
            Event::Lifecycle(LifecycleFact::ClockStepped(fact)) => {
                if let Some(until) = self.until.get_mut(agent) {
                    until.0 = until
                        .0
                        .saturating_sub(fact.expected.unwrap_or(fact.from).0.saturating_sub(fact.to.0));
                }
            }
            _ => {}
        }
    }

    /// Checks the driver's next deadline in recorded time; returns whether any agent sleeps.
    pub(crate) fn check(
        &self,
        next: Option<&Deadline>,
        now: Wall,
        resident: impl Fn(&AgentId) -> bool,
    ) -> Result<bool, Failure> {
        let lasts =
            |agent: &AgentId, until: Wall| until > now && !self.stopped.contains(agent) && resident(agent);
        let asleep = self.until.iter().filter(|(agent, until)| lasts(agent, **until));
        let Some((agent, until)) = asleep.min_by_key(|(_, until)| **until) else { return Ok(false) };
        let looks = next.map(|next| next.at);
        ensure!(
            looks.is_some_and(|looks| looks.0 <= until.0.saturating_add(ROUNDING)),
            "E1",
            "{agent} sleeps until {until}, and the driver looks at {looks:?}"
        );
        Ok(true)
    }
}
