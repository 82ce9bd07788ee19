//! Crashes and starts. A crash throws the host away; a start builds another from what the disk kept, and may
//! crash in its turn.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_core::agent::Agent;
use holon_core::host::Host;
use holon_core::replay::Call;
use holon_facts::AgentId;
use holon_facts::event::operation::OpKind;
use holon_facts::ids::{EventSeq, Seed};

use super::agenda::Happening;
use super::{Judges, Life, Sabotage, World};
use crate::checks::Checks;
use crate::choices::Site;
use crate::disk::Row;
use crate::disk::image::{Damage, Reader};
use crate::failure::{Failure, ensure, liveness, safety};
use crate::scenario::Action;
use crate::{form, places};

impl World<'_> {
    /// One more point at which the process may die; says whether it did.
    pub(super) fn boundary(&mut self) -> Result<bool, Failure> {
        self.counts.boundaries += 1;
        let dies = self.scenario.faults.crashes.contains(&self.counts.boundaries) || self.is_doomed();
        if self.life.host.is_none() || !dies {
            return Ok(false);
        }
        self.crash()?;
        Ok(true)
    }

    /// Whether this life is one of a loop of crashes, and at its end.
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

    /// The process is killed, and dies again soon after each of its next starts.
    pub(super) fn kill(&mut self, again: u32) -> Result<(), Failure> {
        if self.life.host.is_some() && !self.quiet {
            self.doomed = again;
            return self.crash();
        }
        Ok(())
    }

    pub(super) fn crash(&mut self) -> Result<(), Failure> {
        self.counts.crashes += 1;
        self.saw_crash();
        let site = self.site("crash", 0, "kept");
        let loose = self.disk.loose();
        // Half of the crashes lose all that they may, the others keep a prefix of any length.
        let lossy = u32::try_from(loose + 1).unwrap_or(u32::MAX);
        let all = self.choices.below(site.about("all is lost"), 2) == 0;
        let left = if all { 0 } else { self.choices.below(site, lossy) as usize };
        let kept = self.read_back(site.ordinal, left)?;
        if kept < loose {
            self.injector.saw("crash loses rows");
        }
        let lost = self.disk.crash(kept);
        if self.options.sabotage == Some(Sabotage::LoseAcknowledged) {
            self.disk.lose_acknowledged();
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
        self.look_at_the_ledger()
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
            let host = self.life.host.as_ref();
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
                | OpKind::RemoveWorktree => false,
            });
            if call {
                self.injector.saw("crash during a tool call");
            }
        }
        let waits = self.outside.clients.waiting.values().any(|waiting| match &waiting.request.action {
            Action::Start | Action::Stop | Action::Abort { .. } | Action::Restart => true,
            Action::Create
            | Action::Message(_)
            | Action::Model { .. }
            | Action::RunTask { .. }
            | Action::StopTask { .. }
            | Action::WriteTask { .. }
            | Action::CreateTimer { .. }
            | Action::CancelTimer { .. }
            | Action::CreateWork
            | Action::CompleteWork { .. }
            | Action::Wake { .. }
            | Action::Deliver { .. }
            | Action::ChangeTrigger { .. }
            | Action::Meddle { .. }
            | Action::Place { .. }
            | Action::Kill { .. }
            | Action::Suspend { .. }
            | Action::ClockJump { .. }
            | Action::Tick => false,
        });
        if waits {
            self.injector.saw("crash while a command waits for the disk");
        }
        self.patterns.crash(soon, &mut self.injector);
    }

    /// What a start will read of the rows that a crash has left, some of which may be damaged. Damage of what
    /// was stable is told with its place; an operator then brings back what stood there.
    fn read_back(&mut self, nth: u64, left: usize) -> Result<usize, Failure> {
        let site = Site::new("disk", 0, nth, "");
        let (faults, stable) = (&self.scenario.faults, self.disk.stable());
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
        self.disk.read_back(left, damage, reader)
    }

    /// Whoever was promised something finds it in what the crash left.
    fn look_at_the_ledger(&mut self) -> Result<(), Failure> {
        ensure!(self.disk.keeps_its_word(), "D2", "the crash lost a row that somebody was told about");
        let judged = self.checks.restart(&self.scenario.config, self.judged.as_deref(), self.disk.rows());
        self.witness.restart();
        let ends = self.disk.agents();
        for (agent, shown) in &self.outside.observed {
            let last = ends.get(agent).copied().unwrap_or_default();
            ensure!(*shown <= last, "D2", "{agent}: event {shown} was shown, the log ends at {last}");
        }
        for row in &self.disk.rows()[judged..] {
            self.checks.row(row)?;
        }
        self.judged = Some(Box::new((self.disk.rows().len(), self.checks.clone())));
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
        self.checks.parked.clear();
        self.agenda.plan(self.at + downtime, 0, Happening::Start);
    }

    /// The process leaves in good order: everything is on the disk first.
    pub(super) fn shut_down(&mut self) -> Result<(), Failure> {
        self.life.leaving = true;
        let life = self.life.number;
        self.close_writer()?;
        if self.life.number != life || self.life.host.is_none() {
            return Ok(());
        }
        if self.disk.unsynced() > 0 {
            // What was handed to the disk is waited for.
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

    /// Who has come to an end stays out of memory until somebody asks, and who only waits until something is due.
    fn leave_out(&mut self) -> BTreeSet<AgentId> {
        let (all, lost, now) = (self.checks.agents().values(), &self.outside.lost, self.now().wall);
        let rests = |agent: &Agent| {
            let next = agent.next_deadline(agent.last_at);
            agent.open_work() == 0 && next.is_none_or(|(at, _)| at > now)
        };
        let over = all.filter(|agent| lost.contains(&agent.id) || rests(agent));
        let over: BTreeMap<_, Agent> = over.map(|agent| (agent.id.clone(), agent.clone())).collect();
        let next = |agent: &Agent| agent.next_deadline(agent.last_at).map(|(at, _)| at);
        let absent = over.values().filter(|agent| !lost.contains(&agent.id));
        self.life.absent = absent.filter_map(|agent| Some((agent.id.clone(), next(agent)?))).collect();
        let ids = over.keys().cloned().collect();
        self.checks.parked.extend(over);
        ids
    }

    /// Starts the process from what is on the disk.
    pub(super) fn boot(&mut self) -> Result<(), Failure> {
        let (config, seed) = (self.scenario.config_of(self.life.number).clone(), Seed(self.scenario.seed));
        if self.life.number > 0 && config != *self.scenario.config_of(self.life.number - 1) {
            self.injector.saw("another configuration");
        }
        let after = self.disk.last_step();
        let mut host = Host::new(self.instructions(config.clone()), seed)
            .map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(after);
        host.resume_accounts(self.checks.accounts());
        let alive = self.checks.agents().values().filter(|agent| !agent.childhood.archived);
        host.resume_names(alive.map(|agent| agent.id.clone()));
        if let Some(newest) = self.disk.newest() {
            host.resume_clock(newest);
        }
        self.life.wall = Some(host.facts().now);
        let site = self.site("boot", 0, "mono");
        let which = self.choices.below(site.about("unusable"), 6);
        let started = Host::new(form::unusable(&config, which), seed).is_ok();
        ensure!(!started, "G5", "a process starts with an unusable configuration, {which}");
        self.life.began = self.at;
        self.life.first_boundary = self.counts.boundaries;
        self.life.mono = u64::from(self.choices.below(site, 4)) * 1_000_003_000_000;
        self.trace.note(self.at, "the process starts");
        self.begin_writing()?;
        self.log(Call::RuntimeStarted { build: "sim".into(), config, seed, after })?;
        let mut agents = self.disk.agents();
        // Whoever follows an agent catches up from the ledger.
        self.outside.observed.clone_from(&agents);
        let over = self.leave_out();
        agents.retain(|agent, _| !over.contains(agent));
        let before = self.counts.steps;
        let mut logs = self.disk.logs();
        for (number, (agent, through)) in agents.iter().enumerate() {
            let kind = if number % 2 == 0 { "snapshot" } else { "snapshot of another" };
            let wanted = self.choices.below(site.about(kind), 2) == 0;
            let snapshot = if wanted { self.snapshot_of(agent, *through)? } else { None };
            let from = snapshot.as_ref().map_or(EventSeq(0), |snapshot| snapshot.agent.event_seq);
            let mut tail = logs.remove(agent).unwrap_or_default();
            tail.retain(|record| record.event_seq > from);
            host.admit(snapshot, tail).map_err(|error| safety("D3", error.to_string()))?;
            self.log(Call::Admit { agent: agent.clone(), through: *through })?;
        }
        self.checks.fold_is_live(&host)?;
        self.checks.started(self.at);
        self.life.host = Some(host);
        self.ask_again();
        self.end_orphans();
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
        if agents.is_empty() && !self.life.absent.is_empty() {
            // Nobody's recovery has read the clocks.
            let now = self.now();
            self.call(Call::Step { now, input: Input::Tick })?;
        }
        self.follow_up()?;
        self.recovery_ends(before, agents.len())
    }

    /// V7: a recovery takes a few steps for each agent, whatever was in flight.
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

    /// What the host has heard and nobody was waiting for.
    pub(super) fn saw_late_outcomes(&mut self) {
        let late = self.life.host.as_ref().map_or(0, |host| host.view().stats().late_outcomes);
        if late > 0 {
            self.injector.saw("an outcome that nobody awaits");
        }
    }

    /// A call that is not a step.
    pub(super) fn log(&mut self, call: Call) -> Result<(), Failure> {
        let row = Row { call, step: None, records: Vec::new(), effects: None };
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        self.disk.accept(row);
        self.life.writer.push(1, None, false, self.at);
        Ok(())
    }
}

impl Checks {
    /// Forgets what was live; recorded time goes on. What an earlier crash left was judged then, and is known
    /// as long as this one has left all of it. Says how many rows that are.
    fn restart(
        &mut self,
        config: &holon_facts::Config,
        judged: Option<&(usize, Self)>,
        rows: &[Row],
    ) -> usize {
        let known = judged.filter(|(known, _)| *known <= rows.len());
        let (known, mut fresh) = known.map_or_else(|| (0, Self::new(config)), Clone::clone);
        fresh.take_over(self);
        *self = fresh;
        known
    }
}
