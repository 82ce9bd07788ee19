//! What a search asks for. A query has no syntax: operators and quotes in it are text.

use crate::text::{self, Run};

/// Longest query, in characters.
pub const QUERY_CHARS: usize = 1_000;

/// Words of a query that are looked for; the others are left out.
const TERMS: usize = 32;

/// What a query looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    terms: Vec<Term>,
    /// As they stand in a text, for the piece of it that is shown.
    words: Vec<String>,
}

/// A query that is not searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query is empty; search for words that stand in what you look for")]
    Empty,
    #[error(
        "the query has {bytes} bytes, and at most {QUERY_CHARS} characters are searched for; a few words find more"
    )]
    TooLong { bytes: usize },
}

/// One thing that a text has or has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// In the syntax of the index.
    text: String,
    /// The pairs that a phrase is made of, where there are several: what is written without spaces may be several words.
    pieces: Vec<String>,
}

impl Query {
    /// # Errors
    /// A query that is empty or too long. One without a letter or digit is valid and finds nothing.
    pub fn new(query: &str) -> Result<Self, QueryError> {
        if query.trim().is_empty() {
            return Err(QueryError::Empty);
        }
        // Whoever sends a megabyte waits for no count of it.
        if query.len() > 4 * QUERY_CHARS || query.chars().count() > QUERY_CHARS {
            return Err(QueryError::TooLong { bytes: query.len() });
        }
        let query = text::normal(query);
        let mut found = Self { terms: Vec::new(), words: Vec::new() };
        for run in text::runs(&query) {
            match run {
                Run::Unspaced(run) => found.unspaced(run),
                Run::Spaced(run) => run.split_whitespace().for_each(|word| found.spaced(word)),
            }
        }
        Ok(found)
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    fn unspaced(&mut self, run: &str) {
        let mut pairs = Vec::new();
        text::pairs(run, |pair| pairs.push(pair.to_owned()));
        // A single character begins a pair, or is the last one of its run.
        let text = if pairs.is_empty() { format!("\"{run}\"*") } else { format!("\"{}\"", pairs.join(" ")) };
        if pairs.len() < 2 {
            pairs.clear();
        }
        self.push(Term { text, pieces: pairs }, run.to_owned());
    }

    fn spaced(&mut self, word: &str) {
        if !word.chars().any(char::is_alphanumeric) {
            return;
        }
        let word = word.to_lowercase();
        let plain: String = word.chars().map(|c| if c == '"' || c.is_control() { ' ' } else { c }).collect();
        let term = Term { text: format!("\"{plain}\""), pieces: Vec::new() };
        self.push(term, word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
    }

    fn push(&mut self, term: Term, word: String) {
        if self.terms.len() < TERMS && !self.terms.contains(&term) {
            self.terms.push(term);
            self.words.push(word);
        }
    }
}

impl Term {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The pairs of a phrase, each as something to look for.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Self> {
        self.pieces.iter().map(|pair| Self { text: format!("\"{pair}\""), pieces: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(query: &str) -> Vec<String> {
        Query::new(query).unwrap().terms.into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn writing_without_spaces_is_looked_for_as_a_phrase_and_alone_as_a_beginning() {
        assert_eq!(terms("连接超时 超"), [r#""连接 接超 超时""#, r#""超"*"#]);
        assert_eq!(terms("重跑gen-itgc后"), [r#""重跑""#, r#""gen-itgc""#, r#""后"*"#]);
    }

    #[test]
    fn nothing_of_a_query_is_syntax() {
        assert_eq!(terms(r#""quoted" AND ("#), [r#"" quoted ""#, r#""and""#]);
        assert_eq!(terms("* ( ) - \"\" NEAR"), [r#""near""#]);
        assert_eq!(terms("title:x OR y*"), [r#""title:x""#, r#""or""#, r#""y*""#]);
        assert_eq!(terms("a\0b"), [r#""a b""#]);
    }

    #[test]
    fn bounds() {
        assert_eq!(Query::new(" \n\t"), Err(QueryError::Empty));
        assert!(Query::new(&"界".repeat(1_000)).is_ok());
        let error = Query::new(&"x".repeat(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("1048576"), "{error}");
        let many: String = (0..200).map(|number| format!("{number} ")).collect();
        assert_eq!(terms(&many).len(), TERMS);
    }
}
