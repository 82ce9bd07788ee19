//! What became of a command that the runtime lost sight of: its supervisor is asked where it is alive, then
//! its record. Nothing is ever executed again.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use holon_core::host::Found;
use holon_core::outcome::SupervisorIdentity;
use holon_core::{AgentId, OpId};

use super::connection::Connection;
use super::place::{self, FOLDERS, Place};
use super::{Commands, Settings, lock, told};
use crate::supervise::process;
use crate::supervise::protocol::{Identity, Say, Tell};
use crate::supervise::record::{self, ExitRecord};
use crate::text::Texts;

/// A supervisor that is alive answers at once.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a command without a window is waited for.
const WITHOUT_WINDOW: Duration = Duration::from_mins(10);
/// Beyond what it says that everything will take.
const OVERTIME: Duration = Duration::from_secs(10);

impl Commands {
    /// Finds out about a command that was under way when the runtime ended. One that still runs is waited
    /// for: its supervisor ends it when its time is over.
    pub(in crate::perform) async fn probe(
        &self,
        texts: &Texts,
        settings: &Settings,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
    ) -> Found {
        let folder = settings.home.join(&supervisor.socket);
        let folder = folder.parent().map(PathBuf::from).unwrap_or_default();
        let mut place = Place { folder, outputs: place::outputs(settings, agent), logs: Vec::new() };
        wait_for_the_end(&place, supervisor).await;
        let found = match ExitRecord::read(&place.folder) {
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
        };
        lock(&self.places).insert((agent.clone(), op), place);
        found
    }

    /// Ends and removes what no operation in progress knows: supervisors whose end nobody waits for.
    pub(in crate::perform) async fn sweep(&self, settings: &Settings) {
        let known: BTreeSet<PathBuf> =
            lock(&self.places).values().map(|place| place.folder.clone()).collect();
        let Ok(entries) = fs::read_dir(settings.home.join(FOLDERS)) else { return };
        let stray = entries.filter_map(|entry| Some(entry.ok()?.path()));
        for folder in stray.filter(|folder| !known.contains(folder)) {
            if let Ok(mut connection) = Connection::reach(&folder).await {
                connection.say(&Say::Stop { force: true }).await.ok();
            }
            place::remove(&folder);
        }
    }
}

/// Only who answers at the socket and is the process on record is believed to be the supervisor.
async fn wait_for_the_end(place: &Place, supervisor: &SupervisorIdentity) {
    let SupervisorIdentity { pid, started, boot_id, .. } = supervisor.clone();
    let identity = Identity { pid, started, boot_id };
    if !process::is_alive(&identity) {
        return;
    }
    let Ok(mut connection) = Connection::reach(&place.folder).await else { return };
    if connection.peer() != Some(pid) || connection.say(&Say::Hello).await.is_err() {
        return;
    }
    let answered = connection.hear_within(ANSWER).await;
    if let Ok(Some(Tell::Ready { identity: answered, remaining_ms })) = answered
        && answered == identity
    {
        let patience = remaining_ms.map_or(WITHOUT_WINDOW, Duration::from_millis) + OVERTIME;
        tokio::time::timeout(patience, connection.until_ended()).await.ok();
    }
}
