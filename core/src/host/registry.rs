//! Which agents are in memory, and the way in to one of them.

use alloc::boxed::Box;

use holon_facts::budget::Bounds;
use holon_facts::decision::DeadlineReason;
use holon_facts::ids::{AgentId, TaskId};
use holon_facts::price::Amount;
use holon_facts::record::Record;
use holon_facts::time::Wall;

use super::{EvictedChild, Host, RestoreError, Violation};
use crate::agent::Agent;
use crate::agent::budget::{Others, Subtree};
use crate::handler::workspace::{isolate, occupancy};
use crate::prompt::extended::Extended;
use crate::snapshot::AgentSnapshot;
use crate::summary::children::observe;
use crate::tx::{Alarm, Alarms, Batch, Env, Tx, Waiting};

/// What an episode of fewer turns has said is not kept between them: it is soon said anew, and many agents have a turn now and
/// then and stay in memory for a while.
const KEPT_FROM: usize = 8;

/// An agent with what ends with its process.
#[derive(Debug, Clone)]
pub(super) struct Resident {
    pub(super) agent: Agent,
    pub(super) alarms: Alarms,
    pub(super) waiting: Waiting,
    /// What its requests have said so far.
    extended: Extended,
}

impl Resident {
    /// The agent's deadline on the wall clock.
    pub(super) fn wall_deadline(&self, now: Wall) -> Option<(Wall, DeadlineReason)> {
        self.agent.next_deadline(now)
    }
}

impl Host {
    /// Brings an agent into memory from a snapshot and the records after it, or from its whole log.
    /// Nothing happens to it before [`Host::recover`].
    ///
    /// # Errors
    /// When the agent is in memory, or the records are not its log.
    pub fn admit(
        &mut self,
        snapshot: Option<AgentSnapshot>,
        tail: impl IntoIterator<Item = Record>,
    ) -> Result<AgentId, RestoreError> {
        let mut tail = tail.into_iter();
        let mut agent = match snapshot {
            Some(snapshot) => snapshot.agent,
            None => Agent::created(&tail.next().ok_or(RestoreError::Empty)?)?,
        };
        for record in tail {
            agent.fold(&record)?;
        }
        let id = agent.id.clone();
        if self.agents.contains_key(&id) {
            return Err(RestoreError::Resident(id));
        }
        self.clock.floor(agent.last_at);
        self.observed.remove(&id);
        if !agent.childhood.archived {
            self.names.insert(id.clone(), agent.label.name.clone());
        }
        self.slots.running += u64::from(agent.run.is_some());
        self.commands += agent.commands();
        self.accounts.admitted(&agent.account);
        self.occupied.admitted(&agent);
        self.enrol(agent);
        Ok(id)
    }

    /// The state of an agent, for a ledger that wants to start from here next time.
    pub fn snapshot(&self, agent: &AgentId) -> Option<AgentSnapshot> {
        self.agents.get(agent).map(|resident| AgentSnapshot::of(&resident.agent))
    }

    /// When the wall clock brings an agent in memory something to do, and what; none when it does not.
    pub fn wall_deadline(&self, agent: &AgentId) -> Option<(Wall, DeadlineReason)> {
        self.deadlines.wall_of(agent)
    }

    /// Evicts an agent that has nothing to do but to wait for the wall clock; none when it is unknown or has more to do. A driver keeps its [`Host::wall_deadline`], and admits and recovers it when that has come, when the
    /// clock has gone back, or before it hands in anything for it.
    pub fn evict(&mut self, agent: &AgentId) -> Option<AgentSnapshot> {
        let resident = self.agents.get(agent)?;
        let deadline = self.deadlines.wall_of(agent);
        let idle = resident.agent.run.is_none()
            && resident.agent.ops.is_empty()
            && resident.agent.outbox.is_empty()
            && resident.agent.inbox.totals().0 == 0
            && resident.agent.hold.is_none()
            && deadline.is_none_or(|(at, reason)| at > self.clock.wall() && waits_outside(reason))
            && resident.agent.work.signal().is_none()
            && !resident.agent.timers.is_undelivered()
            && !self.unsettled.contains(agent);
        if !idle {
            return None;
        }
        let resident = self.agents.remove(agent)?;
        if resident.agent.spec.supervisor.is_some() && !resident.agent.childhood.archived {
            let (observed, account) = (observe(&resident.agent, self.clock.wall()), resident.agent.account);
            self.observed.insert(agent.clone(), EvictedChild { observed, account });
        }
        self.deadlines.set(agent, &Alarms::new(), None);
        self.slots.queue.remove(agent);
        self.occupied.evicted(agent);
        Some(AgentSnapshot::of(&resident.agent))
    }

    /// Structural invariants of the live state; cheap enough for every step of a debug build.
    pub fn check(&self) -> Result<(), Violation> {
        let (mut running, mut commands, mut reserved) = (0, 0, Amount::default());
        for (id, resident) in &self.agents {
            let agent = &resident.agent;
            running += u64::from(agent.run.is_some());
            commands += agent.commands();
            reserved = reserved.plus(agent.account.reserved());
            let run = agent.run.as_ref().map(|run| run.id);
            let (entries, _) = agent.inbox.totals();
            let problems = [
                (
                    entries != agent.inbox.queued_entries() + agent.inbox.claimed_entries(),
                    "queue totals do not add up",
                ),
                (agent.run.is_none() && agent.inbox.claimed_entries() > 0, "a message is claimed by no run"),
                (agent.inbox.stray().is_some(), "a prompt waits with a message that does not wait"),
                (
                    agent.ops.values().any(|op| agent.is_of_run(op) && op.run_id != run),
                    "an operation belongs to a run that is not in progress",
                ),
                (!resident.alarms.keys().all(|alarm| meant(agent, *alarm)), "an alarm is for nothing"),
                (
                    !agent.tasks.active().all(|task| executes(agent, task.id)),
                    "nothing brings the end of a task",
                ),
                (
                    !resident.waiting.keys().all(|op| agent.ops.contains_key(op)),
                    "a caller waits for an operation that has ended",
                ),
                (
                    agent.account.reservations().any(|reservation| !agent.ops.contains_key(&reservation.op)),
                    "something is reserved for no request",
                ),
                (&agent.id != id, "an agent is filed under another name"),
                (
                    agent.label.name.as_ref().is_some_and(|name| self.names.holder(name) != Some(id)),
                    "a second name means somebody else",
                ),
            ];
            if let Some((_, problem)) = problems.iter().find(|(broken, _)| *broken) {
                return Err(Violation { agent: id.clone(), problem });
            }
        }
        if let Some(agent) = self.occupied.trespasser() {
            let problem = "two supervision trees occupy one root";
            return Err(Violation { agent: agent.clone(), problem });
        }
        if (running, commands, reserved) != (self.slots.running, self.commands, self.accounts.reserved())
            && let Some(id) = self.agents.keys().next()
        {
            return Err(Violation {
                agent: id.clone(),
                problem: "runs, commands or requests in progress are miscounted",
            });
        }
        Ok(())
    }

    /// Puts a new agent into memory; its first record has been made already.
    pub(super) fn enrol(&mut self, agent: Agent) {
        self.names.insert(agent.id.clone(), agent.label.name.clone());
        self.occupied.enrolled(&agent);
        let (alarms, waiting, extended) = (Alarms::new(), Waiting::new(), Extended::default());
        let resident = Box::new(Resident { agent, alarms, waiting, extended });
        self.agents.insert(resident.agent.id.clone(), resident);
    }

    /// Works on one agent, and carries what it has for others; none when it is not in memory.
    pub(super) fn with<T>(
        &mut self,
        batch: &mut Batch,
        id: &AgentId,
        work: impl FnOnce(&mut Tx<'_>) -> T,
    ) -> Option<T> {
        let result = self.open_agent(batch, id, work);
        self.carry(batch);
        result
    }

    /// Works on one agent. Deadlines and slots follow from what happened.
    pub(super) fn open_agent<T>(
        &mut self,
        batch: &mut Batch,
        id: &AgentId,
        work: impl FnOnce(&mut Tx<'_>) -> T,
    ) -> Option<T> {
        let host = self.facts();
        let bounded = self.config.budgets.subtree != Bounds::default();
        let subtree = if bounded { self.subtree_without(id) } else { Subtree::default() };
        let (mono, wall) = (self.clock.mono(), self.clock.wall());
        let resident = self.agents.get_mut(id)?;
        let (ran, executed) = (resident.agent.run.is_some(), resident.agent.commands());
        let (account, posted) = (resident.agent.account, resident.agent.next.letter);
        let name = resident.agent.label.name.clone();
        let others = Others { subtree, ..self.accounts.without(&account, host.now.day()) };
        let recorded = batch.records.len();
        let (config, names, occupied, seed) = (&self.config, &self.names, &self.occupied, self.seed);
        let (grants, expected) = (&self.grants, self.clock.expected());
        let env = Env { config, names, occupied, seed, host, others, grants, mono, expected };
        let Resident { agent, alarms, waiting, extended } = &mut **resident;
        let mut tx = Tx::new(agent, alarms, waiting, batch, extended, env);
        let result = work(&mut tx);
        occupancy::release(&mut tx);
        isolate::remove_unneeded(&mut tx);
        let runs = resident.agent.run.is_some();
        if !runs && resident.agent.episodes.turns().len() < KEPT_FROM {
            resident.extended = Extended::default();
        }
        self.slots.running = self.slots.running + u64::from(runs) - u64::from(ran);
        self.commands = self.commands + resident.agent.commands() - executed;
        self.accounts.changed(&account, &resident.agent.account);
        self.deadlines.set(id, &resident.alarms, resident.wall_deadline(wall));
        self.occupied.follow(&resident.agent, &batch.records[recorded..]);
        if resident.agent.next.letter > posted {
            let new = resident.agent.outbox.open().map(|(letter, _)| letter);
            self.posted.extend(new.filter(|letter| *letter >= posted).map(|letter| (id.clone(), letter)));
        }
        if resident.agent.childhood.archived {
            self.names.remove(id);
        }
        if resident.agent.label.name != name {
            self.names.renamed(id, name.as_ref(), resident.agent.label.name.clone());
        }
        Some(result)
    }
}

/// Whether an agent needs not be in memory for what it waits for.
fn waits_outside(reason: DeadlineReason) -> bool {
    match reason {
        DeadlineReason::Timer
        | DeadlineReason::Sleep
        | DeadlineReason::Recheck
        | DeadlineReason::UnattendedTurns => true,
        DeadlineReason::OperationTimeout
        | DeadlineReason::Backoff
        | DeadlineReason::TurnLimit
        | DeadlineReason::StopTask
        | DeadlineReason::Hold
        | DeadlineReason::Work
        | DeadlineReason::SelfDeferral => false,
    }
}

/// Whether there is still what an alarm is for.
fn meant(agent: &Agent, alarm: Alarm) -> bool {
    match alarm {
        Alarm::Op(op) => agent.ops.contains_key(&op),
        Alarm::Backoff | Alarm::Grant | Alarm::TurnLimit => agent.run.is_some(),
        Alarm::StopTask(task) => agent.tasks.is_active(task),
    }
}

/// Whether an operation is open that ends with the task.
fn executes(agent: &Agent, task: TaskId) -> bool {
    agent.ops.values().any(|open| open.kind.brings_end() && open.task_id == Some(task))
}
