//! Folders that agents of several cells work in. Within a cell its own state lets one supervision tree into each; here the
//! cell takes what its agents occupy, before anything begins there, and gives it back when nobody occupies it any more. Where
//! the folders of this machine are its own (`workspace.node`), the cell of an agent that has one is bound to such machines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_facts::AgentId;
use holon_facts::event::{Event, WorkspaceFact};
use holon_facts::receipt::{ToolError, ToolErrorKind};
use holon_facts::record::Record;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::node::{Bound, Roots, Taken, Tenant};
use holon_platform::spawn;
use tokio::sync::Mutex as Turn;
use tokio::time::sleep;

/// Whoever leaves a folder gives it back a moment later: somebody who wants it waits so often, and so long.
const LOOKS: u32 = 4;
const MOMENT: Duration = Duration::from_millis(50);
/// How often a database that does not answer is asked again, and after what.
const TRIES: u32 = 40;
const AGAIN: Duration = Duration::from_millis(250);
const NOT_OWNED: &str = "this node does not own the agent any more";

/// The folders of one cell; by default there is no other one. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SharedRoots(Option<Arc<Inner>>);

/// What a node knows of folders.
#[derive(Debug, Clone)]
pub struct NodeFolders {
    pub roots: Arc<Roots>,
    /// What nodes have that have the folders of this machine; none where all nodes have them.
    pub label: Option<String>,
}

#[derive(Debug)]
struct Inner {
    node: NodeFolders,
    of: Tenant,
    /// Whether there are other cells.
    several: bool,
    /// The cell is bound to the label of the node.
    bound: AtomicBool,
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
    /// Those of a cell, which may be one of `several`. Those below its `own` are not looked at.
    pub fn of(cell: Option<(NodeFolders, Tenant)>, several: bool, own: [PathBuf; 2]) -> Self {
        let cell = cell.filter(|(node, _)| several || node.label.is_some());
        Self(cell.map(|(node, of)| {
            let (bound, state, turn) = (AtomicBool::default(), Mutex::default(), Turn::default());
            Arc::new(Inner { node, of, several, bound, own, state, turn })
        }))
    }

    fn among_cells(&self) -> Option<&Arc<Inner>> {
        self.0.as_ref().filter(|inner| inner.several)
    }

    /// The cell begins with what its agents occupy.
    pub fn begin(&self, occupied: impl IntoIterator<Item = (String, AgentId)>) {
        let Some(inner) = self.among_cells().cloned() else { return };
        let occupied = occupied.into_iter().filter(|(root, _)| inner.is_shared(root));
        for (root, agent) in occupied {
            inner.state().occupied.entry(root).or_default().insert(agent);
        }
        drop(spawn::task(async move { inner.begin().await }));
    }

    /// What is on record, before anything of it is performed.
    pub fn follow(&self, record: &Record) {
        let Some(inner) = self.among_cells() else { return };
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

    /// An agent of the cell gets a folder: only nodes that have it own the cell from now on.
    ///
    /// # Errors
    /// The cell is bound to other nodes, or nobody knows whether it is.
    pub async fn bind(&self, root: &str) -> Result<(), BindError> {
        let Some(inner) = self.0.as_ref().filter(|inner| inner.is_shared(root)) else { return Ok(()) };
        let Some(label) = inner.binds_to() else { return Ok(()) };
        // One that is not here is of another machine, and its agent is where it can't work.
        if Path::new(root).is_dir() { inner.bind(root, label).await } else { Ok(()) }
    }

    /// Has a folder for an agent that occupies it.
    ///
    /// # Errors
    /// An agent of another cell works there, or nobody knows whether one does; or as for `bind`.
    pub async fn take(&self, root: &str, agent: &AgentId) -> Result<(), ToolError> {
        self.bind(root).await.map_err(BindError::of_tool)?;
        let Some(inner) = self.among_cells().filter(|inner| inner.is_shared(root)) else { return Ok(()) };
        // To its end, also when nobody waits for it any more: what the database has given is kept in mind.
        let taking = spawn::task(inner.clone().take(root.to_owned(), agent.clone()));
        taking.await.unwrap_or_else(|problem| Err(unknown(root, &problem.to_string())))
    }
}

/// Why an agent can't have a folder of this machine.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "{root} is on machines with the label {label}, and the agent is in cell {cell}, which is owned by nodes with the \
         label {bound} alone"
    )]
    Elsewhere { root: String, label: String, cell: u64, bound: String },
    #[error("whether the agent may have {root} is not known: {problem}")]
    Unknown { root: String, problem: String },
}

impl BindError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Elsewhere { .. } => {
                "work in another folder, with an agent that is created at a node of this machine, or give the cell this \
                 label (holon cluster label)"
            }
            Self::Unknown { .. } => "try again in a moment",
        }
    }

    pub fn of_tool(self) -> ToolError {
        let kind = match &self {
            Self::Elsewhere { .. } => ToolErrorKind::PolicyDenied,
            Self::Unknown { .. } => ToolErrorKind::WorkspaceOccupied,
        };
        ToolError::new(kind, self.to_string()).hint(self.hint())
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

    /// The label that the cell is still to be bound to.
    fn binds_to(&self) -> Option<&str> {
        self.node.label.as_deref().filter(|_| !self.bound.load(Ordering::Relaxed))
    }

    async fn bind(&self, root: &str, label: &str) -> Result<(), BindError> {
        let (root, label, cell) = (root.to_owned(), label.to_owned(), self.of.cell.0);
        let named = label.clone();
        let bound = self.insist(move |roots, of| roots.bind(of, &named)).await;
        match bound {
            Ok(Bound::Yes) => {
                self.bound.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(Bound::To(bound)) => Err(BindError::Elsewhere { root, label, cell, bound }),
            Ok(Bound::Fenced) => Err(BindError::Unknown { root, problem: NOT_OWNED.to_owned() }),
            Err(problem) => Err(BindError::Unknown { root, problem }),
        }
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
                Ok(Taken::Fenced) => return Err(unknown(&root, NOT_OWNED)),
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
            let (roots, of, work) = (self.node.roots.clone(), self.of, work.clone());
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
