//! Crashes and starts. A crash drops the host; a start builds another from what the disk kept, and may crash as well.

use holon_core::Input;
use holon_core::host::Host;
use holon_core::replay::Call;
use holon_driver::{InvariantCheck, Parts};
use holon_facts::AgentId;
use holon_facts::event::operation::OpKind;
use holon_facts::ids::Seed;

use super::agenda::Happening;
use super::command::Ends;
use super::step::ends;
use super::{Engine, Life, World};
use crate::checks::Checks;
use crate::choices::Site;
use crate::disk::Row;
use crate::disk::batch_writer::BatchWriter;
use crate::disk::image::{Damage, Reader};
use crate::disk::snapshots::Glance;
use crate::failure::{Failure, ensure, liveness, safety};
use crate::options::{Judges, Sabotage};
use crate::scenario::Action;
use crate::{codec, places};

/// Records after which the state of an agent is stored again, at most.
const STORE_AFTER: u32 = 24;

impl World<'_> {
    /// Counts a point at which the process may die; returns whether it died there.
    pub(super) fn boundary(&mut self) -> Result<bool, Failure> {
        self.counts.boundaries += 1;
        let dies = self.scenario.faults.crashes.contains(&self.counts.boundaries) || self.is_doomed();
        if self.life.engine.is_none() || !dies {
            return Ok(false);
        }
        self.crash()?;
        Ok(true)
    }

    /// Whether the current crash loop ends this life now.
    fn is_doomed(&mut self) -> bool {
        if self.doomed == 0 || self.quiet {
            return false;
        }
        let site = Site::new("doom", 0, self.life.number, "after");
        let lived = self.counts.boundaries - self.life.first_boundary;
        let over = lived > u64::from(self.choices.below(site, 3));
        self.doomed -= u32::from(over);
        over
    }

    /// Kills the process, and again soon after each of its next starts.
    pub(super) fn kill(&mut self, again: u32) -> Result<(), Failure> {
        if self.life.engine.is_some() && !self.quiet {
            self.doomed = again;
            return self.crash();
        }
        Ok(())
    }

    pub(super) fn crash(&mut self) -> Result<(), Failure> {
        self.counts.crashes += 1;
        self.saw_crash();
        let site = self.site("crash", 0, "kept");
        let loose = self.disk.get().loose();
        // Half of the crashes lose every row that they may; the others keep a prefix of any length.
        let lossy = u32::try_from(loose + 1).unwrap_or(u32::MAX);
        let all = self.choices.below(site.about("all is lost"), 2) == 0;
        let left = if all { 0 } else { self.choices.below(site, lossy) as usize };
        let kept = self.read_back(site.ordinal, left)?;
        if kept < loose {
            self.injector.saw("crash loses rows");
        }
        let lost = self.disk.get_mut().crash(kept);
        if self.options.sabotage == Some(Sabotage::LoseAcknowledged) {
            self.disk.get_mut().lose_acknowledged();
        }
        self.trace.note(self.at, &format!("crash at boundary {}", self.counts.boundaries));
        let downtime = u64::from(self.choices.below(site.about("downtime"), 3_000_000));
        self.die(downtime);
        for request in self.outside.clients.disconnected() {
            self.plan(self.at + downtime + 1_000, request.agent, Happening::Request(request));
        }
        if lost.rows > 0 {
            self.power_failed(lost, downtime);
        }
        self.check_the_ledger()
    }

    fn saw_crash(&mut self) {
        self.injector.saw("crash");
        let soon = self.counts.boundaries - self.life.first_boundary < 6;
        if soon {
            self.injector.saw("crash soon after a start");
        }
        if !self.checks.children().is_empty() {
            self.injector.saw("crash in the middle of a family");
        }
        if self.checks.agents().values().any(places::is_in_shared) {
            self.injector.saw("crash while a folder is taken");
        }
        for (agent, op) in self.outside.inflight.keys() {
            self.injector.saw("crash during a turn");
            let host = self.life.host();
            let open = host.and_then(|host| host.view().agent(agent)).and_then(|agent| agent.ops.get(op));
            let call = open.is_some_and(|open| match open.kind {
                OpKind::CallTool
                | OpKind::PrepareCommand
                | OpKind::RunCommand
                | OpKind::PromoteCommand
                | OpKind::AwaitTask
                | OpKind::FindWorkspace => true,
                OpKind::LoadContext
                | OpKind::CallModel
                | OpKind::WriteInput
                | OpKind::SuperviseChild
                | OpKind::RemoveWorktree
                | OpKind::Summarize => false,
            });
            if call {
                self.injector.saw("crash during a tool call");
            }
        }
        let waits = self.outside.clients.waiting.values().any(|waiting| {
            matches!(
                waiting.request.action,
                Action::Start | Action::Stop | Action::Archive | Action::Abort { .. } | Action::Restart
            )
        });
        if waits {
            self.injector.saw("crash while a command waits for the disk");
        }
        self.patterns.crash(soon, &mut self.injector);
    }

    /// Returns how many unsynced rows a start reads back after a crash that may have damaged some. Damage among stable
    /// rows is reported with its position; an operator then restores those rows.
    fn read_back(&mut self, nth: u64, left: usize) -> Result<usize, Failure> {
        let site = Site::new("disk", 0, nth, "");
        let (faults, stable) = (&self.scenario.faults, self.disk.get().stable());
        let torn = left > 0 && self.injector.strikes(faults, &mut *self.choices, site, "torn", faults.torn);
        let damaged = !torn
            && stable > 1
            && self.injector.strikes(faults, &mut *self.choices, site, "damaged", faults.damaged);
        let mut draw = |kind, n: usize| {
            self.choices.below(site.about(kind), u32::try_from(n).unwrap_or(u32::MAX)) as usize
        };
        let damage = match (torn, damaged, draw("how", 2)) {
            (false, false, _) => return Ok(left),
            (true, _, 0) => Damage::Torn { bytes: self.choices.below(site.about("bytes"), 1 << 20) },
            (true, _, _) => Damage::Hole { row: stable + draw("hole", left) },
            (false, true, 0) => {
                let row = draw("row", stable);
                Damage::Flipped { row, bit: self.choices.below(site.about("bit"), 1 << 20) }
            }
            (false, true, _) => {
                let row = draw("row", stable);
                let other = (row + 1 + draw("other", stable - 1)) % stable;
                Damage::Misdirected { row, other }
            }
        };
        self.injector.saw(match damage {
            Damage::Torn { .. } => "disk.cut short",
            Damage::Hole { .. } => "disk.hole",
            Damage::Flipped { .. } => "disk.flipped",
            Damage::Misdirected { .. } => "disk.misdirected",
        });
        self.checks.say("D4");
        self.checks.say("D11");
        let reader = match self.options.sabotage {
            Some(Sabotage::TrustingReader) => Reader::Trusting,
            Some(Sabotage::TimidReader) => Reader::Timid,
            Some(_) | None => Reader::Careful,
        };
        self.disk.get().read_back(left, damage, reader)
    }

    /// Checks that the ledger still has everything that clients and followers were notified of.
    fn check_the_ledger(&mut self) -> Result<(), Failure> {
        ensure!(self.disk.get().keeps_its_word(), "D2", "the crash lost a row that somebody was told about");
        let disk = self.disk.get();
        let checked = self.checks.restart(&self.scenario.config, self.left_by_crash.as_deref(), disk.rows());
        self.witness.restart();
        let ends = disk.agents();
        for (agent, shown) in &self.outside.observed {
            let last = ends.get(agent).copied().unwrap_or_default();
            ensure!(*shown <= last, "D2", "{agent}: event {shown} was shown, the log ends at {last}");
        }
        for row in &disk.rows()[checked..] {
            self.checks.row(row)?;
        }
        self.left_by_crash = Some(Box::new((disk.rows().len(), self.checks.clone())));
        if self.options.judges == Judges::Laws {
            return Ok(());
        }
        for (agent, message) in self.outside.acknowledged.keys() {
            let held = self.checks.reference.holds(agent, *message);
            self.checks.say("D2");
            ensure!(held, "D2", "{message} of {agent} was acknowledged and is gone");
        }
        Ok(())
    }

    fn die(&mut self, downtime: u64) {
        self.saw_late_outcomes();
        let number = self.life.number;
        self.life = Life { number: number + 1, wake: self.life.wake + 1, ..Life::default() };
        self.outside.inflight.clear();
        self.outside.turns.end();
        self.checks.parked.clear();
        self.agenda.plan(self.at + downtime, 0, Happening::Start);
    }

    /// Ends the process in good order, once everything is on the disk.
    pub(super) fn shut_down(&mut self) -> Result<(), Failure> {
        self.life.leaving = true;
        let life = self.life.number;
        self.close_writer()?;
        if self.life.number != life || self.life.engine.is_none() {
            return Ok(());
        }
        if self.disk.get().unsynced() > 0 {
            // The exit waits for rows that were handed to the disk.
            self.agenda.plan(self.at + 50_000, 0, Happening::Shutdown(self.life.number));
            return Ok(());
        }
        self.trace.note(self.at, "the process leaves");
        for request in self.outside.clients.disconnected() {
            self.plan(self.at + 1_000, request.agent, Happening::Request(request));
        }
        self.die(20_000);
        Ok(())
    }

    /// Starts the process from the disk.
    pub(super) fn boot(&mut self) -> Result<(), Failure> {
        let site = self.site("boot", 0, "mono");
        self.life.began = self.at;
        self.life.first_boundary = self.counts.boundaries;
        self.life.mono = u64::from(self.choices.below(site, 4)) * 1_000_003_000_000;
        self.trace.note(self.at, "the process starts");
        self.begin_writing()?;
        // Followers of an agent catch up from the ledger.
        self.outside.observed = self.disk.get().agents();
        let before = self.counts.steps;
        let open = self.start_engine(site)?;
        for agent in &open {
            self.admit(agent)?.map_err(|error| safety("D3", error.to_string()))?;
        }
        let Some(engine) = &self.life.engine else { return Ok(()) };
        self.checks.fold_is_live(engine.host())?;
        self.checks.started(self.at);
        self.ask_again();
        self.end_orphans();
        for (number, agent) in open.iter().enumerate() {
            self.life.recovered = number + 1 == open.len();
            let (report, ends) = self.probe(agent);
            let now = self.now();
            self.steps(&ends, |engine| engine.recover(now, agent, report))?;
        }
        let Some(engine) = &self.life.engine else { return Ok(()) };
        self.life.recovered = true;
        if open.is_empty() && engine.waits_for_the_clock() {
            // No recovery has read the clocks.
            self.input(Input::Tick)?;
        }
        self.settle()?;
        self.recovery_ends(before, open.len())
    }

    /// Starts the engine of a new life; returns the agents that have something to do.
    fn start_engine(&mut self, site: Site) -> Result<Vec<AgentId>, Failure> {
        let (mut config, seed) =
            (self.scenario.config_of(self.life.number).clone(), Seed(self.scenario.seed));
        if self.life.number > 0 && config != *self.scenario.config_of(self.life.number - 1) {
            self.injector.saw("another configuration");
        }
        let which = self.choices.below(site.about("unusable"), 6);
        let started = Host::new(codec::unusable(&config, which), seed).is_ok();
        ensure!(!started, "G5", "a process starts with an unusable configuration, {which}");
        config.lent_turns =
            config.lent_turns.map(|_| self.outside.turns.begin(config.limits.concurrent_turns));
        let host = Host::new(self.instructions(config.clone()), seed)
            .map_err(|error| safety("scenario", error.to_string()))?;
        self.disk.get_mut().glance = match self.options.sabotage {
            Some(Sabotage::TrustingGlance) => Glance::Trusting,
            Some(_) | None => Glance::Careful,
        };
        let store_after = 1 + self.choices.below(site.about("states"), STORE_AFTER) as usize;
        let writer = BatchWriter {
            forgetful: self.options.sabotage == Some(Sabotage::ForgetRows),
            ..BatchWriter::default()
        };
        let (reader, invariants) = (self.disk.clone(), InvariantCheck::disabled());
        let parts = Parts { host, writer, reader, group: self.group(), store_after, invariants };
        let after = self.disk.get().last_step();
        let started = Call::RuntimeStarted { build: "sim".into(), config, seed, after };
        let (engine, mut open) = Engine::start(parts, self.now(), &started).map_err(ends)?;
        // A real start fails at a damaged log; here an operator has set the log aside.
        open.retain(|agent| !self.disk.get().damaged.contains(agent));
        let left_out = self.checks.agents().values().filter(|agent| !open.contains(&agent.id));
        let left_out: Vec<_> = left_out.map(|agent| (agent.id.clone(), agent.clone())).collect();
        self.checks.parked.extend(left_out);
        self.life.engine = Some(engine);
        self.take_over(false, &Ends::new())?;
        Ok(open)
    }

    /// V7: a recovery takes a few steps per agent, whatever was in flight.
    fn recovery_ends(&mut self, before: u64, agents: usize) -> Result<(), Failure> {
        let took = self.counts.steps - before;
        let decisions = self.scenario.inputs.len() as u64 + 8;
        let most = (agents as u64 + 1)
            * (2 + decisions)
            * if self.options.sabotage == Some(Sabotage::Hasty) { 0 } else { 1 };
        self.checks.say("V7");
        if took > most {
            return Err(liveness("V7", format!("a recovery of {agents} agents took {took} steps")));
        }
        Ok(())
    }

    /// Notes outcomes that the host received and nobody awaited.
    pub(super) fn saw_late_outcomes(&mut self) {
        let late = self.life.host().map_or(0, |host| host.view().stats().late_outcomes);
        if late > 0 {
            self.injector.saw("an outcome that nobody awaits");
        }
    }
}

impl Checks {
    /// Resets everything but recorded time. Checks of the rows that an earlier crash left are reused if this crash left
    /// all of those rows. Returns how many rows are checked already.
    fn restart(
        &mut self,
        config: &holon_facts::Config,
        left_by_crash: Option<&(usize, Self)>,
        rows: &[Row],
    ) -> usize {
        let known = left_by_crash.filter(|(known, _)| *known <= rows.len());
        let (known, mut fresh) = known.map_or_else(|| (0, Self::new(config)), Clone::clone);
        fresh.take_over(self);
        *self = fresh;
        known
    }
}
