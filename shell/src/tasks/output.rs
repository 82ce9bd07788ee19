//! The output of a task: a bounded preview, and where the whole of it is.

use std::borrow::Cow;
use std::path::Path;

use holon_api::{Artifact, TaskOutputResult, TaskResult};
use holon_core::agent::task::Task;
use holon_core::effect::Retrieval;
use holon_core::summary::supervision::ChildSupervision;
use holon_facts::{AgentId, Text};
use holon_supervise::INCOMPLETE;
use holon_supervise::output_log::{self, Preview};
use holon_text::Texts;
use serde::Deserialize;

use super::partial::output_of;

/// What is wanted of an output.
#[derive(Debug, Clone, Copy)]
pub struct OutputRequest {
    pub retrieval: Retrieval,
    /// Most characters of the preview.
    pub characters: usize,
}

/// Reads it. Of an ended task whose log is gone, what its end left on record stands in.
pub fn output(
    texts: &Texts,
    agent: &AgentId,
    task: &Task,
    log: &Path,
    wanted: OutputRequest,
) -> TaskOutputResult {
    let ended = task.status.is_terminal();
    let there = output_log::is_there(log);
    let (read, problem) = match output_log::preview(texts, log, wanted.characters, ended) {
        Ok(read) => (read, None),
        Err(problem) => (Preview::default(), Some(format!("the log can't be read: {problem}"))),
    };
    let left = task.end.as_ref().and_then(|end| end.result.as_ref()).filter(|_| ended && !there);
    let (output_preview, output_truncated) = match left.map(|text| texts.resolve(text)) {
        Some(Ok(left)) => {
            // What a child says last is its report.
            let (left, cut) =
                if task.child().is_some() { (Cow::Borrowed(&*left), false) } else { said(&left) };
            let truncated = cut || left.chars().count() > wanted.characters;
            (holon_facts::content::clip_middle(&left, wanted.characters), truncated)
        }
        Some(Err(_)) | None => {
            let truncated = read.truncated;
            (read.shown(task.command().is_some_and(|command| command.tty)), truncated)
        }
    };
    let note = task.end.as_ref().and_then(|end| end.result.as_ref()).and_then(|text| note(texts, text));
    let output_problem = note.clone().filter(|note| note.contains(INCOMPLETE));
    let summary = || {
        let told = summary(task);
        note.as_ref().map_or_else(|| told.clone(), |note| format!("{told}; {note}"))
    };
    let artifacts = if there { vec![Artifact { path: log.display().to_string() }] } else { Vec::new() };
    TaskOutputResult {
        retrieval_status: wanted.retrieval,
        task: TaskResult {
            task_id: task.id,
            kind: task.kind,
            status: task.status,
            summary: task.summary.clone(),
            output_preview,
            output_truncated: output_truncated || output_problem.is_some(),
            output_problem,
            output_artifact: (!artifacts.is_empty()).then_some(0),
            artifacts,
            result_summary: problem.or_else(|| task.end.as_ref().map(|_| summary())),
            exit_status: task.end.as_ref().and_then(|end| end.exit_status),
            failure_artifact: task.end.as_ref().and_then(|end| end.failure_artifact.clone()),
            child_supervision: ChildSupervision::of(agent, task),
        },
    }
}

/// What the result of a command says of its output, and whether that was not all of it; words that nobody has printed are
/// none.
fn said(result: &str) -> (Cow<'_, str>, bool) {
    #[derive(Deserialize)]
    struct Previews {
        stdout_preview: String,
        stderr_preview: String,
        #[serde(default)]
        truncated: bool,
    }
    match serde_json::from_str(result) {
        Ok(Previews { stdout_preview, stderr_preview, truncated }) => {
            (Cow::Owned(stdout_preview + &stderr_preview), truncated)
        }
        Err(_) => (Cow::Owned(output_of(result)), false),
    }
}

/// What else is true of the end: processes that were left, a log that does not have everything.
fn note(texts: &Texts, result: &Text) -> Option<String> {
    #[derive(Deserialize)]
    struct Noted {
        note: Option<String>,
    }
    serde_json::from_str::<Noted>(&texts.resolve(result).ok()?).ok()?.note
}

fn summary(task: &Task) -> String {
    let failure = task.end.as_ref().and_then(|end| end.failure_artifact.as_ref());
    match failure {
        Some(failure) => format!("{}: {}", task.status, failure.summary.preview()),
        None => task.status.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_stands_in_for_a_log_that_is_gone() {
        let result = r#"{"disposition":"completed","exit_status":3,"stdout_preview":"one\n","stderr_preview":"two\n"}"#;
        assert_eq!(said(result).0, "one\ntwo\n");
        for words in ["the command was stopped before its end", "{}", "7"] {
            assert_eq!(said(words).0, "", "{words}");
        }
    }
}
