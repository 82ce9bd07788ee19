//! Whether this process may have the threads that a runtime needs: where a user's limit of processes is reached, it would
//! break in the middle of something.

use std::io;
use std::sync::mpsc::sync_channel;

use rustix::process::{Resource, getrlimit};

use crate::spawn;

/// Beside those for connections: for the ledger, for files, for a supervisor that starts.
const OTHER_THREADS: usize = 6;

/// The user's limit leaves no room.
#[derive(Debug, thiserror::Error)]
#[error(
    "the runtime can't have the {wanted} threads that it needs: {problem}; this user may have {} processes and threads in all",
    limit.map_or_else(|| "any number of".to_owned(), |limit| limit.to_string())
)]
pub struct TooFew {
    wanted: usize,
    limit: Option<u64>,
    problem: io::Error,
}

impl TooFew {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "end other processes of this user, or raise the limit: ulimit -u, or TasksMax and LimitNPROC of a service"
    }
}

/// Has so many threads at once for a moment, and those that a runtime has beside them.
///
/// # Errors
/// The kernel gives fewer.
pub fn probe(workers: usize) -> Result<(), TooFew> {
    let wanted = workers + OTHER_THREADS;
    let mut threads = Vec::with_capacity(wanted);
    let mut missing = None;
    for _ in 0..wanted {
        let (end, ended) = sync_channel::<()>(0);
        match spawn::thread("probe", move || ended.recv().is_ok()) {
            Ok(thread) => threads.push((end, thread)),
            Err(problem) => {
                missing = Some(problem);
                break;
            }
        }
    }
    for (end, thread) in threads {
        drop(end);
        drop(thread.join());
    }
    let limit = getrlimit(Resource::Nproc).current;
    missing.map_or(Ok(()), |problem| Err(TooFew { wanted, limit, problem }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_are_enough() {
        probe(2).unwrap();
    }
}
