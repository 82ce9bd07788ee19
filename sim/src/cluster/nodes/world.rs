//! The world: the queue of events, and the clock of the database.

use std::collections::BTreeMap;

use holon_cluster::{Answer, CellId, Epoch, Input, Label, Statement};

use super::command::Command;
use super::deposit::{Deposit, List};
use super::draw::Draw;
use super::process::{LABEL, Life, Process};
use super::quiet::Quiet;
use super::setting::{SECOND, Setting};
use super::wire::{Wire, content};
use super::{Options, Report, laws};
use crate::cluster::db::{Db, Spans};
use crate::cluster::rules::Sabotage;
use crate::failure::{Failure, liveness};

/// Events of one world before it counts as endless.
const EVENTS: u64 = 3_000_000;
/// Lines of a trace that are kept.
const LINES: usize = 400_000;

#[derive(Debug)]
pub(super) struct World {
    pub(super) setting: Setting,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) draw: Draw,
    /// Microseconds of the database's clock.
    pub(super) now: u64,
    /// Counts queued events: of two events of one moment the earlier one comes first.
    pub(super) order: u64,
    queue: BTreeMap<(u64, u64), Event>,
    pub(super) db: Db,
    /// The database takes no statement until then.
    pub(super) down_until: u64,
    pub(super) processes: Vec<Process>,
    pub(super) wires: BTreeMap<u64, Wire>,
    pub(super) contents: BTreeMap<u64, Content>,
    /// Deposits by number, and lists of deposits that are on their way to an owner.
    pub(super) deposits: BTreeMap<u64, Deposit>,
    pub(super) lists: BTreeMap<u64, List>,
    /// Running commands, and those whose supervisor is about to begin them, by the content of their batch.
    pub(super) commands: Vec<Command>,
    pub(super) waiting: BTreeMap<u64, Command>,
    pub(super) quiet: Option<Quiet>,
    pub(super) steps: u64,
    counts: BTreeMap<&'static str, u64>,
    trace: Option<Vec<String>>,
}

/// The content of a batch, which differs from that of every other batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    pub(super) cell: CellId,
    pub(super) effect: bool,
    /// The epoch in which it landed.
    pub(super) landed: Option<Epoch>,
    pub(super) acknowledged: bool,
    pub(super) begun: bool,
    /// The deposit that the batch takes.
    pub(super) takes: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Wake {
        of: usize,
        life: u32,
        wake: u64,
    },
    Execute {
        wire: u64,
    },
    Commit {
        wire: u64,
    },
    Deliver {
        wire: u64,
    },
    /// A connection ends.
    Lose {
        wire: u64,
    },
    Load {
        of: usize,
        life: u32,
        cell: CellId,
        epoch: Epoch,
    },
    Drained {
        of: usize,
        life: u32,
        cell: CellId,
        epoch: Epoch,
    },
    Begin {
        content: u64,
    },
    /// A command ends by itself.
    Exit {
        content: u64,
    },
    Supervise {
        content: u64,
        until: u64,
    },
    /// A client's request for a cell.
    Request {
        cell: CellId,
    },
    /// A request that waits for its owner.
    Deposit {
        cell: CellId,
    },
    Look {
        cell: CellId,
    },
    Found {
        list: u64,
    },
    Trouble {
        of: usize,
    },
    Heal {
        of: usize,
    },
    Resume {
        of: usize,
        life: u32,
    },
    Crash {
        of: usize,
        life: u32,
    },
    Restart {
        of: usize,
        life: u32,
    },
    /// Faults end.
    Quiet,
    /// Checks whether the world is over.
    End,
}

pub(super) fn play(seed: u64, options: Options) -> Report {
    let mut draw = Draw::new(seed);
    let setting = Setting::draw(&mut draw, options.sabotage);
    let line = setting.line();
    let mut world = World::new(setting, draw, options);
    let failure = world.start().and_then(|()| world.run()).err();
    Report {
        seed,
        setting: line,
        virtual_ms: world.now / 1_000,
        steps: world.steps,
        counts: world.counts,
        trace: world.trace.unwrap_or_default(),
        failure,
    }
}

impl World {
    fn new(setting: Setting, draw: Draw, options: Options) -> Self {
        let spans = Spans { lease: setting.terms.lease.0, grace: setting.terms.grace.0 };
        let mut db = Db::new(spans, (1..=setting.cells).map(CellId), options.sabotage);
        for (_, cell) in db.cells.iter_mut().take(usize::try_from(setting.labelled).unwrap_or(0)) {
            cell.label = Some(Label(LABEL.to_owned()));
        }
        Self {
            setting,
            sabotage: options.sabotage,
            draw,
            now: 0,
            order: 0,
            queue: BTreeMap::new(),
            db,
            down_until: 0,
            processes: Vec::new(),
            wires: BTreeMap::new(),
            contents: BTreeMap::new(),
            deposits: BTreeMap::new(),
            lists: BTreeMap::new(),
            commands: Vec::new(),
            waiting: BTreeMap::new(),
            quiet: None,
            steps: 0,
            counts: BTreeMap::new(),
            trace: options.trace.then(Vec::new),
        }
    }

    fn start(&mut self) -> Result<(), Failure> {
        for of in 0..self.setting.nodes {
            let labels = if of < 2 { vec![Label(LABEL.to_owned())] } else { Vec::new() };
            let apart = i64::from(self.draw.below("clock", of, self.setting.rates.clocks));
            let slow =
                self.sabotage == Some(Sabotage::SlowClock) || self.draw.chance("clock is slow", of, 500);
            let process = Process::new(self, of, 1, labels, if slow { -apart } else { apart })?;
            self.processes.push(process);
            let after = self.draw.span("start", of, [0, SECOND / 2]);
            self.after(after, Event::Wake { of, life: 1, wake: 0 });
            let after = self.draw.span("first trouble", of, [SECOND, 2 * SECOND]);
            self.after(after, Event::Trouble { of });
        }
        for cell in 1..=self.setting.cells {
            self.after(SECOND, Event::Request { cell: CellId(cell) });
        }
        self.begin_deposits();
        let chaos = self.setting.chaos;
        self.at(chaos, Event::Quiet);
        Ok(())
    }

    fn run(&mut self) -> Result<(), Failure> {
        for _ in 0..EVENTS {
            if self.is_over()? {
                return laws::keeps(self);
            }
            let Some(((at, _), event)) = self.queue.pop_first() else { break };
            self.now = at.max(self.now);
            self.db.now = self.now;
            self.happen(event)?;
        }
        Err(liveness("X8", format!("{EVENTS} events, and no end")))
    }

    fn happen(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Wake { of, life, wake } if self.lives(of, life) && self.processes[of].wake == wake => {
                return self.step(of, Input::Tick);
            }
            Event::Execute { wire } => return self.execute(wire),
            Event::Commit { wire } => self.commit(wire),
            Event::Deliver { wire } => return self.deliver(wire),
            Event::Lose { wire } => return self.lose(wire),
            Event::Load { of, life, cell, epoch } if self.lives(of, life) => {
                if self.processes[of].state == Life::Paused {
                    self.after(SECOND, event);
                } else {
                    return self.load(of, cell, epoch);
                }
            }
            Event::Drained { of, life, cell, epoch } if self.lives(of, life) => {
                return self.drained(of, cell, epoch);
            }
            Event::Begin { content } => return self.begin(content),
            Event::Exit { content } => self.commands.retain(|command| command.content != content),
            Event::Supervise { content, until } => self.supervise(content, until),
            Event::Request { cell } => return self.request(cell),
            Event::Deposit { cell } => self.deposit(cell),
            Event::Look { cell } => self.look(cell),
            Event::Found { list } => return self.found(list),
            Event::Trouble { of } => return self.trouble(of),
            Event::Heal { of } => self.processes[of].cut = false,
            Event::Resume { of, life } if self.lives(of, life) => return self.resume(of),
            Event::Crash { of, life } if self.lives(of, life) && self.quiet.is_none() => self.end(of),
            Event::Restart { of, life } if self.processes[of].life == life && self.quiet.is_none() => {
                return self.restart(of);
            }
            Event::Quiet => {
                self.after(SECOND / 10, Event::End);
                return self.fall_quiet();
            }
            Event::End => self.after(SECOND / 10, Event::End),
            Event::Wake { .. }
            | Event::Load { .. }
            | Event::Drained { .. }
            | Event::Resume { .. }
            | Event::Crash { .. }
            | Event::Restart { .. } => {}
        }
        Ok(())
    }

    fn lives(&self, of: usize, life: u32) -> bool {
        self.processes[of].life == life && self.processes[of].state != Life::Down
    }

    /// Every process that believes to serve the cell takes the request.
    fn request(&mut self, cell: CellId) -> Result<(), Failure> {
        let pace = self.setting.requests;
        let after = self.draw.span("request after", usize::try_from(cell.0).unwrap_or(0), pace);
        self.after(after, Event::Request { cell });
        for of in 0..self.processes.len() {
            if self.serves(of, cell) && self.processes[of].machine.next_batch(cell).is_some() {
                let effect = self.draw.chance("has an effect", of, 500);
                self.give(of, cell, effect, None)?;
            }
        }
        Ok(())
    }

    /// The database executes a statement; the laws check what its appends have written.
    pub(super) fn executed(&mut self, statement: &Statement) -> Result<Option<Answer>, Failure> {
        let Statement::Append { parts } = statement else { return Ok(self.db.execute(statement)) };
        let before: Vec<_> =
            parts.iter().map(|part| (part.cell, self.db.log.get(&part.cell).map_or(0, Vec::len))).collect();
        let answer = self.db.execute(statement);
        for (cell, from) in before {
            laws::landed(self, cell, from)?;
            let new: Vec<_> = self.db.log.get(&cell).into_iter().flatten().skip(from).copied().collect();
            for batch in new {
                if let Some(known) = self.contents.get_mut(&content(batch.link)) {
                    known.landed = Some(batch.landed_in);
                }
                self.takes(cell, content(batch.link))?;
                self.count("landed");
            }
        }
        Ok(answer)
    }

    pub(super) fn next_content(&mut self, cell: CellId, effect: bool, takes: Option<u64>) -> u64 {
        let content = self.contents.len() as u64 + 1;
        let known = Content { cell, effect, landed: None, acknowledged: false, begun: false, takes };
        self.contents.insert(content, known);
        content
    }

    pub(super) fn after(&mut self, span: u64, event: Event) {
        self.at(self.now + span, event);
    }

    pub(super) fn at(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.queue.insert((at, self.order), event);
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.len() < LINES) {
            trace.push(format!("{:>12.6} {}", now as f64 / 1e6, line()));
        }
    }
}
