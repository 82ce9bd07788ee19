//! The program of a server: started through the helper that ends it with everything it has started.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use holon_platform::spawn;
use holon_supervise::{CANNOT_EXECUTE, SERVER_ENDS, SERVER_GRACE};
use holon_text::{Redactor, Secrets};
use tokio::io::AsyncWrite;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::log::Log;

/// Beyond what the helper takes to end a server it is not waited for.
const SLACK: Duration = Duration::from_secs(6);

/// A program that runs, and the ends of what it reads and writes.
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    pub(crate) input: Input,
    pub(crate) output: ChildStdout,
    /// Where its standard error goes.
    pub(crate) log: Log,
}

/// The handle of a program whose input and output others have: it shows whether and how the program ended.
#[derive(Clone)]
pub(crate) struct ProcessHandle {
    child: Arc<Mutex<Child>>,
    input: Arc<Mutex<Pipe>>,
}

/// What a program reads. It is closed when this is dropped, and at any time by the handle: whoever writes to a program that reads
/// nothing would wait without end, and keep it open.
pub(crate) struct Input(Arc<Mutex<Pipe>>);

struct Pipe {
    open: Option<ChildStdin>,
    /// Of a write that waits.
    waits: Option<Waker>,
}

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
        Ok(Self { child: Arc::new(Mutex::new(child)), input: Input::new(input), output, log: start.log })
    }

    pub(crate) fn handle(&self) -> ProcessHandle {
        ProcessHandle { child: self.child.clone(), input: self.input.0.clone() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Input {
    fn new(open: ChildStdin) -> Self {
        Self(Arc::new(Mutex::new(Pipe { open: Some(open), waits: None })))
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        lock(&self.0).close();
    }
}

impl Pipe {
    fn close(&mut self) {
        self.open = None;
        if let Some(waits) = self.waits.take() {
            waits.wake();
        }
    }

    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        work: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let Some(open) = &mut self.open else {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "the input is closed")));
        };
        let done = work(Pin::new(open), cx);
        self.waits = done.is_pending().then(|| cx.waker().clone());
        done
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0).poll(cx, |open, cx| open.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).poll(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).poll(cx, AsyncWrite::poll_shutdown)
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
        lock(&self.child).try_wait().ok()?
    }

    /// Closes its input, whoever waits to write to it: its helper ends it then.
    pub(crate) fn cut_off(&self) {
        lock(&self.input).close();
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

#[cfg(test)]
mod tests {
    use holon_platform::spawn;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_write_that_nobody_reads_ends_with_the_input() {
        let mut command = Command::new("sleep");
        let mut child = command.arg("600").stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut input = Input::new(child.stdin.take().unwrap());
        let handle = ProcessHandle { child: Arc::new(Mutex::new(child)), input: input.0.clone() };
        let writing = spawn::task(async move { input.write_all(&vec![b'x'; 8 << 20]).await });
        while lock(&handle.input).waits.is_none() {
            tokio::task::yield_now().await;
        }
        handle.cut_off();
        let failed = writing.await.unwrap().unwrap_err();
        assert_eq!((failed.kind(), lock(&handle.input).open.is_none()), (io::ErrorKind::BrokenPipe, true));
    }
}
