//! One prompt to one agent, from start to end, in this process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use holon_core::input::ControlRequest;
use holon_core::view::{ExplainedDeadline, RunVerdict};
use holon_core::{Answer, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings, Ownership, ProfilePreset, Visibility};
use holon_facts::lifecycle::Status;
use holon_facts::message::Ingress;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::skill::GivenSkill;
use holon_facts::{AgentId, Config, MessageId, Record, Reject};
use holon_ledger::Durability;
use holon_ledger::sqlite::{HomeLock, LockError};
use holon_models::Providers;
use holon_platform::{Environment, clock};
use holon_supervise::confine::Confinement;
use holon_text::{Secrets, variables};

use super::attached_run;
use super::backup;
use super::exit::Exit;
use super::interrupts::Ending;
use super::leftover_runs::LeftoverRuns;
use super::output::Failure;
use super::run_request::{RunRequest, Target, Task};
use super::setup::commands_see;
use super::template;
use crate::changes::{Before, Changes};
use crate::driver::{Driver, DriverError, Gate, Observer, Start};
use crate::home::Home;
use crate::images::{self, Picture};
use crate::live::LiveSink;
use crate::perform;
use crate::report::{Ended, RunFold, RunReport, Verified};
use crate::screen::{Look, Screen};
use crate::settings::{CommandSettings, CommandVariables, DefinedServers};
use crate::skills::{GiveError, Skills, may_name};
use crate::templates::{self, Reach, Templates};
use crate::temporary_runs;
use crate::workplace::HeldBack;

/// What is to be done, and with what.
pub(super) struct Session {
    pub(super) request: RunRequest,
    pub(super) means: Means,
    /// Homes of temporary runs that are kept; none keeps all.
    pub(super) keep_runs: Option<u64>,
    pub(super) live: LiveSink,
}

/// What a runtime needs, in whichever home.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) config: Config,
    pub(super) durability: Durability,
    pub(super) commands: CommandSettings,
    pub(super) confinement: Option<Confinement>,
    /// Secrets beyond those that the environment's names give away.
    pub(super) secrets: Vec<(String, String)>,
    /// Whether tokens are redacted by their shape as well.
    pub(super) redact_token_shapes: bool,
    /// Variables that commands get by choice.
    pub(super) variables: CommandVariables,
    pub(super) skills: Skills,
    pub(super) providers: Providers,
    pub(super) servers: DefinedServers,
}

/// How the prompt fared.
pub(super) struct Outcome {
    message_id: MessageId,
    verdict: RunVerdict,
    due: Vec<ExplainedDeadline>,
    queued: u64,
    earlier: Option<LeftoverRuns>,
    verified: Verified,
}

impl Session {
    /// Runs the prompt to its end, or until the end is asked for.
    pub(super) async fn run(mut self, task: &Task, ending: Ending) -> Result<RunReport, Failure> {
        let started = clock::now();
        if !self.request.target.is_temporary()
            && let Some(metadata) = attached_run::living(&self.request.home)
        {
            let request = RunRequest { live: self.live, ..self.request };
            return Box::pin(attached_run::run(request, metadata, task, ending)).await;
        }
        self.request.home.create()?;
        let lock = HomeLock::acquire(self.request.home.root()).map_err(not_reachable)?;
        backup::may_start(&self.request.home, false)?;
        // Those of a run that goes on change when its prompt is taken in.
        if self.request.target == Target::Temporary {
            self.request.keep_unverified();
        }
        let workspace = PathBuf::from(&self.request.execution.execution_root);
        let (before, gate) = self.look(&workspace);
        // The look gets going in another thread while the ledger is opened in this one.
        tokio::task::yield_now().await;
        let fold = Arc::new(Mutex::new(self.fold(task)?));
        let observer = std::mem::replace(&mut self.request.observer, Box::new(|_| {}));
        let observer = observe(self.request.agent.clone(), fold.clone(), observer);
        let mut driver = Driver::start(self.start(observer, gate)).await?;
        // It is set once: nobody else has a runtime for this run.
        drop(self.request.texts.set(driver.texts().clone()));
        let outcome = match self.request.input.take() {
            Some(input) => Box::pin(self.converse(&mut driver, (task, input), &fold, &ending)).await,
            None => self.work(&mut driver, task, &fold, &ending).await,
        };
        if outcome.is_ok() {
            self.leave_tasks(&mut driver).await?;
        }
        tell(&mut driver, &self.request.screen);
        let texts = driver.texts().clone();
        let tools_started = locked(&fold).tools_started();
        let closed = driver.shut_down().await;
        // Only now nothing changes any more.
        let changes = Box::pin(changes(before, &workspace, tools_started)).await;
        if let Ok(Outcome { verdict, verified, .. }) = &outcome {
            let unmet = verified.objection().map(|unmet| texts.redact(&unmet));
            if *verdict == RunVerdict::Completed || *verdict == RunVerdict::Failed && unmet.is_some() {
                self.request.keep_verified(unmet);
            }
        }
        drop(lock);
        // What broke the run says more than what broke its end.
        let outcome = outcome?;
        closed?;
        if let Some(earlier) = outcome.earlier.filter(|_| !ending.asked()) {
            for text in earlier.told().await {
                self.request.screen.line(Look::Bad, &format!("holon: {text}"));
            }
        }
        let ended = Ended {
            verdict: outcome.verdict,
            exit_code: Exit::from(outcome.verdict).code(),
            agent_id: self.request.agent,
            message_id: outcome.message_id,
            due: outcome.due,
            queued: outcome.queued,
            duration_ms: clock::since(started).0,
            ledger: self.request.home.ledger().to_string(),
            changes,
            verified: outcome.verified,
        };
        let fold = std::mem::take(&mut *locked(&fold));
        Ok(fold.report(ended, &texts)?)
    }

    /// What is reported; what was answered before counts where the last prompt is gone on with.
    fn fold(&self, task: &Task) -> Result<RunFold, Failure> {
        let Task::Resume(Some(prompt)) = task else { return Ok(RunFold::default()) };
        let mut fold = RunFold::of(*prompt);
        let earlier = temporary_runs::about_answer(&self.request.home, &self.request.agent, *prompt)?;
        earlier.iter().for_each(|record| fold.record(record));
        Ok(fold)
    }

    fn start(&self, observer: Observer, tools_from: Gate) -> Start {
        let temporary = self.request.target.is_temporary();
        let start = self.means.start(&self.request.home, &self.request.environment, temporary);
        Start { live: self.live.clone(), tools_from, observer, ..start }
    }

    async fn work(
        &self,
        driver: &mut Driver,
        task: &Task,
        fold: &Mutex<RunFold>,
        ending: &Ending,
    ) -> Result<Outcome, Failure> {
        let message_id = self.begin(driver, task, fold, ending).await?;
        self.taken_in();
        let earlier = self.earlier();
        let mut verdict = self.verdict(driver, ending).await?;
        let mut verified = Verified::default();
        for left in (0..=self.request.conditions.tries).rev() {
            if verdict != RunVerdict::Completed {
                break;
            }
            let Some(checked) = self.verify(driver, fold, ending).await? else {
                (verdict, verified) = (RunVerdict::Interrupted, Verified::default());
                break;
            };
            verified = checked;
            match verified.objection() {
                None => break,
                Some(_) if left == 0 => verdict = RunVerdict::Failed,
                Some(objection) => {
                    let again = self.prompt(driver, &objection, (&[], Vec::new())).await?;
                    locked(fold).prompted_again(again);
                    verdict = self.verdict(driver, ending).await?;
                }
            }
        }
        Ok(Outcome { verified, ..self.outcome(driver, (message_id, verdict), earlier) })
    }

    /// How the run ends, by what its agent has come to.
    pub(super) fn outcome(
        &self,
        driver: &Driver,
        (message_id, verdict): (MessageId, RunVerdict),
        earlier: Option<LeftoverRuns>,
    ) -> Outcome {
        let view = driver.view();
        let queued = view.agent(&self.request.agent).map_or(0, |agent| agent.inbox.queued_entries());
        let due = view.due(&self.request.agent).into_iter().collect();
        Outcome { message_id, verdict, due, queued, earlier, verified: Verified::default() }
    }

    /// Makes the agent if need be, and gives it what it is to do.
    pub(super) async fn begin(
        &self,
        driver: &mut Driver,
        task: &Task,
        fold: &Mutex<RunFold>,
        ending: &Ending,
    ) -> Result<MessageId, Failure> {
        if let Some(prompt) = self.in_progress(driver, task, ending).await? {
            return Ok(prompt);
        }
        if let Task::Resume(prompt) = task {
            if let Some(prompt) = prompt.filter(|_| self.request.is_unverified(driver.view())) {
                return Ok(prompt);
            }
            self.request.resumable(driver.view())?;
            *locked(fold) = RunFold::default();
        }
        let skills = self.skills(driver, task.text(), &self.request.skills).map_err(|error| {
            let hint = error.hint();
            Failure::usage(error).hint(hint)
        })?;
        let along = (&*self.request.images, skills);
        self.prompt(driver, &self.request.conditions.instruct(task.text()), along).await
    }

    /// From now on a run that goes on has the conditions of this process.
    pub(super) fn taken_in(&self) {
        if self.request.target == Target::Resumed {
            self.request.keep_unverified();
        }
    }

    /// Makes the agent if need be, and gives the prompt that it goes on with.
    pub(super) async fn in_progress(
        &self,
        driver: &mut Driver,
        task: &Task,
        ending: &Ending,
    ) -> Result<Option<MessageId>, Failure> {
        self.ensure_agent(driver).await?;
        if ending.asked() {
            return Err(Failure::new(Exit::Interrupted, anyhow!("interrupted: the prompt was not taken in")));
        }
        Ok(match task {
            Task::Resume(Some(prompt)) if self.goes_on(driver) => Some(*prompt),
            Task::Prompt(_) | Task::Resume(_) | Task::Input => None,
        })
    }

    /// How things stand when nothing more happens by itself, or when the end was asked for.
    async fn verdict(&self, driver: &mut Driver, ending: &Ending) -> Result<RunVerdict, Failure> {
        let interrupted = self.until_settled(driver, ending).await?;
        Ok(self.verdict_of(driver, interrupted))
    }

    /// How things stand, after the end was asked for or not.
    pub(super) fn verdict_of(&self, driver: &Driver, interrupted: bool) -> RunVerdict {
        let (view, agent) = (driver.view(), &self.request.agent);
        // What was aborted says so, although the next message is at work already.
        let verdict = view.verdict(agent).or_else(|| view.last_verdict(agent)).unwrap_or(RunVerdict::Failed);
        let ended = matches!(verdict, RunVerdict::Aborted | RunVerdict::Stopped);
        // Nothing of this agent was running: the prompt still waits.
        if interrupted && !ended { RunVerdict::Interrupted } else { verdict }
    }

    /// None where the end was asked for meanwhile.
    async fn verify(
        &self,
        driver: &Driver,
        fold: &Mutex<RunFold>,
        ending: &Ending,
    ) -> Result<Option<Verified>, Failure> {
        let told = locked(fold).told().map(|told| told.text.clone());
        let answer = told.map(|text| driver.texts().resolve(&text)).transpose()?;
        tokio::select! {
            biased;
            () = ending.wait() => Ok(None),
            verified = self.request.verify(answer.as_deref()) => verified.map(Some),
        }
    }

    /// The skills that the prompt names.
    pub(super) fn skills(
        &self,
        driver: &Driver,
        text: &str,
        names: &[String],
    ) -> Result<Vec<GivenSkill>, GiveError> {
        let agent = driver.view().agent(&self.request.agent).filter(|_| may_name(text, names));
        let Some(agent) = agent else { return Ok(Vec::new()) };
        let at = agent.workspaces.active();
        let wanted = (agent.spec.has_user_skills(), agent.workspaces.is_untrusted_at(at));
        let home = self.request.home.agent(&self.request.agent);
        let confined = self.means.confinement.as_ref();
        let real = self.request.home.real_agents().join(self.request.agent.as_str());
        let readable = confined.map(|it| it.readable(at, &real)).unwrap_or_default();
        let listing = self.means.skills.find(&home, at.workspace_anchor.as_ref(), wanted, &readable);
        listing.given(driver.texts(), text, names)
    }

    async fn prompt(
        &self,
        driver: &mut Driver,
        prompt: &str,
        (images, skills): (&[Picture], Vec<GivenSkill>),
    ) -> Result<MessageId, Failure> {
        let prompt = ingress(driver, prompt);
        let images = images.iter().map(|Picture { name, bytes }| {
            images::take(driver.texts(), name, bytes)
                .map_err(|problem| Failure::usage(anyhow!("--image {name}: {problem}")).hint(problem.hint()))
        });
        let ingress = Ingress { images: images.collect::<Result<_, _>>()?, skills, ..prompt };
        self.admit(driver, ingress).await?.map_err(refused)
    }

    /// Gives the agent a message.
    pub(super) async fn admit(
        &self,
        driver: &mut Driver,
        ingress: Ingress,
    ) -> Result<Result<MessageId, Reject>, Failure> {
        let agent = self.request.agent.clone();
        let answer = driver.ask(|reply| Input::Ingress { agent, ingress, reply }).await?;
        if let Answer::Refused { reject } = answer {
            return Ok(Err(reject));
        }
        let Answer::Admitted { message_id, .. } = answer else {
            return Err(Failure::from(anyhow!("a prompt was answered with {answer:?}")));
        };
        Ok(Ok(message_id))
    }

    /// Nobody would ever hear of the tasks of a temporary agent again: they end with the run. Those of another agent
    /// go on, and the next start of a runtime hears of their ends.
    async fn leave_tasks(&self, driver: &mut Driver) -> Result<(), Failure> {
        let agent = &self.request.agent;
        if self.request.target.is_temporary() && self.has_tasks(driver) {
            let (agent, request) = (agent.clone(), ControlRequest::Stop);
            driver.ask(|reply| Input::Control { agent, request, reply }).await?;
            while self.has_tasks(driver) {
                driver.pump().await?;
            }
        }
        let view = driver.view();
        for task in view.agent(agent).into_iter().flat_map(|agent| agent.tasks.active()) {
            let text = format!("holon: {} continues in the background: {}", task.id, task.summary);
            self.request.screen.line(Look::Aside, &text);
        }
        Ok(())
    }

    fn has_tasks(&self, driver: &Driver) -> bool {
        driver.view().agent(&self.request.agent).is_some_and(|agent| agent.tasks.active_count() > 0)
    }

    /// Whether something of an earlier process is in progress.
    fn goes_on(&self, driver: &Driver) -> bool {
        !driver.view().quiet(&self.request.agent) || self.has_tasks(driver)
    }

    /// Whether nothing more happens by itself that is waited for.
    pub(super) fn settled(&self, driver: &Driver) -> bool {
        let stopped = || {
            let agent = driver.view().agent(&self.request.agent);
            agent.is_some_and(|agent| agent.status == Status::Stopped)
        };
        let waits = self.request.wait_for_tasks && self.has_tasks(driver) && !stopped();
        driver.caught_up() && driver.view().settled(&self.request.agent, self.request.idle_limit) && !waits
    }

    /// Drives until nothing more happens by itself; the first request to end aborts the run in progress. Says
    /// whether there was one.
    async fn until_settled(&self, driver: &mut Driver, ending: &Ending) -> Result<bool, Failure> {
        while !self.settled(driver) {
            tokio::select! {
                biased;
                () = ending.wait() => {
                    self.interrupt(driver).await?;
                    return Ok(true);
                }
                pumped = driver.pump() => pumped?,
            }
            self.follow_up(driver).await?;
        }
        Ok(false)
    }

    /// Aborts the run in progress.
    pub(super) async fn interrupt(&self, driver: &mut Driver) -> Result<(), Failure> {
        self.request.screen.line(Look::Aside, "holon: interrupted, the run ends (once more: at once)");
        Ok(abort(driver, &self.request.agent).await?)
    }

    /// What is due after each turn of the loop.
    pub(super) async fn follow_up(&self, driver: &mut Driver) -> Result<(), Failure> {
        driver.load_wanted().await?;
        tell(driver, &self.request.screen);
        Ok(())
    }

    /// Begins to look at the files, held back as the agent's commands are.
    fn look(&self, workspace: &Path) -> (Before, Gate) {
        let RunRequest { home, agent, execution, environment, .. } = &self.request;
        let agent_home = home.real_agents().join(agent.as_str());
        let confinement = self.means.confinement.as_ref();
        let policy = confinement.map(|confinement| confinement.policy(execution, &agent_home));
        let held_back = HeldBack { supervisor: &holon_supervise::program(), policy: policy.as_ref() };
        Before::look(workspace, environment, Some(held_back))
    }

    /// Sees to what earlier runs have left while the model thinks.
    pub(super) fn earlier(&self) -> Option<LeftoverRuns> {
        let runs = self.request.home.root().parent().filter(|_| self.request.target.is_temporary());
        let (runs, keep) = (runs.map(Path::to_owned)?, self.keep_runs?);
        let (means, environment) = (self.means.clone(), self.request.environment.clone());
        Some(LeftoverRuns::begin(runs, keep, Box::new(move |home| means.start(home, &environment, true))))
    }

    /// An agent that ended with its run is stopped.
    async fn start_again(&self, driver: &mut Driver) -> Result<(), Failure> {
        let agent = self.request.agent.clone();
        let stopped = driver.view().agent(&agent).is_some_and(|agent| agent.status == Status::Stopped);
        if stopped {
            let request = ControlRequest::Start;
            driver.ask(|reply| Input::Control { agent, request, reply }).await?;
        }
        Ok(())
    }

    async fn ensure_agent(&self, driver: &mut Driver) -> Result<(), Failure> {
        if driver.load(&self.request.agent).await? {
            if self.request.target == Target::Resumed {
                return self.start_again(driver).await;
            }
            let own = driver.view().agent(&self.request.agent).map(|agent| agent.workspaces.active().clone());
            return own.map_or(Ok(()), |own| self.request.check_folder(&own));
        }
        let spec = match self.request.target {
            Target::Existing | Target::Resumed => {
                let reject = Reject::UnknownAgent { agent: self.request.agent.clone() };
                let hint = format!("holon run --agent {} --create-agent …", self.request.agent);
                return Err(Failure::new(Exit::NotFound, reject).hint(hint));
            }
            Target::Created => {
                let kind =
                    if self.request.agent.as_str() == "main" { AgentKind::Default } else { AgentKind::Named };
                let template = match &self.request.template {
                    Some(named) => {
                        let kept = self.templates().keep(named, Reach::Everywhere).await;
                        Some(kept.map_err(template::failure)?)
                    }
                    None => None,
                };
                AgentSpec { template, ..AgentSpec::named(kind, self.request.execution.clone()) }
            }
            Target::Temporary => AgentSpec {
                visibility: Visibility::Private,
                ownership: Ownership::SelfOwned,
                profile_preset: ProfilePreset::PublicNamed,
                ..AgentSpec::named(AgentKind::Named, self.request.execution.clone())
            },
        };
        let agent = self.request.agent.clone();
        if self.request.target == Target::Temporary {
            // Nobody edits what stands in the home of one run.
            self.request.home.create_agent(&agent, "")?;
        } else {
            self.request.home.create_folders(&agent)?;
        }
        let (named, template) = (agent.clone(), spec.template.clone());
        let answer = driver
            .ask(|reply| Input::CreateAgent { agent, spec, settings: InitialSettings::default(), reply })
            .await?;
        if let Answer::Refused { reject } = answer {
            return Err(refused(reject));
        }
        let place = (&self.templates(), &self.request.home);
        templates::make_home(place, &named, template.as_ref(), self.means.confinement.as_ref())?;
        Ok(())
    }

    fn templates(&self) -> Templates {
        Templates::new(&self.request.home, &self.request.environment)
            .with_github(&self.means.skills.github_url)
    }
}

impl Means {
    /// A runtime that shows nothing. Of a temporary agent nothing stays when it ends.
    fn start(&self, home: &Home, environment: &Environment, temporary: bool) -> Start {
        Start {
            ledger: home.ledger(),
            durability: self.durability,
            config: self.config.clone(),
            secrets: Secrets::new(variables::secrets(environment).chain(self.secrets.iter().cloned()))
                .with_shapes(self.redact_token_shapes),
            providers: self.providers.clone(),
            reserve: (!temporary).then(|| home.root().to_owned()),
            performing: perform::Settings {
                templates: Templates::new(home, environment).with_github(&self.skills.github_url),
                commands: self.commands,
                confinement: self.confinement.clone(),
                tied: temporary,
                skills: self.skills.clone(),
                servers: self.servers.clone(),
                ..perform::Settings::new(home.clone(), commands_see(environment, &self.variables))
            },
            live: LiveSink::nobody(),
            tools_from: Gate::open(),
            turns: None,
            observer: Box::new(|_| {}),
        }
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

/// A prompt of whoever runs this process.
pub(super) fn ingress(driver: &Driver, prompt: &str) -> Ingress {
    Ingress::prompt(driver.texts().take(prompt), Surface::RunOnce, AdmissionContext::LocalProcess)
}

pub(super) fn locked(fold: &Mutex<RunFold>) -> MutexGuard<'_, RunFold> {
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
        screen.warn(Look::Aside, &format!("holon: {warning}"));
    }
}

async fn abort(driver: &mut Driver, agent: &AgentId) -> Result<(), DriverError> {
    let agent = agent.clone();
    let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
    // No run in progress is fine: then there is nothing to abort.
    driver.ask(|reply| Input::Control { agent, request, reply }).await.map(drop)
}
