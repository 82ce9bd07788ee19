//! `ApplyPatch`: one unified diff over one or more files, all or nothing (contract: tools.md). The rules of
//! what is accepted, repaired and refused are in docs/patches.md.
//!
//! [`parse`] reads the patch, [`plan`] works everything out in memory with [`apply`], and [`commit`] writes
//! it. What a patch is about to do is in a [`journal`] first, so that even a crash in the middle of the
//! writing is undone.

mod apply;
mod commit;
mod journal;
mod parse;
mod plan;
mod refusal;
#[cfg(test)]
mod tests;
mod undo;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_core::tool::{ApplyPatch, arguments};
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_platform::spawn;
use refusal::{failed, rejected};
use serde::Serialize;

use super::root::Root;
use super::{Refusal, Success};
use crate::in_flight::InFlight;

/// What the model reads.
#[derive(Serialize)]
struct Applied {
    changed_files: Vec<Changed>,
}

#[omit_none]
#[derive(Debug, Serialize)]
struct Changed {
    path: String,
    change: &'static str,
    /// The path that a renamed or copied file had.
    from: Option<String>,
    added: usize,
    removed: usize,
    executable: Option<bool>,
    note: Option<String>,
}

/// Applies the patch of one call; journals are kept in `journals`.
pub(super) async fn run(
    journals: PathBuf,
    in_flight: &InFlight,
    execution_root: &str,
    confined: bool,
    arguments: &str,
) -> Result<Success, Refusal> {
    let asked: ApplyPatch = arguments::parse(arguments)?;
    let root = Root::open(execution_root, confined)?;
    let given_up = GivenUp::default();
    let seen = given_up.0.clone();
    let remaining = in_flight.hold();
    let work = spawn::blocking(move || {
        let _remaining = remaining;
        // What an earlier one could not undo stands in the way at most of the files that it names.
        drop(recover(&journals, confined));
        apply(&root, &asked.patch, &journals, &seen, confined)
    });
    let changed = work.await.map_err(|problem| {
        Refusal::new(ToolErrorKind::ToolExecutionFailed, format!("the patch was not applied: {problem}"))
    })??;
    let facts = ToolFacts { changed_files: paths(&changed), ..ToolFacts::default() };
    let content = serde_json::to_string(&Applied { changed_files: changed }).unwrap_or_default();
    Ok(Success { content, facts, images: Vec::new() })
}

/// Nothing was written, since more might have been.
fn unheld(problem: impl Display) -> Refusal {
    let message = format!("the patch was not applied, because it could not be confined: {problem}");
    Refusal::new(ToolErrorKind::ToolExecutionFailed, message)
}

/// Undoes what patches left behind whose process died, and returns what an operator should know of it.
/// Patches that are being written are left alone.
pub(super) fn recover(journals: &Path, confined: bool) -> Vec<String> {
    journal::recover(journals, confined)
}

/// Tells the work on dropping that nobody waits for it any more.
#[derive(Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn apply(
    root: &Root,
    patch: &str,
    journals: &Path,
    given_up: &AtomicBool,
    confined: bool,
) -> Result<Vec<Changed>, Refusal> {
    let mut files = parse::parse(patch)?;
    for file in &mut files {
        let inside = |path: String| root.relative(&path).unwrap_or(path);
        file.action = file.action.clone().map(inside);
    }
    let plan = plan::plan(root, &files)?;
    let root_alone = [root.path().to_owned()];
    let bounds = confined.then_some(&root_alone[..]);
    commit::commit(root, &plan.changes, journals, given_up, bounds)?;
    Ok(plan.report)
}

/// Every path that is not as it was, once each; both of a file that was renamed.
fn paths(changed: &[Changed]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for file in changed {
        let left = file.from.as_ref().filter(|_| file.change == "renamed");
        for path in left.into_iter().chain([&file.path]) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
    }
    paths
}
