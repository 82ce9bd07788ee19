//! The possible moves, and their execution.

use holon_cluster::{Input, NodeId, Standing, Statement};

use super::laws;
use super::process::{Given, Host, Process, REQUEST};
use super::state::{Back, CELL, Sent, Setting, Stage, State, link};
use crate::cluster::rules::Sabotage;
use crate::failure::Failure;

/// One move. Processes are 0 and 1; statements count in the order of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// The beginning.
    Start,
    /// A process takes a step because its time has come.
    Wake(u8),
    /// A prompt process does everything that it has to do.
    Run(u8),
    /// The database executes a statement; a renewal only begins.
    Execute(u8),
    /// The database commits a renewal.
    Commit(u8),
    /// An answer arrives.
    Deliver(u8),
    /// An answer is lost, whether or not the statement is executed.
    Lose(u8),
    /// A process has loaded the cell, and gives its first batch.
    Load(u8),
    /// A client's request makes a batch.
    Request(u8),
    /// The effect of a batch begins.
    Begin(u8, u8),
    /// A host has given its last batch.
    Drained(u8),
    /// A process dies and starts again.
    Crash(u8),
    /// A process's clock loses a tick.
    Lag(u8),
    /// An operator moves the cell of a process to the other one's node.
    MoveCell(u8),
    /// A process is stopped in good order.
    Stop(u8),
    /// The clock of the database ticks.
    Tick,
}

impl State {
    pub(super) fn moves(&self, setting: Setting) -> Vec<Move> {
        let mut moves = Vec::new();
        let behind = setting.world.prompt && self.is_behind(1);
        if behind {
            moves.push(Move::Run(1));
        }
        self.moves_of_wire(setting, &mut moves);
        self.moves_of_process(0, setting, &mut moves);
        self.moves_of_process(1, setting, &mut moves);
        if self.left.ticks > 0 && !behind {
            moves.push(Move::Tick);
        }
        moves
    }

    fn moves_of_wire(&self, setting: Setting, moves: &mut Vec<Move>) {
        let runs = |process| setting.world.prompt && process == 1;
        for (at, wire) in
            self.wire.iter().enumerate().filter(|(_, wire)| !(wire.awaited && runs(wire.process)))
        {
            let at = u8::try_from(at).unwrap_or(u8::MAX);
            moves.push(match wire.stage {
                Stage::Sent(_) => Move::Execute(at),
                Stage::Begun(_) => Move::Commit(at),
                Stage::Answered(_) => Move::Deliver(at),
            });
            if wire.awaited && self.left.losses > 0 {
                moves.push(Move::Lose(at));
            }
        }
    }

    fn moves_of_process(&self, of: u8, setting: Setting, moves: &mut Vec<Move>) {
        let process = &self.processes[usize::from(of)];
        if process.ended {
            return;
        }
        if !(setting.world.prompt && of == 1) {
            let does = [(self.is_due(of), Move::Wake(of)), (process.loads.is_some(), Move::Load(of))];
            moves.extend(does.into_iter().filter_map(|(does, step)| does.then_some(step)));
        }
        let serves = process.machine.standing(CELL) == Standing::Serving;
        if let Some(host) = &process.host {
            if self.left.requests > 0 && serves && process.machine.next_batch(CELL).is_some() {
                moves.push(Move::Request(of));
            }
            if host.draining {
                moves.push(Move::Drained(of));
            }
            let begins = self.may_begin(of, setting.sabotage);
            moves.extend(host.ready.iter().filter(|_| begins).map(|content| Move::Begin(of, *content)));
        }
        let left = self.left;
        let unlucky = of == 0 || !setting.world.prompt;
        let may = [
            (left.crashes > 0 && unlucky, Move::Crash(of)),
            (left.lags > 0 && unlucky && self.db.now > u64::from(process.lag), Move::Lag(of)),
            (left.moves > 0 && serves && self.other(of).is_some(), Move::MoveCell(of)),
            (left.stops > 0 && unlucky && !process.stopping, Move::Stop(of)),
        ];
        moves.extend(may.into_iter().filter_map(|(may, step)| may.then_some(step)));
    }

    pub(super) fn is_due(&self, of: u8) -> bool {
        let process = &self.processes[usize::from(of)];
        let due = process.machine.next_deadline().is_some_and(|at| at.0 <= self.local(of));
        !process.ended && (process.fresh || due)
    }

    /// Whether this process has something to do or waits for something.
    fn is_behind(&self, of: u8) -> bool {
        let process = &self.processes[usize::from(of)];
        let mut own = self.wire.iter().filter(|wire| wire.process == of && wire.awaited);
        // A burial that waits for a locked row waits for the owner of the lock.
        let can_go_on = own.any(|wire| match &wire.stage {
            Stage::Sent(Sent(statement)) => self.db.clone().execute(statement).is_some(),
            Stage::Begun(_) | Stage::Answered(_) => true,
        });
        self.is_due(of) || process.loads.is_some() || can_go_on
    }

    /// What a supervisor checks right before it begins: its clock against its deadline.
    fn may_begin(&self, of: u8, sabotage: Option<Sabotage>) -> bool {
        let until = self.processes[usize::from(of)].machine.effects_until(CELL);
        let now = self.local(of);
        match sabotage {
            Some(Sabotage::NoDeadline) => true,
            Some(Sabotage::LateDeadline) => until.is_some_and(|until| now < until.0 + 3),
            Some(
                Sabotage::NoEpoch
                | Sabotage::NoHead
                | Sabotage::DecideAnew
                | Sabotage::ClaimByTime
                | Sabotage::BeginEarly
                | Sabotage::BeginAgain
                | Sabotage::NoBurial
                | Sabotage::SlowClock
                | Sabotage::KeepCommands
                | Sabotage::ReleaseEarly
                | Sabotage::JudgeAgain
                | Sabotage::MarkLater,
            )
            | None => until.is_some_and(|until| now < until.0),
        }
    }

    /// The node of the other process.
    fn other(&self, of: u8) -> Option<NodeId> {
        self.processes[usize::from(1 - of)].machine.node()
    }

    /// Makes a move, and checks every law that one state shows.
    pub(super) fn act(&mut self, setting: Setting, step: Move) -> Result<(), Failure> {
        let sabotage = setting.sabotage;
        match step {
            Move::Start => {}
            Move::Wake(of) => self.step(of, Input::Tick, sabotage)?,
            Move::Run(of) => super::quiet::run(self, setting, of)?,
            Move::Execute(at) => self.execute(usize::from(at)),
            Move::Commit(at) => self.commit(usize::from(at)),
            Move::Deliver(at) => self.deliver(usize::from(at), sabotage)?,
            Move::Lose(at) => {
                self.left.losses -= 1;
                let (of, ask) = (self.wire[usize::from(at)].process, self.wire[usize::from(at)].id);
                self.lose(of, ask, sabotage);
                self.step(of, Input::NoAnswer { ask }, sabotage)?;
            }
            Move::Load(of) => self.load(of, sabotage)?,
            Move::Request(of) => {
                self.left.requests -= 1;
                self.give(of, true, sabotage)?;
            }
            Move::Begin(of, content) => self.begin(of, content)?,
            Move::Drained(of) => {
                let Some(host) = &mut self.processes[usize::from(of)].host else { return Ok(()) };
                host.draining = false;
                let epoch = host.epoch;
                self.step(of, Input::Drained { cell: CELL, epoch }, sabotage)?;
            }
            Move::Crash(of) => {
                self.left.crashes -= 1;
                self.wire.retain(|wire| wire.process != of || !matches!(wire.stage, Stage::Answered(_)));
                self.wire.iter_mut().filter(|wire| wire.process == of).for_each(|wire| wire.awaited = false);
                let lag = self.processes[usize::from(of)].lag;
                self.processes[usize::from(of)] =
                    Process { lag, ..Process::new(of == 1 || setting.world.looks)? };
            }
            Move::Lag(of) => {
                self.left.lags -= 1;
                self.processes[usize::from(of)].lag += 1;
            }
            Move::MoveCell(of) => {
                self.left.moves -= 1;
                let Some(to) = self.other(of) else { return Ok(()) };
                self.step(of, Input::Move { cell: CELL, to }, sabotage)?;
            }
            Move::Stop(of) => {
                self.left.stops -= 1;
                self.processes[usize::from(of)].stopping = true;
                self.step(of, Input::Stop, sabotage)?;
            }
            Move::Tick => {
                self.left.ticks -= 1;
                self.db.now += 1;
            }
        }
        self.sort();
        laws::check(self)
    }

    pub(super) fn execute(&mut self, at: usize) {
        let Stage::Sent(Sent(statement)) = self.wire[at].stage.clone() else { return };
        let answer = match &statement {
            Statement::Renew { node } => match self.db.begin_renewal(*node) {
                Some(Some(refused)) => Some(refused),
                Some(None) => {
                    self.wire[at].stage = Stage::Begun(Sent(statement));
                    return;
                }
                None => None,
            },
            Statement::Register { .. }
            | Statement::Poll { .. }
            | Statement::Claim { .. }
            | Statement::Append { .. }
            | Statement::Settle { .. }
            | Statement::Release { .. }
            | Statement::MarkDraining { .. }
            | Statement::Leave { .. } => self.db.execute(&statement),
        };
        if let Some(answer) = answer {
            self.answered(at, Back(answer));
        }
    }

    pub(super) fn commit(&mut self, at: usize) {
        if let Stage::Begun(Sent(Statement::Renew { node })) = self.wire[at].stage {
            let answer = self.db.commit_renewal(node);
            self.answered(at, Back(answer));
        }
    }

    fn answered(&mut self, at: usize, answer: Back) {
        if self.wire[at].awaited {
            self.wire[at].stage = Stage::Answered(answer);
        } else {
            self.wire.remove(at);
        }
    }

    pub(super) fn deliver(&mut self, at: usize, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let wire = self.wire.remove(at);
        let Stage::Answered(Back(answer)) = wire.stage else { return Ok(()) };
        self.step(wire.process, Input::Answer { ask: wire.id, answer }, sabotage)
    }

    pub(super) fn load(&mut self, of: u8, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let log = self.db.log.get(&CELL).cloned().unwrap_or_default();
        let process = &mut self.processes[usize::from(of)];
        let Some((epoch, head)) = process.loads.take() else { return Ok(()) };
        let mut host =
            Host { epoch, base: head.batch, given: Vec::new(), ready: Vec::new(), draining: false };
        if sabotage == Some(Sabotage::BeginAgain) {
            let contents = log.iter().map(|batch| super::state::content(batch.link));
            host.ready.extend(contents.filter(|content| *content >= REQUEST));
        }
        process.host = Some(host);
        self.give(of, false, sabotage)
    }

    /// Gives a batch of the host, with an effect or without.
    pub(super) fn give(&mut self, of: u8, request: bool, sabotage: Option<Sabotage>) -> Result<(), Failure> {
        let content = self.decide() | if request { REQUEST } else { 0 };
        let process = &mut self.processes[usize::from(of)];
        let Some(batch) = process.machine.next_batch(CELL) else { return Ok(()) };
        let Some(host) = &mut process.host else { return Ok(()) };
        host.given.push(Given { number: batch, content });
        if sabotage == Some(Sabotage::BeginEarly) && request {
            host.ready.push(content);
        }
        let epoch = host.epoch;
        self.step(of, Input::Append { cell: CELL, epoch, batch, link: link(content) }, sabotage)
    }

    fn begin(&mut self, of: u8, content: u8) -> Result<(), Failure> {
        let Some(host) = &mut self.processes[usize::from(of)].host else { return Ok(()) };
        host.ready.retain(|ready| *ready != content);
        let epoch = host.epoch;
        laws::begins(self, epoch, content)
    }
}
