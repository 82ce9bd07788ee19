//! The simulated disk: rows are accepted, then synced; a crash keeps a prefix that holds at least what an honest
//! sync wrote. The disk remembers what was acknowledged to anybody, and so it, not the core, judges durability.

pub mod group;
pub mod image;
pub mod shelf;

use std::collections::{BTreeMap, BTreeSet};

use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::{Durable, Effect};
use holon_facts::event::{InboxFact, OperationFact};
use holon_facts::ids::{AgentId, EventSeq, MessageId, OpId, StepSeq};
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::{ContentId, Event, Record, Wall};
use image::{Damage, Found, Image, Reader};
use shelf::Shelf;

use crate::failure::{Failure, ensure};

/// Rows from a damaged one on that a reader is given.
const BEHIND: usize = 4;

/// What a crash has taken of rows that a sync had spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    pub rows: usize,
    /// The effects of some of them had left.
    pub told: bool,
}

/// One call of the host with what it brought; written wholly or not at all.
#[derive(Debug, Clone)]
pub struct Row {
    pub call: Call,
    /// None for calls that are not steps.
    pub step: Option<StepSeq>,
    pub records: Vec<Record>,
    /// Set when the effects were handed out.
    pub effects: Option<Vec<Effect>>,
}

impl Row {
    /// Whether it says the same, but for what was handed out.
    fn same(&self, other: &Self) -> bool {
        (&self.call, self.step, &self.records) == (&other.call, other.step, &other.records)
    }
}

#[derive(Debug, Default)]
pub struct Disk {
    rows: Vec<Row>,
    /// Rows up to here are said to be on stable storage.
    synced: usize,
    /// Rows up to here are: a sync that lies says more.
    stable: usize,
    /// Rows up to here were told to somebody outside.
    acknowledged: usize,
    opened: BTreeMap<(AgentId, OpId), Option<SupervisorIdentity>>,
    messages: BTreeSet<(AgentId, MessageId)>,
    pub snapshots: Shelf,
    /// Texts that steps handed over together with their records; what a crash has cut off may be among them.
    texts: BTreeSet<ContentId>,
    /// The room that was held back for a stop on a full disk has been used up.
    pub reserve_used: bool,
}

impl Disk {
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn accept(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The stored texts that a step names; they become durable with its row.
    pub fn keep_texts(&mut self, step: &Step) {
        self.texts.extend(step.contents().into_iter().map(|content| content.id));
    }

    pub fn texts(&self) -> &BTreeSet<ContentId> {
        &self.texts
    }

    /// Everything that was accepted is on stable storage now; what an earlier sync lied about, too.
    pub fn sync(&mut self) -> Durable {
        self.sync_rows(self.unsynced())
    }

    /// The next rows are on stable storage, too.
    pub fn sync_rows(&mut self, rows: usize) -> Durable {
        let durable = self.lie(rows);
        self.stable = self.synced;
        durable
    }

    /// A sync that returns without having written anything.
    pub fn lie(&mut self, rows: usize) -> Durable {
        let from = self.synced;
        self.synced = self.rows.len().min(from + rows);
        self.note(from);
        self.attest(self.rows[..self.synced].iter().rev().find_map(|row| row.step).unwrap_or(StepSeq(0)))
    }

    /// Remembers what the rows from one on bring.
    fn note(&mut self, from: usize) {
        for row in &self.rows[from..self.synced] {
            for record in &row.records {
                if let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event {
                    self.opened.insert((record.agent.clone(), fact.op), fact.supervisor.clone());
                }
                if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
                    self.messages.insert((record.agent.clone(), fact.message.id));
                }
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the simulated disk")]
    pub fn attest(&self, through: StepSeq) -> Durable {
        Durable::attest(through)
    }

    /// Number of the last step that was accepted.
    pub fn last_step(&self) -> StepSeq {
        self.rows.iter().rev().find_map(|row| row.step).unwrap_or(StepSeq(0))
    }

    /// When the newest record was made.
    pub fn newest(&self) -> Option<Wall> {
        self.rows.iter().rev().find_map(|row| row.records.last()).map(|record| record.at)
    }

    /// Whether the step is on stable storage.
    pub fn holds(&self, step: StepSeq) -> bool {
        self.rows[..self.synced].iter().rev().find_map(|row| row.step).is_some_and(|last| step <= last)
    }

    pub fn holds_op(&self, agent: &AgentId, op: OpId) -> bool {
        self.opened.contains_key(&(agent.clone(), op))
    }

    /// Who executes the command of that operation, as it is written down.
    pub fn supervisor(&self, agent: &AgentId, op: OpId) -> Option<&SupervisorIdentity> {
        self.opened.get(&(agent.clone(), op)).and_then(Option::as_ref)
    }

    pub fn holds_message(&self, agent: &AgentId, message: MessageId) -> bool {
        self.messages.contains(&(agent.clone(), message))
    }

    /// The effects of a step were handed out; `told` when somebody outside learned of it.
    pub fn released(&mut self, step: StepSeq, effects: &[Effect], told: bool) {
        let found = self.rows.iter().rposition(|row| row.step == Some(step));
        if let Some(at) = found {
            self.rows[at].effects = Some(effects.to_vec());
            if told {
                self.acknowledged = self.acknowledged.max(at + 1);
            }
        }
    }

    /// How many accepted rows no sync has spoken of.
    pub fn unsynced(&self) -> usize {
        self.rows.len() - self.synced
    }

    /// How many accepted rows a crash may lose.
    pub fn loose(&self) -> usize {
        self.rows.len() - self.stable
    }

    pub fn stable(&self) -> usize {
        self.stable
    }

    /// The process has died: all that is stable survives, and `more` of the other rows. Says what went although
    /// a sync had spoken of it.
    pub fn crash(&mut self, more: usize) -> Lost {
        let keep = self.stable + more.min(self.loose());
        let gone = self.rows.get(keep..self.synced).unwrap_or_default();
        let lost = Lost { rows: gone.len(), told: gone.iter().any(|row| row.effects.is_some()) };
        self.rows.truncate(keep);
        self.synced = self.synced.min(keep);
        // What survived is read from the disk: it is as durable as anything.
        self.sync();
        self.cut(keep);
        lost
    }

    /// What a sync had lied about is nobody's fault but the disk's: nothing that is gone counts any more.
    pub fn forget_lost(&mut self) {
        self.acknowledged = self.acknowledged.min(self.rows.len());
        self.opened.clear();
        self.messages.clear();
        self.note(0);
    }

    /// What a start reads back of the rows that a crash left behind, if some of them were damaged: how many
    /// of those that were not stable. What was must be whole, or the damage must be told with its place.
    pub fn read_back(&self, left: usize, damage: Damage, reader: Reader) -> Result<usize, Failure> {
        let end = (self.stable + left).min(self.rows.len());
        let (from, hurt) = match damage {
            Damage::Torn { .. } => (self.stable, end.saturating_sub(1)),
            Damage::Hole { row } => (self.stable, row),
            Damage::Flipped { row, .. } => (row, row),
            Damage::Misdirected { row, other } => (row.min(other), row),
        };
        // A reader ends at the damage; a few rows behind it show that it does.
        let shown = match damage {
            Damage::Torn { .. } | Damage::Hole { .. } => end,
            Damage::Flipped { row, .. } => end.min(row + BEHIND),
            Damage::Misdirected { row, other } => end.min(row.max(other) + BEHIND),
        };
        let mut image = Image::of(&self.rows[..shown], from);
        image.suffer(damage);
        let (rows, found) = image.read(reader);
        let same = rows.iter().zip(&self.rows[from..]).all(|(read, row)| read.same(row));
        ensure!(same, "D11", "{damage:?}: a row was read that was never written");
        ensure!(rows.len() == hurt - from, "D4", "{damage:?}: {} rows from {from} were read", rows.len());
        // A row of which nothing was written leaves nothing to find.
        let told = found == Some(Found { row: hurt });
        ensure!(told || hurt >= self.stable, "D4", "{damage:?}: the reader says {found:?}");
        Ok(hurt.saturating_sub(self.stable).min(left))
    }

    /// A broken disk: loses the last row that somebody was told about.
    pub fn lose_acknowledged(&mut self) {
        self.cut(self.acknowledged.saturating_sub(1));
    }

    fn cut(&mut self, keep: usize) {
        self.rows.truncate(keep);
        (self.synced, self.stable) = (keep, keep);
        let ends = self.agents();
        self.snapshots.cut(&ends);
    }

    /// Whether every row that was told to somebody is still there.
    pub fn keeps_its_word(&self) -> bool {
        self.rows.len() >= self.acknowledged
    }

    /// Every agent with its last record.
    pub fn agents(&self) -> BTreeMap<AgentId, EventSeq> {
        let mut agents = BTreeMap::new();
        for record in self.rows.iter().flat_map(|row| &row.records) {
            match agents.get_mut(&record.agent) {
                Some(last) => *last = record.event_seq,
                None => drop(agents.insert(record.agent.clone(), record.event_seq)),
            }
        }
        agents
    }

    /// The records of every agent, in order: for whoever needs all of them.
    pub(crate) fn logs(&self) -> BTreeMap<AgentId, Vec<Record>> {
        let mut logs: BTreeMap<AgentId, Vec<Record>> = BTreeMap::new();
        for record in self.rows.iter().flat_map(|row| &row.records) {
            logs.entry(record.agent.clone()).or_default().push(record.clone());
        }
        logs
    }

    /// An agent's records after a position.
    pub fn log(&self, agent: &AgentId, after: EventSeq) -> Vec<Record> {
        log(&self.rows, agent, after)
    }
}

/// An agent's records after a position, among some rows.
pub fn log(rows: &[Row], agent: &AgentId, after: EventSeq) -> Vec<Record> {
    let records = rows.iter().flat_map(|row| &row.records);
    records.filter(|record| record.agent == *agent && record.event_seq > after).cloned().collect()
}

/// The effects of a step that is made again; they reach nobody.
#[expect(clippy::disallowed_methods, reason = "a replay of what this disk holds")]
pub fn effects_of(step: Step) -> Vec<Effect> {
    let seq = step.seq();
    step.release(Durable::attest(seq))
}
