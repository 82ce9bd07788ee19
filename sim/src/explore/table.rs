//! The states that were visited: open addressing over 128-bit hashes, with the number of each state.

/// Hashes of states, which spread well already. Grows at three quarters.
#[derive(Debug)]
pub(crate) struct Table {
    slots: Vec<(u128, u32)>,
    used: usize,
}

/// The number of a free slot.
const FREE: u32 = u32::MAX;

impl Table {
    pub(crate) fn new() -> Self {
        Self { slots: vec![(0, FREE); 1 << 12], used: 0 }
    }

    /// Stores a state under a number unless it has one; returns its number.
    pub(crate) fn file(&mut self, hash: u128, number: u32) -> u32 {
        if self.used * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = self.place(hash);
        if self.slots[at].1 == FREE {
            self.slots[at] = (hash, number);
            self.used += 1;
        }
        self.slots[at].1
    }

    /// The slot of a hash, used or free.
    fn place(&self, hash: u128) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = usize::try_from(hash & mask as u128).unwrap_or(0);
        while self.slots[at].1 != FREE && self.slots[at].0 != hash {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let twice = vec![(0, FREE); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, twice);
        for slot in old.into_iter().filter(|slot| slot.1 != FREE) {
            let at = self.place(slot.0);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::choices::splitmix64;

    #[test]
    fn each_hash_keeps_its_first_number() {
        let mut table = Table::new();
        let spread = |number: u32| u128::from(splitmix64(u64::from(number)));
        // Several hashes for each slot.
        let hash = |number: u32| spread(number) << 64 | spread(number % 5_000);
        for number in 0..20_000 {
            assert_eq!(table.file(hash(number), number), number);
        }
        for number in 0..20_000 {
            assert_eq!(table.file(hash(number), 99_999), number);
        }
    }
}
