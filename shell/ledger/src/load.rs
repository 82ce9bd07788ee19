//! How much is on its way to the disk.

/// A measure of batches: calls of the host, and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub calls: usize,
    pub bytes: usize,
}

impl Load {
    pub const NONE: Self = Self { calls: 0, bytes: 0 };

    /// What one transaction takes at most, and what may be under way before the driver waits.
    pub const GROUP: Self = Self { calls: 256, bytes: 8 << 20 };

    /// One batch is one transaction, however large: it takes the room of one group, and leaves that of a stop.
    #[must_use]
    pub fn within(self, group: Self) -> Self {
        Self { calls: self.calls.min(group.calls), bytes: self.bytes.min(group.bytes) }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, bytes: self.bytes + other.bytes }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { calls: self.calls.saturating_sub(other.calls), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// Whether it is below so many groups in both respects.
    pub fn is_below(self, group: Self, times: usize) -> bool {
        self.calls < times * group.calls && self.bytes < times * group.bytes
    }
}
