//! Parts that stay within a number of tokens.

use alloc::vec::Vec;

use holon_facts::frame::Part;
use holon_facts::tokens;

/// Characters of prose that a token has: what is first tried.
const CHARACTERS: u64 = 4;

/// What `render` makes in about so many characters as have at most so many tokens, where fewer characters help; and that number.
pub(super) fn fitting(allowed: u64, render: impl Fn(u64) -> Vec<Part>) -> (Vec<Part>, u64) {
    tokens::fitting(allowed, allowed.saturating_mul(CHARACTERS), render, |parts| size(parts))
}

/// Their estimated tokens.
pub(super) fn size(parts: &[Part]) -> u64 {
    parts.iter().map(Part::est_tokens).sum()
}
