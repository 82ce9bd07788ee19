//! What is said when a patch is refused.

use std::io;

use holon_facts::receipt::ToolErrorKind;
use serde::Serialize;

use super::Refusal;
use super::apply::Mismatch;

/// The patch does not fit what is there.
pub(super) fn rejected(message: impl Into<String>) -> Refusal {
    Refusal::new(ToolErrorKind::PatchRejected, message)
}

/// The file system refused.
pub(super) fn failed(path: &str, what: &str, problem: &io::Error) -> Refusal {
    Refusal::new(ToolErrorKind::ToolExecutionFailed, format!("{path} {what}: {problem}"))
        .hint("no file was changed; repair that, then send the patch again")
        .retryable(true)
}

/// A hunk that does not apply, for whoever reads it as data.
#[omit_none]
#[derive(Serialize)]
struct OfHunk<'a> {
    file: &'a str,
    hunk: usize,
    /// Line of the patch, from 1.
    patch_line: usize,
    line: Option<usize>,
    expected: Option<&'a str>,
    found: Option<&'a str>,
    #[serde(skip_serializing_if = "<[usize]>::is_empty")]
    candidates: &'a [usize],
}

/// Refuses the patch because a hunk of `path` does not apply; `of` is how many it has.
pub(super) fn of_hunk(path: &str, of: usize, mismatch: &Mismatch) -> Refusal {
    let Mismatch { hunk, header, problem, hint, line, expected, found, candidates } = mismatch;
    let message =
        format!("{path}: hunk {hunk} of {of} (line {header} of the patch) does not apply: {problem}");
    rejected(message).hint(*hint).details(&OfHunk {
        file: path,
        hunk: *hunk,
        patch_line: *header,
        line: *line,
        expected: expected.as_deref(),
        found: found.as_deref(),
        candidates,
    })
}
