//! Parts that stay within a number of tokens, whatever script their texts are in.

use alloc::vec::Vec;

use holon_facts::frame::Part;

/// Characters of prose that a token has: what is first tried.
const CHARACTERS: u64 = 4;
/// Attempts at parts that fit; each is smaller than the one before by as much as that was too large.
const ATTEMPTS: usize = 4;

/// What `render` makes in about so many characters as have at most so many tokens, where fewer characters help; and that number.
pub(super) fn fitting(tokens: u64, render: impl Fn(u64) -> Vec<Part>) -> (Vec<Part>, u64) {
    let mut characters = tokens.saturating_mul(CHARACTERS);
    let mut parts = render(characters);
    for _ in 1..ATTEMPTS {
        let size = size(&parts);
        if size <= tokens {
            break;
        }
        characters = characters.saturating_mul(tokens) / size;
        parts = render(characters);
    }
    (parts, characters)
}

/// Their estimated tokens.
pub(super) fn size(parts: &[Part]) -> u64 {
    parts.iter().map(Part::est_tokens).sum()
}
