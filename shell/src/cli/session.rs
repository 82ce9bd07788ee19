//! One prompt to one agent, from start to end, in this process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use holon_core::agent::identity::{
    AgentKind, AgentSpec, ExecutionBinding, Ownership, ProfilePreset, Visibility,
};
use holon_core::input::ControlRequest;
use holon_core::message::{AdmissionContext, Ingress, Surface};
use holon_core::view::{ExplainedDeadline, RunVerdict};
use holon_core::{AgentId, Answer, Config, Input, MessageId, Millis, Record, Reject};

use super::beside;
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::Failure;
use crate::changes::{Before, Changes};
use crate::driver::{Driver, DriverError, Gate, Observer, Start};
use crate::home::Home;
use crate::ledger::{Durability, HomeLock, LockError};
use crate::live::LiveSink;
use crate::perform::model::Providers;
use crate::perform::tool::CommandEnvironment;
use crate::perform::{self, CommandSettings};
use crate::report::{Ended, RunFold, RunReport};
use crate::screen::{Screen, Tone};
use crate::settings::Environment;
use crate::text::Secrets;
use crate::workplace::{self, WorkplaceError};
use crate::{clock, prune, spawn};

/// What is to be done, and with what.
pub(super) struct Session {
    pub(super) home: Home,
    pub(super) agent: AgentId,
    pub(super) target: Target,
    pub(super) execution: ExecutionBinding,
    /// Whether the folder was named, rather than being the current one.
    pub(super) folder_asked_for: bool,
    pub(super) config: Config,
    pub(super) durability: Durability,
    pub(super) commands: CommandSettings,
    pub(super) environment: Environment,
    /// Secrets beyond those that the environment's names give away.
    pub(super) secrets: Vec<(String, String)>,
    pub(super) providers: Providers,
    /// What is due within so long is waited for.
    pub(super) idle_limit: Millis,
    /// Homes of temporary runs that are kept; none keeps all.
    pub(super) keep_runs: Option<u64>,
    pub(super) screen: Screen,
    pub(super) live: LiveSink,
    /// Sees every durable record of the agent.
    pub(super) observer: Observer,
}

/// Which agents the prompt may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A private one that lives as long as this run.
    Temporary,
    /// One that exists.
    Existing,
    /// One that is made if need be.
    Created,
}

/// How the prompt fared.
struct Outcome {
    message_id: MessageId,
    verdict: RunVerdict,
    due: Vec<ExplainedDeadline>,
    queued: u64,
}

impl Session {
    /// Runs the prompt to its end, or until the end is asked for.
    pub(super) async fn run(mut self, prompt: &str, ending: Ending) -> Result<RunReport, Failure> {
        let started = clock::now();
        if self.target != Target::Temporary
            && let Some(metadata) = beside::living(&self.home)
        {
            return Box::pin(beside::run(self, metadata, prompt, ending)).await;
        }
        self.home.create()?;
        let lock = HomeLock::acquire(self.home.root()).map_err(not_reachable)?;
        let workspace = PathBuf::from(&self.execution.execution_root);
        let (before, gate) = Before::look(&workspace, &self.environment);
        // The look gets going in another thread while the ledger is opened in this one.
        tokio::task::yield_now().await;
        let fold: Arc<Mutex<RunFold>> = Arc::default();
        let observer = std::mem::replace(&mut self.observer, Box::new(|_| {}));
        let observer = observe(self.agent.clone(), fold.clone(), observer);
        let mut driver = Driver::start(self.start(observer, gate)).await?;
        let outcome = self.prompt(&mut driver, prompt, &ending).await;
        tell(&mut driver, &self.screen);
        let texts = driver.texts().clone();
        let tools_started = locked(&fold).tools_started();
        let closed = driver.shut_down().await;
        // Only now nothing changes any more.
        let changes = Box::pin(changes(before, &workspace, tools_started)).await;
        drop(lock);
        // What broke the run says more than what broke its end.
        let outcome = outcome?;
        closed?;
        let ended = Ended {
            verdict: outcome.verdict,
            exit_code: Exit::from(outcome.verdict).code(),
            agent_id: self.agent,
            message_id: outcome.message_id,
            due: outcome.due,
            queued: outcome.queued,
            duration_ms: clock::since(started).0,
            ledger: self.home.ledger().display().to_string(),
            changes,
        };
        let fold = std::mem::take(&mut *locked(&fold));
        Ok(fold.report(ended, &texts)?)
    }

    fn start(&self, observer: Observer, tools_from: Gate) -> Start {
        Start {
            ledger: self.home.ledger(),
            durability: self.durability,
            config: self.config.clone(),
            secrets: Secrets::new(self.environment.secrets().chain(self.secrets.iter().cloned())),
            providers: self.providers.clone(),
            reserve: (self.target != Target::Temporary).then(|| self.home.root().to_owned()),
            performing: perform::Settings {
                commands: self.commands,
                ..perform::Settings::new(
                    self.home.root().to_owned(),
                    CommandEnvironment::new(self.environment.variables()),
                )
            },
            live: self.live.clone(),
            tools_from,
            observer,
        }
    }

    async fn prompt(&self, driver: &mut Driver, prompt: &str, ending: &Ending) -> Result<Outcome, Failure> {
        self.ensure_agent(driver).await?;
        if ending.asked() {
            return Err(Failure::new(Exit::Interrupted, anyhow!("interrupted: the prompt was not taken in")));
        }
        let text = driver.texts().take(prompt);
        let ingress = Ingress::prompt(text, Surface::RunOnce, AdmissionContext::LocalProcess);
        let agent = self.agent.clone();
        let answer = driver.ask(|reply| Input::Ingress { agent, ingress, reply }).await?;
        let message_id = match answer {
            Answer::Admitted { message_id, .. } => message_id,
            Answer::Refused { reject } => return Err(refused(reject)),
            Answer::Created { .. } | Answer::Controlled(_) | Answer::ModelSet { .. } | Answer::Drained => {
                return Err(Failure::from(anyhow!("a prompt was answered with {answer:?}")));
            }
        };
        self.prune();
        let interrupted = self.until_settled(driver, ending).await?;
        let view = driver.view();
        let mut verdict = view.verdict(&self.agent).unwrap_or(RunVerdict::Failed);
        let ended = matches!(verdict, RunVerdict::Aborted | RunVerdict::Stopped);
        if interrupted && !ended {
            // Nothing of this agent was running: the prompt still waits.
            verdict = RunVerdict::Interrupted;
        }
        let queued = view.agent(&self.agent).map_or(0, |agent| agent.inbox.queued_entries());
        let due = view.due(&self.agent).into_iter().collect();
        Ok(Outcome { message_id, verdict, due, queued })
    }

    /// Drives until nothing more happens by itself; the first request to end aborts the run in progress. Says
    /// whether there was one.
    async fn until_settled(&self, driver: &mut Driver, ending: &Ending) -> Result<bool, Failure> {
        while !(driver.caught_up() && driver.view().settled(&self.agent, self.idle_limit)) {
            tokio::select! {
                biased;
                () = ending.wait() => {
                    let text = "holon: interrupted, the run ends (once more: at once)";
                    self.screen.line(Tone::Aside, text);
                    abort(driver, &self.agent).await?;
                    return Ok(true);
                }
                pumped = driver.pump() => pumped?,
            }
            tell(driver, &self.screen);
        }
        Ok(false)
    }

    /// Makes room among the homes of earlier runs while the model thinks; nobody waits for it.
    fn prune(&self) {
        let runs = self.home.root().parent().filter(|_| self.target == Target::Temporary);
        if let (Some(runs), Some(keep)) = (runs.map(Path::to_owned), self.keep_runs) {
            drop(spawn::blocking(move || prune::old_runs(&runs, keep, clock::system())));
        }
    }

    async fn ensure_agent(&self, driver: &mut Driver) -> Result<(), Failure> {
        if driver.load(&self.agent).await? {
            let own = driver.view().agent(&self.agent).map(|agent| agent.spec.execution.clone());
            return own.map_or(Ok(()), |own| self.check_folder(&own));
        }
        let spec = match self.target {
            Target::Existing => {
                let reject = Reject::UnknownAgent { agent: self.agent.clone() };
                let hint = format!("holon run --agent {} --create-agent …", self.agent);
                return Err(Failure::new(Exit::NotFound, reject).hint(hint));
            }
            Target::Created => {
                let kind = if self.agent.as_str() == "main" { AgentKind::Default } else { AgentKind::Named };
                AgentSpec::named(kind, self.execution.clone())
            }
            Target::Temporary => AgentSpec {
                visibility: Visibility::Private,
                ownership: Ownership::SelfOwned,
                profile_preset: ProfilePreset::PublicNamed,
                ..AgentSpec::named(AgentKind::Named, self.execution.clone())
            },
        };
        self.home.create_agent(&self.agent)?;
        let agent = self.agent.clone();
        match driver.ask(|reply| Input::CreateAgent { agent, spec, reply }).await? {
            Answer::Refused { reject } => Err(refused(reject)),
            Answer::Created { .. }
            | Answer::Admitted { .. }
            | Answer::Controlled(_)
            | Answer::ModelSet { .. }
            | Answer::Drained => Ok(()),
        }
    }

    /// An agent keeps the folder that it was made for: asking for another one is refused, being elsewhere told.
    pub(super) fn check_folder(&self, own: &ExecutionBinding) -> Result<(), Failure> {
        let asked = &self.execution;
        if own == asked {
            return Ok(());
        }
        let place = format!("the agent {} works in {}", self.agent, own.cwd);
        if self.folder_asked_for {
            let error = anyhow!("{place}, not in {}", asked.cwd);
            let hint = "leave --workspace-root and --cwd out, or make another agent for that folder";
            return Err(Failure::usage(error).hint(hint));
        }
        self.screen.line(Tone::Aside, &format!("holon: {place}"));
        Ok(())
    }
}

/// Feeds the report, then whoever shows activity.
fn observe(agent: AgentId, fold: Arc<Mutex<RunFold>>, mut next: Observer) -> Observer {
    Box::new(move |record: &Record| {
        if record.agent == agent {
            locked(&fold).record(record);
            next(record);
        }
    })
}

fn locked(fold: &Mutex<RunFold>) -> MutexGuard<'_, RunFold> {
    fold.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What changed in the repository; without a tool nothing did, and nobody needs to look.
async fn changes(before: Before, workspace: &Path, tools_started: bool) -> Changes {
    if tools_started { before.changes(workspace).await } else { before.nothing() }
}

/// A home in use is a runtime that can't be reached yet.
fn not_reachable(error: LockError) -> Failure {
    let exit = match &error {
        LockError::Held { .. } => Exit::NotReachable,
        LockError::Unusable { .. } => Exit::Usage,
    };
    Failure::new(exit, error)
}

/// A refusal as an error with its exit code and hint.
fn refused(reject: Reject) -> Failure {
    let hint = reject.hint();
    let failure = Failure::new(Exit::from(&reject), reject);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Shows what went wrong without harm.
fn tell(driver: &mut Driver, screen: &Screen) {
    for warning in driver.take_warnings() {
        screen.warn(Tone::Aside, &format!("holon: {warning}"));
    }
}

async fn abort(driver: &mut Driver, agent: &AgentId) -> Result<(), DriverError> {
    let agent = agent.clone();
    let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
    // No run in progress is fine: then there is nothing to abort.
    driver.ask(|reply| Input::Control { agent, request, reply }).await.map(drop)
}

/// Where an agent's commands run: `cwd` inside the workspace, both as they really are.
pub(super) fn execution(workspace: &Path, cwd: &Path) -> Result<ExecutionBinding, Failure> {
    workplace::bind(workspace, cwd).map_err(|error| match &error {
        WorkplaceError::Closed { .. } => Failure::usage(error)
            .hint("make it readable for this user, or name another folder with --workspace-root"),
        WorkplaceError::Outside { cwd, workspace } => Failure::usage(anyhow!(
            "--cwd {} is outside of --workspace-root {}",
            cwd.display(),
            workspace.display()
        )),
        WorkplaceError::Missing { .. } | WorkplaceError::File { .. } | WorkplaceError::NotText { .. } => {
            Failure::usage(error)
        }
    })
}
