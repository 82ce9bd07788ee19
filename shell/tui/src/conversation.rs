//! The rows that are in memory: a gap-free span of an agent's events, at most [`ROWS`] of them. What is older, or was
//! dropped at the newer end while the operator read old rows, is fetched again by cursor.

use std::collections::{BTreeSet, VecDeque};

use holon_facts::EventSeq;

use crate::row::{Part, Row};

/// Most rows in memory.
pub(crate) const ROWS: usize = 5_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    rows: VecDeque<Row>,
    /// The last event that was taken in.
    cursor: EventSeq,
    /// Whether there are older rows than the first one here.
    pub(crate) more: bool,
    /// Whether rows behind the last one here were dropped.
    cut: bool,
    /// Rows whose whole text has not been read yet.
    wanted: BTreeSet<EventSeq>,
}

impl Conversation {
    /// A fresh load: the newest rows, the oldest first.
    pub(crate) fn load(&mut self, rows: Vec<Row>, last: EventSeq, more: bool) {
        *self = Self { more, ..Self::default() };
        for row in rows {
            self.push(row, true);
        }
        self.cursor = self.cursor.max(last);
    }

    /// Takes a row in once; which end gives way to it depends on where the operator reads.
    pub(crate) fn push(&mut self, row: Row, at_end: bool) -> bool {
        if row.seq <= self.cursor {
            return false;
        }
        self.cursor = row.seq;
        if self.cut {
            return true;
        }
        if self.rows.len() == ROWS && !at_end {
            self.cut = true;
            return true;
        }
        if row.wants_text {
            self.wanted.insert(row.seq);
        }
        self.rows.push_back(row);
        if self.rows.len() > ROWS
            && let Some(oldest) = self.rows.pop_front()
        {
            self.wanted.remove(&oldest.seq);
            self.more = true;
        }
        true
    }

    /// How many older rows can be taken in. Rows up to the one that the operator reads stay, and all of them where the
    /// newest one is read.
    pub(crate) fn capacity(&self, read: Option<EventSeq>) -> usize {
        let all = self.rows.len();
        ROWS.saturating_sub(read.map_or(all, |read| (self.index_of(read) + 1).min(all)))
    }

    /// A page of older rows, the oldest first, as far as there is capacity; rows behind the one that is read give way.
    pub(crate) fn prepend(&mut self, mut rows: Vec<Row>, more: bool, read: Option<EventSeq>) {
        let capacity = self.capacity(read);
        rows.retain(|row| self.first().is_none_or(|first| row.seq < first));
        self.more = more || rows.len() > capacity;
        for row in rows.into_iter().rev().take(capacity) {
            if row.wants_text {
                self.wanted.insert(row.seq);
            }
            self.rows.push_front(row);
        }
        while self.rows.len() > ROWS {
            if let Some(newest) = self.rows.pop_back() {
                self.wanted.remove(&newest.seq);
            }
            self.cut = true;
        }
    }

    /// The whole texts of rows in a span; those that have none keep what they show.
    pub(crate) fn texts(&mut self, span: (EventSeq, EventSeq), texts: Vec<(EventSeq, Vec<Part>)>) {
        for (seq, parts) in texts {
            if let Ok(at) = self.rows.binary_search_by_key(&seq, |row| row.seq) {
                self.rows[at].parts = parts;
            }
        }
        self.wanted.retain(|seq| *seq < span.0 || *seq > span.1);
    }

    /// The newest rows whose whole texts are missing, as a span of events.
    pub(crate) fn wanted(&self, most: u64) -> Option<(EventSeq, EventSeq)> {
        let last = *self.wanted.last()?;
        let first = self.wanted.range(EventSeq(last.0.saturating_sub(most))..).next().copied()?;
        Some((first, last))
    }

    pub(crate) fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    /// Rows behind one, up to the first whose whole text is not here yet.
    pub(crate) fn finished(&self, after: EventSeq) -> impl Iterator<Item = &Row> {
        let ready = self.wanted.range(EventSeq(after.0.saturating_add(1))..).next().copied();
        let rows = self.rows.iter().skip_while(move |row| row.seq <= after);
        rows.take_while(move |row| ready.is_none_or(|ready| row.seq < ready))
    }

    pub(crate) fn first(&self) -> Option<EventSeq> {
        self.rows.front().map(|row| row.seq)
    }

    pub(crate) fn cursor(&self) -> EventSeq {
        self.cursor
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Where a row is, or the one before it.
    pub(crate) fn index_of(&self, seq: EventSeq) -> usize {
        match self.rows.binary_search_by_key(&seq, |row| row.seq) {
            Ok(at) => at,
            Err(at) => at.saturating_sub(1),
        }
    }
}
