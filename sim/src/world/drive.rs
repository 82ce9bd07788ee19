//! The driver: an input becomes a call, the call a row, the row waits for the disk, then its effects leave.

use holon_core::Input;
use holon_core::replay::Call;
use holon_facts::ids::Seed;
use holon_facts::{AgentId, OpId, Outcome};

use super::agenda::Happening;
use super::command::{self, Ends};
use super::{Judges, Sabotage, World};
use crate::choices::pick;
use crate::disk::Row;
use crate::failure::{Failure, Kind, liveness};
use crate::fault::Ill;
use crate::ingress::{self, Request, Waiting};
use crate::patience;
use crate::scenario::{Action, Timed};

/// More steps than this at one moment are a hot loop.
const AT_ONCE: u64 = 5_000;
/// So many agents are looked at after each step.
const CROWD: u64 = 64;
/// A timer that is broken on purpose rings so much later.
const OVERSLEPT: u64 = 3_600_000_000;
/// A client that reached nobody tries again after so long.
const AGAIN: u64 = 100_000;

impl World<'_> {
    /// An input of the scenario is due.
    pub(super) fn arrive(&mut self, index: usize) -> Result<(), Failure> {
        let Some(timed) = self.scenario.inputs.get(index) else { return Ok(()) };
        let with_it = |other: &Timed| (other.at, other.agent) == (timed.at, timed.agent);
        if self
            .scenario
            .inputs
            .get(index.saturating_sub(20)..=index)
            .is_some_and(|near| near.len() > 20 && near.iter().all(with_it))
        {
            self.injector.saw("a flood");
        }
        match &timed.action {
            Action::ClockJump { micros } => {
                self.clock_jumps(*micros);
                Ok(())
            }
            Action::Suspend { micros } => {
                self.sleep(*micros);
                Ok(())
            }
            Action::Kill { again } => self.kill(*again),
            Action::Tick => self.input(Input::Tick),
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
            | Action::Start
            | Action::Stop
            | Action::Abort { .. }
            | Action::Restart => {
                let request = Request { agent: timed.agent, action: timed.action.clone() };
                self.twice(&request)?;
                self.request(request)
            }
        }
    }

    /// A client sends something. What disturbs is over in the quiet phase.
    pub(super) fn request(&mut self, request: Request) -> Result<(), Failure> {
        if self.quiet && self.disturbs(&request) {
            return Ok(());
        }
        self.send(request)
    }

    /// A request may come twice; asked again later, it comes once.
    fn twice(&mut self, request: &Request) -> Result<(), Failure> {
        let site = self.site("client", request.agent, "");
        let per_mille = self.often(self.scenario.faults.request_twice);
        let faults = &self.scenario.faults;
        if !self.quiet
            && request.repeatable()
            && self.injector.strikes(faults, &mut *self.choices, site, "twice", per_mille)
        {
            if per_mille == 1_000 {
                self.injector.saw("everything twice");
            }
            self.request(request.clone())?;
        }
        Ok(())
    }

    /// How often something comes twice now, where it would so often.
    pub(super) fn often(&self, per_mille: u32) -> u32 {
        if self.scenario.faults.ill(Ill::Twice, self.at) { 1_000 } else { per_mille }
    }

    pub(super) fn send(&mut self, request: Request) -> Result<(), Failure> {
        self.saw_shutdown(&request);
        if self.life.host.is_none() || self.life.leaving {
            self.plan(self.at + AGAIN, request.agent, Happening::Request(request));
            return Ok(());
        }
        if self.life.writer.is_stalled() && !request.urgent() {
            // The driver refuses it by itself: the core never hears of it.
            self.injector.saw("a full disk refuses an input");
            self.checks.say("D10");
            if request.repeatable() {
                self.plan(self.at + 10 * AGAIN, request.agent, Happening::Request(request));
            }
            return Ok(());
        }
        let disturbs = match request.agent {
            0 => !self.outside.inflight.is_empty(),
            agent => self.outside.at_work(&ingress::agent_id(agent)).next().is_some(),
        };
        let meets = self.stop_meets(&request);
        let waiting = Waiting { request: request.clone(), since: self.at, disturbs, meets };
        let reply = self.outside.clients.send(waiting);
        match ingress::input(&request, Seed(self.scenario.seed), reply) {
            Some(input) if input.agent().is_some_and(|agent| self.outside.lost.contains(agent)) => {
                // The driver says so itself.
                self.outside.clients.waiting.remove(&reply);
                Ok(())
            }
            Some(input) => self.input(input),
            None => Ok(()),
        }
    }

    /// A performer is done; one of an earlier life is heard of only now and then.
    pub(super) fn completed(
        &mut self,
        agent: &AgentId,
        op: OpId,
        outcome: Outcome,
        life: u64,
    ) -> Result<(), Failure> {
        if self.outside.lost.contains(agent) {
            return Ok(());
        }
        if life != self.life.number {
            let number = self.number(agent);
            let site = self.site("ghost", number, "speaks");
            if self.choices.below(site, 2) == 0 {
                return Ok(());
            }
            self.injector.saw("outcome of an earlier life");
        } else {
            self.outside.inflight.remove(&(agent.clone(), op));
        }
        let runs = self.checks.agents().get(agent).is_some_and(|agent| agent.run.is_some());
        if self.witness.was_aborted(agent, op) && runs {
            self.injector.saw("an outcome of an aborted run comes during the next");
        }
        self.input(Input::Completed { agent: agent.clone(), op, outcome })
    }

    /// One input, and as many further steps as the core asks for.
    pub(super) fn input(&mut self, input: Input) -> Result<(), Failure> {
        if self.life.host.is_none() {
            return Ok(());
        }
        self.bring_in(&input)?;
        let now = self.now();
        self.call(Call::Step { now, input })?;
        self.follow_up()
    }

    pub(super) fn follow_up(&mut self) -> Result<(), Failure> {
        while self.life.more && self.life.host.is_some() {
            let now = self.now();
            self.call(Call::Step { now, input: Input::Tick })?;
        }
        self.load_absent()?;
        // Looks at every command are as rare as there are many.
        let rare = 1 + self.outside.supervised.len() as u64 / CROWD;
        if self.options.judges == Judges::All && self.counts.steps.is_multiple_of(rare) {
            self.nobody_is_orphaned(false)?;
        }
        self.park_some()?;
        self.arm();
        Ok(())
    }

    /// Makes a call, puts it on the disk, and judges it.
    pub(super) fn call(&mut self, call: Call) -> Result<(), Failure> {
        self.call_with(call, &Ends::new())
    }

    /// A call that must tell of these ends of commands.
    pub(super) fn call_with(&mut self, call: Call, ends: &Ends) -> Result<(), Failure> {
        let asked = self.may_begin(&call);
        let Some(host) = &mut self.life.host else { return Ok(()) };
        let open = self.checks.totals.open + new_calls(&call);
        let (now, step) = match &call {
            Call::Step { now, input } => (*now, host.step(*now, input.clone())),
            Call::Recover { now, agent, report } => (*now, host.recover(*now, agent, report.clone())),
            Call::RuntimeStarted { .. } | Call::Admit { .. } | Call::Park { .. } | Call::Copy { .. } => {
                return Ok(());
            }
        };
        self.life.more = step.more();
        if self.options.sabotage != Some(Sabotage::LoseTexts) {
            self.disk.keep_texts(&step);
        }
        let mut row = Row { call, step: Some(step.seq()), records: step.records().to_vec(), effects: None };
        let torn = self.tamper(&mut row.records);
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        if torn {
            self.disk.accept(row);
            self.disk.sync();
            return self.crash();
        }
        self.witness.row(&row, &mut self.injector);
        if self.options.judges == Judges::All {
            self.tasks_are_told(&row.call, &row.records)?;
            if let Some(asked) = asked {
                self.begins_or_not(asked, &row.records)?;
            }
            let Some(host) = &self.life.host else { return Ok(()) };
            self.checks.due.loads(|agent| host.view().agent(agent).is_some());
            self.life.armed.step(&row.records, &self.checks.due, now, host.config());
            self.checks.time(&row, now, self.at)?;
            self.checks.cost(&row, open)?;
            let config = self.scenario.config_of(self.life.number).clone();
            if row.records.iter().any(|record| patience::spread(record, &config)) {
                self.injector.saw("a wait is spread");
            }
            command::judge(ends, &row.records)?;
            // An agent that is not recovered yet is nobody's to wake.
            let settled = self.life.recovered && !step.more();
            self.checks.fair(host, &row)?;
            self.checks.keys(host, &row)?;
            // Looks at everybody are as rare as there are many.
            if settled {
                self.checks.looks_in_time(host, &self.life.armed, now)?;
            }
            let rare = 1 + self.checks.agents().len() as u64 / CROWD;
            if self.counts.steps.is_multiple_of(rare) {
                self.checks.live(host, settled)?;
            }
            if self.counts.steps.is_multiple_of(8 * rare) {
                self.checks.fold_is_live(host)?;
                self.checks.readers(host)?;
            }
        }
        let through = step.seq();
        let urgent = matches!(&row.call, Call::Step { input, .. } if input.is_urgent());
        if self.options.moments {
            self.counts.stepped.entry(self.at).or_insert_with(|| whose(&row.call));
        }
        self.disk.accept(row);
        self.life.pending.push_back((step, std::mem::take(&mut self.checks.due)));
        self.count()?;
        if self.boundary()? {
            return Ok(());
        }
        self.snapshot();
        self.write(through, urgent)
    }

    fn count(&mut self) -> Result<(), Failure> {
        self.counts.steps += 1;
        self.counts.at_once += 1;
        if self.counts.at_once == 24 {
            self.injector.saw("many things at one instant");
        }
        if self.counts.steps > self.scenario.budget {
            let problem = format!("more than {} steps", self.scenario.budget);
            return Err(Failure { kind: Kind::Budget, law: "budget".into(), problem });
        }
        if self.counts.at_once > AT_ONCE {
            return Err(liveness("T7", format!("more than {AT_ONCE} steps at one moment")));
        }
        Ok(())
    }

    /// Now and then the ledger keeps a snapshot.
    fn snapshot(&mut self) {
        let site = self.site("snapshot", 0, "taken");
        if self.choices.below(site, 6) > 0 {
            return;
        }
        let Some(host) = &self.life.host else { return };
        let agents: Vec<&AgentId> = host.view().agent_ids().collect();
        let Some(agent) = pick(&mut *self.choices, site.about("agent"), &agents) else { return };
        if let Some(mut snapshot) = host.snapshot(agent) {
            if self.options.sabotage == Some(Sabotage::StaleSnapshot) {
                snapshot.agent.next.brief = holon_facts::ids::BriefId(99);
            }
            self.life.writer.snapshots.push(snapshot);
        }
    }

    /// Sets the driver's timer.
    fn arm(&mut self) {
        self.life.wake += 1;
        let own = self.life.host.as_ref().and_then(|host| host.next_deadline()).map(|deadline| deadline.wait);
        if let Some(wait) = own.into_iter().chain(self.absent_wait()).min()
            && self.options.sabotage != Some(Sabotage::LoseWake)
        {
            let at = self.at.saturating_add(wait.0.saturating_mul(1_000));
            let mut at = self.timer(at);
            if self.options.sabotage == Some(Sabotage::Oversleep) && !self.outside.ending.is_empty() {
                at = at.saturating_add(OVERSLEPT);
            }
            self.agenda.plan(at, 0, Happening::Wake(self.life.wake));
        }
    }
}

/// Tool calls that the input brings.
fn new_calls(call: &Call) -> usize {
    match call {
        Call::Step { input: Input::Completed { outcome: Outcome::Answer { answer }, .. }, .. } => {
            answer.blocks.len()
        }
        Call::Step { .. }
        | Call::RuntimeStarted { .. }
        | Call::Admit { .. }
        | Call::Park { .. }
        | Call::Copy { .. }
        | Call::Recover { .. } => 0,
    }
}

/// The agent that a call is about.
fn whose(call: &Call) -> Option<AgentId> {
    match call {
        Call::Step { input, .. } => input.agent().cloned(),
        Call::Recover { agent, .. } => Some(agent.clone()),
        Call::RuntimeStarted { .. } | Call::Admit { .. } | Call::Park { .. } | Call::Copy { .. } => None,
    }
}
