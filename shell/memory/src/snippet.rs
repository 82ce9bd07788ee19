//! The piece of a text that is shown of it: around the first place that the query is about.

use crate::query::Query;
use crate::text::{self, Run};

/// Longest piece, in characters.
pub const SNIPPET_CHARS: usize = 300;

/// Characters before the place.
const BEFORE: usize = 80;

/// Letters that a word has in common with one of the query, at least, where stems are the same.
const STEM: usize = 4;

/// Cuts a piece of at most [`SNIPPET_CHARS`] characters, with white space as single spaces.
pub fn snippet(body: &str, query: &Query) -> String {
    let at = place(body, query).unwrap_or(0);
    let starts: Vec<usize> = body[..at].char_indices().rev().take(BEFORE).map(|(at, _)| at).collect();
    let from = starts.last().copied().unwrap_or(at);
    // Not in the middle of a word.
    let from = match body[from..at].find(char::is_whitespace) {
        Some(space) if from > 0 => from + space,
        _ => from,
    };
    let piece = &body[from..];
    let words: Vec<&str> = piece
        .char_indices()
        .nth(4 * SNIPPET_CHARS)
        .map_or(piece, |(end, _)| &piece[..end])
        .split_whitespace()
        .collect();
    let mut out = if from > 0 { "…".to_owned() } else { String::new() };
    let joined = words.join(" ");
    let capacity = SNIPPET_CHARS - 2;
    match joined.char_indices().nth(capacity) {
        Some((end, _)) => {
            out.push_str(&joined[..end]);
            out.push('…');
        }
        None => out.push_str(&joined),
    }
    out
}

/// Where the first word of a text stands that the query has.
fn place(body: &str, query: &Query) -> Option<usize> {
    let mut at = 0;
    text::runs(body).find_map(|run| {
        let (run, spaced) = match run {
            Run::Unspaced(run) => (run, false),
            Run::Spaced(run) => (run, true),
        };
        let from = at;
        at += run.len();
        if !spaced {
            return query
                .words()
                .iter()
                .filter_map(|word| run.find(word.as_str()))
                .min()
                .map(|hit| from + hit);
        }
        words(run)
            .find(|(_, word)| query.words().iter().any(|wanted| is_about(word, wanted)))
            .map(|(hit, _)| from + hit)
    })
}

fn words(run: &str) -> impl Iterator<Item = (usize, String)> {
    run.split_inclusive(char::is_whitespace).scan(0, |at, word| {
        let here = *at;
        *at += word.len();
        Some((here, text::normal(word).to_lowercase()))
    })
}

fn is_about(word: &str, wanted: &str) -> bool {
    let stem: String = wanted.chars().take(STEM.max(wanted.chars().count().saturating_sub(2))).collect();
    !stem.is_empty() && word.contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_piece_is_around_the_first_hit() {
        let body = format!("{} the servers were slow {}", "filler ".repeat(100), "and more ".repeat(100));
        let shown = snippet(&body, &Query::new("server").unwrap());
        assert!(shown.contains("the servers were slow"), "{shown}");
        assert!(
            shown.chars().count() <= SNIPPET_CHARS && shown.starts_with('…') && shown.ends_with('…'),
            "{shown}"
        );
        let body = format!("{}连接超时，重试{}", "一".repeat(500), "二".repeat(500));
        let shown = snippet(&body, &Query::new("超时").unwrap());
        assert!(shown.contains("连接超时"), "{shown}");
        assert!(shown.chars().count() <= SNIPPET_CHARS, "{shown}");
    }

    #[test]
    fn a_text_without_the_words_is_shown_from_its_beginning() {
        let query = Query::new("nothing").unwrap();
        assert_eq!(snippet("a  short\n text", &query), "a short text");
        assert_eq!(snippet("", &query), "");
    }
}
