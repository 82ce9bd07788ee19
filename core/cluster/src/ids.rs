//! What nodes, cells and batches are called.

use alloc::string::String;

/// One start of a process. A process whose lease is over goes on as another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// One host with its agents and its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub u64);

/// How often a cell has changed its owner. An append of an older epoch writes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The number of a batch in the log of its cell; the first one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNumber(pub u64);

/// The hash over a batch and the link before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub [u8; 32]);

/// The end of a cell's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head {
    pub batch: BatchNumber,
    pub link: Link,
}

/// The latest loss of a cell that operators have accepted; zero: none. A later one has a greater number, also after the database
/// was set back: heads that were remembered before it do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Acceptance(pub u64);

/// What a cell asks of its owner: a cell with a label is owned by a node with that label only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub String);

impl BatchNumber {
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Head {
    /// A log that ended here can't end there later: it is shorter, or it has another batch in this place.
    pub(crate) fn contradicts(self, found: Self) -> bool {
        found.batch < self.batch || (found.batch == self.batch && found.link != self.link)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A head whose link is made of one byte.
    pub(crate) fn head(batch: u64, link: u8) -> Head {
        Head { batch: BatchNumber(batch), link: Link([link; 32]) }
    }

    #[test]
    fn a_log_that_went_back_contradicts_what_it_was() {
        assert!(head(3, 1).contradicts(head(2, 9)));
        assert!(head(3, 1).contradicts(head(3, 2)));
        assert!(!head(3, 1).contradicts(head(3, 1)));
        assert!(!head(3, 1).contradicts(head(4, 7)));
    }
}
