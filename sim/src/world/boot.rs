//! Crashes and starts. A crash throws the host away; a start builds another from what the disk kept, and may
//! crash in its turn.

use holon_core::host::Host;
use holon_core::ids::{EventSeq, Seed};
use holon_core::replay::Call;

use super::agenda::Happening;
use super::{Life, Sabotage, World};
use crate::checks::Checks;
use crate::disk::Row;
use crate::failure::{Failure, ensure, safety};

impl World<'_> {
    /// One more point at which the process may die; says whether it did.
    pub(super) fn boundary(&mut self) -> Result<bool, Failure> {
        self.counts.boundaries += 1;
        if self.life.host.is_none() || !self.scenario.faults.crashes.contains(&self.counts.boundaries) {
            return Ok(false);
        }
        self.crash()?;
        Ok(true)
    }

    fn crash(&mut self) -> Result<(), Failure> {
        self.counts.crashes += 1;
        self.injector.saw("crash");
        if self.counts.boundaries - self.life.first_boundary < 6 {
            self.injector.saw("crash soon after a start");
        }
        let site = self.site("crash", 0, "kept");
        let unsynced = self.disk.unsynced();
        // Half of the crashes lose all that they may, the others keep a prefix of any length.
        let lossy = u32::try_from(unsynced + 1).unwrap_or(u32::MAX);
        let all = self.choices.below(site.about("all is lost"), 2) == 0;
        let kept = if all { 0 } else { self.choices.below(site, lossy) as usize };
        if kept < unsynced {
            self.injector.saw("crash loses rows");
        }
        self.disk.crash(kept);
        if self.options.sabotage == Some(Sabotage::LoseAcknowledged) {
            self.disk.lose_acknowledged();
        }
        self.trace.note(self.at, &format!("crash at boundary {}", self.counts.boundaries));
        let downtime = u64::from(self.choices.below(site.about("downtime"), 3_000_000));
        self.die(downtime);
        for request in self.outside.clients.disconnected() {
            self.plan(self.at + downtime + 1_000, request.agent, Happening::Request(request));
        }
        self.look_at_the_ledger()
    }

    /// Whoever was promised something finds it in what the crash left.
    fn look_at_the_ledger(&mut self) -> Result<(), Failure> {
        ensure!(self.disk.keeps_its_word(), "D2", "the crash lost a row that somebody was told about");
        self.checks.restart(&self.scenario.config);
        for row in self.disk.rows() {
            self.checks.row(row)?;
        }
        for (agent, message) in &self.outside.acknowledged {
            let held = self.checks.reference.holds(agent, *message);
            self.checks.say("D2");
            ensure!(held, "D2", "{message} of {agent} was acknowledged and is gone");
        }
        Ok(())
    }

    fn die(&mut self, downtime: u64) {
        let number = self.life.number;
        self.life = Life { number: number + 1, wake: self.life.wake + 1, ..Life::default() };
        self.outside.inflight.clear();
        self.checks.parked.clear();
        self.agenda.plan(self.at + downtime, 0, Happening::Start);
    }

    /// The process leaves in good order: everything is on the disk first.
    pub(super) fn shut_down(&mut self) -> Result<(), Failure> {
        self.sync()?;
        if self.life.host.is_none() {
            return Ok(());
        }
        self.trace.note(self.at, "the process leaves");
        for request in self.outside.clients.disconnected() {
            self.plan(self.at + 1_000, request.agent, Happening::Request(request));
        }
        self.die(20_000);
        Ok(())
    }

    /// Starts the process from what is on the disk.
    pub(super) fn boot(&mut self) -> Result<(), Failure> {
        if let Some(end) = self.commands_end() {
            self.injector.saw("command found alive");
            self.trace.note(self.at, "a start waits for commands that still run");
            self.agenda.plan(end, 0, Happening::Start);
            return Ok(());
        }
        let (config, seed) = (self.scenario.config.clone(), Seed(self.scenario.seed));
        let after = self.disk.last_step();
        let mut host =
            Host::new(config.clone(), seed).map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(after);
        let site = self.site("boot", 0, "mono");
        self.life.began = self.at;
        self.life.first_boundary = self.counts.boundaries;
        self.life.mono = u64::from(self.choices.below(site, 4)) * 1_000_003_000_000;
        self.trace.note(self.at, "the process starts");
        self.log(Call::RuntimeStarted { build: "sim".into(), config, seed, after })?;
        let agents = self.disk.agents();
        for (number, (agent, through)) in agents.iter().enumerate() {
            let kind = if number % 2 == 0 { "snapshot" } else { "snapshot of another" };
            let snapshot = self.disk.snapshot(agent).filter(|_| self.choices.below(site.about(kind), 2) == 0);
            let from = snapshot.map_or(EventSeq(0), |snapshot| snapshot.agent.event_seq);
            let tail = self.disk.log(agent, from);
            host.admit(snapshot.cloned(), tail).map_err(|error| safety("D3", error.to_string()))?;
            self.log(Call::Admit { agent: agent.clone(), through: *through })?;
        }
        self.checks.fold_is_live(&host)?;
        self.checks.started(self.at);
        self.life.host = Some(host);
        for (number, agent) in agents.keys().enumerate() {
            self.life.recovered = number + 1 == agents.len();
            let (report, ends) = self.probe(agent);
            let call = Call::Recover { now: self.now(), agent: agent.clone(), report };
            self.call_with(call, &ends)?;
            if self.life.host.is_none() {
                return Ok(());
            }
        }
        self.life.recovered = true;
        self.follow_up()
    }

    /// A call that is not a step.
    pub(super) fn log(&mut self, call: Call) -> Result<(), Failure> {
        let row = Row { call, step: None, records: Vec::new(), effects: None };
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        self.disk.accept(row);
        Ok(())
    }
}

impl Checks {
    /// Forgets what was live; recorded time goes on.
    fn restart(&mut self, config: &holon_core::Config) {
        let mut fresh = Self::new(config);
        fresh.take_over(self);
        *self = fresh;
    }
}
