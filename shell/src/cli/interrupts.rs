//! Requests to end: Ctrl-C, the polite signal, the end of the terminal. The first one is a wish, the second
//! one is obeyed at once, whatever is being waited for.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use super::exit::Exit;
use super::output::Failure;

/// Signals so close to each other are one request: a terminal and a wrapper may both send it.
const ONE_REQUEST: Duration = Duration::from_millis(100);
/// How long a good end may take; a full disk, for example, could make it wait for ever.
const GRACE: Duration = Duration::from_secs(10);
/// Sent when a file would grow beyond what the user may write; then the write fails instead.
const FILE_TOO_LARGE: i32 = 25;

/// What is done until the end is asked for.
pub(super) type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>>;

/// Whether the end was asked for. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Ending(watch::Receiver<bool>);

impl Ending {
    pub(super) fn asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Does work that loses nothing when it is given up.
    pub(super) async fn or<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.wait() => Err(Failure::new(Exit::Interrupted, anyhow!("interrupted"))),
            done = work => done,
        }
    }

    /// Waits until the end is asked for; for ever when nobody can any more.
    pub(super) async fn wait(&self) {
        if self.0.clone().wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<Infallible>().await;
        }
    }
}

/// Does work that can be asked to end, on a runtime of its own. Signals are heard from here on.
pub(super) fn block_on<T, F>(work: impl FnOnce(Ending) -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    on(&mut Builder::new_current_thread(), |ending| Box::pin(work(ending)))
}

/// The same with threads of its own for whatever the work spawns.
pub(super) fn block_on_workers<T, F>(workers: usize, work: impl FnOnce(Ending) -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    on(Builder::new_multi_thread().worker_threads(workers), |ending| Box::pin(work(ending)))
}

/// Compiled once for each result, not for each command.
fn on<'a, T>(builder: &mut Builder, work: impl FnOnce(Ending) -> Work<'a, T>) -> Result<T, Failure> {
    let runtime = builder.enable_all().build()?;
    let outcome = {
        let _here = runtime.enter();
        let (asked, ending) = watch::channel(false);
        Interrupts::new()
            .map(|interrupts| runtime.block_on(until_twice(interrupts, asked, work(Ending(ending)))))
    };
    // Nobody waits for work that was given up, such as reading from a terminal.
    runtime.shutdown_background();
    outcome?
}

async fn until_twice<T>(
    mut interrupts: Interrupts,
    asked: watch::Sender<bool>,
    work: Work<'_, T>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        why = interrupts.insisted(&asked) => {
            Err(Failure::new(Exit::Interrupted, anyhow!("{why}: ended at once, the ledger holds what was done")))
        }
        done = work => done,
    }
}

struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// None where it was ignored from the beginning, as under nohup.
    hangup: Option<Signal>,
    _file_too_large: Signal,
}

impl Interrupts {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
            _file_too_large: signal(SignalKind::from_raw(FILE_TOO_LARGE))?,
        })
    }

    /// Passes the first request on; then waits for the second one, or until the first took too long.
    async fn insisted(&mut self, asked: &watch::Sender<bool>) -> &'static str {
        self.next().await;
        let first = Instant::now();
        asked.send_replace(true);
        let again = async {
            while first.elapsed() < ONE_REQUEST {
                self.next().await;
            }
        };
        match tokio::time::timeout(GRACE, again).await {
            Ok(()) => "interrupted twice",
            Err(_) => "interrupted, and no good end within 10 s",
        }
    }

    async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this process was started with SIGHUP ignored: the first bit of the mask.
fn hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
