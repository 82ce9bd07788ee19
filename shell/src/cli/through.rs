//! What commands about agents share: they find the runtime of the home, and say whom they mean.

use std::path::PathBuf;

use clap::Args;
use holon_core::{AgentId, Millis};
use holon_platform::Environment;
use serde_json::Value;

use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::output::{self, Failure};
use crate::client::{Ask, Client, ClientError};
use crate::home::Home;
use crate::settings::Settings;

/// Which agent.
#[derive(Debug, Clone, Args)]
pub(super) struct Whom {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// The same, as `run` and `prompt` take it
    #[arg(long = "agent", value_name = "AGENT", conflicts_with = "agent", hide = true)]
    named: Option<String>,
}

/// A runtime, and the home that it has.
pub(super) struct Through {
    pub(super) client: Client,
    pub(super) environment: Environment,
    home: Home,
}

impl Through {
    /// Works through the runtime of a home; an interrupt gives the work up.
    pub(super) fn work<F>(
        home: Option<PathBuf>,
        work: impl FnOnce(Self, Ending) -> F,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>>,
    {
        let environment = Environment::of_process();
        let home = Home::find(home, &environment)?;
        let client = Client::of(&home, &environment)?;
        interrupts::block_on(|ending| async move {
            Box::pin(work(Self { client, environment, home }, ending.clone())).await
        })
    }

    /// What is due within so long is waited for; what is wrong with that is told.
    pub(super) fn idle_limit(&self) -> Millis {
        let (limit, problem) = Settings::idle_limit(&self.home.config(), &self.environment);
        if let Some(problem) = problem {
            output::note(&format!("holon: {problem}; what is due within {limit} is waited for"));
        }
        limit
    }

    /// The agent that is meant.
    ///
    /// # Errors
    /// A name that no agent can have; a runtime that can't be asked for its default agent.
    pub(super) async fn agent(&self, named: Option<&str>) -> Result<AgentId, Failure> {
        let named = named.or_else(|| self.environment.get("HOLON_AGENT_ID"));
        if let Some(named) = named {
            return AgentId::new(named).map_err(Failure::usage);
        }
        let handshake = self.client.ask(&Ask::get("/handshake", &[])).await?;
        let default = handshake.pointer("/runtime/default_agent").and_then(Value::as_str).unwrap_or("main");
        Ok(AgentId::new(default)?)
    }
}

impl Whom {
    pub(super) fn name(&self) -> Option<&str> {
        self.agent.as_deref().or(self.named.as_deref())
    }
}

/// A text inside an answer of any version.
pub(super) fn text<'a>(answer: &'a Value, pointer: &str) -> &'a str {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number inside an answer of any version.
pub(super) fn number(answer: &Value, pointer: &str) -> u64 {
    answer.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// An answer that lacks what the command is about.
pub(super) fn incomplete(what: &str) -> Failure {
    Failure::from(ClientError::Odd { problem: format!("it has no {what}") })
}
