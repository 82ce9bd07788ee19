//! One process: the real machine, and a minimal host.

use holon_cluster::{
    Ask, AskId, BatchNumber, Dropped, Epoch, Head, Input, Mono, Ownership, Slot, Span, Statement, Terms,
};

use super::laws;
use super::state::{Sent, Stage, State, Wire, bit, link};
use crate::cluster::rules::Sabotage;
use crate::failure::{Failure, safety};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) machine: Ownership,
    /// The process has taken no step yet.
    pub(super) fresh: bool,
    pub(super) stopping: bool,
    pub(super) ended: bool,
    /// How far the clock is behind.
    pub(super) lag: u8,
    /// The cell that the process is to take over.
    pub(super) loads: Option<(Epoch, Head)>,
    pub(super) host: Option<Host>,
}

/// The owner of the cell, as it sees itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) epoch: Epoch,
    /// The host's state is the fold of the log up to here, and of the batches given since.
    pub(super) base: BatchNumber,
    pub(super) given: Vec<Given>,
    /// Effects that may begin.
    pub(super) ready: Vec<u8>,
    pub(super) draining: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Given {
    pub(super) number: BatchNumber,
    pub(super) content: u8,
}

/// Contents from here on belong to requests, whose batches have an effect.
pub(super) const REQUEST: u8 = 32;

/// Spans in ticks.
pub(super) fn terms() -> Terms {
    Terms {
        lease: Span(4),
        margin: Span(1),
        grace: Span(0),
        renew_every: Span(1),
        poll_every: Span(2),
        fresh_within: Span(1),
        answer_within: Span(2),
        append_within: Span(2),
        retry_after: Span(1),
        take_over_within: Span(60),
        drain_within: Span(60),
        offer_within: Span(2),
        append_connections: 1,
        settles: 1,
        ..Terms::default()
    }
}

impl Process {
    pub(super) fn new(looks: bool) -> Result<Self, Failure> {
        let mut terms = terms();
        if !looks {
            (terms.poll_every, terms.answer_within, terms.append_within) = (Span(60), Span(60), Span(60));
        }
        let machine = Ownership::new(terms, Vec::new());
        let machine = machine.map_err(|bad| safety("X8", format!("no terms: {bad}")))?;
        Ok(Self { machine, fresh: true, stopping: false, ended: false, lag: 0, loads: None, host: None })
    }
}

impl State {
    /// Steps a process's machine, and performs what it asks for.
    pub(super) fn step(&mut self, of: u8, input: Input, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let now = Mono(self.local(of));
        let process = &mut self.processes[usize::from(of)];
        process.fresh = false;
        for ask in process.machine.step(now, input) {
            self.perform(of, ask, sabotage)?;
        }
        Ok(())
    }

    fn perform(&mut self, of: u8, ask: Ask, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let process = &mut self.processes[usize::from(of)];
        match ask {
            Ask::Query { id, statement } => self.send(of, id, statement),
            Ask::Abandon { id } => self.lose(of, id, sabotage),
            Ask::TakeOver { epoch, head, .. } => process.loads = Some((epoch, head)),
            Ask::Durable { epoch, through, .. } => return self.durable(of, epoch, through),
            Ask::DrainCell { .. } => process.host.iter_mut().for_each(|host| host.draining = true),
            Ask::DropCell { epoch, why, .. } => {
                let known = process.loads.is_some_and(|(loads, _)| loads == epoch)
                    || process.host.as_ref().is_some_and(|host| host.epoch == epoch);
                if !known || why == Dropped::TookTooLong {
                    return Err(safety("X6", format!("a host is dropped that is none: {epoch:?}, {why:?}")));
                }
                (process.loads, process.host) = (None, None);
            }
            Ask::Refused { why, .. } => return Err(safety("X6", format!("a batch is refused: {why:?}"))),
            Ask::StopCell { why, .. } => {
                return Err(safety("X6", format!("the log is not what its owner has given: {why:?}")));
            }
            Ask::Ended => process.ended = true,
            Ask::Serve { .. } | Ask::Effects { .. } | Ask::HoldEffects => {}
        }
        Ok(())
    }

    fn send(&mut self, of: u8, id: AskId, mut statement: Statement) {
        let process = &self.processes[usize::from(of)];
        if let (Statement::Append { parts }, Some(host)) = (&mut statement, &process.host) {
            for part in parts {
                let given = host.given.iter().find(|given| given.number == part.after.batch.next());
                part.link = given.map_or(part.link, |given| link(given.content));
            }
        }
        let stage = Stage::Sent(Sent(statement));
        self.wire.push(Wire { process: of, id, awaited: true, stage });
    }

    /// The process stops waiting for this answer. A statement that was not executed may still be.
    pub(super) fn lose(&mut self, of: u8, id: AskId, sabotage: Option<Sabotage>) {
        let found = self.wire.iter_mut().find(|wire| wire.process == of && wire.id == id && wire.awaited);
        if let Some(wire) = found {
            wire.awaited = false;
        }
        self.wire.retain(|wire| wire.awaited || !matches!(wire.stage, Stage::Answered(_)));
        if sabotage == Some(Sabotage::DecideAnew) && matches!(id.slot, Slot::Append(_)) {
            self.decide_anew(of);
        }
    }

    /// Gives other contents to the batches that are not known to be durable.
    fn decide_anew(&mut self, of: u8) {
        let mut next = self.next;
        if let Some(host) = &mut self.processes[usize::from(of)].host {
            for given in &mut host.given {
                if self.acknowledged & bit(given.content) == 0 {
                    given.content = next | (given.content & REQUEST);
                    next += 1;
                }
            }
        }
        self.next = next;
    }

    fn durable(&mut self, of: u8, epoch: Epoch, through: BatchNumber) -> Result<(), Failure> {
        let Some(host) = &self.processes[usize::from(of)].host else { return Ok(()) };
        let new = host.given.iter().filter(|given| given.number <= through);
        let new: Vec<u8> =
            new.map(|given| given.content).filter(|content| self.acknowledged & bit(*content) == 0).collect();
        for content in &new {
            laws::acknowledges(self, epoch, *content)?;
            self.acknowledged |= bit(*content);
        }
        if let Some(host) = &mut self.processes[usize::from(of)].host {
            let begins = |content: &u8| *content >= REQUEST && !host.ready.contains(content);
            let effects: Vec<u8> = new.into_iter().filter(begins).collect();
            host.ready.extend(effects);
        }
        Ok(())
    }
}
