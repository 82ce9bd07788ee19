//! Statements on their way to the database, and answers on their way back.

use holon_cluster::{Answer, AskId, Input, Link, Slot, Statement};

use super::world::{Event, World};
use crate::cluster::rules::Sabotage;
use crate::failure::Failure;

#[derive(Debug)]
pub(super) struct Wire {
    of: usize,
    life: u32,
    id: AskId,
    statement: Statement,
    /// Whether the process still waits for the answer.
    awaited: bool,
    answer: Option<Answer>,
}

/// One way over a network, a commit, and a slow one, in microseconds.
const WAY: [u64; 2] = [100, 4_000];
const COMMIT: [u64; 2] = [50, 2_000];
const SLOW: [u64; 2] = [300_000, 8_000_000];
/// Time from a lost answer to the end of its connection.
const RESET: [u64; 2] = [1_000, 3_000_000];
/// Time before a statement tries a locked row again.
const LOCKED: u64 = 5_000;

/// The link of a batch with this content.
pub(super) fn link(content: u64) -> Link {
    let mut link = [0; 32];
    link[..8].copy_from_slice(&content.to_le_bytes());
    Link(link)
}

/// The content of a batch with this link.
pub(super) fn content(link: Link) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&link.0[..8]);
    u64::from_le_bytes(first)
}

impl World {
    pub(super) fn send(&mut self, of: usize, id: AskId, mut statement: Statement) {
        let process = &self.processes[of];
        if let Statement::Append { parts } = &mut statement {
            for part in parts {
                let given =
                    process.hosts.get(&part.cell).and_then(|host| host.given.get(&part.after.batch.next()));
                part.link = given.map_or(part.link, |given| link(*given));
            }
        }
        let (life, cut) = (process.life, process.cut);
        self.order += 1;
        let wire = self.order;
        self.wires.insert(wire, Wire { of, life, id, statement, awaited: true, answer: None });
        let rates = self.setting.rates;
        let late = self.draw.chance("request is late", of, if cut { 300 } else { rates.late });
        if late {
            self.count("late");
            let after = self.draw.span("lateness", of, SLOW);
            self.after(after, Event::Execute { wire });
            // The connection may end first: the statement is executed all the same.
            self.reset(of, wire);
        } else if cut || self.draw.chance("request is lost", of, rates.request_lost) {
            self.count("request_lost");
            self.reset(of, wire);
        } else {
            let after = self.draw.span("request", of, WAY);
            self.after(after, Event::Execute { wire });
        }
    }

    /// The connection ends at some time, or stays silent until its node gives up.
    fn reset(&mut self, of: usize, wire: u64) {
        if self.draw.chance("reset", of, 500) {
            let after = self.draw.span("reset after", of, RESET);
            self.after(after, Event::Lose { wire });
        }
    }

    /// The process stops waiting for this answer. A statement that was not executed may still be.
    pub(super) fn give_up(&mut self, of: usize, id: AskId) {
        let life = self.processes[of].life;
        let found = self.wires.values_mut().find(|wire| wire.of == of && wire.life == life && wire.id == id);
        found.into_iter().for_each(|wire| wire.awaited = false);
        self.count("given_up");
        if self.sabotage == Some(Sabotage::DecideAnew) && matches!(id.slot, Slot::Append(_)) {
            self.decide_anew(of);
        }
    }

    /// Gives other contents to the batches that are not known to be durable.
    fn decide_anew(&mut self, of: usize) {
        let open: Vec<_> = self.processes[of]
            .hosts
            .iter()
            .flat_map(|(cell, host)| {
                host.given.range(host.durable.next()..).map(|(number, _)| (*cell, *number))
            })
            .collect();
        for (cell, number) in open {
            let content = self.next_content(cell, false, None);
            if let Some(host) = self.processes[of].hosts.get_mut(&cell) {
                host.given.insert(number, content);
            }
        }
    }

    /// A process has died: its answers are awaited no more.
    pub(super) fn forsake(&mut self, of: usize) {
        self.wires.values_mut().filter(|wire| wire.of == of).for_each(|wire| wire.awaited = false);
    }

    /// The database executes the statement; a renewal only begins.
    pub(super) fn execute(&mut self, number: u64) -> Result<(), Failure> {
        let Some(wire) = self.wires.get(&number) else { return Ok(()) };
        let (of, statement) = (wire.of, wire.statement.clone());
        if self.now < self.down_until {
            self.reset(of, number);
            return Ok(());
        }
        let answer = if let Statement::Renew { node } = statement {
            match self.db.begin_renewal(node) {
                Some(Some(refused)) => Some(refused),
                Some(None) => {
                    let slow = self.draw.chance("commit is slow", of, self.setting.rates.slow_commit);
                    self.count(if slow { "slow_commit" } else { "renewals" });
                    let after = self.draw.span("commit", of, if slow { SLOW } else { COMMIT });
                    self.after(after, Event::Commit { wire: number });
                    return Ok(());
                }
                None => None,
            }
        } else {
            self.executed(&statement)?
        };
        match answer {
            Some(answer) => self.answered(number, answer),
            None => {
                self.count("locked");
                self.after(LOCKED, Event::Execute { wire: number });
            }
        }
        Ok(())
    }

    /// The renewal becomes visible, unless the database has restarted since it began.
    pub(super) fn commit(&mut self, number: u64) {
        let Some(Wire { statement: Statement::Renew { node }, .. }) = self.wires.get(&number) else { return };
        let answer = self.db.commit_renewal(*node);
        self.answered(number, answer);
    }

    fn answered(&mut self, number: u64, answer: Answer) {
        let Some(wire) = self.wires.get_mut(&number) else { return };
        let of = wire.of;
        wire.answer = Some(answer);
        if !wire.awaited {
            self.wires.remove(&number);
        } else if self.processes[of].cut
            || self.draw.chance("answer is lost", of, self.setting.rates.answer_lost)
        {
            self.count("answer_lost");
            self.reset(of, number);
        } else {
            let slow = self.draw.chance("answer is late", of, self.setting.rates.late);
            let after = self.draw.span("answer", of, if slow { SLOW } else { WAY });
            self.after(after, Event::Deliver { wire: number });
        }
    }

    pub(super) fn deliver(&mut self, number: u64) -> Result<(), Failure> {
        let Some(Wire { of, life, id, awaited: true, answer: Some(answer), .. }) = self.wires.remove(&number)
        else {
            return Ok(());
        };
        if self.processes[of].life != life {
            return Ok(());
        }
        self.step(of, Input::Answer { ask: id, answer })
    }

    /// The connection of the statement ends.
    pub(super) fn lose(&mut self, number: u64) -> Result<(), Failure> {
        let Some(wire) = self.wires.get_mut(&number).filter(|wire| wire.awaited) else { return Ok(()) };
        let (of, life, id) = (wire.of, wire.life, wire.id);
        wire.awaited = false;
        if self.processes[of].life != life {
            return Ok(());
        }
        if self.sabotage == Some(Sabotage::DecideAnew) && matches!(id.slot, Slot::Append(_)) {
            self.decide_anew(of);
        }
        self.step(of, Input::NoAnswer { ask: id })
    }

    /// All connections end; everything uncommitted is rolled back.
    pub(super) fn restart_database(&mut self) {
        self.db.restart();
        let open: Vec<u64> =
            self.wires.iter().filter(|(_, wire)| wire.answer.is_none()).map(|(number, _)| *number).collect();
        for number in open {
            let Some(wire) = self.wires.get_mut(&number) else { continue };
            let of = wire.of;
            // The statement executes nothing any more; its process sees the connection end, or no answer.
            wire.statement = Statement::Append { parts: Vec::new() };
            self.reset(of, number);
        }
    }
}
