//! Small fixed hashes for keys and jitter, and a keyed one whose values nobody can guess without its key. Only that one
//! is a defence against anybody.

/// FNV-1a over bytes.
pub fn fnv(bytes: &[u8]) -> u64 {
    Fnv::START.bytes(bytes).0
}

/// splitmix64's finaliser: spreads a number over all bits.
pub fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// SipHash-2-4 of whole words, little end first (Aumasson and Bernstein, 2012): without the key, no number of values tells
/// another one, or the key.
pub fn sip(key: (u64, u64), words: &[u64]) -> u64 {
    let mut state = [
        key.0 ^ 0x736f_6d65_7073_6575,
        key.1 ^ 0x646f_7261_6e64_6f6d,
        key.0 ^ 0x6c79_6765_6e65_7261,
        key.1 ^ 0x7465_6462_7974_6573,
    ];
    let length = (words.len() as u64).wrapping_mul(8) << 56;
    for word in words.iter().copied().chain([length]) {
        state[3] ^= word;
        sip_rounds(&mut state, 2);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    sip_rounds(&mut state, 4);
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn sip_rounds([a, b, c, d]: &mut [u64; 4], rounds: u32) {
    for _ in 0..rounds {
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }
}

/// FNV-1a that is fed piece by piece; each piece ends with its length, so that pieces don't run together.
#[derive(Debug, Clone, Copy)]
pub struct Fnv(pub u64);

impl Fnv {
    pub const START: Self = Self(0xcbf2_9ce4_8422_2325);

    #[must_use]
    pub const fn bytes(mut self, mut bytes: &[u8]) -> Self {
        while let [byte, rest @ ..] = bytes {
            self.0 = (self.0 ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            bytes = rest;
        }
        self
    }

    #[must_use]
    pub const fn piece(self, bytes: &[u8]) -> Self {
        self.bytes(bytes).bytes(&(bytes.len() as u64).to_le_bytes())
    }

    #[must_use]
    pub fn text(self, text: &crate::content::Text) -> Self {
        match text {
            crate::content::Text::Inline(text) => self.piece(text.as_bytes()),
            crate::content::Text::Stored(content) => self.piece(&content.id.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sip;

    /// The vectors of its authors, of the key 00 01 … 0f and as many bytes 00 01 ….
    #[test]
    fn it_is_siphash_2_4() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        assert_eq!(sip(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(sip(key, &[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
        let sixteen = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(sip(key, &sixteen), 0x3f2a_cc7f_57c2_9bdb);
    }
}
