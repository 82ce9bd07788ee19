//! All servers of a runtime: each is started when it is first needed, shared by whoever uses it, ended when nobody has for a
//! while, and started again after a failure, later each time.

mod slot;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::{AgentId, Millis};
use holon_platform::spawn;
use holon_text::Secrets;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::approval::{Approvals, Standing};
use crate::catalogue::Catalogue;
use crate::connection::{CallError, CallResult, Tool};
use crate::definition::Definition;
use crate::listing::Listing;
use crate::log::Log;
use crate::logins::Logins;
use crate::proposal::Proposed;
use slot::Slot;

/// A turn that begins waits so long for all servers that have never listed their tools; one that is later is offered later.
const OFFER_WAIT: Duration = Duration::from_secs(10);

/// Servers that agents have for themselves, at once.
const OWN: usize = 64;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a server is not used that was approved as something else.
const CHANGED: &str =
    "its definition has changed since it was approved; `holon mcp approve` approves the new one";

/// Where servers are started.
#[derive(Clone)]
pub struct Host {
    /// This binary, which has the helper that ends programs with what they have started.
    pub helper: PathBuf,
    /// Where logs and lists of tools are kept.
    pub folder: PathBuf,
    /// What is written to no log.
    pub secrets: Arc<Secrets>,
    /// Variables that programs of workspaces get.
    pub variables: Arc<BTreeMap<String, String>>,
}

/// By the server's name and the agent.
type Own = BTreeMap<(String, AgentId), Arc<Slot>>;

/// The servers of a runtime. Cheap to clone.
#[derive(Clone)]
pub struct Servers {
    slots: Arc<BTreeMap<String, Arc<Slot>>>,
    /// Approved ones of workspaces where somebody works, by [`crate::Proposal::id`].
    proposed: Arc<Mutex<BTreeMap<String, Arc<Slot>>>>,
    /// Of servers that each agent has for itself: those that agents have called.
    own: Arc<Mutex<Own>>,
    host: Host,
}

/// What a server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub revision: String,
    /// Name and version, as it gives them.
    pub server: Option<String>,
    pub tools: Vec<Tool>,
}

/// A server that can't be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{server}: {problem}")]
pub struct Unavailable {
    pub server: String,
    pub problem: String,
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerState {
    pub name: String,
    /// `configured`, `starting`, `ready` or `failed`.
    pub state: &'static str,
    pub problem: Option<String>,
    pub starts: u64,
    pub calls: u64,
    pub failed_calls: u64,
}

impl ServerState {
    /// The same together with that of an agent's own one.
    fn with(self, own: Self) -> Self {
        let order = ["configured", "failed", "starting", "ready"];
        let rank = |state: &str| order.iter().position(|known| *known == state);
        let (of_own, of_all) = (rank(own.state), rank(self.state));
        let (state, problem) =
            if of_own > of_all { (own.state, own.problem) } else { (self.state, self.problem) };
        Self {
            name: self.name,
            state,
            problem,
            starts: self.starts + own.starts,
            calls: self.calls + own.calls,
            failed_calls: self.failed_calls + own.failed_calls,
        }
    }
}

impl Servers {
    pub fn new(definitions: Vec<Definition>, host: &Host) -> Self {
        let slots = definitions.into_iter().map(|definition| {
            let name = definition.name.clone();
            (name, Slot::new(definition, host.clone()))
        });
        Self {
            slots: Arc::new(slots.collect()),
            proposed: Arc::default(),
            own: Arc::default(),
            host: host.clone(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    pub fn definition(&self, server: &str) -> Option<&Definition> {
        self.slots.get(server).map(|slot| &slot.definition)
    }

    /// How each of them stands.
    pub fn states(&self) -> Vec<ServerState> {
        let own = lock(&self.own);
        let state = |slot: &Arc<Slot>| {
            let of_agents = own.iter().filter(|((server, _), _)| *server == slot.definition.name);
            of_agents.fold(slot.state(), |all, (_, slot)| all.with(slot.state()))
        };
        self.slots.values().chain(lock(&self.proposed).values()).map(state).collect()
    }

    /// What a server has written to its standard error.
    pub fn log(&self, server: &str) -> Log {
        Log::of(&self.host.folder, server)
    }

    /// Takes away what is kept of a server.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn forget(host: &Host, server: &str) -> std::io::Result<()> {
        Log::of(&host.folder, server).remove()?;
        Logins::of(&host.folder).forget(server)?;
        Listing::remove(&host.folder, server)
    }

    /// The tools that a server has now: it is started for that.
    ///
    /// # Errors
    /// It can't be started, or lists nothing.
    pub async fn list(&self, server: &str) -> Result<Listed, Unavailable> {
        self.slot(server)?.list().await
    }

    /// What these servers offer. Those whose tools are known are not started for it; the others are, all at once, and are
    /// waited for a little. Beside it why servers offer nothing. A workspace adds those that it proposes and that are approved.
    pub async fn offer(&self, servers: &[String], workspace: Option<&Path>) -> (Catalogue, Vec<Unavailable>) {
        let until = Instant::now() + OFFER_WAIT;
        let (proposed, mut problems) = match workspace {
            Some(workspace) => self.of_workspace(workspace).await,
            None => Default::default(),
        };
        let mut asked = Vec::new();
        for server in servers.iter().chain(&proposed) {
            match self.slot(server) {
                Ok(slot) => {
                    let slot = self.one_that_changed(slot);
                    // It goes on although nobody waits any more.
                    asked.push((server.as_str(), spawn::task(async move { slot.known_or_list().await })));
                }
                Err(problem) => problems.push(problem),
            }
        }
        let (listed, missing) = answers(asked, until).await;
        problems.extend(missing);
        let catalogue =
            Catalogue::of(listed.iter().map(|(server, listed)| (*server, listed.tools.as_slice())));
        (catalogue, problems)
    }

    /// Calls a tool once. Arguments that its schema refuses are not sent. Dropping the future cancels the call.
    ///
    /// # Errors
    /// What became of it instead, and whether it may have had effects.
    pub async fn call(
        &self,
        (server, tool): (&str, &str),
        arguments: &str,
        agent: Option<&AgentId>,
    ) -> Result<CallResult, CallError> {
        // Models leave the arguments of a tool out that takes none.
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        let arguments: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err(CallError::Arguments("they are no JSON object".to_owned())),
            Err(problem) => return Err(CallError::Arguments(format!("they are no JSON: {problem}"))),
        };
        let slot = self.slot(server).and_then(|slot| self.own(slot, agent));
        let slot = slot.map_err(|problem| CallError::NotSent(problem.to_string()))?;
        slot.call(tool, arguments).await
    }

    /// Ends all of them.
    pub async fn close(&self) {
        let proposed = std::mem::take(&mut *lock(&self.proposed));
        let own = std::mem::take(&mut *lock(&self.own));
        for slot in self.slots.values().chain(proposed.values()).chain(own.values()) {
            slot.close().await;
        }
    }

    /// The approved servers that a workspace proposes now, and why others are not used. One that was started under another
    /// definition, or is proposed no more, is ended first.
    async fn of_workspace(&self, workspace: &Path) -> (Vec<String>, Vec<Unavailable>) {
        let (host, folder) = (self.host.clone(), workspace.to_owned());
        let read = spawn::blocking(move || approved(&folder, &host)).await;
        let (approved, problems) = read.unwrap_or_else(|interrupted| {
            (Vec::new(), vec![unavailable(crate::PROPOSALS, &interrupted.to_string())])
        });
        let stays = |slot: &Arc<Slot>| {
            let other = slot.definition.proposal.as_ref().is_none_or(|known| known.workspace != workspace);
            other || approved.contains(&slot.definition)
        };
        let gone: Vec<Arc<Slot>> = {
            let mut proposed = lock(&self.proposed);
            let gone = proposed.values().filter(|slot| !stays(slot)).cloned().collect();
            proposed.retain(|_, slot| stays(slot));
            gone
        };
        for slot in gone {
            slot.close().await;
        }
        let names = approved.iter().map(|definition| definition.name.clone()).collect();
        let mut proposed = lock(&self.proposed);
        for definition in approved {
            let name = definition.name.clone();
            proposed.entry(name).or_insert_with(|| Slot::new(definition, self.host.clone()));
        }
        (names, problems)
    }

    /// The server that an agent has for itself, where it is such a one.
    fn own(&self, shared: Arc<Slot>, agent: Option<&AgentId>) -> Result<Arc<Slot>, Unavailable> {
        let Some(agent) = agent.filter(|_| shared.definition.per_agent) else { return Ok(shared) };
        let name = &shared.definition.name;
        let mut own = lock(&self.own);
        let key = (name.clone(), agent.clone());
        if !own.contains_key(&key) && own.len() >= OWN {
            own.retain(|_, slot| slot.is_used());
        }
        if !own.contains_key(&key) && own.len() >= OWN {
            return Err(unavailable(name, &format!("{OWN} agents have one of their own already")));
        }
        let slot = own.entry(key).or_insert_with(|| shared.another());
        Ok(slot.clone())
    }

    /// Where agents have a server for themselves, the one of them that reports a change: all of them list the same.
    fn one_that_changed(&self, shared: Arc<Slot>) -> Arc<Slot> {
        let name = shared.definition.name.clone();
        let own = lock(&self.own);
        let changed = own.iter().find(|((server, _), slot)| *server == name && slot.has_changed());
        changed.map_or(shared, |(_, slot)| slot.clone())
    }

    fn slot(&self, server: &str) -> Result<Arc<Slot>, Unavailable> {
        let slot = self.slots.get(server).cloned().or_else(|| lock(&self.proposed).get(server).cloned());
        slot.ok_or_else(|| unavailable(server, "there is no such server any more"))
    }
}

/// What servers list that have answered by then, and why the others list nothing.
async fn answers(
    asked: Vec<(&str, JoinHandle<Result<Listed, Unavailable>>)>,
    until: Instant,
) -> (Vec<(&str, Listed)>, Vec<Unavailable>) {
    let (mut listed, mut missing) = (Vec::new(), Vec::new());
    for (server, answer) in asked {
        match timeout_at(until, answer).await {
            Ok(Ok(Ok(tools))) => listed.push((server, tools)),
            Ok(Ok(Err(problem))) => missing.push(problem),
            Ok(Err(interrupted)) => missing.push(unavailable(server, &interrupted.to_string())),
            Err(_) => {
                missing.push(unavailable(server, "it is still starting: its tools are offered once it has"));
            }
        }
    }
    (listed, missing)
}

/// What of a workspace may be started; what was approved as something else is named.
fn approved(workspace: &Path, host: &Host) -> (Vec<Definition>, Vec<Unavailable>) {
    let proposed = match Proposed::of(workspace, &host.variables) {
        Ok(proposed) => proposed,
        Err(problem) => return (Vec::new(), vec![unavailable(crate::PROPOSALS, &problem)]),
    };
    let approvals = Approvals::of(&host.folder);
    let (mut approved, mut problems) = (Vec::new(), Vec::new());
    for proposed in proposed {
        match approvals.standing(&proposed.proposal) {
            Standing::Approved => approved.push(proposed.definition()),
            Standing::Changed => problems.push(unavailable(&proposed.proposal.id(), CHANGED)),
            Standing::Proposed => {}
        }
    }
    (approved, problems)
}

/// Most of a problem that is shown.
fn unavailable(server: &str, problem: &str) -> Unavailable {
    Unavailable { server: server.to_owned(), problem: problem.chars().take(1_000).collect() }
}

/// How long is waited before a server is started again that has failed so many times in a row.
fn backoff(failures: u32) -> Millis {
    Millis(1_000 << failures.saturating_sub(1).min(6)).min(Millis::seconds(60))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "client")]
    use crate::definition::Reach;

    #[test]
    fn a_server_that_fails_is_left_alone_for_longer_each_time() {
        let waits: Vec<u64> = (1..9).map(|failures| backoff(failures).0 / 1_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_waits_for_many_servers_no_longer_than_for_one() {
        let late = || spawn::task(std::future::pending());
        let known = spawn::task(async {
            Ok(Listed { revision: "2025-11-25".to_owned(), server: None, tools: Vec::new() })
        });
        let begun = Instant::now();
        let asked = vec![("a", late()), ("b", late()), ("c", late()), ("d", known)];
        let (listed, missing) = answers(asked, begun + OFFER_WAIT).await;
        assert!(begun.elapsed() < OFFER_WAIT * 2, "{:?}", begun.elapsed());
        assert_eq!(listed.iter().map(|(server, _)| *server).collect::<Vec<_>>(), ["d"]);
        assert_eq!(missing.iter().map(|one| one.server.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[cfg(feature = "client")]
    #[tokio::test]
    async fn a_start_that_nobody_waits_for_any_more_is_none() {
        let hangs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", hangs.local_addr().unwrap());
        let reach = Reach::Address { url, headers: BTreeMap::new() };
        let folder = tempfile::tempdir().unwrap();
        let (helper, folder) = (PathBuf::new(), folder.path().to_owned());
        let host = Host { helper, folder, secrets: Arc::default(), variables: Arc::default() };
        let servers = Servers::new(vec![Definition::example("hangs", reach)], &host);
        let call = servers.call(("hangs", "tool"), "{}", None);
        tokio::time::timeout(Duration::from_millis(200), call).await.unwrap_err();
        let state = servers.states().remove(0);
        assert_eq!((state.state, state.problem, state.starts), ("configured", None, 1));
    }
}
