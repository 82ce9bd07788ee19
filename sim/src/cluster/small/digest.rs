//! The number of a state: 128 bits over everything that decides what follows.

use std::hash::{Hash, Hasher};

use crate::choices::splitmix64;

struct Digest {
    high: u64,
    low: u64,
}

/// The number of a state.
pub(super) fn digest(of: &impl Hash) -> u128 {
    let mut digest = Digest { high: 0x9E37_79B9_7F4A_7C15, low: 0xC2B2_AE3D_27D4_EB4F };
    of.hash(&mut digest);
    u128::from(splitmix64(digest.high ^ digest.low.rotate_left(17))) << 64
        | u128::from(splitmix64(digest.low))
}

impl Digest {
    fn add(&mut self, word: u64) {
        self.high = (self.high ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        self.low = (self.low.rotate_left(23) ^ word).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.high
    }
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn close_values_are_apart() {
        let mut all: Vec<u128> = (0..1_000_u64).map(|number| digest(&[number, 0, 7])).collect();
        all.extend((1..1_000_u64).map(|number| digest(&[0, number, 7])));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1_999);
    }
}
