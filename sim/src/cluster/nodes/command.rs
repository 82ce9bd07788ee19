//! Effects: a command begins while the lease allows it, and runs under a supervisor that ends it with the lease,
//! whatever happens to the process that began it.

use holon_cluster::{CellId, Epoch, Mono};

use super::laws;
use super::process::Life;
use super::world::{Event, World};
use crate::cluster::rules::Sabotage;
use crate::failure::Failure;

/// A command that runs on the machine of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    pub(super) of: usize,
    pub(super) cell: CellId,
    pub(super) epoch: Epoch,
    pub(super) content: u64,
    /// When the supervisor ends the command, by the clock of its machine.
    until: u64,
}

/// How late a supervisor ends its command, in microseconds: the interval of its clock checks.
const LATE: [u64; 2] = [0, 200_000];

impl World {
    /// Extends the time until which effects may begin; commands of cells that the node still owns run on.
    pub(super) fn effects(&mut self, of: usize, until: Mono) {
        let process = &mut self.processes[of];
        process.until = until.0;
        let mut longer = Vec::new();
        for command in self.commands.iter_mut().filter(|command| command.of == of) {
            let owned = process.hosts.get(&command.cell).is_some_and(|host| host.epoch == command.epoch);
            if owned {
                command.until = command.until.max(until.0);
                longer.push(*command);
            }
        }
        for command in longer {
            self.ends_with_lease(command);
        }
        self.begin_ready(of);
    }

    fn ends_with_lease(&mut self, command: Command) {
        let late = self.draw.span("supervisor", command.of, LATE);
        let at = self.processes[command.of].global(command.until) + late;
        self.at(at.max(self.now), Event::Supervise { content: command.content, until: command.until });
    }

    /// Hands ready effects to supervisors, with the deadline that holds now; the rest waits for a longer lease.
    pub(super) fn begin_ready(&mut self, of: usize) {
        let now = self.processes[of].local(self.now);
        let process = &mut self.processes[of];
        if process.state != Life::Up {
            return;
        }
        let mut begins = Vec::new();
        for (cell, host) in process.hosts.iter_mut().filter(|(_, host)| !host.ready.is_empty()) {
            let until = process.machine.effects_until(*cell).map(|until| until.0);
            let unbound = self.sabotage == Some(Sabotage::NoDeadline);
            if let Some(until) = until.filter(|until| now < *until).or_else(|| unbound.then_some(now)) {
                let ready = std::mem::take(&mut host.ready);
                begins.extend(ready.into_iter().map(|content| (*cell, host.epoch, content, until)));
            }
        }
        for (cell, epoch, content, until) in begins {
            let slow = self.draw.chance("supervisor is slow", of, self.setting.rates.slow_begin);
            self.count(if slow { "slow_begin" } else { "supervisor" });
            let after = self.draw.span("begin", of, if slow { [1_000_000, 8_000_000] } else { [0, 20_000] });
            self.waiting.insert(content, Command { of, cell, epoch, content, until });
            self.after(after, Event::Begin { content });
        }
    }

    /// What a supervisor checks right before it begins: its clock against its deadline. It does not matter whether the
    /// process that started it still lives.
    pub(super) fn begin(&mut self, content: u64) -> Result<(), Failure> {
        let Some(command) = self.waiting.remove(&content) else { return Ok(()) };
        let Command { of, cell, epoch, until, .. } = command;
        let now = self.processes[of].local(self.now);
        let may = match self.sabotage {
            Some(Sabotage::NoDeadline) => true,
            Some(Sabotage::LateDeadline) => now < until + 2_000_000,
            Some(_) | None => now < until,
        };
        if !may {
            let host = self.processes[of].hosts.get_mut(&cell).filter(|host| host.epoch == epoch);
            host.into_iter().for_each(|host| host.ready.push(content));
            self.count("too_late_to_begin");
            return Ok(());
        }
        laws::begins(self, cell, epoch, content)?;
        self.count("begun");
        self.commands.push(command);
        let lasts = self.draw.span("command", of, [0, self.setting.commands + 1]);
        self.after(lasts, Event::Exit { content });
        self.ends_with_lease(command);
        Ok(())
    }

    /// Ends the commands of a host that gives its last batch; it begins no more.
    pub(super) fn end_commands(&mut self, of: usize, cell: CellId) {
        let others = |command: &Command| command.of != of || command.cell != cell;
        self.waiting.retain(|_, command| others(command));
        if self.sabotage != Some(Sabotage::KeepCommands) {
            self.commands.retain(others);
        }
    }

    /// The supervisor ends a command whose lease is over, unless the lease was extended.
    pub(super) fn supervise(&mut self, content: u64, until: u64) {
        let before = self.commands.len();
        if self.sabotage != Some(Sabotage::KeepCommands) {
            self.commands.retain(|command| command.content != content || command.until > until);
        }
        if self.commands.len() < before {
            self.count("ended_with_lease");
        }
    }
}
