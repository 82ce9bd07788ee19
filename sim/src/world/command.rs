//! Commands and their supervisors: other processes than the one that crashes. They are asked at the next
//! start, and what they say must be what the model is told.

use std::collections::BTreeMap;

use holon_core::event::TurnFact;
use holon_core::host::{Found, FoundCommand, RecoveryReport};
use holon_core::outcome::{SupervisorIdentity, ToolOutcome};
use holon_core::{AgentId, Event, OpId, Outcome, Record};

use super::{Sabotage, World};
use crate::failure::{Failure, ensure};
use crate::tools;

/// One supervisor; an agent has one at a time.
#[derive(Debug)]
pub(super) struct Supervised {
    pub(super) identity: SupervisorIdentity,
    /// The life of the process that waits for it.
    life: u64,
    /// The operation in which it was given the word.
    op: Option<OpId>,
    /// When its command ends, and with what; none for one that is never heard of again.
    end: Option<(u64, ToolOutcome)>,
}

/// The commands whose end is known at a start, and what they brought.
pub(crate) type Ends = BTreeMap<OpId, ToolOutcome>;

impl World<'_> {
    /// A supervisor comes up, or does not.
    pub(super) fn prepare(&mut self, agent: &AgentId, op: OpId) -> Result<(), Failure> {
        // Numbered by agent, so that nobody records how many others there are.
        let site = self.site("supervisor started", self.number(agent), "");
        let identity = SupervisorIdentity {
            pid: u32::try_from(site.ordinal).unwrap_or(u32::MAX),
            started: self.at,
            boot_id: "sim".into(),
            socket: format!("run/commands/{agent}-{}/socket", site.ordinal),
        };
        let supervised =
            Supervised { identity: identity.clone(), life: self.life.number, op: None, end: None };
        self.outside.supervised.insert(agent.clone(), supervised);
        self.begin(agent, op, "supervisor", |here| tools::prepare(here, identity)).map(drop)
    }

    /// A supervisor is given the word: by whoever started it, once, and after its name was written down.
    pub(super) fn go(
        &mut self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Result<(), Failure> {
        self.checks.say("P5");
        let on_disk = self.disk.supervisor(agent, op);
        ensure!(on_disk == Some(supervisor), "P5", "{op} of {agent} begins, on the disk is {on_disk:?}");
        let life = self.life.number;
        let waiting = self.outside.supervised.get(agent);
        let waits = waiting.is_some_and(|waiting| {
            waiting.identity == *supervisor && waiting.life == life && waiting.op.is_none()
        });
        ensure!(waits, "P5", "{op} of {agent} goes to {supervisor:?}, there is {waiting:?}");
        let first = self.begin(agent, op, "tool", tools::call)?;
        if let Some(waiting) = self.outside.supervised.get_mut(agent) {
            waiting.op = Some(op);
            waiting.end = match first {
                Some((after, Outcome::Tool { outcome })) => Some((self.at + after, outcome)),
                Some((_, _)) | None => None,
            };
        }
        Ok(())
    }

    /// When the last command that a start has to wait for comes to its end.
    pub(super) fn commands_end(&self) -> Option<u64> {
        let open = self.checks.open_commands();
        let ends = open.iter().filter_map(|(agent, op, _)| {
            let supervised = self.outside.supervised.get(agent).filter(|known| known.op == Some(*op))?;
            supervised.end.as_ref().map(|(at, _)| *at)
        });
        ends.max().filter(|&at| at > self.at)
    }

    /// What the supervisors of an agent say, and what is true of them.
    pub(super) fn probe(&mut self, agent: &AgentId) -> (RecoveryReport, Ends) {
        let (mut report, mut ends) = (RecoveryReport::default(), Ends::new());
        for (_, op, supervisor) in self.checks.open_commands().into_iter().filter(|open| open.0 == *agent) {
            let found = self.ask(agent, op, &supervisor);
            if let Found::Ended { outcome } = &found {
                ends.insert(op, (**outcome).clone());
                if self.options.sabotage == Some(Sabotage::ForgetEnd) {
                    continue;
                }
            }
            report.commands.push(FoundCommand { op, found });
        }
        (report, ends)
    }

    fn ask(&mut self, agent: &AgentId, op: OpId, supervisor: &SupervisorIdentity) -> Found {
        let number = self.number(agent);
        let site = self.site("supervisor", number, "");
        let faults = &self.scenario.faults;
        let dies = self.injector.strikes(faults, &mut *self.choices, site, "lost", faults.supervisor_lost);
        let Some(known) =
            self.outside.supervised.get_mut(agent).filter(|known| known.identity == *supervisor)
        else {
            return Found::Lost;
        };
        if known.op != Some(op) {
            self.injector.saw("command found not started");
            return Found::NotStarted;
        }
        // A supervisor that has died once says nothing at the start after the next one either.
        known.end = known.end.take().filter(|_| !dies);
        match &known.end {
            Some((_, outcome)) => {
                self.injector.saw("command found ended");
                Found::Ended { outcome: Box::new(outcome.clone()) }
            }
            None => {
                self.injector.saw("command found lost");
                Found::Lost
            }
        }
    }
}

/// P5: what a command came to while nobody looked is what the model is told, and nothing else is.
pub(crate) fn judge(ends: &Ends, records: &[Record]) -> Result<(), Failure> {
    for (op, outcome) in ends {
        let told = records.iter().any(|record| match &record.event {
            Event::Turn(TurnFact::ToolExecuted(fact)) => *fact.receipt == outcome.receipt,
            Event::Turn(TurnFact::ToolExecutionFailed(fact)) => *fact.receipt == outcome.receipt,
            Event::Turn(_)
            | Event::Lifecycle(_)
            | Event::Inbox(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Brief(_) => false,
        });
        ensure!(told, "P5", "{op} had ended with {:?}, which nobody is told", outcome.receipt);
    }
    Ok(())
}
