//! The only place that starts tasks and threads.

use std::future::Future;
use std::pin::Pin;
use std::{io, thread};

use tokio::task::JoinHandle;

/// How far a thread that leaves the processor to others stands behind them.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Starts a task under a name; its panic is reported by the handle.
#[expect(clippy::disallowed_methods, reason = "this is the one wrapper")]
pub fn task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    // The scheduler's code is compiled once for each result, not for each piece of work.
    let work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    tokio::spawn(work)
}

/// Runs work that blocks on files on the pool for it; a panic is reported by the handle. Dropping the handle
/// doesn't stop the work.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}

/// Starts a named thread that leaves the processor to others, where the kernel ranks threads one by one.
pub fn yielding_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread(name, move || {
        yield_processor();
        work()
    })
}

/// The calling thread leaves the processor to others from now on, where the kernel ranks threads one by one.
pub fn yield_processor() {
    // At its usual rank it does the same work.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

/// Starts a named thread.
pub fn thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
