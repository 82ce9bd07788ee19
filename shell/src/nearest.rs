//! The known name that a wrong one was probably meant to be, for errors that help.

/// Longest part of a name that is compared; what is longer is no typo.
const COMPARED: usize = 96;

/// The nearest of the known names: one that the wrong one is the beginning of, otherwise the one that is the
/// fewest edits away, if those are at most a third of its length.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    if name.is_empty() {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let beginning = known.iter().find(|known| known.starts_with(&name));
    let near = |known: &str| distance(&name, known) <= (known.chars().count() / 3).max(2);
    let close = known.iter().filter(|known| near(known));
    beginning.or_else(|| close.min_by_key(|known| distance(&name, known))).copied()
}

/// The nearest name as the end of a sentence; nothing where none is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

/// Levenshtein's distance: letters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().take(COMPARED).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(COMPARED).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
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
        assert_eq!(did_you_mean("openai", ["local", "openai-chat"]), "; did you mean openai-chat?");
    }
}
