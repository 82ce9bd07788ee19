//! What is written to the terminal. A pipe that closes early ends the program quietly, never in a panic.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use holon_api::ClientError;
use holon_ledger::error::LedgerError;
use holon_platform::spawn;
use unicode_width::UnicodeWidthStr;

use super::exit::Exit;
use super::hints;
use super::table::{self, Width};
use crate::driver::{DriverError, StartError};
use crate::home::HomeError;
use crate::screen::{Look, columns, harmless, painted, wrapped, wrapped_by};
use crate::settings::{EditError, SettingsError};
use holon_present::DetailLine;
use holon_present::markdown;

/// Lines that may wait for a slow reader; then whoever writes them waits, too.
const LINES: usize = 4_096;

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
        let (exit, hint) = match (error.downcast_ref(), error.downcast_ref(), error.downcast_ref()) {
            (Some(settings), _, _) => of_settings(settings),
            (None, Some(edit), _) => of_edit(edit),
            (None, None, Some(client)) => (of_client(client), client.hint()),
            (None, None, None) if error.is::<HomeError>() => (Exit::Usage, None),
            (None, None, None) if is_loss(&error) => (Exit::Failed, Some("holon ledger recover".to_owned())),
            (None, None, None) if is_damaged_start(&error) => (
                Exit::Failed,
                Some("holon ledger verify, then holon --home OTHER ledger restore FILE".to_owned()),
            ),
            (None, None, None) => (Exit::Failed, None),
        };
        Self { exit, error, hint }
    }
}

/// Whether a ledger has lost something that was acknowledged.
fn is_loss(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(LedgerError::Lost { .. })))
}

/// Whether a runtime was not started since what one of its agents has to go on with is damaged.
fn is_damaged_start(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StartError::Driver(DriverError::Damaged { .. })))
        || matches!(error.downcast_ref(), Some(StartError::Ledger(LedgerError::Damaged { .. })))
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
        EditError::Home(_) => (Exit::Usage, None),
    }
}

/// What a runtime refused means the same as if it had been refused here.
fn of_client(error: &ClientError) -> Exit {
    match error {
        ClientError::NotReachable { .. } | ClientError::Broken { .. } | ClientError::TimedOut { .. } => {
            Exit::NotReachable
        }
        ClientError::Odd { .. } => Exit::Failed,
        ClientError::Token { .. } => Exit::Usage,
        ClientError::Refused { status, body } => {
            Exit::of_refusal(*status, &body.code, body.detail("kind").unwrap_or_default())
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

/// Writes a line to stdout, all of it, now.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

/// Writes text of others to stdout, with one line end after it: as it is, but for a terminal, where nothing
/// in it may act.
pub(super) fn text(text: &str) -> io::Result<()> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if io::stdout().is_terminal() { line(&harmless(text)) } else { line(text) }
}

/// Writes what an agent answers: rendered for a terminal, as it is for everybody else.
pub(super) fn answer(text: &str) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return self::text(text);
    }
    let rendered = markdown::render(&harmless(text), columns(io::stdout()), coloured());
    line(rendered.trim_end())
}

/// Writes a part of a text of others to stdout: nothing is put behind it.
pub(super) fn piece(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        stdout.write_all(harmless(text).as_bytes())?;
    } else {
        stdout.write_all(text.as_bytes())?;
    }
    stdout.flush()
}

/// A thread that writes lines to stdout, so that a reader who is slow or gone doesn't hold up the run.
pub(super) struct Lines {
    sender: SyncSender<String>,
    thread: JoinHandle<io::Result<()>>,
}

impl Lines {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, lines) = sync_channel::<String>(LINES);
        let thread = spawn::thread("stdout", move || {
            // The first failure is the last attempt: the rest would have a hole before it.
            let mut written = Ok(());
            for text in lines {
                if written.is_ok() {
                    written = line(&text);
                }
            }
            written
        })?;
        Ok(Self { sender, thread })
    }

    /// Where lines go in.
    pub(super) fn sender(&self) -> SyncSender<String> {
        self.sender.clone()
    }

    /// Waits until everything is written; all senders must be gone. Says whether it was.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.sender);
        match self.thread.join() {
            Ok(written) => written,
            Err(_) => Err(io::Error::other("the thread that writes to standard output broke down")),
        }
    }
}

/// JSON in which no control character is left that a terminal would act on; its meaning is the same.
pub(super) fn json(document: &str) -> String {
    let acts = |c: char| c.is_control() && c != '\n';
    if !document.contains(acts) {
        return document.to_owned();
    }
    let escaped = |c: char| if acts(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    document.chars().map(escaped).collect()
}

/// Writes a document for programs.
pub(super) fn document(document: &impl serde::Serialize) -> Result<(), Failure> {
    Ok(line(&json(&pretty(document)?))?)
}

/// A document with a line for each of its values. It is laid out as text: a second writer would be a second copy of the code
/// for each type. What is nested deeper than any reader goes stays on one line.
pub(super) fn pretty(document: &impl serde::Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string(document)?;
    let mut lines = Vec::with_capacity(text.len() * 2);
    let mut writer = serde_json::Serializer::pretty(&mut lines);
    let laid_out = serde_transcode::transcode(&mut serde_json::Deserializer::from_str(&text), &mut writer);
    Ok(laid_out.ok().and_then(|()| String::from_utf8(lines).ok()).unwrap_or(text))
}

/// Writes an answer: as the document for programs, or in words.
pub(super) fn shown(
    answer: &impl serde::Serialize,
    json: bool,
    in_words: impl FnOnce() -> io::Result<()>,
) -> Result<Exit, Failure> {
    if json {
        document(answer)?;
    } else {
        in_words()?;
    }
    Ok(Exit::Completed)
}

/// Writes lines of others to stdout, in the colours of how they are meant.
pub(super) fn details(lines: &[DetailLine]) -> io::Result<()> {
    let (terminal, colour) = (io::stdout().is_terminal(), coloured());
    let shown = |(look, text): &DetailLine| {
        let text = if terminal { harmless(text) } else { text.clone() };
        painted(*look, &text, colour)
    };
    lines.iter().try_for_each(|one| line(&shown(one)))
}

/// Writes rows to stdout, their columns one below the other.
pub(super) fn table(rows: &[Vec<String>]) -> io::Result<()> {
    let columns = io::stdout().is_terminal().then(|| columns(io::stdout()));
    table::lines(rows, Width { columns, colour: coloured() }).iter().try_for_each(|shown| line(shown))
}

/// Writes a list to stdout, under its heads.
pub(super) fn list(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let heads = heads.iter().map(ToString::to_string).collect();
    table(&std::iter::once(heads).chain(rows).collect::<Vec<_>>())
}

/// Whether stdout takes colours: a terminal, unless `NO_COLOR` or `TERM=dumb` say otherwise.
pub(super) fn coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Text of others as it is written to stdout behind a label, in lines of the terminal's width that are indented as the
/// label is wide.
pub(super) fn labelled(label: &str, look: Look, text: &str) -> String {
    let indent = label.width() + 2;
    if !io::stdout().is_terminal() {
        return format!("{label}  {}", text.replace('\n', &format!("\n{}", " ".repeat(indent))));
    }
    let room = columns(io::stdout()).saturating_sub(indent + 1);
    let text = wrapped_by(&harmless(text), room, indent);
    let colour = coloured();
    format!("{}  {}", painted(Look::Aside, label, colour), painted(look, &text, colour))
}

/// The same for lines, each in its colour; a line that is too long is left to the terminal.
pub(super) fn labelled_lines(label: &str, lines: &[DetailLine]) -> String {
    let (terminal, colour) = (io::stdout().is_terminal(), coloured());
    let indent = format!("\n{}", " ".repeat(label.width() + 2));
    let shown = |(look, text): &DetailLine| {
        painted(*look, &if terminal { harmless(text) } else { text.clone() }, colour)
    };
    let lines: Vec<String> = lines.iter().map(shown).collect();
    format!("{}  {}", painted(Look::Aside, label, colour), lines.join(&indent))
}

/// Writes a line to stderr; where that is closed, there is nobody to tell.
pub(super) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let written = if stderr.is_terminal() {
        writeln!(stderr, "{}", harmless(text))
    } else {
        writeln!(stderr, "{text}")
    };
    match written {
        Ok(()) | Err(_) => {}
    }
}

/// Writes prose to stderr, in lines of the terminal's width.
pub(super) fn prose(text: &str) {
    if io::stderr().is_terminal() { note(&wrapped(text, columns(io::stderr()))) } else { note(text) }
}

/// Writes to stderr which command is worth a try, below what was said before.
pub(super) fn hint(label: &str, hint: &str) {
    note(&format!("  {label}: {}", hints::hint(hint)));
}

/// A suggested command as it works in the home that was named.
pub(super) fn with_home(hint: &str) -> String {
    hints::hint(hint)
}

/// An error as it is shown: what it suggests works in the home that was named.
pub(super) fn error_with_home(error: &str) -> String {
    hints::error(error)
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
        prose(&format!("holon: {}", error_with_home(&said_once(&failure.error))));
        if let Some(next) = &failure.hint {
            hint("try", next);
        }
    }
    failure.exit.into()
}

/// The chain of causes, without those that an outer one has named already.
pub(super) fn said_once(error: &anyhow::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use holon_api::ErrorBody;

    /// A refusal that another moment would not bring is no failure; what was asked for wrongly is wrong usage.
    #[test]
    fn refusals_end_as_what_they_are() {
        let rows = [
            (404, "unknown_agent", Exit::NotFound),
            (404, "unknown_route", Exit::NotFound),
            (404, "unknown_task", Exit::NotFound),
            (409, "command_refused", Exit::Failed),
            (409, "agent_stopped", Exit::RefusedByState),
            (409, "agent_exists", Exit::RefusedByState),
            (409, "idempotency_conflict", Exit::RefusedByState),
            (409, "stale_run_id", Exit::RefusedByState),
            (409, "no_current_run", Exit::RefusedByState),
            (409, "too_many_agents", Exit::RefusedByState),
            (409, "cursor_ahead", Exit::RefusedByState),
            (429, "queue_full", Exit::RefusedByState),
            (429, "too_many_events", Exit::RefusedByState),
            (503, "draining", Exit::RefusedByState),
            (503, "disk_full", Exit::RefusedByState),
            (503, "not_stored_yet", Exit::Failed),
            (409, "invalid_model", Exit::Usage),
            (409, "invalid_workspace", Exit::Usage),
            (400, "invalid_body", Exit::Usage),
            (401, "wrong_token", Exit::Usage),
            (413, "too_large", Exit::Usage),
            (500, "agent_damaged", Exit::Failed),
            (503, "unknown", Exit::Failed),
        ];
        for (status, code, exit) in rows {
            let (error, code) = ("no".to_owned(), code.to_owned());
            let body = ErrorBody { ok: false, error, code, hint: None, details: None };
            let refused = ClientError::Refused { status, body: Box::new(body) };
            assert_eq!(Failure::from(refused.clone()).exit, exit, "{refused:?}");
        }
    }

    #[test]
    fn a_command_that_is_refused_is_told_by_why() {
        for (kind, exit) in [
            ("command_spawn_failed", Exit::Failed),
            ("limit_reached", Exit::RefusedByState),
            ("execution_root_violation", Exit::Usage),
        ] {
            let (error, code) = ("no".to_owned(), "command_refused".to_owned());
            let details = serde_json::json!({ "kind": kind }).as_object().cloned();
            let body = ErrorBody { ok: false, error, code, hint: None, details };
            let refused = ClientError::Refused { status: 409, body: Box::new(body) };
            assert_eq!(Failure::from(refused).exit, exit, "{kind}");
        }
    }

    #[test]
    fn json_has_nothing_that_acts() {
        let document = serde_json::to_string_pretty(&["a\u{9b}2J\u{7f}", "ä\n"]).unwrap();
        let shown = json(&document);
        assert!(shown.contains(r"a\u009b2J\u007f") && shown.contains("ä\\n"), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            serde_json::from_str::<serde_json::Value>(&document).unwrap()
        );
    }
}
