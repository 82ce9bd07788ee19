//! Hints of more sources than are kept apart (contract: work.md, Wake hints; decisions.md, 29): which source is folded,
//! and what is kept of it. Bare hints that nobody waits for go first, and leave only their number.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::event::wake::WakeHintRecorded;
use holon_facts::hint::{Hint, HintWeight, SOURCES};
use holon_facts::ids::WaitId;
use holon_facts::time::Wall;

use crate::agent::Agent;
use crate::agent::wake::{Hints, Pending, Subjects, keep};

/// Sources that a message names, and bytes of each name.
const NAMED: usize = 10;

const SOURCE_BYTES: usize = 16;

impl Pending {
    pub(crate) fn one(at: Wall, sequence: u64, hint: Hint) -> Self {
        let about = Subjects::default();
        Self { hint, about, count: 1, first_at: at, last_at: at, sequence, folded: false }
    }

    fn is_bare(&self) -> bool {
        let Self { hint, about, .. } = self;
        let names_wait = hint.wait_id.is_some() || !about.wait_ids.is_empty();
        hint.body.is_none() && hint.correlation_id.is_none() && !names_wait
    }

    /// What they were about stays, what they said does not.
    fn into_folded(mut self) -> Self {
        (self.hint.body, self.hint.content_type, self.hint.description) = (None, None, None);
        self.folded = true;
        self
    }

    /// Takes in folded hints, of this source or of another one: then that source is one of its subjects.
    fn absorb(&mut self, later: Self) {
        if self.about.is_empty() {
            self.about.add(&self.hint);
        }
        let source = Some(&later.hint.source).filter(|source| **source != self.hint.source);
        if !keep(&mut self.about.resources, source) {
            self.about.more = self.about.more.saturating_add(1);
        }
        self.about.add(&later.hint);
        self.about.merge(later.about);
        self.hint.wait_id = self.hint.wait_id.or(later.hint.wait_id);
        self.hint.external_trigger_id = self.hint.external_trigger_id.or(later.hint.external_trigger_id);
        self.hint.repeats &= later.hint.repeats;
        self.count = self.count.saturating_add(later.count);
        (self.last_at, self.sequence) = (later.last_at, later.sequence);
    }
}

impl Subjects {
    fn merge(&mut self, other: Self) {
        let resources = other.resources.iter().filter(|one| !keep(&mut self.resources, Some(one))).count();
        let waits = other.wait_ids.iter().filter(|one| !keep(&mut self.wait_ids, Some(one))).count();
        let forgotten = (resources + waits) as u64;
        self.more = self.more.saturating_add(other.more).saturating_add(forgotten);
    }
}

impl Hints {
    pub(super) fn recorded(&mut self, at: Wall, fact: &WakeHintRecorded, next_wait: WaitId) {
        self.sequence = fact.sequence;
        let pending = Pending::one(at, fact.sequence, fact.hint.clone());
        self.pending.insert(fact.hint.source.clone(), pending);
        let Some(folded) = fact.folded.as_ref().and_then(|source| self.pending.remove(source)) else {
            return;
        };
        match fact.folded_as {
            Some(HintWeight::Contentful | HintWeight::Awaited) => self.keep_folded(folded),
            Some(HintWeight::Bare) => {
                self.others = self.others.saturating_add(folded.count);
                self.others_before.get_or_insert(next_wait);
            }
            // An earlier build knew no difference.
            None => self.others = self.others.saturating_add(folded.count),
        }
    }

    /// As many sources are kept as hints of them wait; the oldest takes in the others.
    fn keep_folded(&mut self, folded: Pending) {
        let folded = folded.into_folded();
        let source = if self.folded.len() < SOURCES || self.folded.contains_key(&folded.hint.source) {
            Some(folded.hint.source.clone())
        } else {
            self.folded.values().min_by_key(|kept| kept.sequence).map(|kept| kept.hint.source.clone())
        };
        match source.and_then(|source| self.folded.get_mut(&source)) {
            Some(kept) => kept.absorb(folded),
            None => drop(self.folded.insert(folded.hint.source.clone(), folded)),
        }
    }

    /// Sources that were folded, and had a body, a correlation or a waiter.
    pub fn folded(&self) -> impl Iterator<Item = &Pending> {
        self.folded.values()
    }

    /// Hints of which only the number is known.
    pub fn others(&self) -> u64 {
        self.others
    }
}

impl Agent {
    pub(crate) fn weight(&self, pending: &Pending) -> HintWeight {
        if self.is_awaited(pending) {
            HintWeight::Awaited
        } else if pending.is_bare() {
            HintWeight::Bare
        } else {
            HintWeight::Contentful
        }
    }

    /// Whether a hint that comes now makes the model look.
    pub(crate) fn needs_turn(&self, hint: &Hint, at: Wall) -> bool {
        let named = self.wait_named_by(hint).is_some();
        named || hint.body.is_some() || self.is_awaited(&Pending::one(at, 0, hint.clone()))
    }

    /// The source that is folded when one more has something to say; that may be the new one.
    pub(crate) fn source_to_fold(&self, new: &Pending) -> Option<(String, HintWeight)> {
        if self.hints.pending.len() < SOURCES {
            return None;
        }
        let all = self.hints.pending().chain([new]);
        let least =
            all.map(|pending| (self.weight(pending), pending.sequence, &pending.hint.source)).min()?;
        Some((least.2.clone(), least.0))
    }

    /// Whether a wait was registered after a hint of which only the number is known: that may be what it is for.
    fn may_await_others(&self) -> bool {
        let since = self.hints.others_before;
        since.is_some_and(|since| self.external_waits().any(|wait| wait.id >= since))
    }

    /// Whether a folded hint mattered, or may matter by now.
    pub(crate) fn folded_matters(&self) -> bool {
        !self.hints.folded.is_empty() || self.may_await_others()
    }
}

/// What a message says that reports all hints but those of these sources.
pub(crate) fn tick_text(hints: &Hints, left: &[String]) -> String {
    let shown = || hints.pending().filter(|pending| !left.contains(&pending.hint.source));
    let one = |pending: &Pending| {
        let times = if pending.count > 1 { format!(" ({})", pending.count) } else { String::new() };
        format!("{}{times}", clip(&pending.hint.source, SOURCE_BYTES))
    };
    let mut named: Vec<String> = shown().take(NAMED).map(one).collect();
    let more = shown().count().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("{more} more sources")));
    named.extend(others(hints));
    format!("Woken by hints of {}.", named.join(", "))
}

/// Folded hints, with the sources of those that mattered.
fn others(hints: &Hints) -> Option<String> {
    let folded: u64 = hints.folded().map(|pending| pending.count).sum();
    let count = folded.saturating_add(hints.others);
    let source = |pending: &Pending| clip(&pending.hint.source, SOURCE_BYTES);
    let mut named: Vec<String> = hints.folded().take(NAMED).map(source).collect();
    let more = hints.folded.len().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("{more} more sources")));
    let named = if named.is_empty() { String::new() } else { format!(" (of {})", named.join(", ")) };
    (count > 0).then(|| format!("{count} others{named}"))
}
