//! The driver at work: each batch of its engine becomes a row, the row waits for the disk, then its effects leave.

use std::mem;

use holon_core::Input;
use holon_core::replay::Call;
use holon_driver::{EngineError, Whose};
use holon_facts::ids::BriefId;
use holon_facts::{AgentId, Outcome};

use super::agenda::Happening;
use super::command::{self, Ends};
use super::{Engine, World};
use crate::disk::Row;
use crate::disk::group::DiskError;
use crate::failure::{Failure, Kind, liveness, safety};
use crate::options::{Judges, Sabotage};
use crate::retries;

/// More steps than this at one moment are a hot loop.
const AT_ONCE: u64 = 5_000;
/// For each so many agents or commands, full checks are one step rarer.
const MANY: u64 = 64;
/// How late a sabotaged timer rings.
const OVERSLEPT: u64 = 3_600_000_000;

/// The driver can't go on.
pub(super) fn ends(error: EngineError<DiskError>) -> Failure {
    safety("D3", error.to_string())
}

impl World<'_> {
    /// One input, and as many further steps as the core asks for.
    pub(super) fn input(&mut self, input: Input) -> Result<(), Failure> {
        if let Some(agent) = input.agent() {
            // An agent that can't be loaded takes no inputs.
            if self.life.engine.is_none() || self.bring_in(agent, true)?.is_err() {
                return Ok(());
            }
        }
        let now = self.now();
        self.steps(&Ends::new(), |engine| engine.step(now, input))
    }

    /// A call of the engine that must report these ends of commands, and as many further steps as the core asks for.
    pub(super) fn steps(
        &mut self,
        reported: &Ends,
        call: impl FnOnce(&mut Engine) -> Result<bool, EngineError<DiskError>>,
    ) -> Result<(), Failure> {
        let Some(engine) = &mut self.life.engine else { return Ok(()) };
        let mut more = call(engine).map_err(ends)?;
        self.take_over(more, reported)?;
        let now = self.now();
        while let Some(engine) = self.life.engine.as_mut().filter(|_| more) {
            more = engine.step(now, Input::Tick).map_err(ends)?;
            self.take_over(more, &Ends::new())?;
        }
        Ok(())
    }

    /// Checks what the engine has handed over, and gives it to the writer.
    pub(super) fn take_over(&mut self, more: bool, reported: &Ends) -> Result<(), Failure> {
        while let Some(mut group) =
            self.life.engine.as_mut().and_then(|engine| engine.writer().sent.pop_front())
        {
            if self.options.sabotage != Some(Sabotage::LoseTexts) {
                self.disk.get_mut().keep_texts(mem::take(&mut group.texts));
            }
            if self.options.sabotage == Some(Sabotage::StaleSnapshot) {
                group.snapshots.values_mut().for_each(|snapshot| snapshot.agent.next.brief = BriefId(99));
            }
            for row in mem::take(&mut group.fresh) {
                let goes_on =
                    if row.step.is_some() { self.step(row, more, reported)? } else { self.note(row)? };
                if !goes_on {
                    return Ok(());
                }
            }
            let sabotage = self.options.sabotage;
            self.life.writer.push(group, self.at, sabotage);
            if self.options.sabotage == Some(Sabotage::ReleaseEarly) {
                self.release_early()?;
            }
            if !self.life.writer.stalls_and(sabotage, Sabotage::DeafWriter) {
                self.go_on_writing()?;
            }
        }
        Ok(())
    }

    /// A call that is not a step.
    fn note(&mut self, row: Row) -> Result<bool, Failure> {
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        match &row.call {
            Call::Admit { agent, .. } => drop(self.checks.parked.remove(agent)),
            Call::Park { agent } => {
                self.injector.saw("agent parked");
                let parked = self.checks.agents().get(agent).cloned();
                self.checks.parked.extend(parked.map(|parked| (agent.clone(), parked)));
            }
            Call::Step { .. }
            | Call::Recover { .. }
            | Call::RuntimeStarted { .. }
            | Call::Copy { .. }
            | Call::AgentsLeft { .. } => {}
        }
        self.disk.get_mut().accept(row);
        Ok(true)
    }

    /// Checks a step and puts it on the disk; returns whether the process survived that.
    fn step(&mut self, mut row: Row, more: bool, reported: &Ends) -> Result<bool, Failure> {
        let asked = self.may_begin(&row.call);
        let open = self.checks.totals.open + new_calls(&row.call);
        let torn = self.tamper(&mut row);
        self.trace.row(&row, self.at);
        self.checks.row(&row)?;
        if torn {
            self.disk.get_mut().accept(row);
            self.disk.get_mut().sync();
            return self.crash().map(|()| false);
        }
        self.witness.row(&row, &mut self.injector);
        self.keys_are_refused(&row.records);
        if self.options.judges == Judges::All {
            self.check_tasks(&row.call, &row.records)?;
            if let Some(asked) = asked {
                self.begins_or_not(asked, &row.records)?;
            }
            command::check_ends(reported, &row.records)?;
            self.compare(&row, more, open)?;
        }
        if self.options.moments {
            self.counts.stepped.entry(self.at).or_insert_with(|| whose(&row.call));
        }
        self.disk.get_mut().accept(row);
        self.life.due.push_back(mem::take(&mut self.checks.due));
        self.count()?;
        Ok(!self.boundary()?)
    }

    /// Compares the records of a step with the live host.
    fn compare(&mut self, row: &Row, more: bool, open: usize) -> Result<(), Failure> {
        let (Some(host), Some(now)) = (self.life.engine.as_ref().map(Engine::host), moment(&row.call)) else {
            return Ok(());
        };
        self.checks.due.loads(|agent| host.view().agent(agent).is_some());
        let config = self.scenario.config_of(self.life.number);
        self.life.armed.step(row, &self.checks.due, now, config)?;
        self.checks.say_often("E1", mem::take(&mut self.life.armed.checked));
        self.checks.time(row, now, self.at)?;
        self.checks.cost(row, open)?;
        if row.records.iter().any(|record| retries::spread(record, config)) {
            self.injector.saw("a wait is spread");
        }
        // Nobody wakes an agent that is not recovered yet.
        let settled = self.life.recovered && !more;
        self.checks.fair(host, row)?;
        self.checks.keys(host, row)?;
        if settled {
            self.checks.looks_in_time(host, &self.life.armed, now)?;
        }
        // The more agents there are, the rarer are checks over all of them.
        let rare = 1 + self.checks.agents().len() as u64 / MANY;
        if self.counts.steps.is_multiple_of(rare) {
            self.checks.live(host, settled)?;
        }
        if self.counts.steps.is_multiple_of(8 * rare) {
            self.checks.fold_is_live(host)?;
            self.checks.readers(host)?;
        }
        Ok(())
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

    /// What a driver does between two happenings: it loads agents that are needed, evicts idle ones, and sets its
    /// timer.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        if self.life.engine.is_none() || !self.life.recovered {
            return Ok(());
        }
        self.load_wanted()?;
        // The more commands there are, the rarer are checks over all of them.
        let rare = 1 + self.outside.supervised.len() as u64 / MANY;
        if self.options.judges == Judges::All && self.counts.steps.is_multiple_of(rare) {
            self.nobody_is_orphaned(false)?;
        }
        self.evict_some()?;
        self.arm();
        Ok(())
    }

    /// The driver's timer rings.
    pub(super) fn rings(&mut self, whose: Whose) -> Result<(), Failure> {
        self.life.alarm = None;
        match (whose, &mut self.life.engine) {
            (Whose::Host, _) => self.input(Input::Tick),
            (Whose::Absent, Some(engine)) => {
                engine.absent_is_due();
                Ok(())
            }
            (Whose::Absent, None) => Ok(()),
        }
    }

    /// Sets the driver's timer after a step, or where something is due sooner than it rings.
    fn arm(&mut self) {
        let clock = self.now().mono;
        let deadline = self.life.engine.as_ref().and_then(|engine| engine.deadline(clock));
        let lost = |whose| match self.options.sabotage {
            Some(Sabotage::LoseWake) => true,
            Some(Sabotage::ForgetAbsent) => whose == Whose::Absent,
            Some(_) | None => false,
        };
        let Some((wait, whose)) = deadline.filter(|(_, whose)| !lost(*whose)) else {
            self.life.alarm = None;
            self.life.wake += 1;
            return;
        };
        let at = self.at.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        let stepped = mem::replace(&mut self.life.armed_after, self.counts.steps) != self.counts.steps;
        // A wait is rounded up to its unit, so the same moment gets a little later with each calculation.
        let same = |(known, of): (u64, Whose)| of == whose && known <= at && at - known < 1_000;
        if !stepped && self.life.alarm.is_some_and(same) {
            return;
        }
        self.life.alarm = Some((at, whose));
        self.life.wake += 1;
        let mut at = self.timer(at);
        if self.options.sabotage == Some(Sabotage::Oversleep) && !self.outside.ending.is_empty() {
            at = at.saturating_add(OVERSLEPT);
        }
        self.agenda.plan(at, 0, Happening::Wake { number: self.life.wake, whose });
    }
}

/// When a step was made.
fn moment(call: &Call) -> Option<holon_facts::Now> {
    match call {
        Call::Step { now, .. } | Call::Recover { now, .. } => Some(*now),
        Call::RuntimeStarted { .. }
        | Call::Admit { .. }
        | Call::Park { .. }
        | Call::Copy { .. }
        | Call::AgentsLeft { .. } => None,
    }
}

/// Tool calls in the input.
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
        | Call::AgentsLeft { .. }
        | Call::Recover { .. } => 0,
    }
}

/// The agent that a call is about.
fn whose(call: &Call) -> Option<AgentId> {
    match call {
        Call::Step { input, .. } => input.agent().cloned(),
        Call::Recover { agent, .. } => Some(agent.clone()),
        Call::RuntimeStarted { .. }
        | Call::Admit { .. }
        | Call::Park { .. }
        | Call::Copy { .. }
        | Call::AgentsLeft { .. } => None,
    }
}
