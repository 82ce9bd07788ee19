//! What the runtime writes down for operators: lines for people or as JSON, to stderr or to the log. Secrets are
//! replaced in every line, wherever it comes from.

use std::io::{self, Write};
use std::sync::{Mutex, OnceLock};

use holon_facts::Record;
use holon_platform::Environment;
use holon_text::Secrets;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::SubscriberInitExt;

use holon_present::{Category, Presentation};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text { colour: bool },
    Json,
}

/// What secrets there are is known only once the configuration was read.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// The variable that filters what is written, in the words of `tracing`: for example `info` or `holon=debug`.
const VARIABLE: &str = "HOLON_LOG";

/// A filter that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE} is {value:?}, which is no filter: {problem}")]
pub struct FilterError {
    value: String,
    problem: ParseError,
}

impl FilterError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "HOLON_LOG=info, or for example HOLON_LOG=holon_shell=debug"
    }
}

/// What is to be written.
///
/// # Errors
/// A filter that can't be read.
pub fn filter(environment: &Environment) -> Result<EnvFilter, FilterError> {
    let value = environment.get(VARIABLE).unwrap_or("info");
    EnvFilter::try_new(value).map_err(|problem| FilterError { value: value.to_owned(), problem })
}

/// Begins to write.
///
/// # Errors
/// A journal that was begun before.
pub fn begin(out: Box<dyn Write + Send>, format: Format, filter: EnvFilter) -> io::Result<()> {
    // A line that can't be written is no reason to write another one to standard error, which may panic.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let builder = builder.with_writer(Mutex::new(Redacted(out)));
    let begun = match format {
        Format::Text { colour } => builder.with_ansi(colour).with_target(false).finish().try_init(),
        Format::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    begun.map_err(io::Error::other)
}

/// From now on these are replaced.
pub fn hide(secrets: Secrets) {
    // A process has one configuration.
    SECRETS.get_or_init(|| secrets);
}

/// Writes down what operators want to know of a durable event. What was said and done stays in the ledger.
pub fn see(record: &Record) {
    let (agent, seq, kind) = (record.agent.as_str(), record.event_seq.0, record.event.kind());
    let told = Presentation::of(record);
    match told.category {
        Category::OperatorNotification => tracing::warn!(agent, seq, kind, "{}", told.summary),
        Category::Waiting | Category::Workspace | Category::Runtime => {
            tracing::info!(agent, seq, kind, "{}", told.summary);
        }
        Category::Brief
        | Category::Message
        | Category::AssistantProgress
        | Category::Tool
        | Category::Task
        | Category::StateSync
        | Category::Trace => tracing::debug!(agent, seq, "{kind}"),
    }
}

struct Redacted(Box<dyn Write + Send>);

impl Write for Redacted {
    /// Takes a whole line. One that can't be written (a full disk, a pipe without a reader) is lost: the work goes on
    /// without it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match SECRETS.get() {
            Some(secrets) => self.0.write_all(secrets.redact(&String::from_utf8_lossy(bytes)).as_bytes()),
            None => self.0.write_all(bytes),
        };
        written.ok();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().ok();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_can_not_be_read_is_named_with_its_variable() {
        let of = |value: &str| filter(&Environment::new([(VARIABLE.to_owned(), value.to_owned())]));
        assert!(filter(&Environment::default()).is_ok() && of("holon_shell=debug").is_ok());
        let problem = of("foo=bar=baz").unwrap_err().to_string();
        assert!(problem.starts_with("HOLON_LOG is \"foo=bar=baz\", which is no filter: "), "{problem}");
    }

    #[test]
    fn a_line_that_can_not_be_written_is_lost_and_nothing_else() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut lines = Redacted(Box::new(full));
        assert_eq!(lines.write(b"a line\n").unwrap(), 7);
        lines.flush().unwrap();
    }
}
