//! The process dies, exits and starts; agents are evicted and loaded.

use std::sync::Arc;

use holon_core::agent::Agent;
use holon_core::host::Host;
use holon_core::replay::Call;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::event::operation::OpKind;
use holon_facts::ids::Seed;
use holon_facts::{AgentId, Millis};

use super::Sabotage;
use super::situation::{Setting, Situation};
use crate::disk::Row;
use crate::failure::{Failure, ensure, safety};

impl Situation {
    pub(super) fn crash(&mut self, setting: Setting<'_>, kept: usize) -> Result<(), Failure> {
        self.left.bounds.crashes -= 1;
        self.disk.crash(kept);
        if setting.sabotage == Some(Sabotage::LoseSynced) {
            self.disk.durable = self.disk.before.clone();
        }
        let agents = self.disk.durable.checks.agents();
        for (agent, shown) in &self.outside.shown {
            let held = agents.get(agent).map(|agent| agent.event_seq);
            ensure!(held >= Some(*shown), "D2", "{agent} ends at {held:?}, somebody was told of {shown}");
        }
        self.die(setting);
        Ok(())
    }

    /// The process exits in good order: everything is on the disk, and only commands that go on are in flight.
    pub(super) fn leave(&mut self) -> Result<(), Failure> {
        let at_work = std::mem::take(&mut self.outside.at_work);
        let left = at_work.values().find(|working| working.kind != OpKind::RunCommand);
        ensure!(left.is_none(), "P6", "{left:?} is under way when the process leaves");
        self.host = None;
        self.outside.leaving = false;
        Ok(())
    }

    fn die(&mut self, setting: Setting<'_>) {
        self.host = None;
        self.due = false;
        self.checks = self.disk.durable.checks.clone();
        Arc::make_mut(&mut self.checks).parked.clear();
        self.outside.at_work.clear();
        self.orphan_supervisors();
        self.outside.leaving = false;
        let waiting = std::mem::take(&mut self.outside.waiting).into_values().flatten();
        self.outside.cut_off.extend(waiting.filter(|at| setting.world.repeatable(*at)));
    }

    /// Starts the process from the disk, each agent from the text of a snapshot.
    pub(super) fn boot(&mut self, setting: Setting<'_>) -> Result<(), Failure> {
        let (config, seed, after) = (setting.world.config.clone(), Seed(1), self.disk.durable.step);
        let host = Host::new(config.clone(), seed);
        let mut host = host.map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(after);
        host.resume_accounts(self.checks.accounts());
        let alive = self.checks.agents().values().filter(|agent| !agent.childhood.archived);
        host.resume_names(alive.map(|agent| (agent.id.clone(), agent.label.name.clone())));
        let call = Call::RuntimeStarted { build: "sim".into(), config, seed, after };
        let checks = Arc::make_mut(&mut self.checks);
        checks.parked.clear();
        checks.row(&Row::new(call, None, Vec::new()))?;
        let stale = setting.sabotage == Some(Sabotage::StaleSnapshot);
        let from = if stale { &self.disk.before.checks } else { &self.disk.durable.checks };
        // Ended agents stay out of memory.
        let stays_out = |agent: &Agent| {
            let forgotten =
                setting.sabotage == Some(Sabotage::LeaveChildren) && agent.spec.supervisor.is_some();
            forgotten || (agent.childhood.archived && agent.outbox.is_empty())
        };
        let (out, inside): (Vec<Agent>, Vec<Agent>) = from.agents().values().cloned().partition(stays_out);
        for agent in &inside {
            host.admit(Some(read_back(agent)?), Vec::new())
                .map_err(|error| safety("D3", error.to_string()))?;
        }
        checks.parked.extend(out.into_iter().map(|agent| (agent.id.clone(), agent)));
        checks.fold_is_live(&host)?;
        checks.started(self.at);
        self.host = Some(host);
        if setting.sabotage == Some(Sabotage::SkipRecover) {
            return Ok(());
        }
        let mut more = false;
        let last = inside.last().map(|agent| agent.id.clone());
        for Agent { id: agent, .. } in inside {
            let (now, number) = (self.now(), self.number_of(&agent));
            let settles = Some(&agent) == last.as_ref();
            let asked = self.ask_supervisors(setting, number)?;
            let Some(host) = &mut self.host else { return Ok(()) };
            let step = host.recover(now, &agent, asked.report.clone());
            asked.check_ends(step.records())?;
            let call = Call::Recover { now, agent, report: asked.report };
            more = self.take(setting, call, step, settles)?;
        }
        self.follow_up(setting, more)
    }

    pub(super) fn park(&mut self, number: u8) -> Result<(), Failure> {
        self.left.bounds.parks -= 1;
        let Some(host) = &mut self.host else { return Ok(()) };
        let Some(agent) = self.checks.agents().keys().nth(usize::from(number) - 1).cloned() else {
            return Ok(());
        };
        if let Some(snapshot) = host.evict(&agent) {
            let read = read_back(&snapshot.agent)?.agent;
            Arc::make_mut(&mut self.checks).parked.insert(agent, read);
        }
        Ok(())
    }

    /// How long until something is due for an evicted agent.
    pub(super) fn absent_wait(&self) -> Option<Millis> {
        let now = self.host.as_ref()?.facts().now;
        let next = |agent: &Agent| agent.next_deadline(agent.last_at).map(|(at, _)| now.until(at));
        self.checks.parked.values().filter_map(next).min()
    }

    /// Loads evicted agents for which something is due.
    pub(super) fn load_due(&mut self, setting: Setting<'_>) -> Result<(), Failure> {
        while self.absent_wait() == Some(Millis(0)) {
            let Some(now) = self.host.as_ref().map(|host| host.facts().now) else { return Ok(()) };
            let is_due = |agent: &&Agent| agent.next_deadline(agent.last_at).is_some_and(|(at, _)| at <= now);
            let Some(agent) = self.checks.parked.values().find(is_due).map(|agent| agent.id.clone()) else {
                return Ok(());
            };
            self.load(setting, &agent)?;
        }
        Ok(())
    }

    /// Loads an evicted agent, without recovery.
    pub(super) fn admit(&mut self, agent: &AgentId) -> Result<(), Failure> {
        if !self.checks.parked.contains_key(agent) {
            return Ok(());
        }
        let parked = Arc::make_mut(&mut self.checks).parked.remove(agent);
        let Some(host) = &mut self.host else { return Ok(()) };
        let admitted = host.admit(parked.as_ref().map(AgentSnapshot::of), Vec::new());
        admitted.map(|_| ()).map_err(|error| safety("D3", error.to_string()))
    }

    /// Loads and recovers an agent that has something to receive.
    pub(super) fn load(&mut self, setting: Setting<'_>, child: &AgentId) -> Result<(), Failure> {
        if !self.checks.parked.contains_key(child) {
            return Ok(());
        }
        self.admit(child)?;
        let (now, agent) = (self.now(), child.clone());
        let asked = self.ask_supervisors(setting, self.number_of(child))?;
        let Some(host) = &mut self.host else { return Ok(()) };
        let step = host.recover(now, &agent, asked.report.clone());
        let more = self.take(setting, Call::Recover { now, agent, report: asked.report }, step, true)?;
        self.follow_up(setting, more)
    }
}

fn read_back(agent: &Agent) -> Result<AgentSnapshot, Failure> {
    let text = AgentSnapshot::of(agent).encode();
    let read = text.and_then(|text| AgentSnapshot::decode(&text));
    read.map_err(|error| safety("D7", error.to_string()))
}
