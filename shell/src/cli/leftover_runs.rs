//! What earlier temporary runs have left: homes that nobody needs are removed; what was killed is recovered, so that
//! its worktrees go, or stay with a reason.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use holon_core::Input;
use holon_core::input::ControlRequest;
use holon_facts::AgentId;
use holon_facts::workspace::{WorkspaceChange, Worktree, WorktreeState};
use holon_ledger::read::Reader;
use holon_ledger::sqlite::HomeLock;
use holon_platform::{clock, spawn};
use tokio::task::JoinHandle;

use crate::driver::{Driver, Start};
use crate::home::Home;
use crate::prune;
use crate::settings::quoted;

/// How long a run that has ended waits for what it recovers. The next run takes up what is cut short.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// What a runtime in the home of an earlier run is started with.
pub(super) type Begin = Box<dyn Fn(&Home) -> Start + Send + Sync>;

/// Recovers the homes of earlier runs while a run is in progress.
pub(super) struct LeftoverRuns(JoinHandle<Vec<String>>);

impl LeftoverRuns {
    /// `runs` is where the homes of temporary runs are, of which the newest `keep` stay in any case.
    pub(super) fn begin(runs: PathBuf, keep: u64, begin: Begin) -> Self {
        Self(spawn::task(async move {
            let look = move || {
                prune::old_runs(&runs, keep, clock::system());
                prune::with_worktrees(&runs)
            };
            let mut told = Vec::new();
            for home in spawn::blocking(look).await.unwrap_or_default() {
                let recovered = Box::pin(recover(&home, &begin)).await;
                told.extend(recovered.unwrap_or_else(|error| {
                    let look = "its worktrees are listed by holon config doctor";
                    vec![format!("what {} left can't be recovered: {error:#}; {look}", home.display())]
                }));
            }
            told
        }))
    }

    /// What somebody has to look at.
    pub(super) async fn told(self) -> Vec<String> {
        let told = tokio::time::timeout(RECOVERY_TIMEOUT, self.0).await;
        told.map_or_else(|_| Vec::new(), Result::unwrap_or_default)
    }
}

/// Ends an earlier run that was killed, as one that was asked to end. Says which of its worktrees stay.
async fn recover(home: &Path, begin: &Begin) -> Result<Vec<String>, anyhow::Error> {
    // Another run may be at it.
    let Ok(_lock) = HomeLock::acquire(home) else { return Ok(Vec::new()) };
    let rows = Reader::open(&home.join("ledger.sqlite3"))?.agents()?;
    if rows.iter().all(|row| row.archived || row.open_work == 0) {
        // It came to its end: what it has left is there to be looked at.
        return Ok(Vec::new());
    }
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    let agent = AgentId::new(&name)?;
    let mut driver = Driver::start(begin(&Home::at(home))).await?;
    let left = end(&mut driver, &agent).await;
    driver.shut_down().await?;
    Ok(left?.iter().map(|worktree| told(&name, worktree)).collect())
}

/// Nobody asks a model again: the agent is stopped before anything is performed that its recovery has begun.
async fn end(driver: &mut Driver, agent: &AgentId) -> Result<Vec<Worktree>, anyhow::Error> {
    if !driver.load(agent).await? {
        return Err(anyhow!("its ledger has no agent {agent}"));
    }
    let request = ControlRequest::Stop;
    driver.ask(|reply| Input::Control { agent: agent.clone(), request, reply }).await?;
    let ends =
        |driver: &Driver| driver.view().agent(agent).is_some_and(|agent| agent.tasks.active_count() > 0);
    while ends(driver) {
        driver.pump().await?;
    }
    // It may have worked in one of its own, to which nobody leads it back.
    let begun = driver.view().agent(agent).map(|agent| agent.spec.execution.clone());
    let elsewhere = begun.map(|execution| WorkspaceChange::Use { execution });
    for change in elsewhere.into_iter().chain([WorkspaceChange::Prune]) {
        driver.ask(|reply| Input::ChangeWorkspace { agent: agent.clone(), change, reply }).await?;
    }
    let goes = |worktree: &Worktree| match worktree.state {
        WorktreeState::Making | WorktreeState::Leaving => true,
        WorktreeState::InUse | WorktreeState::Retained => false,
    };
    while driver.view().agent(agent).is_some_and(|agent| agent.worktrees().any(goes)) {
        driver.pump().await?;
    }
    let view = driver.view();
    let stay = view.agent(agent).into_iter().flat_map(|agent| agent.worktrees());
    Ok(stay.cloned().collect())
}

fn told(run: &str, worktree: &Worktree) -> String {
    let plan = &worktree.plan;
    let why = worktree.retained.as_ref().map_or("in_use", |retained| retained.reason.name());
    let (path, anchor, branch) = (quoted(&plan.path), quoted(&plan.anchor), quoted(&plan.branch));
    format!(
        "{run} was killed; its worktree {} stays ({why}). Look at it, or remove it with what is new there: \
         git -C {anchor} worktree remove --force {path} && git -C {anchor} branch -D {branch}",
        plan.path
    )
}
