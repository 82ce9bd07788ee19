//! Statements whose answer is waited for: one in each slot at most.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::ask::{AskId, Slot};
use crate::terms::Terms;
use crate::time::{Mono, Span};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Asked {
    open: BTreeMap<Slot, Mono>,
}

impl Asked {
    pub(crate) fn is_free(&self, slot: Slot) -> bool {
        !self.open.contains_key(&slot)
    }

    /// The slot must be free.
    pub(crate) fn open(&mut self, slot: Slot, now: Mono) -> AskId {
        let before = self.open.insert(slot, now);
        debug_assert!(before.is_none(), "two statements in {slot:?}");
        AskId { slot, sent: now }
    }

    /// Takes the statement out. False for one that nobody waits for: it was abandoned, or answered before.
    pub(crate) fn close(&mut self, ask: AskId) -> bool {
        if self.open.get(&ask.slot) != Some(&ask.sent) {
            return false;
        }
        self.open.remove(&ask.slot);
        true
    }

    /// The statements that have had their time.
    pub(crate) fn late(&self, terms: &Terms, now: Mono) -> Vec<AskId> {
        let late = self.open.iter().filter(|(slot, sent)| now >= sent.after(limit(terms, **slot)));
        late.map(|(slot, sent)| AskId { slot: *slot, sent: *sent }).collect()
    }

    /// When the first of them will have had its time.
    pub(crate) fn deadline(&self, terms: &Terms) -> Option<Mono> {
        self.open.iter().map(|(slot, sent)| sent.after(limit(terms, *slot))).min()
    }

    pub(crate) fn settles(&self) -> usize {
        self.open.keys().filter(|slot| matches!(slot, Slot::Settle(_))).count()
    }

    /// All of them, in the order of their slots; none is waited for any more.
    pub(crate) fn take_all(&mut self) -> Vec<AskId> {
        core::mem::take(&mut self.open).into_iter().map(|(slot, sent)| AskId { slot, sent }).collect()
    }
}

fn limit(terms: &Terms, slot: Slot) -> Span {
    match slot {
        // It may wait for the append whose outcome it settles.
        Slot::Append(_) | Slot::Settle(_) => terms.append_within,
        Slot::Lease | Slot::Poll | Slot::Claim | Slot::Release(_) | Slot::Draining | Slot::Leave => {
            terms.answer_within
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_and_never_for_another_statement() {
        let mut asked = Asked::default();
        let first = asked.open(Slot::Poll, Mono(1));
        assert!(!asked.is_free(Slot::Poll) && asked.is_free(Slot::Claim));
        assert!(asked.close(first) && !asked.close(first));
        let second = asked.open(Slot::Poll, Mono(2));
        assert!(!asked.close(first), "the answer to a statement that was given up");
        assert!(asked.close(second));
    }

    #[test]
    fn each_statement_has_its_time() {
        let terms = Terms { answer_within: Span(10), append_within: Span(100), ..Terms::default() };
        let mut asked = Asked::default();
        let poll = asked.open(Slot::Poll, Mono(0));
        let append = asked.open(Slot::Append(1), Mono(0));
        assert_eq!(asked.deadline(&terms), Some(Mono(10)));
        assert_eq!(asked.late(&terms, Mono(9)), []);
        assert_eq!(asked.late(&terms, Mono(10)), [poll]);
        assert_eq!(asked.late(&terms, Mono(100)), [poll, append]);
        assert_eq!(asked.take_all().len(), 2);
        assert_eq!(asked.deadline(&terms), None);
    }
}
