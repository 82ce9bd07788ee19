//! Everything that decides what may follow: the host, the disk, everything outside, and what the bounds allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holon_core::agent::Agent;
use holon_core::host::Host;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::ids::Seed;
use holon_facts::{AgentId, EventSeq, Mono, Now, OpId, ReplyId, StepSeq, Wall};

use super::canonical::CanonicalState;
use super::command::{Supervised, Working};
use super::small_disk::{Image, SmallDisk, SmallEffect};
use super::{Bounds, Pot, Sabotage, SmallWorld};
use crate::checks::Checks;
use crate::failure::{Failure, ensure, safety};
use crate::ingress::Request;
use crate::scenario::Action;

/// The wall clock at the beginning: 2026-01-01.
const BEGINNING: i64 = 1_767_225_600_000_000;

/// A world and its sabotage, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) world: &'a SmallWorld,
    pub(super) sabotage: Option<Sabotage>,
}

#[derive(Debug, Clone)]
pub(super) struct Situation {
    /// None while the process is down.
    pub(super) host: Option<Host>,
    pub(super) checks: Arc<Checks>,
    pub(super) disk: SmallDisk,
    pub(super) outside: Outside,
    pub(super) left: Left,
    /// Microseconds since the beginning.
    pub(super) at: u64,
    /// A deadline has come, and the driver has not handled it yet.
    pub(super) due: bool,
}

/// Everything but the host and the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    /// Operations in flight, by the agent's number and the operation.
    pub(super) at_work: BTreeMap<(u8, OpId), Working>,
    /// Supervisors, by the operation that started each, as long as anybody may probe it.
    pub(super) supervised: BTreeMap<(u8, OpId), Supervised>,
    /// Requests in flight, by their position in the world; none for an extra start.
    pub(super) waiting: BTreeMap<ReplyId, Option<u8>>,
    /// Requests that were cut off and will be repeated.
    pub(super) cut_off: BTreeSet<u8>,
    /// The last event of each agent's log that was shown outside.
    pub(super) shown: BTreeMap<AgentId, EventSeq>,
    /// A drain was acknowledged: the process is about to leave.
    pub(super) leaving: bool,
    pub(super) next_reply: u64,
}

/// What the bounds still allow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) offers: [u8; 8],
    pub(super) bounds: Bounds,
}

impl Situation {
    /// The first situation: every agent exists, and is on the disk.
    pub(super) fn new(setting: Setting<'_>) -> Result<Self, Failure> {
        let world = setting.world;
        let host = Host::new(world.config.clone(), Seed(1));
        let host = host.map_err(|error| safety("scenario", error.to_string()))?;
        let checks = Arc::new(Checks::new(&world.config));
        let mut offers = [0; 8];
        offers.iter_mut().zip(&world.offers).for_each(|(left, offer)| *left = offer.times);
        let image = Image { checks: checks.clone(), step: StepSeq(0) };
        let mut situation = Self {
            host: Some(host),
            checks,
            disk: SmallDisk::new(image),
            outside: Outside::default(),
            left: Left { offers, bounds: world.bounds },
            at: 0,
            due: false,
        };
        let whole = Setting { sabotage: None, ..setting };
        for agent in 1..=world.agents {
            situation.request(
                whole,
                &Request { agent: agent.into(), action: Action::Create { settings: false } },
                None,
            )?;
        }
        situation.sync(whole)?;
        Ok(situation)
    }

    /// Both clocks.
    pub(super) fn now(&self) -> Now {
        let wall = Wall(BEGINNING.saturating_add_unsigned(self.at));
        Now { mono: Mono(1_000_000 + self.at), wall }
    }

    /// An agent by its number, as its records leave it.
    pub(super) fn agent(&self, number: u8) -> Option<&Agent> {
        self.checks.agents().values().nth(usize::from(number).checked_sub(1)?)
    }

    /// Agents with their numbers. A child comes after its parent: in a world with children only one agent may have
    /// some, and those have none, so every agent keeps its number.
    pub(super) fn agents(&self) -> impl Iterator<Item = (u8, &Agent)> {
        (1..).zip(self.checks.agents().values())
    }

    pub(super) fn left_in(&mut self, pot: Pot) -> Option<&mut u8> {
        let bounds = &mut self.left.bounds;
        match pot {
            Pot::Free => None,
            Pot::Calls => Some(&mut bounds.calls),
            Pot::Faults => Some(&mut bounds.faults),
            Pot::Silences => Some(&mut bounds.silences),
            Pot::Crashes => Some(&mut bounds.crashes),
            Pot::Strays => Some(&mut bounds.strays),
            Pot::Parks => Some(&mut bounds.parks),
        }
    }

    /// Whether everything requested has ended, nothing is in flight, and no obligation is open; or an agent whose own
    /// work brought nothing waits for somebody.
    pub(super) fn rests(&self) -> bool {
        let outside = &self.outside;
        let done = |agent: &Agent| {
            let nothing = agent.inbox.totals().0 == 0
                && self.checks.reference.unfinished(&agent.id).is_none()
                && agent.work.signal().is_none()
                && agent.hints.count() == 0;
            let held = agent.unattended.self_hold && agent.inbox.queued().all(|entry| entry.own);
            agent.run.is_none()
                && (nothing || held)
                && self.checks.reference.undelivered_task(&agent.id).is_none()
                && agent.tasks.active_count() == 0
                && self.checks.reference.stopped(&agent.id) == Some(false)
        };
        let done = |agent: &Agent| match agent.spec.supervisor {
            Some(_) => agent.childhood.archived && agent.outbox.is_empty(),
            None => done(agent) && agent.outbox.is_empty(),
        };
        self.host.is_some()
            && self.disk.pending.is_empty()
            && !self.due
            && outside.waiting.is_empty()
            && outside.cut_off.is_empty()
            && outside.at_work.is_empty()
            && !outside.leaving
            && self.checks.agents().values().all(done)
    }

    /// Why this situation is not at rest.
    pub(super) fn stuck(&self) -> String {
        let unfinished = self.checks.agents().values().find_map(|agent| {
            let message = self.checks.reference.unfinished(&agent.id)?;
            Some(format!("{message} of {} never comes to an end", agent.id))
        });
        let undelivered = self.checks.agents().values().find_map(|agent| {
            let task = self.checks.reference.undelivered_task(&agent.id)?;
            Some(format!("nobody tells {} of the end of {task}", agent.id))
        });
        let lives = |agent: &&Agent| agent.spec.supervisor.is_some() && !agent.childhood.archived;
        let lives = self.checks.agents().values().find(lives);
        let lives = lives.map(|child| format!("{} never comes to its end", child.id));
        let unfinished = unfinished.or(undelivered).or(lives);
        let runs = self.checks.agents().values().find(|agent| agent.run.is_some());
        let runs = runs.map(|agent| format!("{} runs for ever", agent.id));
        let waits = self.outside.waiting.keys().next().map(|reply| format!("nobody answers {reply}"));
        unfinished.or(runs).or(waits).unwrap_or_else(|| "something is under way for ever".into())
    }

    /// D7: a snapshot of each agent that has changed reads back as it was written. So every tail of the log continues
    /// from it as from the log.
    pub(super) fn snapshots(&self, before: &Self) -> Result<(), Failure> {
        for (number, agent) in self.agents() {
            if before.agent(number).is_some_and(|before| before.event_seq == agent.event_seq) {
                continue;
            }
            let read = AgentSnapshot::of(agent).encode().and_then(|text| AgentSnapshot::decode(&text));
            let read = read.map_err(|error| safety("D7", error.to_string()))?;
            ensure!(read.agent == *agent, "D7", "a snapshot of {} reads back otherwise", agent.id);
        }
        Ok(())
    }

    /// One number for all situations with the same future.
    pub(super) fn number(&self) -> u128 {
        let mut canonical = CanonicalState::new(self.now().wall);
        let outside = &self.outside;
        let flags = [self.host.is_some(), self.due, outside.leaving, self.checks.reference.draining()];
        flags.iter().for_each(|flag| canonical.word(u64::from(*flag)));
        let Bounds { calls, faults, silences, crashes, strays, parks, ahead: _ } = self.left.bounds;
        canonical.word(u64::from_le_bytes(self.left.offers));
        canonical.word(u64::from_le_bytes([calls, faults, silences, crashes, strays, parks, 0, 0]));
        self.read_disk(&mut canonical);
        self.read_host(&mut canonical);
        for ((agent, _), working) in &outside.at_work {
            canonical.about((*agent).into());
            canonical.value(&(working.op, working.kind));
        }
        for ((agent, _), supervised) in &outside.supervised {
            canonical.about((*agent).into());
            canonical.value(supervised);
        }
        canonical.word(outside.waiting.len() as u64);
        for request in outside.waiting.values() {
            canonical.word(request.map_or(u64::MAX, u64::from));
        }
        outside.cut_off.iter().for_each(|request| canonical.word((*request).into()));
        canonical.finish()
    }

    /// Reads the live state and, where it differs, the state that a crash would find.
    fn read_disk(&self, canonical: &mut CanonicalState) {
        let agents = |canonical: &mut CanonicalState, checks: &Checks| {
            for (number, agent) in (1..).zip(checks.agents().values()) {
                canonical.about(number);
                canonical.agent(agent);
                canonical.word(u64::from(checks.reference.unfinished(&agent.id).is_some()));
            }
        };
        agents(canonical, &self.checks);
        canonical.word(self.disk.pending.len() as u64);
        if self.disk.pending.is_empty() {
            return;
        }
        agents(canonical, &self.disk.durable.checks);
        for (at, row) in self.disk.pending.iter().enumerate() {
            if at + 1 < self.disk.pending.len() {
                agents(canonical, &row.image.checks);
            }
            for effect in &row.effects {
                canonical.word(match effect {
                    SmallEffect::Reply { .. } => 1,
                    SmallEffect::Begin { .. } => 2,
                    SmallEffect::Cancel { .. } => 3,
                    SmallEffect::Word { .. } => 4,
                    SmallEffect::Prepare { .. } => 5,
                    SmallEffect::Stop { .. } => 6,
                    SmallEffect::Watch { .. } => 7,
                    SmallEffect::Load { .. } => 8,
                    SmallEffect::Look => 9,
                });
            }
        }
    }

    /// Reads what ends with the process: deadlines, agents in memory, agents that wait for a slot.
    fn read_host(&self, canonical: &mut CanonicalState) {
        let Some(host) = &self.host else { return };
        let view = host.view();
        for (number, agent) in self.agents() {
            canonical.word(number.into());
            let explained = view.explain(&agent.id);
            canonical.word(u64::from(explained.is_some()));
            for deadline in explained.iter().flat_map(|explained| &explained.deadlines) {
                canonical.value(&deadline.reason);
                canonical.moment(deadline.at);
            }
        }
        for id in view.waiting_for_slot() {
            canonical.value(id);
        }
    }
}
