//! What became of a command that the runtime lost sight of: its supervisor is asked where it is alive, then
//! its record. Nothing is ever executed again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::recovery::Found;
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::{AgentId, OpId};
use holon_platform::process;
use holon_supervise::protocol::{Reply, Request};
use holon_supervise::record::{self, ExitRecord};
use holon_text::Texts;

use super::connection::Connection;
use super::reach::{ANSWER, identity, reach};
use super::run_directory::{self, FOLDERS, RunDirectory};
use super::{Commands, Executing, Settings, lock, told};

/// Between two looks at whether a supervisor has left.
const PAUSE: Duration = Duration::from_millis(20);

impl Commands {
    /// Finds out about a command that was under way when the runtime ended. `command` is what is known of it, `kept`
    /// whether it is a task.
    pub(in crate::perform) async fn probe(
        &self,
        texts: &Texts,
        settings: &Settings,
        (agent, op): (&AgentId, OpId),
        supervisor: &SupervisorIdentity,
        command: Option<&CommandSpec>,
        kept: bool,
    ) -> Found {
        let log = command.map(|command| Path::new(&command.output_path));
        let mut place = RunDirectory::of(settings, agent, supervisor, log, kept);
        let found = if goes_on(&place, supervisor).await {
            Found::Running
        } else {
            match ExitRecord::read(&place.folder) {
                Ok(Some(record)) if record.plan.is_none() => Found::NotStarted,
                Ok(Some(record)) => {
                    let plan = record.plan.iter().flat_map(|plan| &plan.items);
                    place.logs = plan.map(|item| item.log.clone()).collect();
                    Found::Ended { outcome: Box::new(told(texts, &place, &record)) }
                }
                Ok(None) | Err(_) => {
                    place.kill(supervisor);
                    // The mark is made before anything is executed; a loss of power may have taken it.
                    let same_boot = process::boot_id().is_ok_and(|id| id == supervisor.boot_id);
                    let marked = !place.folder.is_dir() || record::started(&place.folder).is_some();
                    if same_boot && !marked { Found::NotStarted } else { Found::Lost }
                }
            }
        };
        let executing = Executing { supervisor: supervisor.clone(), place, ended: found != Found::Running };
        lock(&self.executing).insert((agent.clone(), op), executing);
        found
    }

    /// Ends and removes what no operation in progress knows: supervisors whose end nobody waits for.
    pub(in crate::perform) async fn sweep(&self, settings: &Settings) {
        let known: BTreeSet<PathBuf> =
            lock(&self.executing).values().map(|known| known.place.folder.clone()).collect();
        let Ok(entries) = fs::read_dir(settings.home.root().join(FOLDERS)) else { return };
        let stray = entries.filter_map(|entry| Some(entry.ok()?.path()));
        for folder in stray.filter(|folder| !known.contains(folder)) {
            if let Ok(mut connection) = Connection::reach(&folder).await {
                connection.send(&Request::Stop { force: true }).await.ok();
            }
            run_directory::remove(&folder);
        }
    }
}

/// Whether that supervisor is alive, and its command not at its end. One that does not answer in time may be at its
/// end, which is waited for a little; beyond that it is busy, or stopped, and its command goes on.
async fn goes_on(place: &RunDirectory, supervisor: &SupervisorIdentity) -> bool {
    if !is_present(place, supervisor).await {
        let waiting = async {
            while is_unfinished(place, supervisor) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(ANSWER, waiting).await.ok();
    }
    // One that waits for the word has heard the last of its runtime: it ends without one.
    is_unfinished(place, supervisor) && record::started(&place.folder).is_some()
}

/// Whether it says that it is there.
async fn is_present(place: &RunDirectory, supervisor: &SupervisorIdentity) -> bool {
    let Ok(mut connection) = reach(place, supervisor).await else { return false };
    if connection.send(&Request::Hello).await.is_err() {
        return false;
    }
    match connection.receive_within(ANSWER).await {
        Ok(Some(Reply::Ready { identity: answered, .. })) => answered == identity(supervisor),
        Ok(Some(Reply::Input { .. } | Reply::Ended) | None) | Err(_) => false,
    }
}

/// Whether that very process is alive, and has left no record.
fn is_unfinished(place: &RunDirectory, supervisor: &SupervisorIdentity) -> bool {
    process::is_alive(&identity(supervisor)) && matches!(ExitRecord::read(&place.folder), Ok(None))
}
