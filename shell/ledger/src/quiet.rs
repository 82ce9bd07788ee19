//! What the writing thread puts off until nobody waits for it: compressing states of agents, and then tidying the disk.
//! Everything is armed by a write and ends by itself, so a home that rests costs nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use holon_core::snapshot::AgentSnapshot;
use holon_facts::AgentId;

use crate::store::State;

/// Without a batch for so long, states are compressed: the next one is seldom there before a model has answered.
const PACK_AFTER: Duration = Duration::from_millis(20);
/// Batches after which they are compressed in any case.
const PACK_AFTER_BATCHES: usize = 64;
/// Between two steps of it.
const TIDY_STEP: Duration = Duration::from_millis(200);
/// Where something is in the way, the pauses double up to this one; then the next write begins anew.
const TIDY_LONGEST: Duration = Duration::from_secs(320);

/// What became of an attempt to tidy the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tidied {
    Done,
    /// A part of it.
    More,
    /// A reader, a lock or a full disk is in the way.
    Hindered,
}

/// What is to be done when the thread has waited for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chore {
    Pack,
    Tidy,
}

/// What was put off.
#[derive(Debug)]
pub(crate) struct Quiet<S> {
    /// States that are durable with their records, and not compressed yet.
    states: BTreeMap<AgentId, AgentSnapshot>,
    /// Batches since the oldest of them.
    batches: usize,
    /// Those that go with the next batch.
    packed: Vec<S>,
    /// Without a batch for so long, the disk is tidied.
    tidy_after: Duration,
    /// How long to wait until the disk is tidied; none when it is.
    tidy: Option<Duration>,
}

impl<S: State> Quiet<S> {
    pub(crate) fn new(tidy_after: Duration) -> Self {
        Self { states: BTreeMap::new(), batches: 0, packed: Vec::new(), tidy_after, tidy: None }
    }

    /// A batch was written that brought these states.
    pub(crate) fn written(&mut self, states: BTreeMap<AgentId, AgentSnapshot>) {
        self.tidy = Some(self.tidy_after);
        self.states.extend(states);
        self.batches = if self.states.is_empty() { 0 } else { self.batches + 1 };
    }

    /// What comes next, and how long after the last batch; nothing when all is done.
    pub(crate) fn next(&self) -> Option<(Duration, Chore)> {
        if self.states.is_empty() {
            return self.tidy.map(|pause| (pause, Chore::Tidy));
        }
        Some((PACK_AFTER, Chore::Pack))
    }

    /// Whether states have waited for a moment of quiet for too long.
    pub(crate) fn packs_now(&self) -> bool {
        self.batches >= PACK_AFTER_BATCHES
    }

    /// Compresses the states; says whose, and the bytes of each as text. One that can't be written is left out: the log
    /// is there.
    pub(crate) fn pack(&mut self) -> Vec<(AgentId, usize)> {
        self.batches = 0;
        let states = std::mem::take(&mut self.states).into_values();
        let packed: Vec<S> = states.filter_map(|state| S::of(&state)).collect();
        let sizes = packed.iter().map(|packed| (packed.agent().clone(), packed.bytes())).collect();
        for packed in packed {
            self.packed.retain(|older| older.agent() != packed.agent());
            self.packed.push(packed);
        }
        sizes
    }

    /// What goes to the disk now.
    pub(crate) fn take_packed(&mut self) -> Vec<S> {
        std::mem::take(&mut self.packed)
    }

    pub(crate) fn tidied(&mut self, tidied: Tidied) {
        self.tidy = match tidied {
            Tidied::Done => None,
            Tidied::More => Some(TIDY_STEP),
            Tidied::Hindered => {
                let longer = self.tidy.unwrap_or(self.tidy_after).max(self.tidy_after) * 2;
                (longer <= TIDY_LONGEST).then_some(longer)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(5);

    struct Nobody(AgentId);

    impl State for Nobody {
        fn of(_: &AgentSnapshot) -> Option<Self> {
            None
        }

        fn agent(&self) -> &AgentId {
            &self.0
        }

        fn bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn what_is_in_the_way_is_waited_for_longer_and_longer_and_not_for_ever() {
        let mut quiet = Quiet::<Nobody>::new(AFTER);
        assert_eq!(quiet.next(), None, "nothing was written");
        quiet.written(BTreeMap::new());
        let mut pauses = Vec::new();
        while let Some((pause, chore)) = quiet.next() {
            assert_eq!(chore, Chore::Tidy);
            pauses.push(pause);
            quiet.tidied(Tidied::Hindered);
        }
        assert!(pauses.windows(2).all(|pair| pair[1] == pair[0] * 2), "{pauses:?}");
        assert!(pauses.len() > 3 && pauses.last() <= Some(&TIDY_LONGEST), "{pauses:?}");
        quiet.written(BTreeMap::new());
        assert_eq!(quiet.next(), Some((AFTER, Chore::Tidy)), "a write begins anew");
        quiet.tidied(Tidied::More);
        assert_eq!(quiet.next(), Some((TIDY_STEP, Chore::Tidy)));
        quiet.tidied(Tidied::Done);
        assert_eq!(quiet.next(), None);
    }
}
