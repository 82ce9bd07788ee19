//! The host: all agents of one runtime, and the one door through which anything happens to them.

mod clock;
mod deadlines;
mod dispatch;
mod observed;
mod post;
mod registry;
mod slots;
mod subtree;
#[cfg(test)]
mod total;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use clock::Clock;
use deadlines::Deadlines;
use holon_facts::config::{Config, ConfigError};
use holon_facts::decision::DeadlineReason;
use holon_facts::ids::{AgentId, LetterId, Seed, StepSeq};
use holon_facts::lifecycle::Boundary;
use holon_facts::record::Record;
use holon_facts::time::{Millis, Now, Wall};
use registry::Resident;
use serde::{Deserialize, Serialize};
use slots::Slots;

use crate::accounts::Accounts;
use crate::agent::FoldError;
use crate::agent::budget::Account;
use crate::effect::Effect;
use crate::grants::Grants;
use crate::input::Input;
use crate::names::Names;
use crate::occupancy::Occupied;
use crate::record::Step;
use crate::recovery::RecoveryReport;
use crate::scheduler::HostFacts;
use crate::summary::children::ChildObservability;
use crate::tx::{Alarm, Batch, Tx};

/// Every call changes state only through records, and in an order that is the same for the same calls. A copy
/// decides as the original would: whoever explores tries both sides of a race.
#[derive(Debug, Clone)]
pub struct Host {
    config: Config,
    seed: Seed,
    agents: BTreeMap<AgentId, Box<Resident>>,
    /// Of all agents that may run, whether they are in memory or not.
    names: Names,
    /// How children stood when they left memory, for their parents.
    pub(crate) observed: BTreeMap<AgentId, EvictedChild>,
    /// Letters to be carried in this step.
    posted: VecDeque<(AgentId, LetterId)>,
    clock: Clock,
    deadlines: Deadlines,
    step: StepSeq,
    draining: bool,
    /// Commands that are executed or about to be, over all agents.
    commands: u64,
    accounts: Accounts,
    grants: Grants,
    pub(crate) occupied: Occupied,
    slots: Slots,
    /// Agents whose decisions were cut short by the bound of a step.
    unsettled: BTreeSet<AgentId>,
    stats: Stats,
}

/// A child that has left memory, as far as its family has to know.
#[derive(Debug, Clone)]
pub(crate) struct EvictedChild {
    pub(crate) observed: ChildObservability,
    pub(crate) account: Account,
}

/// What is counted but not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub steps: u64,
    /// Outcomes of operations that were unknown or settled already.
    pub late_outcomes: u64,
}

/// When the host must be stepped again although nothing comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    pub at: Wall,
    /// From the moment of the last step.
    pub wait: Millis,
    pub agent: AgentId,
    pub reason: DeadlineReason,
}

/// An agent that can't be brought in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error("{0} is in memory already")]
    Resident(AgentId),
    #[error("the log is empty")]
    Empty,
    #[error(transparent)]
    Fold(#[from] FoldError),
}

/// A structural invariant of the live state that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{agent}: {problem}")]
pub struct Violation {
    pub agent: AgentId,
    pub problem: &'static str,
}

impl Host {
    /// # Errors
    /// When the configuration contradicts itself.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        config.check()?;
        let slots = Slots::new(&config);
        Ok(Self {
            config,
            seed,
            agents: BTreeMap::new(),
            names: Names::default(),
            observed: BTreeMap::new(),
            posted: VecDeque::new(),
            clock: Clock::default(),
            deadlines: Deadlines::default(),
            step: StepSeq(0),
            draining: false,
            commands: 0,
            accounts: Accounts::default(),
            grants: Grants::default(),
            occupied: Occupied::default(),
            slots,
            unsettled: BTreeSet::new(),
            stats: Stats::default(),
        })
    }

    /// Goes on counting steps after those that a ledger already holds.
    pub fn resume_after(&mut self, step: StepSeq) {
        self.step = self.step.max(step);
    }

    /// What agents have spent that a ledger holds; before any of them is brought in.
    pub fn resume_accounts(&mut self, accounts: Accounts) {
        self.accounts = accounts;
    }

    /// When the newest record of a ledger was made; before any agent is brought in. Whoever stays out of memory counts for
    /// the clock, too.
    pub fn resume_clock(&mut self, newest: Wall) {
        self.clock.floor(newest);
    }

    /// Who else there is in a ledger, each with its second name; before anything happens.
    pub fn resume_names(&mut self, names: impl IntoIterator<Item = (AgentId, Option<AgentId>)>) {
        names.into_iter().for_each(|(agent, name)| self.names.insert(agent, name));
    }

    /// One input, at one moment. What is due by then comes first.
    pub fn step(&mut self, now: Now, input: Input) -> Step {
        let mut batch = self.begin(now);
        let ends = match &input {
            Input::Completed { agent, op, .. } => self.agent(agent).and_then(|known| known.task_of(*op)),
            Input::CreateAgent { .. }
            | Input::Ingress { .. }
            | Input::Control { .. }
            | Input::SetModel { .. }
            | Input::Label { .. }
            | Input::CloseAsk { .. }
            | Input::Compact { .. }
            | Input::RunTask { .. }
            | Input::StopTask { .. }
            | Input::WriteTask { .. }
            | Input::CreateTimer { .. }
            | Input::CancelTimer { .. }
            | Input::CreateWorkItem { .. }
            | Input::CompleteWorkItem { .. }
            | Input::ChangeWorkspace { .. }
            | Input::Wake { .. }
            | Input::Deliver { .. }
            | Input::ChangeTrigger { .. }
            | Input::PlanProbed { .. }
            | Input::TreeKept { .. }
            | Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick
            | Input::Drain { .. } => None,
        };
        let ends = input.agent().cloned().zip(ends);
        self.fire_due(&mut batch, ends.as_ref());
        let about = input.agent().cloned();
        let boundary = self.dispatch(&mut batch, input);
        self.settle_all(&mut batch, boundary, about.as_ref());
        self.finish(batch)
    }

    /// Brings an agent to a boundary after a start of the runtime: settles what was in flight, replays the
    /// message of the interrupted run, and lets the scheduler decide.
    pub fn recover(&mut self, now: Now, agent: &AgentId, report: RecoveryReport) -> Step {
        let mut batch = self.begin(now);
        // The clock may have gone back while it was not in memory.
        let wall = self.clock.wall();
        let waits = self.agent(agent).filter(|agent| agent.next_deadline(wall).is_some());
        if let Some(last_at) = waits.map(|agent| agent.last_at) {
            let moves = self.clock.was_before_step(last_at);
            let follow = |tx: &mut Tx<'_>| if moves { tx.follow_step() } else { tx.follow_clock() };
            self.with(&mut batch, agent, follow);
        }
        self.with(&mut batch, agent, |tx| {
            crate::handler::external_trigger::provision(tx);
            crate::handler::task::child::recover(tx);
            crate::handler::recovery::recover(tx, report);
            crate::handler::budget::recover(tx);
            crate::handler::turn::outage::recover(tx);
            crate::handler::unattended::recover(tx);
        });
        self.collect(&mut batch, agent);
        self.ask_again(&mut batch, agent);
        self.unsettled.insert(agent.clone());
        self.settle_all(&mut batch, Boundary::Bootstrap, None);
        self.finish(batch)
    }

    /// A step that copies what another agent's log says into the log of a new one: it takes a number and decides
    /// nothing. [`Host::admit`] brings the copy in when it is complete.
    pub fn copy(&mut self, mut records: Vec<Record>) -> Step {
        self.step = self.step.next();
        records.iter_mut().for_each(|record| record.step = self.step);
        Step { seq: self.step, records, effects: Vec::new(), more: false }
    }

    /// How often the wall clock has gone back, as far as that is believed.
    pub fn steps_back(&self) -> u64 {
        self.clock.steps()
    }

    /// The earliest moment at which a decision could change by itself; after the last step's.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let alarm = self.deadlines.first_alarm().map(|(at, agent, alarm)| {
            let wait = self.clock.mono().until(*at);
            Deadline {
                at: self.clock.wall().after(wait),
                wait,
                agent: agent.clone(),
                reason: (*alarm).into(),
            }
        });
        let wall = self.deadlines.first_wall().map(|(at, agent, reason)| Deadline {
            at,
            wait: self.clock.wall().until(at),
            agent: agent.clone(),
            reason,
        });
        [alarm, wall].into_iter().flatten().min_by_key(|deadline| deadline.wait)
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    pub fn facts(&self) -> HostFacts {
        HostFacts {
            draining: self.draining,
            free_slot: self.has_free_slot(),
            commands: self.commands,
            now: self.clock.wall(),
        }
    }

    /// What all agents have spent together.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// As many turns may be in progress.
    pub fn most_turns(&self) -> u64 {
        self.slots.most
    }

    fn has_free_slot(&self) -> bool {
        self.slots.is_one_free()
    }

    /// Whether one more turn may begin.
    fn may_run(&self) -> bool {
        self.has_free_slot() && !self.draining
    }

    fn begin(&mut self, now: Now) -> Batch {
        self.step = self.step.next();
        self.stats.steps += 1;
        let mut batch = Batch { seq: self.step, ..Batch::default() };
        if self.clock.observe(now) {
            for agent in self.deadlines.on_wall() {
                self.with(&mut batch, &agent, |tx| tx.follow_step());
                // What it waits for may be due already.
                self.unsettled.insert(agent);
            }
        }
        batch
    }

    fn finish(&mut self, batch: Batch) -> Step {
        let Batch { seq, records, mut effects } = batch;
        self.fill_in(&mut effects);
        effects.extend(self.slots.used_otherwise(self.draining).map(|used| Effect::ShareTurns { used }));
        debug_assert!(self.check().is_ok(), "{:?}", self.check());
        Step { seq, records, effects, more: self.has_more() }
    }

    /// Whether something is left to decide at this moment.
    fn has_more(&self) -> bool {
        !self.unsettled.is_empty() || self.is_due() || (self.may_run() && !self.slots.queue.is_empty())
    }

    fn is_due(&self) -> bool {
        self.deadlines.first_alarm().is_some_and(|(at, _, _)| *at <= self.clock.mono())
            || self.deadlines.first_wall().is_some_and(|(at, _, _)| at <= self.clock.wall())
    }
}

/// Agents in order, for views.
impl Host {
    pub(crate) fn agents(&self) -> impl Iterator<Item = &crate::agent::Agent> {
        self.agents.values().map(|resident| &resident.agent)
    }

    pub(crate) fn waiting_for_slot(&self) -> impl Iterator<Item = &AgentId> {
        self.slots.queue.waiting()
    }

    pub(crate) fn agent(&self, id: &AgentId) -> Option<&crate::agent::Agent> {
        self.agents.get(id).map(|resident| &resident.agent)
    }

    /// Everything armed for one agent, the earliest first.
    pub(crate) fn deadlines_of(&self, id: &AgentId) -> Vec<Deadline> {
        let Some(resident) = self.agents.get(id) else { return Vec::new() };
        let mut deadlines: Vec<Deadline> = resident
            .alarms
            .iter()
            .map(|(alarm, at)| {
                let wait = self.clock.mono().until(*at);
                let at = self.clock.wall().after(wait);
                Deadline { at, wait, agent: id.clone(), reason: (*alarm).into() }
            })
            .collect();
        let now = self.clock.wall();
        deadlines.extend(resident.agent.deadlines(now).map(|(at, reason)| Deadline {
            at,
            wait: now.until(at),
            agent: id.clone(),
            reason,
        }));
        deadlines.sort_by_key(|deadline| deadline.wait);
        deadlines
    }
}

impl From<Alarm> for DeadlineReason {
    fn from(alarm: Alarm) -> Self {
        match alarm {
            Alarm::Op(_) => Self::OperationTimeout,
            Alarm::Backoff | Alarm::Grant => Self::Backoff,
            Alarm::TurnLimit => Self::TurnLimit,
            Alarm::StopTask(_) => Self::StopTask,
        }
    }
}
