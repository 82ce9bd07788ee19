//! A digest of a stream that does not depend on the pieces in which it came: XXH64
//! (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>), with the seed 0. It tells outputs apart, and
//! proves nothing to anybody who looks for two that are alike. Endless output goes through it: it takes words, not
//! bytes, four at a time.

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];
/// Four words, which are taken together.
const STRIPE: usize = 32;

pub(super) struct Digest {
    lanes: [u64; 4],
    /// The beginning of a stripe.
    begun: Vec<u8>,
    bytes: u64,
}

impl Digest {
    pub(super) fn new() -> Self {
        let [first, second, ..] = PRIMES;
        let lanes = [first.wrapping_add(second), second, 0, 0_u64.wrapping_sub(first)];
        Self { lanes, begun: Vec::with_capacity(STRIPE), bytes: 0 }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        if !self.begun.is_empty() {
            let missing = (STRIPE - self.begun.len()).min(bytes.len());
            self.begun.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.begun.len() < STRIPE {
                return;
            }
            take(&mut self.lanes, &self.begun);
            self.begun.clear();
        }
        let whole = bytes.len() - bytes.len() % STRIPE;
        take(&mut self.lanes, &bytes[..whole]);
        self.begun.extend_from_slice(&bytes[whole..]);
    }

    pub(super) fn finish(&self) -> u64 {
        let [first, second, third, fourth, fifth] = PRIMES;
        let mut hash = if self.bytes < STRIPE as u64 {
            fifth
        } else {
            let turned = self.lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
            self.lanes.iter().fold(turned.fold(0, u64::wrapping_add), |hash, lane| {
                (hash ^ mixed(0, *lane)).wrapping_mul(first).wrapping_add(fourth)
            })
        };
        hash = hash.wrapping_add(self.bytes);
        let (words, rest) = self.begun.as_chunks::<8>();
        for word in words {
            hash ^= mixed(0, u64::from_le_bytes(*word));
            hash = hash.rotate_left(27).wrapping_mul(first).wrapping_add(fourth);
        }
        let (halves, rest) = rest.as_chunks::<4>();
        for half in halves {
            hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(first);
            hash = hash.rotate_left(23).wrapping_mul(second).wrapping_add(third);
        }
        for byte in rest {
            hash = (hash ^ u64::from(*byte).wrapping_mul(fifth)).rotate_left(11).wrapping_mul(first);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(second);
        hash = (hash ^ (hash >> 29)).wrapping_mul(third);
        hash ^ (hash >> 32)
    }
}

fn take(lanes: &mut [u64; 4], bytes: &[u8]) {
    for stripe in bytes.as_chunks::<STRIPE>().0 {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = mixed(*lane, u64::from_le_bytes(*word));
        }
    }
}

fn mixed(lane: u64, word: u64) -> u64 {
    let [first, second, ..] = PRIMES;
    lane.wrapping_add(word.wrapping_mul(second)).rotate_left(31).wrapping_mul(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(pieces: &[&[u8]]) -> u64 {
        let mut digest = Digest::new();
        pieces.iter().for_each(|piece| digest.push(piece));
        digest.finish()
    }

    #[test]
    fn it_is_what_others_compute() {
        for (text, expected) in [
            ("", 0xEF46_DB37_51D8_E999),
            ("a", 0xD24E_C4F1_A98C_6E5B),
            ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ] {
            assert_eq!(digest(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn the_pieces_in_which_it_comes_do_not_matter() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300).collect();
        let whole = digest(&[&bytes]);
        for size in 1..=bytes.len() {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(digest(&pieces), whole, "in pieces of {size}");
        }
        let mut other = bytes.clone();
        for at in 0..bytes.len() {
            other[at] ^= 1;
            assert_ne!(digest(&[&other]), whole, "another byte {at}");
            other[at] ^= 1;
        }
    }
}
