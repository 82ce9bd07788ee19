//! Folders that agents of several cells work in. Within a cell its own state lets one supervision tree into each; here the
//! cell takes what its agents occupy, before anything begins there, and gives it back when nobody occupies it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::AgentId;
use holon_facts::event::{Event, WorkspaceFact};
use holon_facts::receipt::{ToolError, ToolErrorKind};
use holon_facts::record::Record;
use holon_ledger::postgres::node::{Directory, Roots, Taken, Tenant};
use holon_ledger::sqlite::LedgerError;
use holon_platform::spawn;
use tokio::sync::Mutex as Turn;
use tokio::time::sleep;

/// Whoever leaves a folder gives it back a moment later: somebody who wants it waits so often, and so long.
const LOOKS: u32 = 4;
const MOMENT: Duration = Duration::from_millis(50);
/// How often a database that does not answer is asked again, and after what.
const TRIES: u32 = 40;
const AGAIN: Duration = Duration::from_millis(250);

/// The folders of one cell; by default there is no other one. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SharedRoots(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    roots: Arc<Roots>,
    of: Tenant,
    /// Homes of agents and worktrees that were made for them: each is one agent's.
    own: [PathBuf; 2],
    state: Mutex<State>,
    /// One at a time talks to the database of this.
    turn: Turn<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Who occupies each folder, as is on record.
    occupied: BTreeMap<String, BTreeSet<AgentId>>,
    /// What the database has given to this cell.
    held: BTreeSet<String>,
}

impl SharedRoots {
    /// Those of a cell, where its directory has several. Those below its `own` are not looked at.
    pub fn of(cell: Option<(Arc<Roots>, Arc<Directory>, Tenant)>, own: [PathBuf; 2]) -> Self {
        let several = cell.filter(|(_, directory, _)| directory.has_several());
        let inner = several.map(|(roots, _, of)| {
            Arc::new(Inner { roots, of, own, state: Mutex::default(), turn: Turn::default() })
        });
        Self(inner)
    }

    /// The cell begins with what its agents occupy.
    pub fn begin(&self, occupied: impl IntoIterator<Item = (String, AgentId)>) {
        let Some(inner) = self.0.clone() else { return };
        let occupied = occupied.into_iter().filter(|(root, _)| inner.is_shared(root));
        for (root, agent) in occupied {
            inner.state().occupied.entry(root).or_default().insert(agent);
        }
        drop(spawn::task(async move { inner.begin().await }));
    }

    /// What is on record, before anything of it is performed.
    pub fn follow(&self, record: &Record) {
        let Some(inner) = &self.0 else { return };
        let Event::Workspace(fact) = &record.event else { return };
        if let WorkspaceFact::OccupancyAcquired(fact) = fact
            && inner.is_shared(&fact.execution_root)
        {
            let mut state = inner.state();
            state.occupied.entry(fact.execution_root.clone()).or_default().insert(record.agent.clone());
        }
        if let WorkspaceFact::OccupancyReleased(fact) = fact
            && inner.state().left(&fact.execution_root, &record.agent)
        {
            let (inner, root) = (inner.clone(), fact.execution_root.clone());
            drop(spawn::task(async move { inner.give_back(root).await }));
        }
    }

    /// Has a folder for an agent that occupies it.
    ///
    /// # Errors
    /// An agent of another cell works there, or nobody knows whether one does.
    pub async fn take(&self, root: &str, agent: &AgentId) -> Result<(), ToolError> {
        let Some(inner) = self.0.as_ref().filter(|inner| inner.is_shared(root)) else { return Ok(()) };
        // To its end, also when nobody waits for it any more: what the database has given is kept in mind.
        let taking = spawn::task(inner.clone().take(root.to_owned(), agent.clone()));
        taking.await.unwrap_or_else(|problem| Err(unknown(root, &problem.to_string())))
    }
}

impl State {
    /// Somebody left; whether it is to be given back.
    fn left(&mut self, root: &str, agent: &AgentId) -> bool {
        let Some(agents) = self.occupied.get_mut(root) else { return false };
        agents.remove(agent);
        if !agents.is_empty() {
            return false;
        }
        self.occupied.remove(root);
        self.held.remove(root)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_shared(&self, root: &str) -> bool {
        !self.own.iter().any(|own| Path::new(root).starts_with(own))
    }

    async fn begin(self: Arc<Self>) {
        let _turn = self.turn.lock().await;
        let occupied: BTreeMap<String, AgentId> = self
            .state()
            .occupied
            .iter()
            .filter_map(|(root, agents)| Some((root.clone(), agents.first()?.clone())))
            .collect();
        let begun = self.insist(move |roots, of| roots.begin(of, &occupied)).await;
        match begun {
            Ok(held) => {
                for root in held {
                    self.keep(root).await;
                }
            }
            Err(problem) => tracing::warn!("folders of an earlier owner are not given back: {problem}"),
        }
    }

    async fn take(self: Arc<Self>, root: String, agent: AgentId) -> Result<(), ToolError> {
        let mut looks = LOOKS;
        loop {
            match self.look(&root, &agent).await {
                Ok(Taken::Yes) => return Ok(()),
                Ok(Taken::By { .. }) if looks > 0 => looks -= 1,
                Ok(Taken::By { agent, .. }) => return Err(occupied(&root, &agent)),
                Ok(Taken::Fenced) => return Err(unknown(&root, "this node does not own the agent any more")),
                Err(problem) => return Err(unknown(&root, &problem)),
            }
            sleep(MOMENT).await;
        }
    }

    async fn look(&self, root: &str, agent: &AgentId) -> Result<Taken, String> {
        if self.state().held.contains(root) {
            return Ok(Taken::Yes);
        }
        let _turn = self.turn.lock().await;
        if self.state().held.contains(root) {
            return Ok(Taken::Yes);
        }
        let (named, agent) = (root.to_owned(), agent.clone());
        let taken = self.insist(move |roots, of| roots.take(of, &named, agent.as_str())).await?;
        if taken == Taken::Yes {
            self.keep(root.to_owned()).await;
        }
        Ok(taken)
    }

    /// It is the cell's, unless nobody wants it any more.
    async fn keep(&self, root: String) {
        {
            let mut state = self.state();
            if state.occupied.contains_key(&root) {
                state.held.insert(root);
                return;
            }
        }
        self.give_up(root).await;
    }

    /// Nobody occupied the folder when this began.
    async fn give_back(self: Arc<Self>, root: String) {
        let _turn = self.turn.lock().await;
        self.keep(root).await;
    }

    /// What can't be given back is, at the latest, by whoever owns the cell next.
    async fn give_up(&self, root: String) {
        let named = root.clone();
        if let Err(problem) = self.insist(move |roots, of| roots.give_back(of, &named)).await {
            tracing::warn!("{root} is kept from agents of other cells: {problem}");
        }
    }

    async fn insist<T: Send + 'static>(
        &self,
        work: impl Fn(&Roots, Tenant) -> Result<T, LedgerError> + Clone + Send + 'static,
    ) -> Result<T, String> {
        let mut tries = TRIES;
        loop {
            let (roots, of, work) = (self.roots.clone(), self.of, work.clone());
            match spawn::blocking(move || work(&roots, of)).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(_)) if tries > 0 => tries -= 1,
                Ok(Err(problem)) => return Err(problem.to_string()),
                Err(problem) => return Err(problem.to_string()),
            }
            sleep(AGAIN).await;
        }
    }
}

fn occupied(root: &str, by: &str) -> ToolError {
    let message = format!("{root} is occupied by the agent {by}: only one works in a folder at a time");
    ToolError::new(ToolErrorKind::WorkspaceOccupied, message).hint(
        "work in another folder (UseWorkspace), or try again when that one has ended its turn and its commands",
    )
}

fn unknown(root: &str, problem: &str) -> ToolError {
    let message = format!("whether an agent of another cell works in {root} is not known: {problem}");
    ToolError::new(ToolErrorKind::WorkspaceOccupied, message).hint("try again in a moment")
}
