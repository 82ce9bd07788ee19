//! The last head of each cell that this node has owned. A database that ends before it has lost what it had acknowledged.

use alloc::collections::BTreeMap;

use crate::ids::{Acceptance, CellId, Epoch, Head};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Memory {
    heads: BTreeMap<CellId, Remembered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Remembered {
    pub(crate) epoch: Epoch,
    pub(crate) head: Head,
    /// The latest loss of the cell that was accepted by then.
    pub(crate) acceptance: Acceptance,
}

impl Memory {
    /// Past `limit` cells, the one with the smallest number is forgotten.
    pub(crate) fn remember(&mut self, cell: CellId, known: Remembered, limit: usize) {
        self.heads.insert(cell, known);
        if self.heads.len() > limit {
            self.heads.pop_first();
        }
    }

    pub(crate) fn of(&self, cell: CellId) -> Option<Remembered> {
        self.heads.get(&cell).copied()
    }

    /// An operator has accepted that the end is gone. The epoch stays: what it forbids has nothing to do with the loss.
    pub(crate) fn accept(&mut self, cell: CellId, head: Head) {
        if let Some(remembered) = self.heads.get_mut(&cell) {
            remembered.head = head;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::tests::head;

    fn known(epoch: u64, head: Head) -> Remembered {
        Remembered { epoch: Epoch(epoch), head, acceptance: Acceptance(0) }
    }

    #[test]
    fn it_has_a_limit_and_takes_a_loss() {
        let mut memory = Memory::default();
        for cell in 1..=3 {
            memory.remember(CellId(cell), known(cell, head(cell, 0)), 2);
        }
        assert_eq!(memory.of(CellId(1)), None);
        memory.accept(CellId(3), head(1, 1));
        assert_eq!(memory.of(CellId(3)), Some(known(3, head(1, 1))));
    }
}
