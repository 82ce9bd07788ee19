//! The simulated disk: rows are accepted, then synced; a crash keeps a prefix that holds at least the rows of honest
//! syncs. The disk, not the core, decides what is durable: it remembers what was acknowledged.

pub mod batch_writer;
pub mod group;
pub mod image;
pub mod shared;
pub mod snapshots;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use group::{DiskError, Group, Ready};
use holon_core::agent::budget::Account;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::{Durable, Effect};
use holon_facts::event::{InboxFact, OperationFact};
use holon_facts::ids::{AgentId, EventSeq, MessageId, OpId, StepSeq};
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::{ContentId, Event, Record, Wall};
use holon_ledger::{AgentRow, Restored};
use image::{Damage, Found, Image, Reader};
use snapshots::{Glance, Harm, Read, Snapshots};

use crate::failure::{Failure, ensure};

/// Rows after a damaged one that a reader is given.
const BEHIND: usize = 4;

/// Rows that a crash lost although a sync had reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    pub rows: usize,
    /// The effects of some of these rows had left.
    pub effects_left: bool,
}

/// One call of the host with its records; written wholly or not at all.
#[derive(Debug, Clone)]
pub struct Row {
    pub call: Call,
    /// None for calls that are not steps.
    pub step: Option<StepSeq>,
    pub records: Vec<Record>,
    /// What a start reads about the changed agents, and what they have spent.
    pub agents: Vec<(AgentRow, Account)>,
    /// Set when the effects are released.
    pub effects: Option<Vec<Effect>>,
}

impl Row {
    pub fn new(call: Call, step: Option<StepSeq>, records: Vec<Record>) -> Self {
        Self { call, step, records, agents: Vec::new(), effects: None }
    }

    /// The last record of an agent.
    fn end_of(&self, agent: &AgentId) -> Option<EventSeq> {
        self.records.iter().rev().find(|record| record.agent == *agent).map(|record| record.event_seq)
    }

    /// Whether two rows are equal but for their effects.
    fn same(&self, other: &Self) -> bool {
        (&self.call, self.step, &self.records) == (&other.call, other.step, &other.records)
    }
}

#[derive(Debug, Default)]
pub struct Disk {
    rows: Vec<Row>,
    /// The rows with records of each agent.
    of: BTreeMap<AgentId, Vec<usize>>,
    /// Rows up to here were reported as synced.
    synced: usize,
    /// Rows up to here are synced; after a lost sync, fewer than reported.
    stable: usize,
    /// Rows up to here were acknowledged to somebody outside.
    acknowledged: usize,
    opened: BTreeMap<(AgentId, OpId), Option<SupervisorIdentity>>,
    messages: BTreeSet<(AgentId, MessageId)>,
    pub snapshots: Snapshots,
    /// How stored states are read, and the harm of a damaged one that was used.
    pub glance: Glance,
    pub misled: Cell<Option<Harm>>,
    /// Agents whose logs can't be read any more.
    pub damaged: BTreeSet<AgentId>,
    /// Texts that steps handed over with their records; those of lost rows may be among them.
    texts: BTreeSet<ContentId>,
    /// The space that was reserved for a stop on a full disk has been used.
    pub reserve_used: bool,
}

impl Disk {
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn accept(&mut self, row: Row) {
        for record in &row.records {
            let rows = self.of.entry(record.agent.clone()).or_default();
            if rows.last() != Some(&self.rows.len()) {
                rows.push(self.rows.len());
            }
        }
        self.rows.push(row);
    }

    /// The stored texts that a step names; they become durable with its row.
    pub fn keep_texts(&mut self, texts: Vec<ContentId>) {
        self.texts.extend(texts);
    }

    pub fn texts(&self) -> &BTreeSet<ContentId> {
        &self.texts
    }

    /// Makes a group durable; with a lost sync, only reports it.
    pub fn write(&mut self, group: &mut Group, is_lost: bool) -> Durable {
        let durable = if is_lost { self.lie(group.rows) } else { self.sync_rows(group.rows) };
        group.rejected.iter().for_each(|(agent, at)| self.snapshots.reject(agent, *at));
        self.keep(std::mem::take(&mut group.states));
        durable
    }

    /// Stores states of agents.
    pub fn keep(&mut self, states: Vec<Ready>) {
        states.into_iter().for_each(|state| self.snapshots.keep(state.0));
    }

    /// Makes every accepted row durable, rows of earlier lost syncs included.
    pub fn sync(&mut self) -> Durable {
        self.sync_rows(self.unsynced())
    }

    /// Makes the next rows durable, too.
    pub fn sync_rows(&mut self, rows: usize) -> Durable {
        let durable = self.lie(rows);
        self.stable = self.synced;
        durable
    }

    /// Reports the next rows as synced without writing them.
    pub fn lie(&mut self, rows: usize) -> Durable {
        let from = self.synced;
        self.synced = self.rows.len().min(from + rows);
        self.note(from);
        self.attest(last_step(self.synced()))
    }

    /// Indexes the synced rows from a position on.
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
        last_step(&self.rows)
    }

    /// The time of the newest synced record.
    fn newest(&self) -> Option<Wall> {
        self.synced().iter().rev().find_map(|row| row.records.last()).map(|record| record.at)
    }

    /// Whether the step was reported as synced.
    pub fn holds(&self, step: StepSeq) -> bool {
        step <= last_step(self.synced())
    }

    /// The rows that were reported as synced.
    fn synced(&self) -> &[Row] {
        &self.rows[..self.synced]
    }

    pub fn holds_op(&self, agent: &AgentId, op: OpId) -> bool {
        self.opened.contains_key(&(agent.clone(), op))
    }

    /// The recorded supervisor of an operation's command.
    pub fn supervisor(&self, agent: &AgentId, op: OpId) -> Option<SupervisorIdentity> {
        self.opened.get(&(agent.clone(), op)).cloned().flatten()
    }

    pub fn holds_message(&self, agent: &AgentId, message: MessageId) -> bool {
        self.messages.contains(&(agent.clone(), message))
    }

    /// Notes that the effects of a step have left; `replies` if an answer is among them.
    pub fn released(&mut self, step: StepSeq, effects: &[Effect], replies: bool) {
        let found = self.rows.iter().rposition(|row| row.step == Some(step));
        if let Some(at) = found {
            self.rows[at].effects = Some(effects.to_vec());
            if replies {
                self.acknowledged = self.acknowledged.max(at + 1);
            }
        }
    }

    /// Number of accepted rows that no sync has reported.
    pub fn unsynced(&self) -> usize {
        self.rows.len() - self.synced
    }

    /// Number of accepted rows that a crash may lose.
    pub fn loose(&self) -> usize {
        self.rows.len() - self.stable
    }

    pub fn stable(&self) -> usize {
        self.stable
    }

    /// The process has died: all stable rows survive, and `more` of the others. Returns the rows that are lost although
    /// a sync had reported them.
    pub fn crash(&mut self, more: usize) -> Lost {
        let keep = self.stable + more.min(self.loose());
        let gone = self.rows.get(keep..self.synced).unwrap_or_default();
        let lost = Lost { rows: gone.len(), effects_left: gone.iter().any(|row| row.effects.is_some()) };
        self.forget_from(keep);
        self.synced = self.synced.min(keep);
        // The surviving rows are read from the disk, so they are durable.
        self.sync();
        self.cut(keep);
        lost
    }

    /// Forgets everything acknowledged that a lost sync took.
    pub fn forget_lost(&mut self) {
        self.acknowledged = self.acknowledged.min(self.rows.len());
        self.opened.clear();
        self.messages.clear();
        self.note(0);
        self.damaged.retain(|agent| self.of.contains_key(agent));
    }

    /// Reads the rows back after a crash that damaged some; returns how many of the unsynced ones are readable. Stable
    /// rows must be whole, or their damage must be reported with its position.
    pub fn read_back(&self, left: usize, damage: Damage, reader: Reader) -> Result<usize, Failure> {
        let end = (self.stable + left).min(self.rows.len());
        let (from, hurt) = match damage {
            Damage::Torn { .. } => (self.stable, end.saturating_sub(1)),
            Damage::Hole { row } => (self.stable, row),
            Damage::Flipped { row, .. } => (row, row),
            Damage::Misdirected { row, other } => (row.min(other), row),
        };
        // A reader ends at the damage; a few rows after it show that it does.
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
        // A row that was never written leaves nothing to find.
        let is_found = found == Some(Found { row: hurt });
        ensure!(is_found || hurt >= self.stable, "D4", "{damage:?}: the reader says {found:?}");
        Ok(hurt.saturating_sub(self.stable).min(left))
    }

    /// Sabotage: loses the last acknowledged row.
    pub fn lose_acknowledged(&mut self) {
        self.cut(self.acknowledged.saturating_sub(1));
    }

    fn forget_from(&mut self, keep: usize) {
        self.rows.truncate(keep);
        self.of.retain(|_, rows| {
            rows.truncate(rows.partition_point(|row| *row < keep));
            !rows.is_empty()
        });
    }

    fn cut(&mut self, keep: usize) {
        self.forget_from(keep);
        (self.synced, self.stable) = (keep, keep);
        let ends = self.agents();
        self.snapshots.cut(&ends);
    }

    /// Whether every acknowledged row is still there.
    pub fn keeps_its_word(&self) -> bool {
        self.rows.len() >= self.acknowledged
    }

    /// Every agent with its last record.
    pub fn agents(&self) -> BTreeMap<AgentId, EventSeq> {
        let end = |(agent, rows): (&AgentId, &Vec<usize>)| {
            Some((agent.clone(), self.rows[*rows.last()?].end_of(agent)?))
        };
        self.of.iter().filter_map(end).collect()
    }

    /// The records of every agent, in order.
    pub(crate) fn logs(&self) -> BTreeMap<AgentId, Vec<Record>> {
        let mut logs: BTreeMap<AgentId, Vec<Record>> = BTreeMap::new();
        for record in self.rows.iter().flat_map(|row| &row.records) {
            logs.entry(record.agent.clone()).or_default().push(record.clone());
        }
        logs
    }

    /// An agent's records after a position.
    pub fn log(&self, agent: &AgentId, after: EventSeq) -> Vec<Record> {
        self.records(self.of.get(agent).map_or(&[], Vec::as_slice), agent, after)
    }

    fn records(&self, rows: &[usize], agent: &AgentId, after: EventSeq) -> Vec<Record> {
        let records = rows.iter().flat_map(|row| &self.rows[*row].records);
        records.filter(|record| record.agent == *agent && record.event_seq > after).cloned().collect()
    }

    /// The synced rows with records of an agent.
    fn durable(&self, agent: &AgentId) -> &[usize] {
        let rows = self.of.get(agent).map_or(&[][..], Vec::as_slice);
        &rows[..rows.partition_point(|row| *row < self.synced)]
    }

    /// The records of an agent up to an event; an error if some are not synced.
    fn log_through(&self, agent: &AgentId, through: EventSeq) -> Result<Vec<Record>, DiskError> {
        let mut log = self.records(self.durable(agent), agent, EventSeq(0));
        log.retain(|record| record.event_seq <= through);
        let whole = log.last().map_or(EventSeq(0), |record| record.event_seq) == through;
        if whole { Ok(log) } else { Err(DiskError::Damaged(agent.clone())) }
    }

    /// Loads an agent as a start does: its newest usable state, and the records after that.
    fn load(&self, agent: &AgentId) -> Result<Restored, DiskError> {
        let rows = self.durable(agent);
        let end = rows.last().and_then(|row| self.rows[*row].end_of(agent));
        let last = end.ok_or_else(|| DiskError::NoAgent(agent.clone()))?;
        if self.damaged.contains(agent) {
            return Err(DiskError::Damaged(agent.clone()));
        }
        let Read { snapshot, misled, unusable } = self.snapshots.read(agent, last, self.glance);
        self.misled.set(misled.or(self.misled.get()));
        let from = snapshot.as_ref().map_or(EventSeq(0), |snapshot| snapshot.agent.event_seq);
        let tail = self.records(rows, agent, from);
        Ok(Restored { snapshot, state_bytes: 0, tail_bytes: tail.len(), tail, unusable })
    }

    /// The last synced row of each agent.
    fn known(&self) -> impl Iterator<Item = &(AgentRow, Account)> {
        self.of.keys().filter_map(|agent| {
            let last = &self.rows[*self.durable(agent).last()?];
            last.agents.iter().find(|(row, _)| row.agent == *agent)
        })
    }
}

fn last_step(rows: &[Row]) -> StepSeq {
    rows.iter().rev().find_map(|row| row.step).unwrap_or(StepSeq(0))
}

/// The effects of a replayed step, which nobody performs.
#[expect(clippy::disallowed_methods, reason = "a replay of what this disk holds")]
pub fn effects_of(step: Step) -> Vec<Effect> {
    let seq = step.seq();
    step.release(Durable::attest(seq))
}
