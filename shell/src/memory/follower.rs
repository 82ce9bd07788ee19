//! The thread that keeps the index close behind the ledger while a runtime lives. It sleeps until something that is searched
//! has become durable, waits a moment for what comes with it, and reads on in short slices.

use std::io;
use std::sync::PoisonError;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use holon_platform::spawn;

use super::{Memory, MemoryProblem, Wanted, locked};

/// What becomes durable together is read together.
const GATHER: Duration = Duration::from_millis(300);
/// How long a slice takes, and how long whoever else works has the processor after it.
const SLICE: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(5);
/// Before another try, where the index can't be written.
const AGAIN: Duration = Duration::from_secs(30);

/// A follower; it ends when this is dropped.
pub struct Follower {
    memory: Memory,
    thread: Option<JoinHandle<()>>,
}

impl Memory {
    /// Follows the ledger from where the index is, in a thread of its own.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn follow(&self) -> io::Result<Follower> {
        *locked(&self.inner.wanted) = Wanted { look: true, end: false };
        let memory = self.clone();
        let thread = spawn::yielding_thread("memory", move || memory.keep_up())?;
        Ok(Follower { memory: self.clone(), thread: Some(thread) })
    }

    fn keep_up(&self) {
        while self.wait() {
            if self.pause(GATHER) {
                return;
            }
            locked(&self.inner.wanted).look = false;
            if let Err(problem) = self.read_on() {
                tracing::warn!("the memory is not indexed further for now: {problem}");
                if self.pause(AGAIN) {
                    return;
                }
                locked(&self.inner.wanted).look = true;
            }
        }
    }

    /// Reads on until the index is up to date, or the runtime ends.
    fn read_on(&self) -> Result<(), MemoryProblem> {
        while !self.with(&self.inner.filler, |open| open.fill(SLICE))?.is_complete() {
            if locked(&self.inner.wanted).end {
                break;
            }
            thread::sleep(PAUSE);
        }
        self.with(&self.inner.filler, |open| open.let_go())
    }

    /// Waits until there is something to read; false when there is to be an end.
    fn wait(&self) -> bool {
        let wanted = locked(&self.inner.wanted);
        let wanted = self.inner.changed.wait_while(wanted, |wanted| !wanted.look && !wanted.end);
        !wanted.unwrap_or_else(PoisonError::into_inner).end
    }

    /// Waits so long, or until there is to be an end.
    fn pause(&self, time: Duration) -> bool {
        let wanted = locked(&self.inner.wanted);
        let wanted = self.inner.changed.wait_timeout_while(wanted, time, |wanted| !wanted.end);
        wanted.unwrap_or_else(PoisonError::into_inner).0.end
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        locked(&self.memory.inner.wanted).end = true;
        self.memory.inner.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has reported it.
            drop(thread.join());
        }
    }
}
