//! The end of all commands of a home: its ledger goes to another node, which can't reach them and writes them off.

use std::path::Path;
use std::time::Duration;

use holon_supervise::protocol::Request;
use holon_supervise::record;

use super::connection::Connection;
use super::reach::ANSWER;
use super::run_directory::FOLDERS;

/// For supervisors to kill, to read what is left, and to leave.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// Asks for the end of every command whose supervisor can be reached, and waits until all of them have left. Those that still
/// run after the grace are killed. Whoever can't be reached ends with the lease of its node.
pub(crate) async fn end_all(home: &Path, grace: Duration) {
    let mut left = reached(home).await;
    for (force, within) in [(false, grace), (true, KILLED_WITHIN)] {
        for supervisor in &mut left {
            supervisor.send(&Request::Stop { force }).await.ok();
        }
        tokio::time::timeout(within, until_ended(&mut left)).await.ok();
    }
}

async fn reached(home: &Path) -> Vec<Connection> {
    let mut reached = Vec::new();
    for entry in home.join(FOLDERS).read_dir().into_iter().flatten().flatten() {
        // One that waits for its first command listens to its runtime alone, and has nothing to end.
        if record::started(&entry.path()).is_none() {
            continue;
        }
        let connection = tokio::time::timeout(ANSWER, Connection::reach(&entry.path())).await;
        reached.extend(connection.ok().and_then(Result::ok));
    }
    reached
}

/// Takes them out one by one: what is given up on the way has lost nobody who still runs.
async fn until_ended(left: &mut Vec<Connection>) {
    while let Some(last) = left.last_mut() {
        last.until_ended().await;
        left.pop();
    }
}
