//! The known name that a wrong one was probably meant to be, for errors that help.

use strsim::{jaro_winkler, levenshtein};

/// Longest part of a name that is compared; what is longer is no typo.
const COMPARED: usize = 96;

/// The nearest of the known names: one that the wrong one is the beginning of, otherwise the one that is the
/// fewest edits away, if those are at most a third of its length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let compared = |name: &str| name.to_lowercase().chars().take(COMPARED).collect::<String>();
    let name = compared(name);
    if name.is_empty() {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let beginning = known.iter().find(|known| known.starts_with(&name)).copied();
    let edits = |known: &&str| levenshtein(&name, &compared(known));
    let close = known.iter().filter(|known| edits(known) <= (known.chars().count() / 3).max(2));
    beginning.or_else(|| close.min_by_key(|known| edits(known)).copied())
}

/// The known names, the most similar one first.
pub fn ranked<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let compared = |name: &str| name.to_lowercase().chars().take(COMPARED).collect::<String>();
    let name = compared(name);
    let mut known: Vec<(f64, &str)> =
        known.into_iter().map(|known| (jaro_winkler(&name, &compared(known)), known)).collect();
    known.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    known.into_iter().map(|(_, known)| known).collect()
}

/// The nearest name as the end of a sentence; nothing where none is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["model.default", "model.fallbacks", "limits.rounds"];
        assert_eq!(nearest("model.defualt", known), Some("model.default"));
        assert_eq!(nearest("limits.round", known), Some("limits.rounds"));
        assert_eq!(nearest("Limits.Rounds", known), Some("limits.rounds"));
        assert_eq!(nearest("zzzzzzzzzzz", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(ranked("gpt-9", ["o3", "gpt-5", "claude"])[0], "gpt-5");
        assert_eq!(did_you_mean("openai", ["local", "openai-chat"]), "; did you mean openai-chat?");
    }
}
