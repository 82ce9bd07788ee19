//! One prompt to one agent, from start to end, in this process.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use holon_core::agent::identity::{
    AgentKind, AgentSpec, ExecutionBinding, Ownership, ProfilePreset, Visibility,
};
use holon_core::input::ControlRequest;
use holon_core::message::{AdmissionContext, Ingress, Surface};
use holon_core::view::RunVerdict;
use holon_core::{AgentId, Answer, Config, Input, Record, Reject};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::Exit;
use super::output::{self, Failure};
use crate::clock;
use crate::driver::{Driver, DriverError, Observer, Start};
use crate::home::Home;
use crate::ledger::{Durability, HomeLock};
use crate::live::LiveSink;
use crate::perform::model::Providers;
use crate::perform::tool::CommandEnvironment;
use crate::perform::{self, CommandSettings};
use crate::report::{RunFold, RunReport};
use crate::settings::Environment;
use crate::text::Secrets;

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

impl Session {
    /// Runs the prompt to its end.
    pub(super) fn run(self, prompt: &str) -> Result<RunReport, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            tokio::select! {
                biased;
                // Whatever the run is waiting for, a full disk among it: the second request to end is obeyed.
                ended = twice_interrupted() => {
                    ended?;
                    Err(Failure::new(Exit::Interrupted, anyhow!("interrupted twice: ended at once")))
                }
                report = self.drive(prompt) => report,
            }
        })
    }

    async fn drive(mut self, prompt: &str) -> Result<RunReport, Failure> {
        let started = clock::now();
        self.home.create()?;
        let lock = HomeLock::acquire(self.home.root())?;
        let fold: Arc<Mutex<RunFold>> = Arc::default();
        let observer = std::mem::replace(&mut self.observer, Box::new(|_| {}));
        let start = self.start(observe(self.agent.clone(), fold.clone(), observer));
        let mut driver = Driver::start(start).await?;
        let verdict = self.prompt(&mut driver, prompt).await;
        tell(&mut driver);
        let texts = driver.texts().clone();
        let closed = driver.shut_down().await;
        drop(lock);
        // What broke the run says more than what broke its end.
        let verdict = verdict?;
        closed?;
        let fold = std::mem::take(&mut *fold.lock().unwrap_or_else(PoisonError::into_inner));
        let (ledger, duration) = (self.home.ledger().display().to_string(), clock::since(started).0);
        Ok(fold.report(verdict, self.agent, duration, ledger, &texts)?)
    }

    fn start(&self, observer: Observer) -> Start {
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
            live: LiveSink::nobody(),
            observer,
        }
    }

    async fn prompt(&self, driver: &mut Driver, prompt: &str) -> Result<RunVerdict, Failure> {
        self.ensure_agent(driver).await?;
        let text = driver.texts().take(prompt);
        let ingress = Ingress::prompt(text, Surface::RunOnce, AdmissionContext::LocalProcess);
        let agent = self.agent.clone();
        refused(driver.ask(|reply| Input::Ingress { agent, ingress, reply }).await?)?;
        until_quiet(driver, &self.agent).await?;
        Ok(driver.view().verdict(&self.agent).unwrap_or(RunVerdict::Failed))
    }

    async fn ensure_agent(&self, driver: &mut Driver) -> Result<(), Failure> {
        if driver.load(&self.agent).await? {
            return self.check_folder(driver);
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
        refused(driver.ask(|reply| Input::CreateAgent { agent, spec, reply }).await?)
    }

    /// An agent keeps the folder that it was made for: asking for another one is refused, being elsewhere told.
    fn check_folder(&self, driver: &Driver) -> Result<(), Failure> {
        let Some(agent) = driver.view().agent(&self.agent) else { return Ok(()) };
        let (own, asked) = (&agent.spec.execution, &self.execution);
        if own == asked {
            return Ok(());
        }
        let place = format!("the agent {} works in {}", self.agent, own.cwd);
        if self.folder_asked_for {
            let error = anyhow!("{place}, not in {}", asked.cwd);
            let hint = "leave --workspace-root and --cwd out, or make another agent for that folder";
            return Err(Failure::usage(error).hint(hint));
        }
        output::note(&format!("holon: {place}"));
        Ok(())
    }
}

/// Feeds the report, then whoever shows activity.
fn observe(agent: AgentId, fold: Arc<Mutex<RunFold>>, mut next: Observer) -> Observer {
    Box::new(move |record: &Record| {
        if record.agent == agent {
            fold.lock().unwrap_or_else(PoisonError::into_inner).record(record);
            next(record);
        }
    })
}

/// A refusal as an error with its exit code and hint.
fn refused(answer: Answer) -> Result<(), Failure> {
    let Answer::Refused { reject } = answer else { return Ok(()) };
    let hint = reject.hint();
    let failure = Failure::new(Exit::from(&reject), reject);
    Err(match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

/// Drives until the agent has nothing to do. The first request to end aborts its run.
async fn until_quiet(driver: &mut Driver, agent: &AgentId) -> Result<(), Failure> {
    let mut interrupts = Interrupts::new()?;
    let mut aborting = false;
    while !(driver.caught_up() && driver.view().quiet(agent)) {
        tokio::select! {
            biased;
            () = interrupts.next(), if !aborting => {
                aborting = true;
                abort(driver, agent).await?;
            }
            pumped = driver.pump() => pumped?,
        }
        tell(driver);
    }
    Ok(())
}

/// Shows what went wrong without harm.
fn tell(driver: &mut Driver) {
    driver.take_warnings().iter().for_each(|warning| output::note(&format!("holon: {warning}")));
}

async fn twice_interrupted() -> std::io::Result<()> {
    let mut interrupts = Interrupts::new()?;
    interrupts.next().await;
    interrupts.next().await;
    Ok(())
}

async fn abort(driver: &mut Driver, agent: &AgentId) -> Result<(), DriverError> {
    let agent = agent.clone();
    let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
    // No run in progress is fine: then there is nothing to abort.
    driver.ask(|reply| Input::Control { agent, request, reply }).await.map(drop)
}

/// Ctrl-C, the polite request to end, and the end of the terminal.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupts {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Where an agent's commands run: `cwd` inside the workspace, both as they really are.
pub(super) fn execution(workspace: &Path, cwd: &Path) -> Result<ExecutionBinding, Failure> {
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| {
            Failure::usage(anyhow!("{} is not a folder to work in: {error}", path.display()))
        })
    };
    let (workspace, cwd) = (real(workspace)?, real(cwd)?);
    if let Some(file) = [&workspace, &cwd].into_iter().find(|path| !path.is_dir()) {
        return Err(Failure::usage(anyhow!("{} is not a folder to work in: it is a file", file.display())));
    }
    if !cwd.starts_with(&workspace) {
        let error = anyhow!("--cwd {} is outside of --workspace-root {}", cwd.display(), workspace.display());
        return Err(Failure::usage(error));
    }
    let text = |path: &Path| path.display().to_string();
    Ok(ExecutionBinding {
        workspace_anchor: text(&workspace),
        execution_root: text(&workspace),
        cwd: text(&cwd),
    })
}
