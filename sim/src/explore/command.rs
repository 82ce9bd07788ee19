//! Commands and their supervisors: other processes than the one that crashes. A supervisor that never had the
//! word executes nothing; a command that has begun comes to an end of its own, with a record of it, or is lost.
//! Each start waits for what still runs, asks, and must tell the model what it was told.

use std::collections::BTreeMap;

use holon_core::event::OperationFact;
use holon_core::event::operation::{OpKind, Settlement};
use holon_core::host::{Found, FoundCommand, RecoveryReport};
use holon_core::outcome::{SupervisorIdentity, ToolOutcome};
use holon_core::{AgentId, Event, OpId, Outcome, Record};
use serde::Serialize;

use super::situation::{Setting, Situation};
use super::{Ending, Move, Pot, Sabotage};
use crate::failure::{Failure, ensure};
use crate::world::command::{Ends, judge};

/// What a performer is at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Working {
    pub(super) agent: u8,
    pub(super) op: OpId,
    pub(super) kind: OpKind,
}

/// A supervisor; an agent has one at a time.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Supervised {
    identity: SupervisorIdentity,
    command: Command,
}

/// How far a supervisor has come with its command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
enum Command {
    /// It waits for the word.
    Waits,
    /// Whoever could have given the word has died.
    NeverBegan,
    Runs,
    Ended(Box<ToolOutcome>),
    /// Neither the supervisor nor a record of the end is there.
    Lost,
}

/// What supervisors say at a start, and what is true of them.
pub(super) struct Asked {
    pub(super) report: RecoveryReport,
    found: BTreeMap<OpId, Found>,
}

impl Working {
    /// Who comes up, or would. The text is read as an id, so that equal situations are seen as equal.
    pub(super) fn supervisor(&self) -> SupervisorIdentity {
        let (boot_id, socket) = (format!("agent {}", self.agent), self.op.to_string());
        SupervisorIdentity { pid: 1, started: 1, boot_id, socket }
    }

    pub(super) fn supervised(&self) -> Supervised {
        Supervised { identity: self.supervisor(), command: Command::Waits }
    }
}

impl Situation {
    /// P5: the word is given once, by whoever brought the supervisor up, to the one that the record names.
    pub(super) fn go(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        let number = self.number_of(agent);
        let known = self.outside.supervised.get_mut(&number).filter(|known| known.identity == *supervisor);
        let waits = known.as_ref().is_some_and(|known| known.command == Command::Waits);
        ensure!(waits, "P5", "{op} of {agent} goes to {supervisor:?}, there is {known:?}");
        if let Some(known) = known {
            known.command = Command::Runs;
        }
        self.begin(agent, op, OpKind::RunCommand)
    }

    /// A command comes to its end, and that is on record whatever becomes of the process that waits for it.
    pub(super) fn exits(&mut self, number: u8, outcome: &Outcome) {
        if let Some(known) = self.outside.supervised.get_mut(&number)
            && let Outcome::Tool { outcome } = outcome
        {
            known.command = Command::Ended(Box::new(outcome.clone()));
        }
    }

    pub(super) fn finish(&mut self, setting: Setting<'_>, number: u8, ending: Ending) {
        self.pay_for(setting, ending);
        let working = Working { agent: number, op: OpId(0), kind: OpKind::RunCommand };
        self.exits(number, &ending.outcome(&working, 0, self.now().wall));
    }

    pub(super) fn lose(&mut self, number: u8) {
        self.pay(Pot::Faults);
        if let Some(known) = self.outside.supervised.get_mut(&number) {
            known.command = Command::Lost;
        }
    }

    /// The process has died: nobody will give the word any more.
    pub(super) fn orphan_supervisors(&mut self) {
        for known in self.outside.supervised.values_mut().filter(|known| known.command == Command::Waits) {
            known.command = Command::NeverBegan;
        }
    }

    /// Nobody can ask for a supervisor that nobody works with, and that no record names.
    pub(super) fn forget_supervisors(&mut self) {
        let mut supervised = std::mem::take(&mut self.outside.supervised);
        supervised.retain(|number, known| {
            let works = self.outside.at_work.get(number).is_some_and(|working| match working.kind {
                OpKind::PrepareCommand | OpKind::RunCommand => true,
                OpKind::LoadContext | OpKind::CallModel | OpKind::CallTool => false,
            });
            let images = self.shelf.pending.iter().map(|row| &row.image).chain([&self.shelf.durable]);
            works
                || images
                    .flat_map(|image| image.checks.open_commands())
                    .any(|(_, _, supervisor)| supervisor == known.identity)
        });
        self.outside.supervised = supervised;
    }

    /// The command of an agent that a start has to ask for.
    pub(super) fn named(&self, number: u8) -> Option<(OpId, SupervisorIdentity)> {
        let agent = self.shelf.durable.checks.agents().values().nth(usize::from(number) - 1)?;
        agent.ops.iter().find_map(|(op, open)| Some((*op, open.supervisor.clone()?)))
    }

    /// Whether the command of an agent runs, and the process does not see it end.
    pub(super) fn runs(&self, number: u8) -> bool {
        let known = self.outside.supervised.get(&number);
        self.host.is_none() && known.is_some_and(|known| known.command == Command::Runs)
    }

    /// The agent whose command a start has to wait for.
    pub(super) fn running(&self) -> Option<u8> {
        self.outside.supervised.keys().copied().find(|number| self.runs(*number))
    }

    /// What may happen while the process is down.
    pub(super) fn meanwhile(&self, setting: Setting<'_>) -> Vec<Move> {
        let mut moves = Vec::new();
        for (number, known) in &self.outside.supervised {
            if known.command == Command::Runs {
                let ends = setting.world.endings.iter();
                let ends = ends.filter(|(ending, pot)| ending.is_recorded() && self.has(*pot));
                moves.extend(ends.map(|(ending, _)| Move::Finish(*number, *ending)));
            }
            if known.command != Command::Lost && self.has(Pot::Faults) {
                moves.push(Move::Lose(*number));
            }
        }
        if self.running().is_none() {
            moves.push(Move::Boot);
        }
        moves
    }

    /// A start asks for the command that an agent had begun.
    pub(super) fn ask_supervisors(&self, setting: Setting<'_>, number: u8) -> Result<Asked, Failure> {
        let mut asked = Asked { report: RecoveryReport::default(), found: BTreeMap::new() };
        let Some((op, supervisor)) = self.named(number) else { return Ok(asked) };
        let known = self.outside.supervised.get(&number).filter(|known| known.identity == supervisor);
        ensure!(known.is_some(), "P5", "{op} names {supervisor:?}, whom nobody has brought up");
        let found = match known.map(|known| &known.command) {
            Some(Command::Ended(outcome)) => Found::Ended { outcome: outcome.clone() },
            Some(Command::NeverBegan | Command::Waits) => Found::NotStarted,
            Some(Command::Runs | Command::Lost) | None => Found::Lost,
        };
        asked.found.insert(op, found.clone());
        if setting.sabotage != Some(Sabotage::ForgetEnd) {
            asked.report.commands.push(FoundCommand { op, found });
        }
        Ok(asked)
    }
}

impl Asked {
    /// P5: what a command came to while nobody looked is on record, and nothing else is.
    pub(super) fn judge(&self, records: &[Record]) -> Result<(), Failure> {
        let mut ends = Ends::new();
        for (op, found) in &self.found {
            let due = match found {
                Found::Ended { outcome } => {
                    ends.insert(*op, (**outcome).clone());
                    Settlement::Done
                }
                Found::NotStarted => Settlement::Failed,
                Found::Lost => Settlement::Lost,
            };
            let settled = records.iter().find_map(|record| match &record.event {
                Event::Operation(OperationFact::OperationSettled(fact)) if fact.op == *op => {
                    Some(fact.settlement)
                }
                Event::Operation(_)
                | Event::Turn(_)
                | Event::Lifecycle(_)
                | Event::Inbox(_)
                | Event::Scheduling(_)
                | Event::Brief(_) => None,
            });
            ensure!(settled == Some(due), "P5", "{op} was found {found:?}, and settled as {settled:?}");
        }
        judge(&ends, records)
    }
}
