//! Keyed randomness: a draw depends on the seed and its purpose, never on earlier draws. So removing one input or fault
//! leaves all other draws as they were.

/// The purpose of a draw: "the third provider request of agent 2, its latency".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    pub component: &'static str,
    /// The agent's number in the scenario; 0 for the world as a whole, agents count from 1.
    pub agent: u32,
    /// Counted per component and agent.
    pub ordinal: u64,
    pub kind: &'static str,
}

impl Site {
    pub const fn new(component: &'static str, agent: u32, ordinal: u64, kind: &'static str) -> Self {
        Self { component, agent, ordinal, kind }
    }

    /// The same site, another question.
    #[must_use]
    pub const fn about(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }
}

/// A source of decisions: a seed, a tape, a fuzzer's bytes, an odometer.
pub trait Choices {
    /// A number below `n`; 0 when `n` is 0.
    fn below(&mut self, site: Site, n: u32) -> u32;

    /// Whether an event happens that has a probability of so many in a thousand.
    fn chance(&mut self, site: Site, per_mille: u32) -> bool {
        per_mille > 0 && self.below(site, 1_000) < per_mille
    }
}

/// One of several.
pub fn pick<T: Clone>(choices: &mut dyn Choices, site: Site, among: &[T]) -> Option<T> {
    let count = u32::try_from(among.len()).unwrap_or(u32::MAX);
    among.get(choices.below(site, count) as usize).cloned()
}

/// The swarm's source: everything follows from one number.
#[derive(Debug, Clone, Copy)]
pub struct Seeded(pub u64);

impl Choices for Seeded {
    fn below(&mut self, site: Site, n: u32) -> u32 {
        let key = hash(site.component.as_bytes())
            ^ hash(site.kind.as_bytes()).rotate_left(21)
            ^ splitmix64(u64::from(site.agent)).rotate_left(42)
            ^ splitmix64(site.ordinal.wrapping_add(0x5151)).rotate_left(11);
        let drawn = splitmix64(splitmix64(self.0) ^ key);
        u32::try_from(((drawn >> 32) * u64::from(n)) >> 32).unwrap_or(0)
    }
}

/// Spreads a number over all bits.
pub fn splitmix64(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// FNV-1a.
pub fn hash(bytes: &[u8]) -> u64 {
    chain(0xcbf2_9ce4_8422_2325, bytes)
}

/// FNV-1a, continued from an earlier value.
pub fn chain(from: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(from, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_site_alone() {
        let site = Site::new("provider", 2, 3, "latency");
        let mut one = Seeded(7);
        let first = one.below(site, 1_000_000);
        one.below(site.about("outcome"), 10);
        assert_eq!(one.below(site, 1_000_000), first);
        assert_ne!(Seeded(8).below(site, 1_000_000), first);
    }

    #[test]
    fn draws_reach_every_number() {
        let seen: std::collections::BTreeSet<u32> =
            (0..200).map(|ordinal| Seeded(1).below(Site::new("x", 0, ordinal, "y"), 7)).collect();
        assert_eq!(seen.len(), 7);
    }
}
