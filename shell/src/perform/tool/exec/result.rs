//! From the record of a supervisor to what the model reads.

use std::path::Path;

use holon_api::Artifact;
use holon_core::tool::Tool;
use holon_facts::content::clip;
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_supervise::Kept;
use holon_supervise::protocol::{Item, Plan};
use holon_supervise::record::{End, ItemEnd, Leftovers};
use holon_text::Texts;
use serde::Serialize;

use super::super::{Refusal, Success};
use super::run_directory::RunDirectory;
use super::{INTERRUPTED, artifact, output};
use crate::skills::named;
use crate::tasks::PartialOutput;

/// Bytes of a command that a batch repeats, so that its results can be told apart.
const CMD: usize = 200;

/// Both streams of a command as they are shown.
struct Streams {
    stdout: String,
    stderr: String,
    truncated: (bool, bool),
    /// The files with the whole of an output.
    artifacts: Vec<Artifact>,
    notes: Option<String>,
}

/// What the model reads of a command that ended.
#[omit_none]
#[derive(Serialize)]
struct Completed {
    disposition: &'static str,
    exit_status: i32,
    stdout_preview: String,
    stderr_preview: String,
    truncated: bool,
    artifacts: Vec<Artifact>,
    /// Positions among the artifacts.
    stdout_artifact: Option<usize>,
    stderr_artifact: Option<usize>,
    note: Option<String>,
}

/// What the model reads of a batch: of its items so many ended with exit status 0, otherwise, or were left out.
#[derive(Serialize)]
struct Batch {
    items: Vec<BatchEntry>,
    completed: usize,
    failed: usize,
    not_run: usize,
}

#[derive(Serialize)]
struct BatchEntry {
    cmd: String,
    status: &'static str,
    #[serde(flatten)]
    completed: Option<Completed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<BatchError>,
}

#[derive(Serialize)]
struct BatchError {
    kind: ToolErrorKind,
    message: String,
}

/// The one result of the call.
pub(super) fn result(
    texts: &Texts,
    place: &RunDirectory,
    plan: &Plan,
    ends: &[ItemEnd],
) -> Result<Success, Refusal> {
    if plan.tool == *Tool::ExecCommandBatch.name() {
        return Ok(batch(texts, place, plan, ends));
    }
    let (Some(item), Some(end)) = (plan.items.first(), ends.first()) else {
        let message = "the supervisor left a record without the command";
        return Err(Refusal::new(ToolErrorKind::Interrupted, message).hint(INTERRUPTED));
    };
    let completed = single(texts, place, item, end)?;
    let (truncated, status) = (completed.truncated, completed.exit_status);
    let skill_files = skill_files(&[(item, end)]);
    let facts = ToolFacts { exit_status: Some(status), truncated, skill_files, ..ToolFacts::default() };
    let content = serde_json::to_string(&completed).unwrap_or_default();
    Ok(Success { content, facts, images: Vec::new() })
}

/// Files of skills that commands named which succeeded.
fn skill_files(commands: &[(&Item, &ItemEnd)]) -> Vec<String> {
    let mut files = Vec::new();
    for (item, _) in commands.iter().filter(|(_, end)| end.succeeded()) {
        named(&item.cmd, &item.folder, &mut files);
    }
    files
}

fn single(texts: &Texts, place: &RunDirectory, item: &Item, end: &ItemEnd) -> Result<Completed, Refusal> {
    let streams = || streams(texts, place, item, end);
    match &end.end {
        End::Exited { status } => Ok(completed(*status, streams())),
        End::TimedOut { window_ms } => Err(timed_out(*window_ms, item, &streams())),
        End::Stopped => {
            let message = so_far("the command was stopped before its end", &streams());
            Err(Refusal::new(ToolErrorKind::Interrupted, message).hint(INTERRUPTED))
        }
        End::NotStarted { problem } => {
            let message = match &item.refused {
                Some(refused) => refused.message.clone(),
                None => {
                    let (shell, folder) = (item.shell.display(), item.folder.display());
                    format!("{shell} can't be started in {folder}: {problem}")
                }
            };
            let kind =
                item.refused.as_ref().map_or(ToolErrorKind::CommandSpawnFailed, |refused| refused.kind);
            Err(Refusal::new(kind, message))
        }
        End::NotRun => Err(Refusal::new(ToolErrorKind::ToolExecutionFailed, "the command was not run")),
    }
}

fn completed(exit_status: i32, streams: Streams) -> Completed {
    let whole = |truncated: bool| (truncated && !streams.artifacts.is_empty()).then_some(0);
    Completed {
        disposition: "completed",
        exit_status,
        stdout_artifact: whole(streams.truncated.0),
        stderr_artifact: whole(streams.truncated.1),
        truncated: streams.truncated.0 || streams.truncated.1,
        stdout_preview: streams.stdout,
        stderr_preview: streams.stderr,
        artifacts: streams.artifacts,
        note: streams.notes,
    }
}

fn streams(texts: &Texts, place: &RunDirectory, item: &Item, end: &ItemEnd) -> Streams {
    // Before anything more is cut: half a secret would pass.
    let redacted = |kept: &Kept| redacted(texts, kept);
    let (stdout, stderr) = output::share(&redacted(&end.stdout), &redacted(&end.stderr), item.budget);
    let truncated = (stdout.truncated, stderr.truncated);
    let logged = [&end.stdout, &end.stderr];
    // The log of a task stays where it is.
    let keep = || {
        if place.kept {
            return Some(item.log.clone());
        }
        place.among_outputs(|| artifact::keep(&place.outputs, &item.log, logged)).flatten()
    };
    let kept = (truncated.0 || truncated.1).then(keep).flatten();
    let path = |path: &Path| Artifact { path: path.display().to_string() };
    Streams {
        stdout: stdout.text,
        stderr: stderr.text,
        truncated,
        artifacts: kept.as_deref().map(path).into_iter().collect(),
        notes: notes(end),
    }
}

/// Without secrets, and without what the cut between head and tail has left of one.
fn redacted(texts: &Texts, kept: &Kept) -> Kept {
    if kept.tail.is_empty() {
        return Kept { head: texts.redact(&kept.head), ..kept.clone() };
    }
    let secrets = texts.secrets();
    let (head, mut tail) = (secrets.redact_head(&kept.head), secrets.redact_tail(&kept.tail));
    if tail.is_empty() {
        // Without a tail nothing would seem to be missing.
        tail.push('…');
    }
    Kept { head, tail, ..kept.clone() }
}

/// For whoever began something with `&` or `nohup`.
const BACKGROUND: &str = "processes that the command left in the background were ended: nothing outlives its command, with \
                          nohup or & either. To keep one running give it as a command of its own, in the foreground and \
                          with a short yield_time_ms: it continues as a task, which TaskOutput shows and TaskStop ends";

/// What else is true of the end of a command.
fn notes(end: &ItemEnd) -> Option<String> {
    let Leftovers { processes, output, unkillable } = end.remains;
    let mut notes = Vec::new();
    if processes {
        notes.push(BACKGROUND.to_owned());
    }
    if output {
        notes.push(
            "something that the command did not start itself still held its output; reading stopped"
                .to_owned(),
        );
    }
    if unkillable {
        notes.push("a process of the command did not end even when it was killed".to_owned());
    }
    notes.extend(end.log_problem.clone());
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// More than the start of a command takes.
const BEGINNING_MS: u64 = 100;

fn timed_out(window: u64, item: &Item, streams: &Streams) -> Refusal {
    let why = match item.window_ms {
        // A little less is its own time: what starts it takes some.
        Some(own) if window.saturating_add(BEGINNING_MS) < own => {
            format!("the time of the whole batch was over {window} ms after the command began")
        }
        _ => format!("the command did not end within {window} ms"),
    };
    let hint = if item.asked_ms.is_some_and(|asked| asked > window) {
        format!("{window} ms is the most that a call may take here; split the work into shorter commands")
    } else {
        "raise yield_time_ms if it needs longer, or start less; what it did until then stays done".to_owned()
    };
    let what = format!("{why}; it was ended with everything it had started");
    let message = so_far(&what, streams);
    Refusal::new(ToolErrorKind::CommandTimedOut, message).hint(hint).field("yield_time_ms")
}

/// An error with the output that there was.
fn so_far(what: &str, streams: &Streams) -> String {
    let Streams { stdout, stderr, artifacts, notes, .. } = streams;
    PartialOutput { stdout, stderr, artifacts, note: notes.as_deref() }.after(what)
}

fn batch(texts: &Texts, place: &RunDirectory, plan: &Plan, ends: &[ItemEnd]) -> Success {
    let mut facts = ToolFacts { exit_status: Some(0), ..ToolFacts::default() };
    facts.skill_files = skill_files(&plan.items.iter().zip(ends).collect::<Vec<_>>());
    let mut batch = Batch { items: Vec::new(), completed: 0, failed: 0, not_run: 0 };
    for (item, end) in plan.items.iter().zip(ends) {
        let cmd = clip(&texts.redact(&item.cmd), CMD);
        let entry = |status| BatchEntry { cmd, status, completed: None, error: None };
        if end.end == End::NotRun {
            batch.not_run += 1;
            batch.items.push(entry("not_run"));
            continue;
        }
        *(if end.succeeded() { &mut batch.completed } else { &mut batch.failed }) += 1;
        match single(texts, place, item, end) {
            Ok(completed) => {
                facts.truncated |= completed.truncated;
                if facts.exit_status == Some(0) {
                    facts.exit_status = Some(completed.exit_status);
                }
                batch.items.push(BatchEntry { completed: Some(completed), ..entry("completed") });
            }
            Err(refusal) => {
                facts.exit_status = facts.exit_status.filter(|status| *status != 0);
                let (kind, message) = (refusal.0.kind, refusal.0.message);
                let error = Some(BatchError { kind, message });
                batch.items.push(BatchEntry { error, ..entry(kind.name()) });
            }
        }
    }
    let content = serde_json::to_string(&batch).unwrap_or_default();
    Success { content, facts, images: Vec::new() }
}

#[cfg(test)]
mod tests {
    use holon_text::Secrets;

    use super::*;

    /// What redaction shortens lets the end of a kept head into what is shown.
    #[test]
    fn the_cut_between_head_and_tail_shows_no_half_of_a_secret() {
        let secret: String = (0..40).map(|number| format!("k{number:03}")).collect();
        let texts = Texts::new(Secrets::new([("KEY".into(), secret.clone())]), Box::new(|_| Ok(None)));
        let line = format!("{secret}\n");
        let all = line.repeat(300);
        for shift in 0..line.len() {
            let (head, tail) = (all[..2_000 + shift].to_owned(), all[all.len() - 2_000 - shift..].to_owned());
            let (bytes, characters) = (all.len() as u64, all.len() as u64);
            let kept = redacted(&texts, &Kept { bytes, characters, digest: 0, head, tail });
            let (shown, _) = output::share(&kept, &Kept::default(), 1_000);
            assert!(shown.truncated && !shown.text.contains('k'), "{shift}: {}", shown.text);
        }
        let (head, tail) = ("x".to_owned(), secret[100..].to_owned());
        let kept = redacted(&texts, &Kept { bytes: 300, characters: 300, digest: 0, head, tail });
        let (shown, _) = output::share(&kept, &Kept::default(), 1_000);
        assert!(shown.truncated && !shown.text.contains('k'), "{}", shown.text);
    }
}
