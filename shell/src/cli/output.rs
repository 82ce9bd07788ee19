//! What is written to the terminal. A pipe that closes early ends the program quietly, never in a panic.

use std::io::{self, Write};
use std::process::ExitCode;

use super::exit::Exit;
use crate::settings::SettingsError;

/// An error with the code that the program ends with.
#[derive(Debug)]
pub(super) struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    /// The next command to try.
    pub hint: Option<String>,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    /// What is wrong with a configuration is wrong usage, and knows its remedy.
    fn from(error: E) -> Self {
        let error = error.into();
        match error.downcast_ref::<SettingsError>() {
            Some(settings) => Self { exit: Exit::Usage, hint: Some(settings.hint()), error },
            None => Self { exit: Exit::Failed, error, hint: None },
        }
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

/// Writes a line to stderr; where that is closed, there is nobody to tell.
pub(super) fn note(text: &str) {
    match writeln!(io::stderr().lock(), "{text}") {
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
