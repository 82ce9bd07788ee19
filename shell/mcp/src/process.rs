//! The program of a server: started through the helper that ends it with everything it has started.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holon_platform::spawn;
use holon_supervise::{CANNOT_EXECUTE, SERVER_ENDS, SERVER_GRACE};
use holon_text::{Redactor, Secrets};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::log::Log;

/// Beyond what the helper takes to end a server it is not waited for.
const SLACK: Duration = Duration::from_secs(6);

/// A program that runs, and the ends of what it reads and writes.
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    /// Where its standard error goes.
    pub(crate) log: Log,
}

/// The handle of a program whose input and output others have: it shows whether and how the program ended.
#[derive(Clone)]
pub(crate) struct ProcessHandle(Arc<Mutex<Child>>);

/// What is started.
pub(crate) struct Start<'a> {
    pub(crate) helper: &'a Path,
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) environment: &'a BTreeMap<String, String>,
    pub(crate) folder: &'a Path,
    pub(crate) log: Log,
    pub(crate) secrets: Arc<Secrets>,
}

impl Process {
    /// Starts it; what it writes to its standard error goes to its log.
    ///
    /// # Errors
    /// The folder or the helper is not there. A command that is not there shows as a program that ends at once.
    pub(crate) fn start(start: Start<'_>) -> io::Result<Self> {
        let mut command = Command::from(holon_supervise::server(start.helper, OsStr::new(start.command)));
        command.args(start.args).env_clear().envs(start.environment).current_dir(start.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let ends = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = ends else {
            return Err(io::Error::other("the program has no pipes"));
        };
        drop(spawn::task(start.log.clone().keep(errors, Redactor::new(start.secrets))));
        Ok(Self { child: Arc::new(Mutex::new(child)), input, output, log: start.log })
    }

    pub(crate) fn handle(&self) -> ProcessHandle {
        ProcessHandle(self.child.clone())
    }
}

impl ProcessHandle {
    /// How it ended, where it has.
    pub(crate) fn ended(&self) -> Option<String> {
        Some(match self.status()?.code() {
            Some(code) => format!("the program has ended with status {code}"),
            None => "the program was ended".to_owned(),
        })
    }

    /// Whether it has ended as its helper does that could not start it.
    pub(crate) fn was_not_started(&self) -> bool {
        self.status().and_then(|status| status.code()) == Some(CANNOT_EXECUTE.into())
    }

    fn status(&self) -> Option<ExitStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).try_wait().ok()?
    }

    /// Waits until nobody of it is left, once its input is closed.
    pub(crate) async fn over(&self) {
        let step = Duration::from_millis(20);
        let longest = Duration::from_millis(SERVER_ENDS.0 + SERVER_GRACE.0) + SLACK;
        let over = async {
            while self.ended().is_none() {
                tokio::time::sleep(step).await;
            }
        };
        tokio::time::timeout(longest, over).await.ok();
    }
}
