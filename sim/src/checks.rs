//! The laws, plugged in: per record, per call, and over the whole ledger at the end.

use std::collections::BTreeMap;

use holon_core::agent::Agent;
use holon_core::event::LifecycleFact;
use holon_core::host::Host;
use holon_core::law::Laws;
use holon_core::lifecycle::Status;
use holon_core::outcome::SupervisorIdentity;
use holon_core::snapshot::AgentSnapshot;
use holon_core::{AgentId, Config, Event, Now, OpId, Wall};

use crate::disk::{Disk, Row};
use crate::failure::{Failure, ensure, safety};
use crate::reference::Reference;

/// Everything that is judged while a run goes on.
#[derive(Debug)]
pub struct Checks {
    pub reference: Reference,
    folded: BTreeMap<AgentId, Agent>,
    laws: Laws,
    clock: Option<Clock>,
    /// Agents that have left memory, as they left it.
    pub(crate) parked: BTreeMap<AgentId, Agent>,
    /// How often each law of the world had something to say.
    pub said: BTreeMap<&'static str, u64>,
}

/// Recorded time, and when it was read.
#[derive(Debug, Clone, Copy)]
struct Clock {
    recorded: Wall,
    at: u64,
}

impl Checks {
    pub fn new(config: &Config) -> Self {
        Self {
            reference: Reference::new(config.clone()),
            folded: BTreeMap::new(),
            laws: Laws::new(),
            clock: None,
            parked: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    /// Judges what the ledger says, without anything live beside it.
    pub fn row(&mut self, row: &Row) -> Result<(), Failure> {
        for record in &row.records {
            self.laws.step(record).map_err(|broken| safety(broken.law, broken.to_string()))?;
            match self.folded.get_mut(&record.agent) {
                Some(agent) => agent.fold(record).map_err(|error| safety("D3", error.to_string()))?,
                None => {
                    let agent = Agent::created(record).map_err(|error| safety("D3", error.to_string()))?;
                    self.folded.insert(record.agent.clone(), agent);
                }
            }
        }
        self.reference.step(&row.call, &row.records)
    }

    /// Recorded time follows the wall clock, or, while that is behind, no more than the time that passes.
    pub fn time(&mut self, row: &Row, now: Now, at: u64) -> Result<(), Failure> {
        let last = self.clock.map_or(now.wall, |clock| {
            let passed = i64::try_from(at.saturating_sub(clock.at)).unwrap_or(i64::MAX);
            Wall(clock.recorded.0.saturating_add(passed))
        });
        let most = now.wall.max(last);
        for record in &row.records {
            ensure!(
                record.at <= most,
                "W7",
                "recorded time is {}, no clock says more than {most}",
                record.at
            );
            if let Event::Lifecycle(LifecycleFact::ClockStepped(fact)) = &record.event {
                ensure!(fact.to < fact.from, "W7", "the clock stepped from {} to {}", fact.from, fact.to);
            }
        }
        // Steps without records move the clock, too: then this is the most that it can say.
        let recorded = row.records.last().map_or(most, |record| record.at);
        self.clock = Some(Clock { recorded, at });
        Ok(())
    }

    /// How often each law had something to say.
    pub fn antecedents(&self) -> Vec<(&'static str, u64)> {
        self.laws.antecedents()
    }

    /// The commands that are under way, as far as the ledger knows.
    pub(crate) fn open_commands(&self) -> Vec<(AgentId, OpId, SupervisorIdentity)> {
        let mut open = Vec::new();
        for (id, agent) in &self.folded {
            let named = agent.ops.iter().filter_map(|(op, state)| Some((*op, state.supervisor.clone()?)));
            open.extend(named.map(|(op, supervisor)| (id.clone(), op, supervisor)));
        }
        open
    }

    /// A law of the world has something to say.
    pub(crate) fn say(&mut self, law: &'static str) {
        *self.said.entry(law).or_default() += 1;
    }

    pub(crate) fn take_over(&mut self, other: &mut Self) {
        self.clock = other.clock;
        self.said = std::mem::take(&mut other.said);
    }

    /// A start reads the latest record of all; a step back of the clock since then is believed or slept
    /// through anew.
    pub(crate) fn started(&mut self, at: u64) {
        let latest = self.folded.values().map(|agent| agent.last_at).max();
        let known = self.clock.map(|clock| clock.recorded);
        self.clock = latest.max(known).map(|recorded| Clock { recorded, at });
    }

    /// Compares the live host with what is on record.
    pub fn live(&mut self, host: &Host, settled: bool) -> Result<(), Failure> {
        host.check().map_err(|violation| safety("G2", violation.to_string()))?;
        for id in host.view().agent_ids() {
            let status = host.view().agent(id).map(|agent| agent.status == Status::Stopped);
            let model = self.reference.stopped(id);
            ensure!(status == model, "G5", "{id}: stopped is {status:?}, the last command says {model:?}");
        }
        if !settled {
            return Ok(());
        }
        if let Some(deadline) = host.next_deadline() {
            let at = deadline.at;
            self.say("S3");
            ensure!(deadline.wait.0 > 0, "S3", "the next deadline, {at} ({:?}), is now", deadline.reason);
        }
        self.no_lost_wake(host)
    }

    fn no_lost_wake(&mut self, host: &Host) -> Result<(), Failure> {
        let slot = self.reference.running() < host.config().limits.concurrent_turns;
        if self.reference.draining() || !slot {
            return Ok(());
        }
        let mut idle = 0;
        for id in self.reference.idle_with_work() {
            idle += 1;
            let held = host.view().agent(id).is_some_and(|agent| agent.hold.is_some());
            ensure!(held, "W1", "{id} is started, idle and unheld, and has messages in its queue");
            let rests = host.view().explain(id).is_none_or(|explained| explained.decision.rests());
            ensure!(rests, "W1", "{id} would decide otherwise than it did");
        }
        *self.said.entry("W1").or_default() += idle;
        Ok(())
    }

    /// D5: the fold of the records is the live state.
    pub fn fold_is_live(&mut self, host: &Host) -> Result<(), Failure> {
        for (id, agent) in &self.folded {
            let same = host.view().agent(id).or_else(|| self.parked.get(id)) == Some(agent);
            ensure!(same, "D5", "{id} differs from the fold of its records at event {}", agent.event_seq);
        }
        let live = host.view().agent_ids().count() + self.parked.len();
        self.say("D5");
        ensure!(live == self.folded.len(), "D5", "{live} agents live, {} on record", self.folded.len());
        Ok(())
    }

    /// D7: a snapshot, written and read back, and the records after it give what the whole log gives.
    pub fn snapshots(&mut self, disk: &Disk) -> Result<(), Failure> {
        for (id, agent) in &self.folded {
            let Some(snapshot) = disk.snapshot(id) else { continue };
            let text = snapshot.encode().map_err(|error| safety("D7", error.to_string()))?;
            let read = AgentSnapshot::decode(&text).map_err(|error| safety("D7", error.to_string()))?;
            ensure!(read == *snapshot, "D7", "a snapshot of {id} reads back otherwise");
            let mut restored = read.agent;
            let from = restored.event_seq;
            for record in disk.log(id, from) {
                restored.fold(&record).map_err(|error| safety("D7", error.to_string()))?;
            }
            *self.said.entry("D7").or_default() += 1;
            ensure!(restored == *agent, "D7", "{id}: the snapshot at {from} and its tail give another state");
        }
        Ok(())
    }
}
