//! The end of a run: everything is at rest, and the ledger replays to the same state.

use holon_core::host::Host;
use holon_core::recovery::RecoveryReport;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::decision::DecisionReason;
use holon_facts::event::SchedulingFact;
use holon_facts::event::scheduling::HoldCause;
use holon_facts::ids::{EventSeq, Seed};
use holon_facts::{AgentId, Event, Record};

use super::{World, replay};
use crate::failure::{Failure, ensure, liveness, safety};
use crate::ingress::agent_id;
use crate::options::{Judges, Sabotage};
use crate::{readers, supervision};

impl World<'_> {
    pub(super) fn at_the_end(&mut self) -> Result<(), Failure> {
        ensure!(self.life.engine.is_some(), "V7", "the process is down at the end");
        self.saw_late_outcomes();
        let waits = self.disk.get().unsynced();
        ensure!(waits == 0, "D13", "{waits} rows were handed over and never became durable");
        let now = self.now().mono;
        let due = self.life.engine.as_ref().and_then(|engine| engine.deadline(now));
        self.bring_everybody_in()?;
        let waiting = self.outside.clients.waiting.iter().next();
        ensure!(waiting.is_none(), "V6", "nobody answered {waiting:?}");
        if self.options.judges == Judges::Laws {
            return Ok(());
        }
        self.all_is_done()?;
        if due.is_some() {
            return Err(liveness("V1", format!("the world stands still, and something is due: {due:?}")));
        }
        let open = self.outside.inflight.iter().next();
        ensure!(open.is_none(), "P6", "{open:?} is neither finished nor cancelled");
        self.nobody_is_orphaned(true)?;
        self.strangers_are_left_alone()?;
        let active = self.checks.agents().values().find_map(|agent| agent.tasks.active().next());
        ensure!(active.is_none(), "V9", "{active:?} never ended");
        let left = supervision::alive(self.checks.agents(), &self.disk.get().damaged);
        ensure!(left.is_none(), "C7", "{left:?} is left of a family");
        // Nobody removes worktrees whose records a lost sync took.
        if self.scenario.faults.sync_lies == 0 {
            let checked = self.outside.trees.check(self.checks.agents(), self.options.sabotage)?;
            self.checks.say_often("O6", checked);
        }
        if let Some(host) = self.life.host() {
            self.checks.fold_is_live(host)?;
            self.checks.small(host)?;
            let misread = self.options.sabotage == Some(Sabotage::Misread);
            let logs = self.disk.get().logs();
            for agent in host.view().agent_ids() {
                let log = logs.get(agent).map_or(&[][..], Vec::as_slice);
                readers::past(host, agent, log, misread)?;
            }
        }
        self.checks.snapshots(&self.disk.get())?;
        self.snapshots_anywhere()?;
        self.recover_again()?;
        self.messages_are_taken_once()?;
        self.checks.say("V1");
        self.checks.say("D6");
        if self.options.no_replay { Ok(()) } else { replay::check(&self.disk.get(), self.options.sabotage) }
    }

    /// D7 for a snapshot of a drawn agent at a drawn position.
    fn snapshots_anywhere(&mut self) -> Result<(), Failure> {
        let agents = self.disk.get().agents();
        let site = self.site("snapshot", 0, "of whom");
        let drawn = self.choices.below(site, u32::try_from(agents.len()).unwrap_or(u32::MAX).max(1));
        if let Some((agent, last)) = agents.into_iter().nth(drawn as usize) {
            let site = self.site("snapshot", self.number(&agent), "anywhere");
            let at = 1 + u64::from(self.choices.below(site, u32::try_from(last.0).unwrap_or(u32::MAX)));
            let log = self.disk.get().log(&agent, EventSeq(0));
            let (before, after) = log.split_at(usize::try_from(at).unwrap_or(usize::MAX).min(log.len()));
            self.checks.snapshot_at(before, after)?;
            // A copy ends at the end of a step.
            let next = after.first().map(|record| record.step);
            let whole = before.partition_point(|record| Some(record.step) != next);
            self.copied(&before[..whole])?;
        }
        Ok(())
    }

    /// D7: a copy of the log up to there is the same agent under another name, and can be recovered.
    fn copied(&mut self, log: &[Record]) -> Result<(), Failure> {
        if log.is_empty() {
            return Ok(());
        }
        let config = self.scenario.config_of(self.life.number).clone();
        let mut host = Host::new(config, Seed(self.scenario.seed))
            .map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(self.disk.get().last_step());
        host.resume_accounts(self.checks.accounts());
        let name = agent_id(self.scenario.agents + 1);
        let rename = |record: &Record| Record { agent: name.clone(), ..record.clone() };
        let step = host.copy(log.iter().map(rename).collect());
        host.admit(None, step.records().to_vec()).map_err(|error| safety("D7", error.to_string()))?;
        let through = host.view().agent(&name).map(|agent| agent.event_seq);
        ensure!(through == log.last().map(|record| record.event_seq), "D7", "a copy ends at {through:?}");
        drop(host.recover(self.now(), &name, RecoveryReport::default()));
        host.check().map_err(|violation| safety("G2", violation.to_string()))
    }

    /// D8: recovery of an agent at rest records nothing, however often it runs. Exceptions: a start tries once what
    /// waits for a key, and decides again where a shutdown was in the way.
    fn recover_again(&mut self) -> Result<(), Failure> {
        let config = self.scenario.config_of(self.life.number).clone();
        let mut host = Host::new(config, Seed(self.scenario.seed))
            .map_err(|error| safety("scenario", error.to_string()))?;
        host.resume_after(self.disk.get().last_step());
        host.resume_accounts(self.checks.accounts());
        let agents = self.disk.get().agents();
        for agent in agents.keys() {
            let Some(live) = self.life.host().and_then(|host| host.view().agent(agent)) else {
                continue;
            };
            let mut snapshot = AgentSnapshot::of(live);
            if self.options.sabotage == Some(Sabotage::StaleRecovery) {
                snapshot.agent.last_decision = None;
                snapshot.agent.status = holon_facts::lifecycle::Status::AwakeIdle;
            }
            host.admit(Some(snapshot), []).map_err(|error| safety("D8", error.to_string()))?;
        }
        for agent in agents.keys().chain(agents.keys()) {
            let live = host.view().agent(agent);
            let hold = live.and_then(|agent| agent.hold.as_ref());
            let waits_for_a_key = hold.is_some_and(|hold| hold.cause == HoldCause::Credentials);
            let decision = live.and_then(|agent| agent.last_decision.as_ref());
            let drained = decision.is_some_and(|decision| decision.reason == DecisionReason::Draining);
            let step = host.recover(self.now(), agent, RecoveryReport::default());
            let tried = |record: &&Record| {
                waits_for_a_key && matches!(record.event, Event::Scheduling(SchedulingFact::HoldEnded(_)))
                    || drained && record.event.kind() == "scheduler_decision"
            };
            let mut records =
                step.records().iter().skip_while(|record| record.event.kind() == "clock_stepped");
            if records.clone().next().as_ref().is_some_and(tried) {
                continue;
            }
            let record = records.next();
            self.checks.say("D8");
            ensure!(record.is_none(), "D8", "{agent} was at rest, and its recovery records {record:?}");
        }
        Ok(())
    }

    /// Whether the agent waits for an operator to raise its budget, which nobody does any more.
    pub(super) fn waits_for_budget(&self, id: &AgentId) -> bool {
        let hold = self.checks.agents().get(id).and_then(|agent| agent.hold.as_ref());
        hold.is_some_and(|hold| hold.until.is_none())
    }

    /// V2, V5: every message has ended, except those of stopped agents whose performers are dead, and of agents that
    /// wait for a higher budget.
    pub(super) fn all_is_done(&mut self) -> Result<(), Failure> {
        for number in 1..=self.scenario.agents {
            let id = agent_id(number);
            if self.waits_for_budget(&id) {
                continue;
            }
            let unreported = self.checks.reference.undelivered_task(&id);
            let timer = self.checks.reference.undelivered_timer(&id);
            ensure!(timer.is_none(), "W5", "nobody told {id} that {timer:?} has fired");
            ensure!(unreported.is_none(), "P2", "nobody told {id} of the end of {unreported:?}");
            if self.scenario.faults.dies(number) {
                let stopped = self.checks.reference.stopped(&id) != Some(false);
                // An agent created after its final stop has nothing to wait for.
                let waits = self.checks.reference.unfinished(&id).is_some();
                ensure!(stopped || !waits, "V5", "{id} waits for the dead and has not stopped");
            } else if let Some(message) = self.checks.reference.unfinished(&id) {
                return Err(liveness("V2", format!("{message} of {id} never came to an end")));
            }
        }
        self.checks.say("V2");
        Ok(())
    }
}
