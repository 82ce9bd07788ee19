//! Idle agents are evicted from memory now and then, and are loaded before anything is handed to them.

use std::time::Duration;

use holon_driver::{Damage, EngineError, LoadError, Loaded};
use holon_facts::{AgentId, Text};
use holon_ledger::Stall;

use super::World;
use super::command::Ends;
use super::step::ends;
use crate::disk::group::DiskError;
use crate::failure::Failure;
use crate::ingress::agent_id;
use crate::options::Sabotage;

/// The longest delay before a failed load is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// The result of a load; false when no agent has that name.
pub(super) type BroughtIn = Result<bool, LoadError<DiskError>>;

impl World<'_> {
    /// Evicts an idle agent now and then, between two steps.
    pub(super) fn evict_some(&mut self) -> Result<(), Failure> {
        let Some(engine) = self.life.engine.as_ref().filter(|engine| engine.caught_up()) else {
            return Ok(());
        };
        if engine.stall().is_some() || self.life.waits_to_enter.is_some() {
            return Ok(());
        }
        let site = self.site("park", 0, "");
        let number = self.choices.below(site.about("whom"), self.scenario.agents) + 1;
        let children = self.checks.children();
        let child = u32::try_from(children.len()).unwrap_or(u32::MAX);
        let child = (child > 0).then(|| self.choices.below(site.about("which child"), 2 * child) as usize);
        let agent = child.and_then(|at| children.iter().nth(at).cloned()).unwrap_or_else(|| agent_id(number));
        let faults = &self.scenario.faults;
        if !self.injector.strikes(faults, &mut *self.choices, site, "parks", faults.parks) {
            return Ok(());
        }
        if let Some(engine) = &mut self.life.engine {
            engine.evict(&[agent]).map_err(ends)?;
        }
        self.take_over(false, &Ends::new())
    }

    /// Makes sure that an agent of the ledger is in memory. On a full disk only urgent inputs load an agent.
    pub(super) fn bring_in(&mut self, agent: &AgentId, urgent: bool) -> Result<BroughtIn, Failure> {
        let Some(engine) = &self.life.engine else { return Ok(Ok(false)) };
        if engine.view().agent(agent).is_some() || self.options.sabotage == Some(Sabotage::ForgetParked) {
            return Ok(Ok(true));
        }
        if engine.stall().is_some() && !urgent {
            return Ok(Err(holon_driver::DiskFull.into()));
        }
        let brought_in = self.admit(agent)?;
        if let Ok(true) = brought_in {
            let (report, ends) = self.probe(agent);
            let now = self.now();
            self.steps(&ends, |engine| engine.recover(now, agent, report))?;
        }
        Ok(brought_in)
    }

    /// Loads an agent into memory from the disk, without recovery.
    pub(super) fn admit(&mut self, agent: &AgentId) -> Result<BroughtIn, Failure> {
        let harmed = self.harm(agent);
        let Some(engine) = &mut self.life.engine else { return Ok(Ok(false)) };
        let brought_in = match engine.bring_in(agent) {
            Err(LoadError::Driver(error)) => return Err(ends(error)),
            Err(LoadError::Damaged { agent, damage }) if !self.disk.get().damaged.contains(&agent) => {
                return Err(ends(EngineError::Damaged { agent, damage }));
            }
            other => other,
        };
        self.found(agent, harmed)?;
        self.take_over(false, &Ends::new())?;
        Ok(brought_in)
    }

    /// Loads agents that are needed in memory: children with messages to receive, and agents with something due.
    pub(super) fn load_wanted(&mut self) -> Result<(), Failure> {
        let now = self.now();
        let Some(engine) = &mut self.life.engine else { return Ok(()) };
        engine.look_for_wanted(now).map_err(ends)?;
        self.take_over(false, &Ends::new())?;
        while let Some(engine) = &mut self.life.engine {
            let may = engine.may_load();
            if may == Ok(false) {
                return Ok(());
            }
            let Some(wanted) = engine.next_wanted() else { return self.nobody_is_overdue() };
            let agent = wanted.agent.clone();
            let no_answer = may.is_ok() && self.no_answer_about(&agent);
            let loaded = match may {
                _ if self.options.sabotage == Some(Sabotage::ForgetDeadline) => Ok(true),
                Ok(_) if no_answer => Err(away(&agent)),
                Ok(_) => self.bring_in(&agent, true)?,
                Err(full) => Err(full.into()),
            };
            let Some(engine) = &mut self.life.engine else { return Ok(()) };
            match engine.loaded(wanted, loaded, |text| Text::short(text)).map_err(ends)? {
                Loaded::Next if no_answer => self.injector.saw("who is due is looked for again"),
                Loaded::Next => {}
                Loaded::Step(_) if self.options.sabotage == Some(Sabotage::SilentLoss) => {}
                Loaded::Step(input) => self.input(*input)?,
                Loaded::Enough if no_answer => {
                    self.injector.saw("a child is looked for again");
                    return Ok(());
                }
                Loaded::Enough => return Ok(()),
            }
        }
        Ok(())
    }

    /// Whether the ledger gives no answer about an absent agent at this moment.
    fn no_answer_about(&mut self, agent: &AgentId) -> bool {
        let away = self.scenario.faults.reads_away;
        let absent = self.life.engine.as_ref().is_some_and(|engine| engine.view().agent(agent).is_none());
        self.life.no_answer.remove(agent);
        if self.quiet || away == 0 || !absent {
            return false;
        }
        let site = self.site("ledger", self.number(agent), "");
        let struck = self.injector.strikes(&self.scenario.faults, &mut *self.choices, site, "away", away);
        if struck {
            self.life.no_answer.insert(agent.clone());
        }
        struck
    }

    /// W5: nothing is overdue for an agent outside memory, as far as the driver knows the time.
    fn nobody_is_overdue(&self) -> Result<(), Failure> {
        let Some(engine) = &self.life.engine else { return Ok(()) };
        let soon = engine.deadline(self.now().mono).is_some_and(|(wait, _)| wait.is_zero());
        if soon || !engine.caught_up() || engine.stall().is_some() {
            return Ok(());
        }
        let (now, mut spared) = (engine.host().facts().now, self.disk.get().damaged.clone());
        // An agent about whom the ledger gave no answer is tried again soon.
        if engine.deadline(self.now().mono).is_some_and(|(wait, _)| wait <= AGAIN) {
            spared.extend(self.life.no_answer.iter().cloned());
        }
        self.checks.nobody_absent_is_overdue(now, &spared)
    }

    /// A child is needed in memory. The log of an absent one may be damaged by now: its parent then loses it.
    pub(super) fn child_is_wanted(&mut self, child: &AgentId) {
        if !self.checks.parked.contains_key(child) {
            return;
        }
        let site = self.site("child", self.number(child), "");
        let faults = &self.scenario.faults;
        let often = if self.quiet { 0 } else { faults.child_damaged };
        if self.injector.strikes(faults, &mut *self.choices, site, "damaged", often) {
            self.injector.saw("a child is lost");
            self.disk.get_mut().damaged.insert(child.clone());
        } else {
            self.injector.saw("a child is brought in");
        }
    }
}

fn away(agent: &AgentId) -> LoadError<DiskError> {
    let stall = Stall::Away { problem: "no answer".to_owned() };
    LoadError::Damaged { agent: agent.clone(), damage: Damage::Unreadable(stall.into()) }
}
