//! Which part of a request is wrong, from what its parser says.

use std::fmt::Display;

use holon_api::Code;

use super::failure::Failure;

/// Begins the parser's words where a field is wrong by being there, or by not being there: no path leads to it.
const NAMED: [&str; 2] = ["missing field `", "duplicate field `"];

/// What the parser calls a word that stands for one of several shapes.
const WORD: &str = "expected variant identifier";

/// The refusal of a part; of the whole, where nothing about the problem names one.
pub(super) fn at_fault<E: Display>(
    code: Code,
    whole: &str,
    error: &serde_path_to_error::Error<E>,
) -> Box<Failure> {
    let (path, problem) =
        (error.path().to_string(), error.inner().to_string().replace(WORD, "expected a string"));
    // The document ends or breaks before any field is known.
    let path = Some(path).filter(|path| path != "." && path != "?");
    let field = match (path, named(&problem)) {
        (Some(path), Some(name)) => Some(format!("{path}.{name}")),
        (None, Some(name)) => Some(name.to_owned()),
        (path, None) => path,
    };
    match field {
        Some(field) => Failure::new(code, format!("{field}: {problem}")).detail("field", field),
        None => Failure::new(code, format!("{whole}: {problem}")),
    }
}

fn named(problem: &str) -> Option<&str> {
    let after = NAMED.iter().find_map(|begin| problem.strip_prefix(begin))?;
    Some(after.split_once('`')?.0)
}
