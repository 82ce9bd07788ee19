//! Small fixed hashes for keys and jitter; nothing here is a defence against anybody.

/// FNV-1a over bytes.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    Fnv::START.bytes(bytes).0
}

/// splitmix64's finaliser: spreads a number over all bits.
pub(crate) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// FNV-1a that is fed piece by piece; each piece ends with its length, so that pieces don't run together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fnv(pub(crate) u64);

impl Fnv {
    pub(crate) const START: Self = Self(0xcbf2_9ce4_8422_2325);

    #[must_use]
    pub(crate) const fn bytes(mut self, mut bytes: &[u8]) -> Self {
        while let [byte, rest @ ..] = bytes {
            self.0 = (self.0 ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            bytes = rest;
        }
        self
    }

    #[must_use]
    pub(crate) const fn piece(self, bytes: &[u8]) -> Self {
        self.bytes(bytes).bytes(&(bytes.len() as u64).to_le_bytes())
    }

    #[must_use]
    pub(crate) fn text(self, text: &crate::content::Text) -> Self {
        match text {
            crate::content::Text::Inline(text) => self.piece(text.as_bytes()),
            crate::content::Text::Stored(content) => self.piece(&content.id.0),
        }
    }
}
