//! The performers: each does one effect in the world and reports its one outcome.
//!
//! They decide nothing: no retry, no fallback, no promotion. Dropping a future gives its work up: a
//! connection is closed, a command is no longer waited for but goes on, a patch that is not yet being written is not
//! written. A patch that is being written is written to its end, so that it stays whole.

mod captures;
pub mod context;
mod given;
pub mod instructions;
mod look;
mod new_agent;
mod task;
pub mod tool;
mod trees;
mod work_item;
mod worktree;

use std::io;
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use captures::Captures;
use context::Looks;
use given::GivenAnswers;
use holon_api::GivenAnswer;
use holon_core::Input;
use holon_core::effect::{Look, ServerCall, TaskWork, ToolCall, WantedWorkspace, WorkView};
use holon_core::grants::Loan;
use holon_core::recovery::Found;
use holon_facts::ids::{TaskId, WorkItemId};
use holon_facts::model::ModelRequest;
use holon_facts::outcome::{
    Certainty, CommandSpec, LoadedContext, OpFailure, SupervisorIdentity, ToolOutcome,
};
use holon_facts::receipt::{Receipt, ToolError};
use holon_facts::record::Record;
use holon_facts::template::AgentTemplate;
use holon_facts::work::PlanSeen;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Now, OpId, Outcome};
use holon_mcp::{Host, ServerState, Servers};
use holon_models::Providers;
use holon_platform::{clock, spawn};
use holon_supervise::confine::{self, ConfineError, Confinement, Policy, Readable};
use holon_text::Texts;
use tool::{CommandEnvironment, Commands, Whose};

use crate::home::Home;
use crate::in_flight::InFlight;
use crate::lender::Lender;
use crate::live::{LiveSink, LiveText};
use crate::memory::Memory;
use crate::names::Names;
use crate::settings::{CommandSettings, DefinedServers};
use crate::shared_roots::SharedRoots;
use crate::skills::Skills;
use crate::templates::{self, Templates};
use crate::trigger_address::TriggerAddresses;
use crate::work_items;
use crate::workplace::{HeldBack, Search};

/// Until the file of a login is read again, while an agent waits for another one.
const LOGIN_CHECKS: Duration = Duration::from_secs(2);

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
    commands: Commands,
    memory: Memory,
    servers: Servers,
    answers: GivenAnswers,
    captures: Captures,
}

/// Where the performers work.
pub struct Settings {
    /// The runtime's home.
    pub home: Home,
    /// What commands see of the runtime's environment.
    pub environment: CommandEnvironment,
    /// The program that supervises commands: [`holon_supervise::program`] where this is the binary itself.
    pub supervisor: PathBuf,
    pub commands: CommandSettings,
    /// Where triggers are reached; none where nothing is served.
    pub triggers: Option<TriggerAddresses>,
    /// Whether commands end with this process, however it ends: nobody opens this home again.
    pub tied: bool,
    /// The file that says until when commands may run; none: as long as they take.
    pub lease: Option<PathBuf>,
    /// What commands are held back from; none under `host_local`.
    pub confinement: Option<Confinement>,
    /// Where skills of the user are, and what was read of skills.
    pub skills: Skills,
    /// What new agents are made from.
    pub templates: Templates,
    /// What goes on although nobody waits for its outcome.
    pub in_flight: InFlight,
    /// Servers of tools as they are started, and who may use them.
    pub servers: DefinedServers,
    /// Whether files of workspaces are kept as turns find and leave them.
    pub keep_trees: bool,
    /// Names of agents, where other cells have some too.
    pub names: Names,
    /// Who lends what is for the agents of all cells.
    pub lender: Lender,
    /// Folders, where agents of other cells may work in them too.
    pub roots: SharedRoots,
}

impl Settings {
    /// With commands as they are unless somebody configures them, supervised by this binary.
    pub fn new(home: Home, environment: CommandEnvironment) -> Self {
        let templates = Templates::in_home(&home);
        Self {
            home,
            environment,
            supervisor: holon_supervise::program(),
            commands: CommandSettings::default(),
            triggers: None,
            tied: false,
            lease: None,
            confinement: None,
            skills: Skills::default(),
            templates,
            in_flight: InFlight::default(),
            servers: DefinedServers::default(),
            keep_trees: true,
            names: Names::default(),
            lender: Lender::default(),
            roots: SharedRoots::default(),
        }
    }

    /// The folder below which each agent has its home.
    pub fn homes(&self) -> PathBuf {
        self.home.agents()
    }

    /// The same without links: what is bound there is known by one name.
    pub fn real_homes(&self) -> PathBuf {
        self.home.real_agents()
    }

    /// The folder below which agents have the worktrees that are made for them, without links.
    pub fn real_worktrees(&self) -> PathBuf {
        let root = self.home.root();
        root.canonicalize().unwrap_or_else(|_| root.to_owned()).join("worktrees")
    }

    /// The home of an agent.
    pub fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.homes().join(agent.as_str())
    }

    /// The same without links.
    pub fn real_agent_home(&self, agent: &AgentId) -> PathBuf {
        self.real_homes().join(agent.as_str())
    }

    /// Writes into the home of an agent, where commands can put links: under `confined` nothing else is changed.
    ///
    /// # Errors
    /// What was to be confined can't be.
    pub(crate) fn within_home<T: Send>(
        &self,
        agent: &AgentId,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, ConfineError> {
        confine::within(self.bound(agent).as_ref().map(slice::from_ref), work)
    }

    /// The folder outside of which nothing is written on an agent's behalf; none under `host_local`.
    pub(crate) fn bound(&self, agent: &AgentId) -> Option<PathBuf> {
        self.confinement.as_ref().map(|_| self.real_agent_home(agent))
    }

    /// What commands of an agent that works there are held back from; none under `host_local`.
    pub fn policy(&self, agent: &AgentId, at: &ExecutionBinding) -> Option<Policy> {
        Some(self.confinement.as_ref()?.policy(at, &self.real_agent_home(agent)))
    }

    /// What is read for an agent that works there; everything under `host_local`.
    pub fn readable(&self, agent: &AgentId, at: &ExecutionBinding) -> Readable {
        let confined = self.confinement.as_ref();
        confined.map(|it| it.readable(at, &self.real_agent_home(agent))).unwrap_or_default()
    }

    /// Where patches note what they are about to do. Runs that have homes of their own share the folder of
    /// the home around them: after a crash nobody opens theirs again.
    pub fn journals(&self) -> PathBuf {
        Home::shared(self.home.root()).join("patches")
    }
}

/// A call that did not begin.
fn refused(error: ToolError, started: Now) -> Outcome {
    let (receipt, duration_ms) = (Receipt::failure(error), clock::since(started));
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms, end: None } }
}

impl Performers {
    pub fn new(texts: Texts, providers: Providers, settings: Settings, live: LiveSink) -> Self {
        let commands = Commands::default();
        let memory = Memory::new(settings.home.clone(), texts.clone());
        let host = Host {
            helper: settings.supervisor.clone(),
            folder: Home::at(Home::shared(settings.home.root())).mcp(),
            secrets: texts.shared_secrets(),
            variables: Arc::new(settings.servers.variables.clone()),
        };
        let servers = Servers::new(settings.servers.definitions.clone(), &host);
        let answers = GivenAnswers::of(&settings.home);
        let captures = Captures::default();
        let inner = Inner { texts, providers, settings, live, commands, memory, servers, answers, captures };
        Self { inner: Arc::new(inner) }
    }

    /// What agents of this home remember.
    pub fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// Waits for what goes on although nobody waits for its outcome.
    pub async fn at_rest(&self) {
        self.inner.settings.in_flight.over().await;
    }

    /// The registry, for checking a model before anything starts.
    pub fn providers(&self) -> &Providers {
        &self.inner.providers
    }

    /// How servers of tools stand.
    pub fn tool_servers(&self) -> Vec<ServerState> {
        self.inner.servers.states()
    }

    /// Where skills are, and what was read of them.
    pub fn skills(&self) -> &Skills {
        &self.inner.settings.skills
    }

    /// The home of an agent.
    pub fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.inner.settings.agent_home(agent)
    }

    /// What is read for an agent that works there.
    pub fn readable(&self, agent: &AgentId, at: &ExecutionBinding) -> Readable {
        self.inner.settings.readable(agent, at)
    }

    /// Where every agent has its own home.
    pub fn home(&self) -> Home {
        self.inner.settings.home.clone()
    }

    /// Reads instruction files and the environment, and looks for skills. Ends in `Context`, or in `Failed` naming the file that
    /// can't be read.
    pub async fn load_context(
        &self,
        agent: &AgentId,
        execution: &ExecutionBinding,
        looks: Looks,
        template: Option<&AgentTemplate>,
    ) -> Outcome {
        let settings = &self.inner.settings;
        // One that another agent has begun has none yet.
        let (home, named) = (self.home(), agent.clone());
        let (templates, template) = (settings.templates.clone(), template.cloned());
        let confinement = settings.confinement.clone();
        let make = move || {
            templates::make_home((&templates, &home), &named, template.as_ref(), confinement.as_ref())
        };
        let policy = settings.policy(agent, execution);
        let held_back = HeldBack { supervisor: &settings.supervisor, policy: policy.as_ref() };
        let told = settings.confinement.as_ref().zip(policy.as_ref());
        let told = told.map(|(confinement, policy)| confinement.told(policy));
        let triggers = settings.triggers.is_some();
        let loaded = context::load(
            &self.inner.texts,
            make,
            execution.clone(),
            &settings.environment,
            told,
            triggers,
            (&settings.skills, held_back, looks, settings.readable(agent, execution)),
        );
        let offered = tool::offered(&self.inner.texts, settings, &self.inner.servers, (agent, execution));
        let (loaded, offered) = tokio::join!(loaded, offered);
        match loaded {
            Ok(context) => {
                let tools = offered.map(Arc::new);
                Outcome::Context { context: LoadedContext { tools, ..context } }
            }
            Err(problem) => self.failed(&problem.to_string()),
        }
    }

    /// The first request of an agent that is about to begin is answered with this, and asks no model; with none, as any other.
    ///
    /// # Errors
    /// The home can't be written to.
    pub fn give_answer(&self, agent: &AgentId, answer: Option<&GivenAnswer>) -> io::Result<()> {
        self.inner.answers.put(agent, answer)
    }

    /// Makes one attempt; ends in `Answer` or `AttemptFailed`, within `request.timeout`.
    pub async fn call_model(&self, op: OpId, request: ModelRequest) -> Outcome {
        let Inner { texts, providers, live, answers, .. } = &*self.inner;
        if !request.sums_up {
            match answers.take(texts, (&request.agent, op)) {
                Ok(Some(answer)) => return Outcome::Answer { answer },
                Ok(None) => {}
                Err(problem) => return self.failed(&format!("the answer that was given: {problem}")),
            }
        }
        let live = LiveText::begin(live.clone(), request.agent.clone(), op);
        match providers.ask(texts, &request, &|piece| live.show(piece)).await {
            Ok(answer) => Outcome::Answer { answer },
            Err(failure) => Outcome::AttemptFailed { failure },
        }
    }

    /// Executes one accepted call that is no command; ends in `Tool`, or in `Failed` when its arguments can't
    /// be read.
    pub async fn call_tool(&self, agent: &AgentId, call: ToolCall) -> Outcome {
        let started = clock::now();
        let texts = &self.inner.texts;
        let arguments = match texts.resolve(&call.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return self.failed(&format!("the call's arguments: {problem}")),
        };
        let Inner { settings, memory, servers, .. } = &*self.inner;
        if call.tool.needs_folder()
            && let Err(error) = settings.roots.take(&call.execution.execution_root, agent).await
        {
            return refused(error, started);
        }
        let receipt = tool::run(texts, settings, (memory, servers), (agent, &call), &arguments).await;
        Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: clock::since(started), end: None } }
    }

    /// Calls a tool of another program, once; ends in `Tool`, or in `Failed` when its arguments can't be read.
    pub async fn call_server(&self, agent: &AgentId, call: ServerCall) -> Outcome {
        let started = clock::now();
        let Inner { texts, settings, servers, .. } = &*self.inner;
        let arguments = match texts.resolve(&call.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return self.failed(&format!("the call's arguments: {problem}")),
        };
        let receipt = tool::call_server(texts, settings, servers, (agent, &call), &arguments).await;
        Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms: clock::since(started), end: None } }
    }

    /// Brings up a supervisor for a command; ends in `Prepared`, or in `Tool` when the call is refused.
    /// It is told the address of this generation of its agent's trigger.
    pub async fn prepare_command(
        &self,
        agent: &AgentId,
        op: OpId,
        task: TaskId,
        call: ToolCall,
        trigger_generation: Option<u64>,
    ) -> Outcome {
        let started = clock::now();
        let Inner { texts, settings, commands, .. } = &*self.inner;
        let arguments = match texts.resolve(&call.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return self.failed(&format!("the call's arguments: {problem}")),
        };
        if let Err(error) = settings.roots.take(&call.execution.execution_root, agent).await {
            return refused(error, started);
        }
        let address = settings.triggers.as_ref().zip(trigger_generation);
        let address = address.map(|(triggers, generation)| triggers.url(agent, generation));
        let whose = Whose { agent, op, task, address: address.as_deref() };
        match Box::pin(commands.prepare(texts, settings, whose, &call, &arguments)).await {
            Ok((supervisor, command)) => Outcome::Prepared { supervisor, command: Some(Box::new(command)) },
            Err(refusal) => refused(refusal.into_error(texts), started),
        }
    }

    /// Lets a supervisor execute what it was prepared for: at once, whether or not somebody waits for the end, which
    /// is `Tool`.
    pub fn run_command(
        &self,
        agent: &AgentId,
        op: OpId,
        supervisor: SupervisorIdentity,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let Inner { settings, commands, .. } = &*self.inner;
        let word = commands.give_word(settings, agent, op, &supervisor);
        let (inner, agent) = (self.inner.clone(), agent.clone());
        async move {
            let Inner { texts, commands, live, .. } = &*inner;
            let lines = async {
                commands.show_lines(texts, live, &agent, op).await;
                std::future::pending().await
            };
            let (outcome, next) = tokio::select! {
                biased;
                ended = Box::pin(commands.run(texts, &agent, op, &supervisor, word)) => ended,
                never = Box::pin(lines) => never,
            };
            if let Some(next) = next {
                // While the model thinks about the result: it may ask for another one.
                let inner = inner.clone();
                drop(spawn::task(async move { inner.commands.be_ready(&inner.settings, next).await }));
            }
            Outcome::Tool { outcome }
        }
    }

    /// Waits for the end of a command that an earlier process gave the word; ends in `Tool`.
    pub async fn watch_command(&self, agent: &AgentId, op: OpId, supervisor: SupervisorIdentity) -> Outcome {
        let Inner { texts, settings, commands, .. } = &*self.inner;
        Outcome::Tool { outcome: Box::pin(commands.watch(texts, settings, agent, op, &supervisor)).await }
    }

    /// Asks for the end of the command of an operation; the operation ends when the command has.
    pub fn stop_command(&self, agent: &AgentId, op: OpId, force: bool) {
        self.inner.commands.stop(agent, op, force);
    }

    /// Does what was decided about tasks; ends in `Tool`.
    pub async fn call_task(&self, agent: &AgentId, work: TaskWork) -> Outcome {
        let Inner { texts, settings, commands, .. } = &*self.inner;
        let here = task::Here { texts, settings, commands, agent };
        Outcome::Tool { outcome: Box::pin(task::perform(&here, work)).await }
    }

    /// Shows work items as a call left them; ends in `Tool`.
    pub async fn call_work(&self, agent: AgentId, view: WorkView) -> Outcome {
        let inner = self.inner.clone();
        let shown = spawn::blocking(move || {
            let Inner { texts, settings, .. } = &*inner;
            work_item::perform(&work_item::Here { texts, settings, agent: &agent }, &view)
        });
        match shown.await {
            Ok(outcome) => Outcome::Tool { outcome },
            Err(problem) => self.failed(&problem.to_string()),
        }
    }

    /// Shows what calls ask for that change nothing, in their order; ends in `Looked`.
    pub async fn look(&self, agent: AgentId, looks: Vec<Look>) -> Outcome {
        let inner = self.inner.clone();
        let shown = spawn::blocking(move || {
            let Inner { texts, settings, .. } = &*inner;
            let here = work_item::Here { texts, settings, agent: &agent };
            looks.into_iter().map(|look| look::perform(&here, look)).collect()
        });
        match shown.await {
            Ok(outcomes) => Outcome::Looked { outcomes },
            Err(problem) => self.failed(&problem.to_string()),
        }
    }

    /// Looks at the plan of a work item; says so where it is another than is known. One that can't be read is as it was.
    pub fn probe_plan(
        &self,
        agent: AgentId,
        item: WorkItemId,
        known: PlanSeen,
    ) -> impl Future<Output = Option<Input>> + use<> {
        let home = self.inner.settings.agent_home(&agent);
        let looked = spawn::blocking(move || work_items::hash_of_plan(&home, item));
        async move {
            let hash = looked.await.ok()?.ok()?;
            (known != PlanSeen::of(hash)).then_some(Input::PlanProbed { agent, item, hash })
        }
    }

    /// The agents of this runtime begin with the folders that they occupy.
    pub fn begin_with_roots(&self, occupied: impl IntoIterator<Item = (String, AgentId)>) {
        self.inner.settings.roots.begin(occupied);
    }

    /// A record is durable, and nothing of it is performed yet.
    pub fn follow_roots(&self, record: &Record) {
        self.inner.settings.roots.follow(record);
    }

    /// Has more of a budget lent; ends in what was lent.
    pub fn borrow(&self, loan: Loan) -> impl Future<Output = Option<Input>> + Send + use<> {
        self.inner.settings.lender.borrow(loan)
    }

    /// Whether requests to a provider show a login, which somebody may renew.
    pub fn has_login(&self, provider: &str) -> bool {
        self.inner.providers.has_login(provider)
    }

    /// Waits until a provider's login is another one than it has refused.
    pub fn await_login(&self, provider: String) -> impl Future<Output = Option<Input>> + use<> {
        let providers = self.inner.providers.clone();
        async move {
            loop {
                tokio::time::sleep(LOGIN_CHECKS).await;
                let (providers, named) = (providers.clone(), provider.clone());
                if spawn::blocking(move || providers.login_is_new(&named)).await.ok()? {
                    return Some(Input::LoginChanged { provider });
                }
            }
        }
    }

    /// Looks for the folder that an agent wants to work in, and makes a worktree of it where it is to be one; ends in
    /// `Workspace`, or in `Tool` with what stands against it.
    pub async fn find_workspace(&self, agent: &AgentId, wanted: WantedWorkspace) -> Outcome {
        let (started, home) = (clock::now(), self.inner.settings.agent_home(agent));
        let WantedWorkspace { target, cwd, from, attached, isolated } = wanted;
        let confinement = self.inner.settings.confinement.clone();
        let found = spawn::blocking(move || {
            let search = Search { from: from.cwd.as_ref(), home: &home, attached: &attached };
            tool::find_workspace(search, &target, cwd.as_deref(), confinement.as_ref())
        });
        let found = match found.await {
            Ok(Ok(found)) => match self.inner.settings.roots.bind(&found.execution.execution_root).await {
                Ok(()) => Ok(found),
                Err(error) => Err(error.of_tool().into()),
            },
            Ok(refused) => refused,
            Err(interrupted) => return self.failed(&interrupted.to_string()),
        };
        let found = match (found, isolated) {
            (Ok(found), Some(isolated)) => worktree::isolate(&self.inner.settings, found, isolated).await,
            (found, _) => found.map(|found| (found.execution, None)),
        };
        match found {
            Ok((execution, base)) => Outcome::Workspace { execution, base },
            Err(refusal) => {
                let receipt = tool::refused(&self.inner.texts, refusal);
                let outcome = ToolOutcome { receipt, duration_ms: clock::since(started), end: None };
                Outcome::Tool { outcome }
            }
        }
    }

    /// Finds out what became of a command that was under way when the runtime ended. `is_task`: its output stays.
    pub async fn probe(
        &self,
        agent: &AgentId,
        op: OpId,
        supervisor: &SupervisorIdentity,
        command: Option<&CommandSpec>,
        is_task: bool,
    ) -> Found {
        let Inner { texts, settings, commands, .. } = &*self.inner;
        Box::pin(commands.probe(texts, settings, (agent, op), supervisor, command, is_task)).await
    }

    /// What the call of a command is told that goes on as a task.
    pub fn written_so_far(&self, agent: &AgentId, task: TaskId, tty: bool) -> Receipt {
        let Inner { texts, settings, commands, .. } = &*self.inner;
        task::written_so_far(&task::Here { texts, settings, commands, agent }, task, tty)
    }

    /// The command of an operation goes on as a task: that is durable.
    pub fn goes_on(&self, agent: &AgentId, op: OpId) {
        self.inner.commands.goes_on(agent, op);
    }

    /// Ends what no operation in progress knows of. For a start, once everything was probed.
    pub async fn sweep(&self) {
        self.inner.commands.sweep(&self.inner.settings).await;
    }

    /// An operation of the agent was given up.
    pub fn cancelled(&self, agent: &AgentId, op: OpId) {
        self.inner.commands.cancelled(&self.inner.settings, agent, op);
    }

    /// The end of an operation is durable: what was kept for a crash may go.
    pub fn settled(&self, agent: &AgentId, op: OpId) {
        self.inner.commands.settled(agent, op);
        self.inner.answers.settled(agent, op);
    }

    /// Nothing was done.
    fn failed(&self, problem: &str) -> Outcome {
        let message = self.inner.texts.take(problem);
        Outcome::Failed { failure: OpFailure { certainty: Certainty::Definite, message } }
    }
}
