//! Commands and their supervisors: separate processes that survive a crash. A supervisor without a start signal
//! executes nothing; a command that has begun runs until it ends, with a record of its end, or is lost. Each start
//! probes the supervisors, watches commands that still run, and must show the model the reported ends.

use std::collections::BTreeMap;

use holon_core::recovery::{Found, FoundCommand, RecoveryReport};
use holon_facts::event::OperationFact;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::outcome::{CommandSpec, SupervisorIdentity, ToolOutcome};
use holon_facts::{AgentId, Event, OpId, Outcome, Record};
use serde::Serialize;

use super::situation::{Setting, Situation};
use super::{Ending, Move, Pot, Sabotage};
use crate::failure::{Failure, ensure};
use crate::tools::Up;
use crate::world::command::{Ends, check_ends};

/// The operation of a performer.
#[derive(Debug, Clone)]
pub(super) struct Working {
    pub(super) agent: u8,
    pub(super) op: OpId,
    pub(super) kind: OpKind,
    /// The command was asked to end.
    pub(super) asked: bool,
    /// What its supervisor will execute, if it reports that.
    spec: Option<CommandSpec>,
}

/// A supervisor.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Supervised {
    identity: SupervisorIdentity,
    command: Command,
    #[serde(skip)]
    op: Option<OpId>,
}

/// How far a supervisor has come with its command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
enum Command {
    /// Waits for the start signal.
    Waits,
    /// The process that could have sent the start signal has died.
    NeverBegan,
    Runs,
    Ended(Box<ToolOutcome>),
    /// Neither the supervisor nor a record of the end is left.
    Lost,
}

/// The probe results of a start, and the true state of the commands.
pub(super) struct Asked {
    pub(super) report: RecoveryReport,
    found: BTreeMap<OpId, Found>,
}

impl Working {
    /// The identity of the supervisor. Its text reads as an id, so that equal situations hash alike.
    pub(super) fn supervisor(&self) -> SupervisorIdentity {
        let (boot_id, socket) = (format!("agent {}", self.agent), self.op.to_string());
        SupervisorIdentity { pid: 1, started: 1, boot_id, socket }
    }

    pub(super) fn new(agent: u8, op: OpId, kind: OpKind) -> Self {
        Self { agent, op, kind, asked: false, spec: None }
    }

    /// The supervisor, and the command that it reports.
    pub(super) fn up(&self) -> Up {
        Up { supervisor: self.supervisor(), command: self.spec.clone() }
    }
}

impl Situation {
    /// Starts a supervisor.
    pub(super) fn prepare(
        &mut self,
        setting: Setting<'_>,
        agent: &AgentId,
        op: OpId,
        command: CommandSpec,
    ) -> Result<(), Failure> {
        self.begin(agent, op, OpKind::PrepareCommand)?;
        let named = (self.number_of(agent), op);
        if let Some(working) = self.outside.at_work.get_mut(&named) {
            working.spec = setting.world.tasks.then_some(command);
            let identity = working.supervisor();
            let supervised = Supervised { identity, command: Command::Waits, op: None };
            self.outside.supervised.insert(named, supervised);
        }
        Ok(())
    }

    /// P6: only a command that was executed is asked to end.
    pub(super) fn asked(&mut self, agent: &AgentId, op: OpId) -> Result<(), Failure> {
        let number = self.number_of(agent);
        // The command may have ended in the same step.
        let mut all = self.outside.supervised.iter();
        let began = all.any(|((of, _), known)| *of == number && known.op == Some(op));
        ensure!(began, "P6", "{op} of {agent} is to end, and was never executed");
        let working = self.outside.at_work.get_mut(&(number, op));
        if let Some(working) = working {
            working.asked = true;
        }
        Ok(())
    }

    /// Drops a command that nobody awaits any more.
    pub(super) fn kill(&mut self, number: u8, op: OpId) {
        let of_op = |known: &Supervised| known.op == Some(op);
        self.outside.supervised.retain(|(agent, _), known| *agent != number || !of_op(known));
    }

    /// P5: a start watches a command that still runs, under the supervisor on record.
    pub(super) fn watch(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        let number = self.number_of(agent);
        let mut all = self.outside.supervised.values();
        let known = all.find(|known| known.identity == *supervisor && known.op == Some(op));
        let goes_on = known.is_some_and(|known| known.command == Command::Runs);
        ensure!(goes_on, "P5", "{op} of {agent} is watched under {supervisor:?}, there is {known:?}");
        ensure!(number > 0, "P5", "{op} of nobody is watched");
        self.begin(agent, op, OpKind::RunCommand)
    }

    /// P5: the start signal is sent once, by the process that started the supervisor, to the supervisor on record.
    pub(super) fn go(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        let number = self.number_of(agent);
        let mut all = self.outside.supervised.iter_mut();
        let known = all.find(|((agent, _), known)| *agent == number && known.identity == *supervisor);
        let known = known.map(|(_, known)| known);
        let waits = known.as_ref().is_some_and(|known| known.command == Command::Waits);
        ensure!(waits, "P5", "{op} of {agent} goes to {supervisor:?}, there is {known:?}");
        if let Some(known) = known {
            (known.command, known.op) = (Command::Runs, Some(op));
        }
        self.begin(agent, op, OpKind::RunCommand)
    }

    /// A command ends, and leaves a record whatever becomes of the process that waits for it.
    pub(super) fn exits(&mut self, number: u8, op: OpId, outcome: &Outcome) {
        let mut all = self.outside.supervised.iter_mut();
        let known = all.find(|((agent, _), known)| *agent == number && known.op == Some(op));
        if let (Some((_, known)), Outcome::Tool { outcome }) = (known, outcome) {
            known.command = Command::Ended(Box::new(outcome.clone()));
        }
    }

    pub(super) fn finish(&mut self, setting: Setting<'_>, number: u8, nth: u8, ending: Ending) {
        self.pay_for(setting, ending);
        let Some(op) = self.nth_supervised(number, nth).and_then(|known| known.op) else { return };
        let working = Working::new(number, op, OpKind::RunCommand);
        self.exits(number, op, &ending.outcome(&working, 0, self.now().wall));
    }

    pub(super) fn lose(&mut self, number: u8, nth: u8) {
        self.pay(Pot::Faults);
        if let Some(known) = self.nth_supervised(number, nth) {
            known.command = Command::Lost;
        }
    }

    fn nth_supervised(&mut self, number: u8, nth: u8) -> Option<&mut Supervised> {
        let mut all = self.outside.supervised.iter_mut().filter(|((agent, _), _)| *agent == number);
        all.nth(nth.into()).map(|(_, known)| known)
    }

    /// The operation of a command by its position, if it runs while the process is down.
    pub(super) fn runs_unobserved(&self, number: u8, nth: u8) -> Option<OpId> {
        let mut all = self.outside.supervised.iter().filter(|((agent, _), _)| *agent == number);
        all.nth(nth.into()).and_then(|(_, known)| known.op).filter(|op| self.runs(number, *op))
    }

    /// The process has died: nobody sends the start signal any more.
    pub(super) fn orphan_supervisors(&mut self) {
        for known in self.outside.supervised.values_mut().filter(|known| known.command == Command::Waits) {
            known.command = Command::NeverBegan;
        }
    }

    /// Drops supervisors that no performer uses and no record names: nobody can probe them.
    pub(super) fn forget_supervisors(&mut self) {
        let mut supervised = std::mem::take(&mut self.outside.supervised);
        supervised.retain(|(number, prepared_in), known| {
            let ops = [Some(*prepared_in), known.op];
            let works = ops.into_iter().flatten().any(|op| self.outside.at_work.contains_key(&(*number, op)));
            let images = self.disk.pending.iter().map(|row| &row.image).chain([&self.disk.durable]);
            works
                || images
                    .flat_map(|image| image.checks.open_commands())
                    .any(|(_, _, supervisor)| supervisor == known.identity)
        });
        self.outside.supervised = supervised;
    }

    /// The commands of an agent that a start has to probe.
    pub(super) fn named(&self, number: u8) -> Vec<(OpId, SupervisorIdentity)> {
        let agent = self.disk.durable.checks.agents().values().nth(usize::from(number) - 1);
        let ops = agent.into_iter().flat_map(|agent| &agent.ops);
        ops.filter_map(|(op, open)| Some((*op, open.supervisor.clone()?))).collect()
    }

    /// Whether a command of an agent runs while the process is down.
    pub(super) fn runs(&self, number: u8, op: OpId) -> bool {
        let mut all = self.outside.supervised.iter();
        let known = all.find(|((agent, _), known)| *agent == number && known.op == Some(op));
        self.host.is_none() && known.is_some_and(|(_, known)| known.command == Command::Runs)
    }

    /// What may happen while the process is down.
    pub(super) fn meanwhile(&self, setting: Setting<'_>) -> Vec<Move> {
        let mut moves = vec![Move::Boot];
        let mut counted = BTreeMap::new();
        for ((number, _), known) in &self.outside.supervised {
            let count = counted.entry(*number).or_insert(0_u8);
            let nth = *count;
            *count += 1;
            if known.command == Command::Runs {
                let ends = setting.world.endings.iter();
                let ends = ends.filter(|(ending, pot)| ending.is_recorded() && self.has(*pot));
                moves.extend(ends.map(|(ending, _)| Move::Finish(*number, nth, *ending)));
            }
            if known.command != Command::Lost && self.has(Pot::Faults) {
                moves.push(Move::Lose(*number, nth));
            }
        }
        moves
    }

    /// Probes the commands that an agent had begun.
    pub(super) fn ask_supervisors(&self, setting: Setting<'_>, number: u8) -> Result<Asked, Failure> {
        let mut asked = Asked { report: RecoveryReport::default(), found: BTreeMap::new() };
        for (op, supervisor) in self.named(number) {
            let mut all = self.outside.supervised.iter();
            let known = all.find(|((of, _), known)| *of == number && known.identity == supervisor);
            ensure!(known.is_some(), "P5", "{op} names {supervisor:?}, whom nobody has brought up");
            let found = match known.map(|(_, known)| &known.command) {
                Some(Command::Ended(outcome)) => Found::Ended { outcome: outcome.clone() },
                Some(Command::NeverBegan | Command::Waits) => Found::NotStarted,
                Some(Command::Runs) => Found::Running,
                Some(Command::Lost) | None => Found::Lost,
            };
            asked.found.insert(op, found.clone());
            if setting.sabotage != Some(Sabotage::ForgetEnd) {
                asked.report.commands.push(FoundCommand::new(op, found));
            }
        }
        Ok(asked)
    }
}

impl Asked {
    /// P5: the end of a command while the process was down is on record, and nothing else is.
    pub(super) fn check_ends(&self, records: &[Record]) -> Result<(), Failure> {
        let mut ends = Ends::new();
        for (op, found) in &self.found {
            let due = match found {
                Found::Ended { outcome } => {
                    ends.insert(*op, (**outcome).clone());
                    Some(Settlement::Done)
                }
                Found::Running => None,
                Found::NotStarted => Some(Settlement::Failed),
                Found::Lost => Some(Settlement::Lost),
            };
            let settled = records.iter().find_map(|record| {
                let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else {
                    return None;
                };
                (fact.op == *op).then_some(fact.settlement)
            });
            ensure!(settled == due, "P5", "{op} was found {found:?}, and settled as {settled:?}");
        }
        check_ends(&ends, records)
    }
}
