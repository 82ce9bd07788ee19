//! Faults, and requests of operators.

use holon_cluster::Input;

use super::process::{Life, Process};
use super::setting::SECOND;
use super::world::{Event, World};
use crate::failure::Failure;

/// Time between two draws of faults for a process.
const EVERY: u64 = SECOND;

impl World {
    /// Injects the faults drawn for a process in this second.
    pub(super) fn trouble(&mut self, of: usize) -> Result<(), Failure> {
        if self.quiet.is_some() {
            return Ok(());
        }
        self.after(EVERY, Event::Trouble { of });
        let rates = self.setting.rates;
        if of == 0 && self.draw.chance("the database restarts", 0, rates.restart_database) {
            self.count("database_restarted");
            self.restart_database();
            self.down_until = self.now + self.draw.span("the database is away", 0, [50_000, 6 * SECOND]);
        }
        if self.processes[of].state != Life::Up {
            return Ok(());
        }
        let life = self.processes[of].life;
        if self.draw.chance("cut", of, rates.cut) {
            self.count("cut");
            self.processes[of].cut = true;
            let after = self.draw.span("cut for", of, [50_000, 9 * SECOND]);
            self.after(after, Event::Heal { of });
        }
        if self.setting.labelled > 0 && self.draw.chance("bind", of, rates.binds) {
            self.bind(of);
        }
        if self.draw.chance("pause", of, rates.pause) {
            self.count("pause");
            self.processes[of].state = Life::Paused;
            let after = self.draw.span("paused for", of, [100_000, 12 * SECOND]);
            self.after(after, Event::Resume { of, life });
        } else if self.draw.chance("crash", of, rates.crash) {
            self.count("crash");
            self.end(of);
        } else if self.draw.chance("stop", of, rates.stops) {
            self.count("stop");
            self.processes[of].leaves = true;
            return self.step(of, Input::Stop);
        } else if self.draw.chance("drain", of, rates.drains) {
            self.count("drain");
            self.processes[of].leaves = true;
            let after = self.draw.span("drained for", of, [5 * SECOND, 15 * SECOND]);
            self.after(after, Event::Crash { of, life });
            return self.step(of, Input::Drain);
        } else if self.draw.chance("move", of, rates.moves) {
            return self.move_cell(of);
        }
        Ok(())
    }

    /// Binds a cell of the process to its first label, in whatever state the owner is.
    fn bind(&mut self, of: usize) {
        let Process { machine, hosts, labels, .. } = &self.processes[of];
        let (Some(node), Some(label)) = (machine.node(), labels.first().cloned()) else { return };
        let cells: Vec<_> = hosts.keys().copied().collect();
        let count = u32::try_from(cells.len()).unwrap_or(1);
        let Some(cell) = cells.get(self.draw.below("bound cell", of, count.max(1)) as usize) else { return };
        if self.db.bind(node, *cell, label) {
            self.count("bind");
        }
    }

    fn move_cell(&mut self, of: usize) -> Result<(), Failure> {
        let cells: Vec<_> =
            self.processes[of].hosts.keys().copied().filter(|cell| self.serves(of, *cell)).collect();
        let others: Vec<_> = (0..self.processes.len())
            .filter(|other| *other != of)
            .filter_map(|other| self.processes[other].machine.node())
            .collect();
        if cells.is_empty() || others.is_empty() {
            return Ok(());
        }
        let cell = cells[self.draw.below("moved cell", of, u32::try_from(cells.len()).unwrap_or(1)) as usize];
        let to = others[self.draw.below("moved to", of, u32::try_from(others.len()).unwrap_or(1)) as usize];
        self.count("move");
        self.step(of, Input::Move { cell, to })
    }

    /// Ends a process, and plans its next start. Its machine and the supervisors of its commands go on.
    pub(super) fn end(&mut self, of: usize) {
        self.forsake(of);
        let process = &mut self.processes[of];
        process.state = Life::Down;
        process.hosts.clear();
        process.loads.clear();
        process.kept.clear();
        let life = process.life;
        let after = self.draw.span("down for", of, [50_000, 6 * SECOND]);
        self.after(after, Event::Restart { of, life });
    }

    /// Starts a new process on the same machine.
    pub(super) fn restart(&mut self, of: usize) -> Result<(), Failure> {
        let (life, cut) = (self.processes[of].life + 1, self.processes[of].cut);
        let (labels, rate) = (self.processes[of].labels.clone(), self.processes[of].rate);
        let fresh = Process::new(self, of, life, labels, rate)?;
        self.processes[of] = Process { cut, ..fresh };
        self.count("started");
        self.step(of, Input::Tick)
    }

    pub(super) fn resume(&mut self, of: usize) -> Result<(), Failure> {
        if self.processes[of].state != Life::Paused {
            return Ok(());
        }
        self.processes[of].state = Life::Up;
        // The process notices the time before the answers that arrived, or after them: both happen.
        if self.draw.chance("time first", of, 500) {
            self.step(of, Input::Tick)?;
        }
        while let Some(input) = self.processes[of].kept.pop_front() {
            self.step(of, input)?;
        }
        self.step(of, Input::Tick)?;
        self.begin_ready(of);
        Ok(())
    }
}
