//! Texts that stay within a number of tokens, whatever script they are in.

use holon_facts::tokens;

/// What `make` makes of the most that has at most so many tokens: of `most`, or of as few as it takes.
pub(super) fn fitting<T>(
    allowed: u64,
    most: usize,
    make: impl Fn(usize) -> T,
    tokens_of: impl Fn(&T) -> u64,
) -> T {
    let make = |size: u64| make(usize::try_from(size).unwrap_or(usize::MAX));
    tokens::fitting(allowed, most as u64, make, tokens_of).0
}

/// What a text takes inside a JSON string.
pub(super) fn in_json(text: &str) -> u64 {
    tokens::estimate(&serde_json::Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends are Chinese, and what lies between is not.
    #[test]
    fn the_longest_that_fits_is_found_however_it_is_written() {
        let text = format!("{0}{1}{0}", "\u{90e8}\u{7f72}".repeat(2_000), "several words ".repeat(9_000));
        let characters: Vec<char> = text.chars().collect();
        let ends = |size: usize| {
            let half = size / 2;
            characters[..half].iter().chain(&characters[characters.len() - half..]).collect::<String>()
        };
        for allowed in [10_u64, 500, 3_000] {
            let shown = fitting(allowed, 20_000, ends, |text| in_json(text));
            let tokens = in_json(&shown);
            assert!(tokens <= allowed && tokens > allowed / 2, "{tokens} of {allowed}");
        }
        assert_eq!(fitting(0, 10, |size| size, |size| *size as u64), 0);
        assert_eq!(fitting(10, 10, |size| size, |size| *size as u64), 10);
    }
}
