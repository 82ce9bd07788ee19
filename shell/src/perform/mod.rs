//! The performers: each does one effect in the world and reports its one outcome.
//!
//! They decide nothing: no retry, no fallback, no promotion. Dropping a future gives its work up: a
//! connection is closed, a command's process group is killed, a patch that is not yet being written is not
//! written. A patch that is being written is written to its end, so that it stays whole.

pub mod context;
pub mod model;
pub mod tool;

use std::path::PathBuf;
use std::sync::Arc;

use holon_core::agent::identity::ExecutionBinding;
use holon_core::effect::ToolCall;
use holon_core::model::{AttemptFailure, ModelAnswer, ModelRequest, Timing};
use holon_core::outcome::{Certainty, OpFailure, ToolOutcome};
use holon_core::{AgentId, Millis, Now, OpId, Outcome};

use crate::clock;
use crate::home::Home;
use crate::live::{LiveSink, LiveText};
use crate::text::Texts;
use model::{Failure, Providers, Reply};
use tool::CommandEnvironment;

/// Everything that performs effects. Cheap to clone.
#[derive(Clone)]
pub struct Performers {
    inner: Arc<Inner>,
}

struct Inner {
    texts: Texts,
    providers: Providers,
    settings: Settings,
    live: LiveSink,
}

/// Where the performers work.
pub struct Settings {
    /// The runtime's home; an agent's home is `agents/<id>` in it.
    pub home: PathBuf,
    /// What commands see of the runtime's environment.
    pub environment: CommandEnvironment,
}

impl Settings {
    /// The home of an agent.
    pub fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.home.join("agents").join(agent.as_str())
    }

    /// Where patches note what they are about to do. Runs that have homes of their own share the folder of
    /// the home around them: after a crash nobody opens theirs again.
    pub fn journals(&self) -> PathBuf {
        Home::shared(&self.home).join("patches")
    }
}

impl Performers {
    pub fn new(texts: Texts, providers: Providers, settings: Settings, live: LiveSink) -> Self {
        Self { inner: Arc::new(Inner { texts, providers, settings, live }) }
    }

    /// The registry, for checking a model before anything starts.
    pub fn providers(&self) -> &Providers {
        &self.inner.providers
    }

    /// Reads instruction files and the environment; ends in `Context`, or in `Failed` naming the file that
    /// can't be read.
    pub async fn load_context(&self, agent: &AgentId, execution: &ExecutionBinding) -> Outcome {
        let started = clock::now();
        let settings = &self.inner.settings;
        let shell = settings.environment.default_shell();
        let loaded = context::load(&self.inner.texts, settings.agent_home(agent), execution.clone(), shell);
        match loaded.await {
            Ok((sources, execution)) => {
                let context_build_ms = clock::since(started);
                let context = holon_core::outcome::LoadedContext { sources, execution, context_build_ms };
                Outcome::Context { context }
            }
            Err(problem) => self.failed(&problem.to_string()),
        }
    }

    /// Makes one attempt; ends in `Answer` or `AttemptFailed`, within `request.timeout`.
    pub async fn call_model(&self, op: OpId, request: ModelRequest) -> Outcome {
        let started = clock::now();
        let Inner { texts, providers, live, .. } = &*self.inner;
        let live = LiveText::begin(live.clone(), request.agent.clone(), op);
        match Box::pin(providers.attempt(texts, &request, live)).await {
            Ok(Reply { blocks, stop, usage }) => {
                let answer = ModelAnswer { blocks, stop, usage, timing: timing(started) };
                Outcome::Answer { answer }
            }
            Err(failure) => Outcome::AttemptFailed { failure: report(texts, failure, timing(started)) },
        }
    }

    /// Executes one accepted call; ends in `Tool`, or in `Failed` when its arguments can't be read.
    pub async fn call_tool(&self, agent: &AgentId, call: ToolCall) -> Outcome {
        let started = clock::now();
        let Inner { texts, settings, .. } = &*self.inner;
        let arguments = match texts.resolve(&call.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return self.failed(&format!("the call's arguments: {problem}")),
        };
        let receipt = tool::run(texts, settings, agent, &call, &arguments).await;
        Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: clock::since(started) } }
    }

    /// Nothing was done.
    fn failed(&self, problem: &str) -> Outcome {
        let message = self.inner.texts.take(problem);
        Outcome::Failed { failure: OpFailure { certainty: Certainty::Definite, message } }
    }
}

fn timing(started: Now) -> Timing {
    let ended = clock::now();
    // The wall clock may have been set back meanwhile; a timeline never runs backwards.
    let completed_at = ended.wall.max(started.wall);
    Timing { started_at: started.wall, completed_at, duration_ms: ended.mono.since(started.mono) }
}

fn report(texts: &Texts, failure: Failure, timing: Timing) -> AttemptFailure {
    let diagnostics = failure.diagnostics.map(|mut found| {
        found.url = found.url.map(|url| texts.brief(&url));
        found.source_chain = found.source_chain.iter().map(|cause| texts.brief(cause)).collect();
        *found
    });
    AttemptFailure {
        kind: failure.kind,
        message: texts.take(&failure.message),
        retry_after_ms: failure.retry_after_ms.map(Millis),
        resets_at: failure.resets_at,
        usage: None,
        timing,
        diagnostics,
    }
}
