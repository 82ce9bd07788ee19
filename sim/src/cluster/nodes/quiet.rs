//! X8: faults are over, and only one process lives. It owns every cell that its labels allow, and a request for each
//! becomes durable, within the time that the terms give.

use std::collections::BTreeSet;

use holon_cluster::CellId;

use super::deposit::Deposit;
use super::process::{LABEL, Life};
use super::setting::Rates;
use super::world::World;
use crate::failure::{Failure, liveness};

#[derive(Debug)]
pub(super) struct Quiet {
    pub(super) survivor: usize,
    ends: u64,
    /// Cells for which the survivor has made a request durable since then.
    pub(super) served: BTreeSet<CellId>,
}

impl World {
    pub(super) fn fall_quiet(&mut self) -> Result<(), Failure> {
        let count = self.processes.len();
        let all = u32::try_from(if self.setting.labelled > 0 { 2.min(count) } else { count }).unwrap_or(1);
        let survivor = self.draw.below("survivor", 0, all) as usize;
        self.quiet =
            Some(Quiet { survivor, ends: self.now + self.setting.quiet_within(), served: BTreeSet::new() });
        self.note(|| format!("process {survivor} alone goes on"));
        self.setting.rates = Rates { clocks: self.setting.rates.clocks, ..Rates::default() };
        self.down_until = 0;
        for of in (0..count).filter(|of| *of != survivor) {
            self.end(of);
        }
        self.processes[survivor].cut = false;
        // An operator may have drained or stopped the survivor: it restarts, as after a crash.
        match self.processes[survivor].state {
            Life::Up if !self.processes[survivor].leaves => Ok(()),
            Life::Paused if !self.processes[survivor].leaves => self.resume(survivor),
            Life::Up | Life::Paused | Life::Down => {
                self.end(survivor);
                self.restart(survivor)
            }
        }
    }

    /// Whether the world is over.
    pub(super) fn is_over(&self) -> Result<bool, Failure> {
        let Some(quiet) = &self.quiet else { return Ok(false) };
        let due = self.db.cells.iter().filter(|(_, cell)| cell.label.is_none() || self.setting.labelled > 0);
        let due: BTreeSet<CellId> = due.map(|(cell, _)| *cell).collect();
        let left: Vec<CellId> = due.iter().copied().filter(|cell| !quiet.served.contains(cell)).collect();
        let waiting = |deposit: &&Deposit| deposit.taken.is_none() && due.contains(&deposit.cell);
        let waits = self.deposits.values().find(waiting);
        if left.is_empty() && waits.is_none() {
            return Ok(true);
        }
        if self.now < quiet.ends {
            return Ok(false);
        }
        if left.is_empty() {
            return Err(liveness("X7", format!("nobody judges {waits:?}")));
        }
        let of = quiet.survivor;
        let standing: Vec<_> =
            left.iter().map(|cell| (cell, self.processes[of].machine.standing(*cell))).collect();
        let within = self.setting.quiet_within() / 1_000;
        Err(liveness(
            "X8",
            format!(
                "process {of}, alone and with label {LABEL}, does not serve within {within} ms: {standing:?}"
            ),
        ))
    }
}
