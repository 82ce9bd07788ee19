//! What is said to a supervisor while its command is executed, each time over a connection of its own: only who is
//! the process on record is believed to be it.

use std::io;
use std::time::Duration;

use holon_core::agent::task::Task;
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::receipt::InputReceipt;
use holon_facts::{AgentId, OpId};
use holon_platform::process::{self, Identity};
use holon_platform::spawn;
use holon_supervise::protocol::{Reply, Request};
use holon_supervise::record::ExitRecord;

use super::connection::Connection;
use super::run_directory::RunDirectory;
use super::{Commands, Executing, Settings, lock};

/// A supervisor that is alive answers at once.
pub(super) const ANSWER: Duration = Duration::from_secs(5);
/// What a command does not take at once is waited for a little, by its supervisor.
const WRITTEN: Duration = Duration::from_secs(10);
/// Beyond the grace: for its supervisor to kill, to read what is left, and to write its record.
const OVERTIME: Duration = Duration::from_secs(20);
/// Between two looks at a supervisor that can't be reached.
const PAUSE: Duration = Duration::from_millis(100);

impl Commands {
    /// Asks for the end of a command: with time to clean up, or at once.
    pub(in crate::perform) fn stop(&self, agent: &AgentId, op: OpId, force: bool) {
        let Some(Executing { supervisor, place, .. }) = self.executing_in(agent, op) else { return };
        drop(spawn::task(async move {
            // Who can't be reached has ended, or is ended when the time for its stop is over.
            send(&place, &supervisor, &Request::Stop { force }).await.ok();
        }));
    }

    /// Nobody waits for an operation any more: a supervisor without the word ends, a command is ended. The end of the
    /// runtime waits for that.
    pub(in crate::perform) fn cancelled(&self, settings: &Settings, agent: &AgentId, op: OpId) {
        let key = (agent.clone(), op);
        lock(&self.preparing).remove(&key);
        let waiting = lock(&self.prepared).remove(&key);
        drop(waiting);
        let given_up = lock(&self.executing).remove(&key);
        let Some(Executing { supervisor, place, ended }) = given_up else { return };
        let patience = Duration::from_millis(settings.commands.grace.0) + OVERTIME;
        let remaining = settings.in_flight.hold();
        drop(spawn::task(async move {
            if !ended {
                send(&place, &supervisor, &Request::Stop { force: false }).await.ok();
                tokio::time::timeout(patience, until_ended(&place, &supervisor)).await.ok();
                if process::is_alive(&identity(&supervisor)) {
                    place.kill(&supervisor);
                }
            }
            place.remove();
            drop(remaining);
        }));
    }

    /// Writes to the command of a task.
    pub(in crate::perform) async fn write(
        &self,
        agent: &AgentId,
        op: Option<OpId>,
        task: &Task,
        text: String,
    ) -> InputReceipt {
        let failed = |problem: String| InputReceipt { problem: Some(problem), ..InputReceipt::default() };
        let known = op.and_then(|op| self.executing_in(agent, op));
        let Some(Executing { supervisor, place, .. }) = known else {
            return failed("the command has ended".into());
        };
        let mut connection = match reach(&place, &supervisor).await {
            Ok(connection) => connection,
            Err(problem) => return failed(format!("its supervisor can't be reached: {problem}")),
        };
        let written = async {
            connection.send(&Request::Input { id: 0, text }).await?;
            connection.receive_within(WRITTEN).await
        };
        match written.await {
            Ok(Some(Reply::Input { bytes_written, problem, .. })) => InputReceipt {
                accepted_input: bytes_written > 0,
                input_target: task.command().and_then(holon_facts::outcome::CommandSpec::input_target),
                bytes_written,
                problem,
            },
            // An older supervisor ends a connection on which it hears of input, and one at its end does, too.
            Ok(Some(Reply::Ended | Reply::Ready { .. }) | None) => {
                failed("its supervisor did not take it: the command may have ended".into())
            }
            Err(problem) => {
                failed(format!("its supervisor does not answer, it may be written yet: {problem}"))
            }
        }
    }

    fn executing_in(&self, agent: &AgentId, op: OpId) -> Option<Executing> {
        lock(&self.executing).get(&(agent.clone(), op)).cloned()
    }
}

/// Waits until a supervisor has left, and with it its record. A connection may break, or none may be had, although it
/// lives.
pub(super) async fn until_ended(place: &RunDirectory, supervisor: &SupervisorIdentity) {
    let left = || {
        matches!(ExitRecord::read(&place.folder), Ok(Some(_)) | Err(_))
            || !process::is_alive(&identity(supervisor))
    };
    while !left() {
        if let Ok(mut connection) = reach(place, supervisor).await {
            connection.until_ended().await;
        }
        if !left() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// A connection to that very supervisor.
pub(super) async fn reach(place: &RunDirectory, supervisor: &SupervisorIdentity) -> io::Result<Connection> {
    let connection = tokio::time::timeout(ANSWER, Connection::reach(&place.folder))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if connection.peer() == Some(supervisor.pid) && process::is_alive(&identity(supervisor)) {
        Ok(connection)
    } else {
        Err(io::Error::other("another process answers in its place"))
    }
}

async fn send(place: &RunDirectory, supervisor: &SupervisorIdentity, request: &Request) -> io::Result<()> {
    reach(place, supervisor).await?.send(request).await
}

pub(super) fn identity(supervisor: &SupervisorIdentity) -> Identity {
    let SupervisorIdentity { pid, started, boot_id, .. } = supervisor.clone();
    Identity { pid, started, boot_id }
}
