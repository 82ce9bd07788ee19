//! What is written to the terminal. A pipe that closes early ends the program quietly, never in a panic.

use std::io::{self, Write};
use std::process::ExitCode;

use super::exit::Exit;
use crate::settings::{EditError, SettingsError};

/// An error with the code that the program ends with.
#[derive(Debug)]
pub(super) struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    /// The next command to try.
    pub hint: Option<String>,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let (exit, hint) = match (error.downcast_ref(), error.downcast_ref()) {
            (Some(settings), _) => of_settings(settings),
            (None, Some(edit)) => of_edit(edit),
            (None, None) => (Exit::Failed, None),
        };
        Self { exit, error, hint }
    }
}

/// What is wrong with a configuration is wrong usage, and knows its remedy.
fn of_settings(error: &SettingsError) -> (Exit, Option<String>) {
    (Exit::Usage, Some(error.hint()))
}

fn of_edit(error: &EditError) -> (Exit, Option<String>) {
    match error {
        EditError::Settings(error) => of_settings(error),
        EditError::BadName { .. } => (Exit::NotFound, Some("holon config list".to_owned())),
        EditError::NotATable { name } => (Exit::Usage, Some(format!("holon config unset {name}"))),
        EditError::Busy { .. } => (Exit::Failed, Some("the same command again".to_owned())),
        EditError::Write { .. } => (Exit::Failed, Some("holon config doctor".to_owned())),
        EditError::Home(_) => (Exit::Failed, None),
    }
}

impl Failure {
    pub(super) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hint: None }
    }

    pub(super) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Usage, error)
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Writes a line to stdout.
pub(super) fn line(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Writes rows to stdout, their columns one below the other.
pub(super) fn table(rows: &[Vec<String>]) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// Writes a line to stderr; where that is closed, there is nobody to tell.
pub(super) fn note(text: &str) {
    match writeln!(io::stderr().lock(), "{text}") {
        Ok(()) | Err(_) => {}
    }
}

/// Writes a question to stderr, and stays on its line.
pub(super) fn ask(question: &str) {
    let mut stderr = io::stderr().lock();
    match write!(stderr, "{question}").and_then(|()| stderr.flush()) {
        Ok(()) | Err(_) => {}
    }
}

/// Reports what went wrong, and what to do next.
pub(super) fn failed(failure: &Failure) -> ExitCode {
    let broken_pipe = failure
        .error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe);
    if !broken_pipe {
        note(&format!("holon: {}", said_once(&failure.error)));
        if let Some(hint) = &failure.hint {
            note(&format!("  try: {hint}"));
        }
    }
    failure.exit.into()
}

/// The chain of causes, without those that an outer one has named already.
fn said_once(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.contains(&cause) {
            said = if said.is_empty() { cause } else { format!("{said}: {cause}") };
        }
    }
    said
}

/// Help and version go to stdout, wrong usage to stderr.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        note(text.to_string().trim_end());
        return Exit::Usage.into();
    }
    match line(text.to_string().trim_end()) {
        Ok(()) => Exit::Completed.into(),
        Err(_) => Exit::Failed.into(),
    }
}
