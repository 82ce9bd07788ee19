//! The driver: an input becomes a call, the call a row, the row waits for the disk, then its effects leave.

use holon_core::replay::Call;
use holon_core::{AgentId, Input, OpId, Outcome};

use super::agenda::Happening;
use super::command::{self, Ends};
use super::{Sabotage, World};
use crate::disk::Row;
use crate::failure::{Failure, Kind, liveness};
use crate::ingress::{self, Request, Waiting};
use crate::scenario::Action;

/// The driver runs ahead of the disk by no more steps than this.
const AHEAD: usize = 256;
/// More steps than this at one moment are a hot loop.
const AT_ONCE: u64 = 5_000;
/// A client that reached nobody tries again after so long.
const AGAIN: u64 = 100_000;

impl World<'_> {
    /// An input of the scenario is due.
    pub(super) fn arrive(&mut self, index: usize) -> Result<(), Failure> {
        let Some(timed) = self.scenario.inputs.get(index) else { return Ok(()) };
        match &timed.action {
            Action::ClockJump { micros } => {
                self.skew = self.skew.saturating_add(*micros);
                self.injector.saw(if *micros < 0 { "clock goes back" } else { "clock goes forward" });
                self.trace.note(self.at, &format!("the wall clock jumps by {micros} µs"));
                Ok(())
            }
            Action::Tick => self.input(Input::Tick),
            Action::Create
            | Action::Message(_)
            | Action::Start
            | Action::Stop
            | Action::Abort { .. }
            | Action::Restart => {
                let request = Request { agent: timed.agent, action: timed.action.clone() };
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

    pub(super) fn send(&mut self, request: Request) -> Result<(), Failure> {
        if self.life.host.is_none() {
            self.plan(self.at + AGAIN, request.agent, Happening::Request(request));
            return Ok(());
        }
        let disturbs = match request.agent {
            0 => !self.outside.inflight.is_empty(),
            agent => self.outside.inflight.contains_key(&ingress::agent_id(agent)),
        };
        let reply = self.outside.clients.send(Waiting { request: request.clone(), since: self.at, disturbs });
        match ingress::input(&request, reply) {
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
        if life != self.life.number {
            let number = self.number(agent);
            let site = self.site("ghost", number, "speaks");
            if self.choices.below(site, 2) == 0 {
                return Ok(());
            }
            self.injector.saw("outcome of an earlier life");
        } else if self.outside.inflight.get(agent) == Some(&op) {
            self.outside.inflight.remove(agent);
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
        let Some(host) = &mut self.life.host else { return Ok(()) };
        let (now, step) = match &call {
            Call::Step { now, input } => (*now, host.step(*now, input.clone())),
            Call::Recover { now, agent, report } => (*now, host.recover(*now, agent, report.clone())),
            Call::RuntimeStarted { .. } | Call::Admit { .. } | Call::Park { .. } => return Ok(()),
        };
        self.life.more = step.more();
        let mut row = Row { call, step: Some(step.seq()), records: step.records().to_vec(), effects: None };
        if self.options.sabotage == Some(Sabotage::DuplicateRecord) && row.records.len() > 4 {
            row.records.push(row.records[0].clone());
        }
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        self.checks.time(&row, now, self.at)?;
        command::judge(ends, &row.records)?;
        // An agent that is not recovered yet is nobody's to wake.
        let settled = self.life.recovered && !step.more();
        self.checks.live(host, settled)?;
        if self.counts.steps.is_multiple_of(8) {
            self.checks.fold_is_live(host)?;
        }
        self.disk.accept(row);
        self.life.pending.push_back(step);
        self.count()?;
        if self.boundary()? {
            return Ok(());
        }
        self.snapshot();
        if self.scenario.faults.sync == 0 || self.life.pending.len() >= AHEAD {
            return self.sync();
        }
        if !self.life.syncing {
            self.life.syncing = true;
            self.agenda.plan(self.at + self.scenario.faults.sync, 0, Happening::Sync(self.life.number));
        }
        if self.options.sabotage == Some(Sabotage::ReleaseEarly) {
            return self.release(self.disk.attest(self.disk.last_step()));
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Failure> {
        self.counts.steps += 1;
        self.counts.at_once += 1;
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
        let agent = self.choices.below(site.about("agent"), self.scenario.agents) + 1;
        let Some(host) = &self.life.host else { return };
        if let Some(mut snapshot) = host.snapshot(&ingress::agent_id(agent)) {
            if self.options.sabotage == Some(Sabotage::StaleSnapshot) {
                snapshot.agent.next.brief = holon_core::ids::BriefId(99);
            }
            self.disk.keep_snapshot(snapshot);
        }
    }

    /// The disk is done; effects leave in the order of their steps.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        self.life.syncing = false;
        let durable = self.disk.sync();
        if self.boundary()? {
            return Ok(());
        }
        self.release(durable)
    }

    fn release(&mut self, durable: holon_core::Durable) -> Result<(), Failure> {
        while let Some(step) = self.life.pending.pop_front() {
            let seq = step.seq();
            let effects = step.release(durable);
            let told = effects.iter().any(|effect| matches!(effect, holon_core::Effect::Reply { .. }));
            self.disk.released(seq, &effects, told);
            for effect in effects {
                self.trace.effect(&effect);
                self.perform(effect, seq)?;
                if self.boundary()? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sets the driver's timer.
    fn arm(&mut self) {
        self.life.wake += 1;
        let deadline = self.life.host.as_ref().and_then(|host| host.next_deadline());
        if let Some(deadline) = deadline
            && self.options.sabotage != Some(Sabotage::LoseWake)
        {
            let at = self.at.saturating_add(deadline.wait.0.saturating_mul(1_000));
            self.agenda.plan(at, 0, Happening::Wake(self.life.wake));
        }
    }
}
