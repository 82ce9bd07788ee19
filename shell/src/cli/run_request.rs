//! What a prompt is for, whoever runs it: this process, or the runtime of the home.

use std::path::Path;

use anyhow::anyhow;
use holon_core::view::{RunVerdict, View};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, MessageId, Millis};
use holon_platform::Environment;

use super::conditions::Conditions;
use super::exit::Exit;
use super::output::Failure;
use super::run_input::RunInput;
use crate::activity::TextSource;
use crate::driver::Observer;
use crate::home::Home;
use crate::images::Picture;
use crate::live::LiveSink;
use crate::report::Verified;
use crate::screen::{Look, Screen};
use crate::templates::Selector;
use crate::temporary_runs::Terms;
use crate::workplace::{self, WorkplaceError};

/// A one-shot run: the agent, where it works, and who watches.
pub(super) struct RunRequest {
    pub(super) home: Home,
    pub(super) agent: AgentId,
    pub(super) target: Target,
    /// What the agent begins with, where it is made.
    pub(super) template: Option<Selector>,
    pub(super) execution: ExecutionBinding,
    /// Whether the folder was named, rather than being the current one.
    pub(super) folder_asked_for: bool,
    /// Whether a model or limits were named: a runtime that has the home has its own.
    pub(super) own_terms: bool,
    pub(super) environment: Environment,
    /// What is due within so long is waited for.
    pub(super) idle_limit: Millis,
    /// Whether its background tasks are waited for, too.
    pub(super) wait_for_tasks: bool,
    /// What has to hold before it is completed.
    pub(super) conditions: Conditions,
    /// What is kept of that and of the budget, where the run is a temporary one. It is unverified where an earlier process has
    /// left it so, or with other conditions.
    pub(super) terms: Terms,
    /// What the model is shown with the prompt.
    pub(super) images: Vec<Picture>,
    /// Skills that it shall use for the prompt.
    pub(super) skills: Vec<String>,
    pub(super) screen: Screen,
    /// Sees every durable record of the agent.
    pub(super) observer: Observer,
    /// Where more instructions come from while it runs.
    pub(super) input: Option<RunInput>,
    /// Takes what reads the texts that records name, once there is a runtime.
    pub(super) texts: TextSource,
    /// Sees pieces of what a model says, where another process asks it.
    pub(super) live: LiveSink,
}

/// Which agents the prompt may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A private one that lives as long as this run.
    Temporary,
    /// The one of an earlier temporary run.
    Resumed,
    /// One that exists.
    Existing,
    /// One that is made if need be.
    Created,
}

impl Target {
    /// Whether the agent has a home of its own, which nobody else is told of.
    pub(super) fn is_temporary(self) -> bool {
        matches!(self, Self::Temporary | Self::Resumed)
    }
}

/// What the agent is to do.
pub(super) enum Task {
    Prompt(String),
    /// To go on with what it was given before; the message was its last prompt.
    Resume(Option<MessageId>),
    /// What comes over its input, and nothing before that.
    Input,
}

/// What an agent is shown that is to go on, where nothing of its earlier run is in progress.
pub(super) const RESUME_TEXT: &str = "Continue with the task where it stopped.";

impl Task {
    /// What an agent is shown for it.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Prompt(text) => text,
            Self::Resume(_) => RESUME_TEXT,
            Self::Input => "",
        }
    }
}

impl RunRequest {
    /// Keeps what the run has to keep to, for whoever resumes it, before anybody has looked whether it does.
    pub(super) fn keep_unverified(&self) {
        self.keep(None, self.terms.has_conditions());
    }

    /// Keeps which conditions did not hold in the end, where there are conditions.
    pub(super) fn keep_verified(&self, unmet: Option<String>) {
        if self.terms.has_conditions() {
            self.keep(unmet, false);
        }
    }

    fn keep(&self, unmet: Option<String>, unverified: bool) {
        if !self.target.is_temporary() {
            return;
        }
        if let Err(error) = (Terms { unmet, unverified, ..self.terms.clone() }).keep(&self.home) {
            let text = format!("holon: a resumed run would have no conditions, which can't be kept: {error}");
            self.screen.warn(Look::Bad, &text);
        }
    }

    /// Whether the agent has done its task, and it is open if the conditions hold.
    pub(super) fn is_unverified(&self, view: View<'_>) -> bool {
        self.terms.unverified && standing(view, &self.agent) == Some(RunVerdict::Completed)
    }

    /// What is over needs another prompt, and what was asked an answer.
    pub(super) fn resumable(&self, view: View<'_>) -> Result<(), Failure> {
        let agent = &self.agent;
        match standing(view, agent) {
            Some(RunVerdict::Completed) => {
                let error = anyhow!("{agent} is completed: there is nothing to resume");
                Err(Failure::new(Exit::RefusedByState, error)
                    .hint(format!("holon run --continue={agent} \"…\"")))
            }
            Some(RunVerdict::WaitingForOperator) => {
                let waits = view.agent(agent).into_iter().flat_map(|agent| agent.active_waits());
                let asked = waits.map(|wait| wait.waiting_for.as_str()).next();
                let asked = asked.map_or_else(String::new, |asked| format!(": {asked}"));
                let error = anyhow!("{agent} waits for your answer{asked}");
                Err(Failure::new(Exit::RefusedByState, error)
                    .hint(format!("holon run --resume {agent} \"…\"")))
            }
            Some(
                RunVerdict::WaitingForExternal
                | RunVerdict::WaitingForTimer
                | RunVerdict::Failed
                | RunVerdict::BudgetExhausted
                | RunVerdict::MaxTurnsExceeded
                | RunVerdict::Aborted
                | RunVerdict::Stopped
                | RunVerdict::Interrupted,
            )
            | None => Ok(()),
        }
    }

    /// Whether the conditions hold, shown to who watches.
    pub(super) async fn verify(&self, answer: Option<&str>) -> Result<Verified, Failure> {
        let verified = self.conditions.verify(Path::new(&self.execution.cwd), answer).await?;
        if let Some(unmet) = verified.in_short() {
            self.screen.line(Look::Bad, &format!("holon: {unmet}"));
        } else if let Some(check) = &verified.check {
            self.screen.line(Look::Aside, &format!("holon: the check `{}` passed", check.command));
        }
        Ok(verified)
    }

    /// An agent works where it was told to: asking for another one is refused, being elsewhere told.
    pub(super) fn check_folder(&self, own: &ExecutionBinding) -> Result<(), Failure> {
        let asked = &self.execution;
        if own == asked {
            return Ok(());
        }
        let place = format!("the agent {} works in {}", self.agent, own.cwd);
        if self.folder_asked_for {
            let error = anyhow!("{place}, not in {}", asked.cwd);
            let hint = format!(
                "leave --workspace-root and --cwd out, or let it work there: holon workspace use {} --agent {}",
                asked.cwd, self.agent
            );
            return Err(Failure::usage(error).hint(hint));
        }
        self.screen.line(Look::Aside, &format!("holon: {place}"));
        Ok(())
    }
}

fn standing(view: View<'_>, agent: &AgentId) -> Option<RunVerdict> {
    view.verdict(agent).or_else(|| view.last_verdict(agent))
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
