//! One machine: its clock, the process that runs on it, and a host for each cell that it owns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holon_cluster::{
    Ask, BatchNumber, CellId, Dropped, Epoch, Head, Input, Label, Mono, Ownership, Standing,
};

use super::laws;
use super::world::{Event, World};
use crate::cluster::rules::Sabotage;
use crate::failure::{Failure, safety};

/// The label of some cells and nodes.
pub(super) const LABEL: &str = "disk";

#[derive(Debug)]
pub(super) struct Process {
    pub(super) machine: Ownership,
    /// The number of the start: messages for an earlier start do not arrive.
    pub(super) life: u32,
    pub(super) state: Life,
    /// An operator has drained or stopped the process.
    pub(super) leaves: bool,
    pub(super) labels: Vec<Label>,
    /// How much faster than the database's clock its clock runs, in millionths.
    pub(super) rate: i64,
    /// Answers that arrived during a pause.
    pub(super) kept: VecDeque<Input>,
    /// Whether its messages are lost in both directions.
    pub(super) cut: bool,
    pub(super) loads: BTreeMap<CellId, (Epoch, Head)>,
    pub(super) hosts: BTreeMap<CellId, Host>,
    /// Until when effects may begin, by the process's clock.
    pub(super) until: u64,
    /// The current wake-up; earlier ones are void.
    pub(super) wake: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Up,
    Paused,
    /// Dead, or exited in good order.
    Down,
}

/// The owner of a cell, as it sees itself.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) epoch: Epoch,
    /// The batches that the host has given, and the last durable one.
    pub(super) given: BTreeMap<BatchNumber, u64>,
    pub(super) durable: BatchNumber,
    /// Effects that may begin.
    pub(super) ready: Vec<u64>,
    /// Deposits that the host has given a batch for.
    pub(super) batched: BTreeSet<u64>,
    pub(super) draining: bool,
    /// The host has given its last batch.
    pub(super) drained: bool,
}

impl Process {
    pub(super) fn new(
        world: &World,
        of: usize,
        life: u32,
        labels: Vec<Label>,
        rate: i64,
    ) -> Result<Self, Failure> {
        let machine = Ownership::new(world.setting.terms.clone(), labels.clone());
        let machine = machine.map_err(|bad| safety("X8", format!("no terms for process {of}: {bad}")))?;
        Ok(Self {
            machine,
            life,
            state: Life::Up,
            leaves: false,
            labels,
            rate,
            kept: VecDeque::new(),
            cut: false,
            loads: BTreeMap::new(),
            hosts: BTreeMap::new(),
            until: 0,
            wake: 0,
        })
    }

    /// The machine's clock, which runs on during pauses and restarts of the process.
    pub(super) fn local(&self, now: u64) -> u64 {
        let ahead = i128::from(now) * i128::from(self.rate) / 1_000_000;
        u64::try_from(i128::from(now) + ahead).unwrap_or(0)
    }

    /// When the machine's clock shows this time.
    pub(super) fn global(&self, local: u64) -> u64 {
        let part = i128::from(local) * 1_000_000 / (1_000_000 + i128::from(self.rate));
        u64::try_from(part).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl World {
    /// Steps a process's machine, and performs what it asks for.
    pub(super) fn step(&mut self, of: usize, input: Input) -> Result<(), Failure> {
        match self.processes[of].state {
            Life::Down => return Ok(()),
            Life::Paused => {
                if input != Input::Tick {
                    self.processes[of].kept.push_back(input);
                }
                return Ok(());
            }
            Life::Up => {}
        }
        self.steps += 1;
        let now = Mono(self.processes[of].local(self.now));
        let asks = self.processes[of].machine.step(now, input);
        for ask in asks {
            self.perform(of, ask)?;
        }
        self.wake_later(of);
        Ok(())
    }

    fn wake_later(&mut self, of: usize) {
        self.order += 1;
        let process = &mut self.processes[of];
        let Some(at) = process.machine.next_deadline() else { return };
        process.wake = self.order;
        let (life, wake) = (process.life, process.wake);
        let at = process.global(at.0).max(self.now + 1);
        self.at(at, Event::Wake { of, life, wake });
    }

    fn perform(&mut self, of: usize, ask: Ask) -> Result<(), Failure> {
        self.note(|| format!("process {of}: {ask:?}"));
        match ask {
            Ask::Query { id, statement } => self.send(of, id, statement),
            Ask::Abandon { id } => self.give_up(of, id),
            Ask::TakeOver { cell, epoch, head, .. } => self.take_over(of, cell, epoch, head),
            Ask::Durable { cell, epoch, through } => return self.durable(of, cell, epoch, through),
            Ask::DrainCell { cell, epoch, .. } => self.drain(of, cell, epoch),
            Ask::DropCell { cell, epoch, why } => return self.drop_host(of, cell, epoch, why),
            Ask::Refused { cell, why, .. } => {
                return Err(safety("X6", format!("a batch of {cell:?} is refused: {why:?}")));
            }
            Ask::StopCell { cell, why, .. } => {
                return Err(safety("X6", format!("the log of {cell:?} is not what its owner gave: {why:?}")));
            }
            Ask::Effects { until } => self.effects(of, until),
            Ask::Ended => {
                self.count("ended");
                self.end(of);
            }
            Ask::Serve { .. } => self.count("served"),
            Ask::HoldEffects => self.count("held"),
        }
        Ok(())
    }

    fn take_over(&mut self, of: usize, cell: CellId, epoch: Epoch, head: Head) {
        self.processes[of].loads.insert(cell, (epoch, head));
        let slow = self.draw.chance("load is slow", of, self.setting.rates.slow_load);
        let span = if slow { [1_000_000, 6_000_000] } else { [1_000, 60_000] };
        self.count(if slow { "slow_load" } else { "take_over" });
        let life = self.processes[of].life;
        let after = self.draw.span("load", of, span);
        self.after(after, Event::Load { of, life, cell, epoch });
    }

    /// The host is loaded, and gives its first batch.
    pub(super) fn load(&mut self, of: usize, cell: CellId, epoch: Epoch) -> Result<(), Failure> {
        let process = &mut self.processes[of];
        let Some((_, head)) = process.loads.get(&cell).copied().filter(|(loads, _)| *loads == epoch) else {
            return Ok(());
        };
        process.loads.remove(&cell);
        let mut ready = Vec::new();
        if self.sabotage == Some(Sabotage::BeginAgain) {
            let of_cell = self.contents.iter().filter(|(_, known)| known.cell == cell && known.effect);
            ready.extend(of_cell.filter(|(_, known)| known.acknowledged).map(|(content, _)| *content));
        }
        let host = Host {
            epoch,
            given: BTreeMap::new(),
            durable: head.batch,
            ready,
            batched: BTreeSet::new(),
            draining: false,
            drained: false,
        };
        self.processes[of].hosts.insert(cell, host);
        self.give(of, cell, false, None)?;
        self.begin_ready(of);
        Ok(())
    }

    /// Gives a batch of the host, with an effect or without, unless there is no space for one.
    pub(super) fn give(
        &mut self,
        of: usize,
        cell: CellId,
        effect: bool,
        takes: Option<u64>,
    ) -> Result<(), Failure> {
        let content = self.next_content(cell, effect, takes);
        let process = &mut self.processes[of];
        let Some(number) = process.machine.next_batch(cell) else { return Ok(()) };
        let Some(host) = process.hosts.get_mut(&cell) else { return Ok(()) };
        host.given.insert(number, content);
        if self.sabotage == Some(Sabotage::BeginEarly) && effect {
            host.ready.push(content);
        }
        let epoch = host.epoch;
        let link = super::wire::link(content);
        self.step(of, Input::Append { cell, epoch, batch: number, link })?;
        if self.sabotage == Some(Sabotage::BeginEarly) {
            self.begin_ready(of);
        }
        Ok(())
    }

    /// Whether the process takes requests for the cell, as it sees itself.
    pub(super) fn serves(&self, of: usize, cell: CellId) -> bool {
        let process = &self.processes[of];
        process.state == Life::Up
            && process.machine.standing(cell) == Standing::Serving
            && process.hosts.get(&cell).is_some_and(|host| !host.draining)
    }

    fn durable(
        &mut self,
        of: usize,
        cell: CellId,
        epoch: Epoch,
        through: BatchNumber,
    ) -> Result<(), Failure> {
        let Some(host) = self.processes[of].hosts.get_mut(&cell).filter(|host| host.epoch == epoch) else {
            return Ok(());
        };
        let new: Vec<u64> = host
            .given
            .iter()
            .filter(|(number, _)| **number > host.durable && **number <= through)
            .map(|(_, content)| *content)
            .collect();
        host.durable = host.durable.max(through);
        for content in new {
            laws::acknowledges(self, cell, epoch, content)?;
            if let Some(known) = self.contents.get_mut(&content) {
                known.acknowledged = true;
                let effect = known.effect && self.sabotage != Some(Sabotage::BeginEarly);
                let host = self.processes[of].hosts.get_mut(&cell);
                host.into_iter().filter(|_| effect).for_each(|host| host.ready.push(content));
            }
            self.mark_later(content);
            self.count("acknowledged");
        }
        if let Some(quiet) = self.quiet.as_mut().filter(|quiet| quiet.survivor == of) {
            quiet.served.insert(cell);
        }
        self.begin_ready(of);
        Ok(())
    }

    fn drain(&mut self, of: usize, cell: CellId, epoch: Epoch) {
        let process = &mut self.processes[of];
        let life = process.life;
        process.hosts.get_mut(&cell).into_iter().for_each(|host| host.draining = true);
        if self.sabotage == Some(Sabotage::ReleaseEarly)
            && let Some(row) = self.db.cells.get_mut(&cell)
        {
            row.owner = None;
        }
        let after = self.draw.span("drain", of, [0, 400_000]);
        self.after(after, Event::Drained { of, life, cell, epoch });
    }

    /// The host has ended its commands, and gives no more batches.
    pub(super) fn drained(&mut self, of: usize, cell: CellId, epoch: Epoch) -> Result<(), Failure> {
        let Some(host) = self.processes[of].hosts.get_mut(&cell).filter(|host| host.epoch == epoch) else {
            return Ok(());
        };
        host.drained = true;
        self.end_commands(of, cell);
        self.step(of, Input::Drained { cell, epoch })
    }

    fn drop_host(&mut self, of: usize, cell: CellId, epoch: Epoch, why: Dropped) -> Result<(), Failure> {
        let process = &mut self.processes[of];
        let loads = process.loads.remove(&cell).is_some_and(|(loads, _)| loads == epoch);
        let host = process.hosts.remove(&cell);
        let known = loads || host.as_ref().is_some_and(|host| host.epoch == epoch);
        if !known {
            return Err(safety(
                "X6",
                format!("a host of {cell:?} is dropped that is none: {epoch:?}, {why:?}"),
            ));
        }
        self.count(match why {
            Dropped::Fenced { .. } => "fenced",
            Dropped::LeaseLost => "lease_lost",
            Dropped::HandedOver => "handed_over",
            Dropped::TookTooLong => "took_too_long",
        });
        laws::drops(self, of, cell, host.as_ref(), why)
    }
}
