//! Idle agents leave memory now and then, and come back before anything is handed in for them.

use holon_core::Input;
use holon_core::replay::Call;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::outcome::{Certainty, OpFailure, Outcome};
use holon_facts::{AgentId, Millis, OpId, Text};

use super::{Sabotage, World};
use crate::failure::{Failure, safety};
use crate::ingress::agent_id;

impl World<'_> {
    /// After a step, one agent may be idle for long enough.
    pub(super) fn park_some(&mut self) -> Result<(), Failure> {
        if self.life.more || !self.life.recovered {
            return Ok(());
        }
        let site = self.site("park", 0, "");
        let number = self.choices.below(site.about("whom"), self.scenario.agents) + 1;
        let children = self.checks.children();
        let child = u32::try_from(children.len()).unwrap_or(u32::MAX);
        let child = (child > 0).then(|| self.choices.below(site.about("which child"), 2 * child) as usize);
        let agent = child.and_then(|at| children.iter().nth(at).cloned()).unwrap_or_else(|| agent_id(number));
        let Some(host) = &mut self.life.host else { return Ok(()) };
        let faults = &self.scenario.faults;
        if !self.injector.strikes(faults, &mut *self.choices, site, "parks", faults.parks) {
            return Ok(());
        }
        let deadline = host.wall_deadline(&agent);
        if let Some(snapshot) = host.park(&agent) {
            self.injector.saw("agent parked");
            self.life.absent.extend(deadline.map(|(at, _)| (agent.clone(), at)));
            self.checks.parked.insert(agent.clone(), snapshot.agent);
            self.log(Call::Park { agent })?;
        }
        Ok(())
    }

    /// Whom an input is for is in memory.
    pub(super) fn bring_in(&mut self, input: &Input) -> Result<(), Failure> {
        input.agent().map_or(Ok(()), |agent| self.bring_back(agent))
    }

    /// Who has left memory comes back as a start would bring it in.
    fn bring_back(&mut self, agent: &AgentId) -> Result<(), Failure> {
        if !self.checks.parked.contains_key(agent) {
            return Ok(());
        }
        self.admit(agent)?;
        let there = self.life.host.as_ref().is_some_and(|host| host.view().agent(agent).is_some());
        if !there {
            return Ok(());
        }
        let (report, ends) = self.probe(agent);
        self.call_with(Call::Recover { now: self.now(), agent: agent.clone(), report }, &ends)?;
        while self.life.more && self.life.host.is_some() {
            let now = self.now();
            self.call(Call::Step { now, input: Input::Tick })?;
        }
        Ok(())
    }

    /// Who has left memory comes back when something is due, and when the clock has gone back: what is waited for moves
    /// with it.
    pub(super) fn load_absent(&mut self) -> Result<(), Failure> {
        if !self.life.recovered {
            return Ok(());
        }
        while let Some(now) = self.life.host.as_ref().map(|host| host.facts().now) {
            if self.life.wall.replace(now).is_some_and(|before| now < before) {
                self.life.absent.values_mut().for_each(|at| *at = now);
            }
            let due = self.life.absent.iter().filter(|(_, at)| **at <= now);
            let Some(agent) =
                due.min_by_key(|(agent, at)| (**at, (*agent).clone())).map(|(agent, _)| agent.clone())
            else {
                return self.checks.nobody_absent_is_overdue(now, &self.outside.lost);
            };
            self.life.absent.remove(&agent);
            if self.options.sabotage != Some(Sabotage::ForgetDeadline) {
                self.bring_back(&agent)?;
            }
        }
        Ok(())
    }

    /// How long until something is due for those who are not in memory, from the host's last step on.
    pub(super) fn absent_wait(&self) -> Option<Millis> {
        let now = self.life.host.as_ref()?.facts().now;
        self.life.absent.values().min().map(|at| now.until(*at))
    }

    /// A child is asked for: it comes back, and takes what there is for it. One whose log is damaged is lost to its
    /// parent.
    pub(super) fn load(&mut self, parent: &AgentId, op: OpId, child: &AgentId) -> Result<(), Failure> {
        if self.life.host.is_none() || !self.checks.parked.contains_key(child) {
            return Ok(());
        }
        if self.is_damaged(child) {
            self.injector.saw("a child is lost");
            self.outside.lost.insert(child.clone());
            if self.options.sabotage == Some(Sabotage::SilentLoss) {
                return Ok(());
            }
            let message = Text::short(format!("{child} can't be brought into memory: its log is damaged"));
            let failure = OpFailure { certainty: Certainty::Ambiguous, message };
            let (agent, outcome) = (parent.clone(), Outcome::Failed { failure });
            return self.input(Input::Completed { agent, op, outcome });
        }
        self.injector.saw("a child is brought in");
        self.admit(child)?;
        let (report, ends) = self.probe(child);
        self.call_with(Call::Recover { now: self.now(), agent: child.clone(), report }, &ends)?;
        self.follow_up()
    }

    fn is_damaged(&mut self, child: &AgentId) -> bool {
        let site = self.site("child", self.number(child), "");
        let faults = &self.scenario.faults;
        let often = if self.quiet { 0 } else { faults.child_damaged };
        self.outside.lost.contains(child)
            || self.injector.strikes(faults, &mut *self.choices, site, "damaged", often)
    }

    pub(super) fn admit(&mut self, agent: &AgentId) -> Result<(), Failure> {
        if self.options.sabotage == Some(Sabotage::ForgetParked) || self.outside.lost.contains(agent) {
            return Ok(());
        }
        let Some(parked) = self.checks.parked.remove(agent) else { return Ok(()) };
        self.life.absent.remove(agent);
        let Some(host) = &mut self.life.host else { return Ok(()) };
        let through = parked.event_seq;
        host.admit(Some(AgentSnapshot::of(&parked)), Vec::new())
            .map_err(|error| safety("D3", error.to_string()))?;
        self.log(Call::Admit { agent: agent.clone(), through })
    }
}
