//! `ApplyPatch`: one unified diff, over one or more files, all or nothing (contract: tools.md).
//!
//! What is accepted:
//! - `---` and `+++` lines, with `a/` and `b/` or without; `/dev/null` for a file that is created or deleted;
//!   git's own headers; text before the first file.
//! - `@@` lines with or without ranges. A hunk whose lines don't stand where its range says is looked for in
//!   the rest of the file, nearest first, the later place at equal distance; without a range the place must
//!   be the only one. The numbers of lines in a range are not relied on where the lines themselves say
//!   otherwise.
//! - Every context and removed line must match exactly: there is no fuzz. Only line ends are adapted: a patch
//!   without carriage returns applies to a file whose lines all end in them, and its lines get them.
//! - `\ No newline at end of file`. A patch without that line leaves the end of a file as it was.
//!
//! What is refused: renames, copies, changes of mode, binary patches, links to outside, a path named twice.
//!
//! Everything is worked out in memory first. Then new contents are written beside their files, and only when
//! all of them are written do they take their places; if that fails midway, what was replaced is put back.

mod apply;
mod files;
mod parse;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_core::tool::{ApplyPatch, ToolErrorKind, ToolFacts, arguments};
use serde::Serialize;

use super::root::Root;
use super::{Refusal, Success};
use crate::spawn;

/// What the model reads.
#[derive(Serialize)]
struct Applied {
    changed_files: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    path: String,
    change: &'static str,
    added: usize,
    removed: usize,
}

pub(super) async fn run(execution_root: &str, arguments: &str) -> Result<Success, Refusal> {
    let asked: ApplyPatch = arguments::parse(arguments)?;
    let root = Root::open(execution_root)?;
    let given_up = GivenUp::default();
    let seen = given_up.0.clone();
    let work = spawn::blocking(move || apply(&root, &asked.patch, &seen));
    let changed = work.await.map_err(|problem| {
        Refusal::new(ToolErrorKind::ToolExecutionFailed, format!("the patch was not applied: {problem}"))
    })??;
    let changed_files = changed.iter().map(|file| file.path.clone()).collect();
    let content = serde_json::to_string(&Applied { changed_files: changed }).unwrap_or_default();
    Ok(Success { content, facts: ToolFacts { changed_files, ..ToolFacts::default() } })
}

/// Tells the work on dropping that nobody waits for it any more.
#[derive(Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn apply(root: &Root, patch: &str, given_up: &AtomicBool) -> Result<Vec<Changed>, Refusal> {
    let parsed = parse::parse(patch)?;
    let mut changes = Vec::with_capacity(parsed.len());
    for file in &parsed {
        changes.push(files::plan(root, file)?);
    }
    for (at, change) in changes.iter().enumerate() {
        if changes[..at].iter().any(|before| before.target == change.target) {
            let message = format!("{} is named twice", change.path);
            return Err(rejected(message).hint("put all hunks of a file under one --- and +++"));
        }
    }
    files::commit(&changes, given_up)?;
    let changed = changes.iter().zip(&parsed).map(|(change, file)| {
        let count = |of: fn(&parse::Line<'_>) -> bool| {
            file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| of(line)).count()
        };
        Changed {
            path: change.path.clone(),
            change: change.kind.name(),
            added: count(|line| matches!(line, parse::Line::Added(_))),
            removed: count(|line| matches!(line, parse::Line::Removed(_))),
        }
    });
    Ok(changed.collect())
}

fn rejected(message: impl Into<String>) -> Refusal {
    Refusal::new(ToolErrorKind::PatchRejected, message)
}
