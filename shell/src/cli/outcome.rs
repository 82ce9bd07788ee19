//! What a run prints when it is over: the answer on stdout, a word about the run on stderr.

use std::sync::{Mutex, PoisonError};

use holon_core::view::RunVerdict;
use holon_facts::AgentId;
use holon_text::{moment, time};

use super::exit::Exit;
use super::given_limits::GivenLimits;
use super::output::{self, Failure, Lines};
use super::run::Format;
use crate::activity::Activity;
use crate::report::{RunReport, in_short};
use crate::run_stream::run_finished;
use crate::screen::{Look, Screen};
use holon_present as present;

/// How a run that is not completed goes on.
pub(super) enum GoesOn {
    /// Its agent stays, and takes the next prompt.
    Prompted(AgentId),
    /// It is resumed by its name.
    Resumed(AgentId),
}

/// Prints it, and says how the program ends. What can't be printed is in the ledger: a run that completed has
/// then still failed its reader.
pub(super) fn print(
    report: Result<RunReport, Failure>,
    format: Format,
    lines: Option<Lines>,
    screen: &Screen,
    goes_on: &GoesOn,
    shown: &Mutex<Activity>,
    given: &GivenLimits,
) -> Result<Exit, Failure> {
    let shown = || shown.lock().unwrap_or_else(PoisonError::into_inner);
    let report = match report {
        Ok(report) => report,
        Err(failure) => {
            // The records up to here are worth having; the failure says why there are no more.
            drop(lines.map(Lines::finish));
            return Err(failure);
        }
    };
    let exit = Exit::from(report.verdict);
    let written = match format {
        Format::Json => output::line(&output::json(&output::pretty(&report)?)),
        Format::StreamJson => stream(&report, lines)?,
        Format::Text => match &report.verified.output {
            Some(output) => output::line(&output::json(&output.to_string())),
            None => report.said().filter(|said| !shown().answered(said)).map_or(Ok(()), output::answer),
        },
    };
    if format == Format::Text {
        tell(&report, screen, goes_on, given, |failure| shown().told(failure));
    }
    let Err(error) = written else { return Ok(exit) };
    let exit = if exit == Exit::Completed { Exit::Failed } else { exit };
    let error = anyhow::Error::new(error).context("standard output can't be written");
    Err(Failure::new(exit, error)
        .hint(format!("holon ledger export {}, which holds all of it", report.ledger)))
}

/// The last line of a stream, after all records.
fn stream(report: &RunReport, lines: Option<Lines>) -> Result<std::io::Result<()>, Failure> {
    let last = output::json(&run_finished(report)?);
    let Some(lines) = lines else { return Ok(output::line(&last)) };
    // When the thread is gone its failure is what is reported.
    drop(lines.sender().send(last));
    Ok(lines.finish())
}

/// What a person wants to know beyond the answer.
fn tell(
    report: &RunReport,
    screen: &Screen,
    goes_on: &GoesOn,
    given: &GivenLimits,
    told: impl Fn(&str) -> bool,
) {
    if let Some(problem) = &report.changed_files_problem {
        let text = format!("holon: only what patches changed is known: {problem}");
        screen.line(Look::Aside, &text);
    }
    for due in &report.due {
        output::note(&format!("holon: the next thing to do is due at {}", moment::near(due.at)));
    }
    if report.verdict == RunVerdict::Completed {
        screen.line(Look::Aside, &summary(report));
        return;
    }
    let asked = report.action_required.as_ref().filter(|_| report.verdict == RunVerdict::WaitingForOperator);
    let why = match (&report.failure_artifact, asked) {
        // It stands above.
        (Some(failure), _) if told(failure.summary.preview()) => format!(" ({})", failure.kind),
        (Some(failure), _) => given.named(format!(": {}", in_short(failure))),
        (None, Some(asked)) => format!(": {}", present::whole_line(asked)),
        (None, None) => report.verified.in_short().map_or_else(String::new, |unmet| format!(": {unmet}")),
    };
    output::prose(&format!("holon: {}{why}", report.verdict));
    screen.line(Look::Aside, &summary(report));
    let waiting = match report.queued_messages {
        0 => String::new(),
        1 => "; a message waits for it in its queue".to_owned(),
        more => format!("; {more} messages wait for it in its queue"),
    };
    match goes_on {
        GoesOn::Prompted(agent) => {
            output::hint("continue", &format!("holon run --agent {agent} \"…\"{waiting}"));
        }
        GoesOn::Resumed(run) if report.verdict == RunVerdict::WaitingForOperator => {
            output::hint("answer", &format!("holon run --resume {run} \"…\""));
        }
        // What it may cost is spent: the same budget would end it at once.
        GoesOn::Resumed(run) if report.verdict == RunVerdict::BudgetExhausted && given.has("--budget") => {
            output::hint("continue", &format!("holon run --resume {run} --budget MORE"));
        }
        GoesOn::Resumed(run) => output::hint("continue", &format!("holon run --resume {run}")),
    }
    output::hint("look", &format!("holon ledger export {}", report.ledger));
}

/// The run in one line.
fn summary(report: &RunReport) -> String {
    let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![
        format!("· {} after {}", report.verdict, time::duration(holon_facts::Millis(report.duration_ms))),
        plural(u64::from(report.rounds), "round"),
    ];
    if report.token_usage.total_tokens > 0 {
        parts.push(plural(report.token_usage.total_tokens, "token"));
    }
    parts.extend(report.cost_micros.map(|cost| cost.to_string()));
    if !report.changed_files.is_empty() {
        parts.push(format!("changed {}", present::files(&report.changed_files)));
    }
    parts.join(", ")
}
