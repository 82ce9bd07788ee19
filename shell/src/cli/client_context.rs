//! What commands about agents share: they find the runtime of the home, and say whom they mean.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holon_api::{Client, Control};
use holon_facts::{AgentId, Millis};
use holon_platform::Environment;

use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::output::{self, Failure};
use super::stopped::{self, Stopped};
use crate::client;
use crate::home::Home;
use crate::settings::Settings;

/// Which agent.
#[derive(Debug, Clone, Args)]
pub(super) struct Whom {
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Use this agent; same as AGENT
    #[arg(long = "agent", value_name = "AGENT", conflicts_with = "agent", hide = true)]
    named: Option<String>,
}

/// A runtime, and the home that it has.
pub(super) struct ClientContext {
    pub(super) client: Client,
    pub(super) environment: Environment,
    /// Whether it is read without a runtime, which was said already.
    pub(super) stopped: bool,
    home: Home,
}

impl ClientContext {
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
        let client = client::of(&home, &environment)?;
        interrupts::block_on(|ending| async move {
            Box::pin(work(Self { client, environment, stopped: false, home }, ending.clone())).await
        })
    }

    /// The same for what only reads: where no runtime answers, the ledger of the home is read, and a note says so.
    pub(super) fn read<F>(
        home: Option<PathBuf>,
        work: impl FnOnce(Self, Ending) -> F,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Exit, Failure>>,
    {
        Self::work(home, |mut cli, ending| async move {
            let stopped = ending.or(stopped::find(&cli.home, &cli.environment, &cli.client)).await?;
            if let Some(Stopped { client, note }) = stopped {
                output::prose(&format!("holon: {note}"));
                (cli.client, cli.stopped) = (client, true);
            }
            work(cli, ending).await
        })
    }

    /// What is due within so long is waited for; what is wrong with that is told.
    pub(super) fn idle_limit(&self) -> Millis {
        let (limit, problem) = Settings::idle_limit(&self.home.config(), &self.environment);
        if let Some(problem) = problem {
            output::note(&format!("holon: {problem}; waiting for what is due within {limit}"));
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
        Ok(self.client.handshake().await?.runtime.default_agent.clone())
    }
}

impl Whom {
    pub(super) fn name(&self) -> Option<&str> {
        self.agent.as_deref().or(self.named.as_deref())
    }
}

/// One of several words, as the value that it stands for.
pub(super) fn one_of<T: Copy + std::fmt::Display + Send + Sync + 'static>(
    all: &'static [T],
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(ToString::to_string));
    words.try_map(|word| all.iter().copied().find(|one| one.to_string() == word).ok_or("an unknown word"))
}
