//! A home, a folder to work in, and performers whose supervisors are the real binary.

use std::path::{Path, PathBuf};

use holon_core::effect::ToolCall;
use holon_core::tool::Tool;
use holon_facts::ids::TaskId;
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, Millis, OpId, Outcome, RunId, Text};
use holon_models::{Providers, Tools};
use holon_platform::process;
use holon_shell::home::Home;
use holon_shell::in_flight::InFlight;
use holon_shell::live::LiveSink;
use holon_shell::perform::tool::CommandEnvironment;
use holon_shell::perform::{Performers, Settings};
use holon_shell::settings::CommandSettings;
use holon_shell::templates::Templates;
use holon_supervise::{RECORD, STARTED};
use holon_text::{Secrets, Texts};
use serde_json::Value;

pub(crate) struct Place {
    folder: tempfile::TempDir,
    home: PathBuf,
    pub(crate) performers: Performers,
    pub(crate) agent: AgentId,
    texts: Texts,
}

/// The one result of a call.
#[derive(Debug)]
pub(crate) struct Result {
    pub(crate) error: Option<ToolErrorKind>,
    pub(crate) text: String,
    pub(crate) hint: String,
    pub(crate) facts: ToolFacts,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::below("home")
    }

    pub(crate) fn below(name: &str) -> Self {
        Self::with(name, CommandSettings { grace: Millis(500), ..CommandSettings::default() })
    }

    /// In which no supervisor waits longer for a next command.
    pub(crate) fn waiting_for(idle: Millis) -> Self {
        Self::with("home", CommandSettings { next_within: idle, ..CommandSettings::default() })
    }

    fn with(name: &str, commands: CommandSettings) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path().join(name);
        std::fs::create_dir_all(folder.path().join("root")).expect("a folder to work in");
        let variables = [("PATH", env!("PATH")), ("OPENAI_API_KEY", "sk-canary-123456")];
        let settings = Settings {
            home: Home::at(&home),
            environment: CommandEnvironment::new(variables.map(|(name, value)| (name.into(), value.into()))),
            supervisor: env!("CARGO_BIN_EXE_holon").into(),
            commands,
            triggers: None,
            tied: false,
            lease: None,
            confinement: None,
            skills: Default::default(),
            templates: Templates::in_home(&Home::at(&home)),
            in_flight: InFlight::default(),
            servers: Default::default(),
            keep_trees: false,
            names: holon_shell::names::Names::default(),
            lender: holon_shell::lender::Lender::default(),
            roots: holon_shell::shared_roots::SharedRoots::default(),
        };
        let secrets = Secrets::new([("OPENAI_API_KEY".to_owned(), "sk-canary-123456".to_owned())]);
        let texts = Texts::new(secrets, Box::new(|_| Ok(None)));
        let performers = Performers::new(
            texts.clone(),
            Providers::new(Vec::new(), Tools::default()),
            settings,
            LiveSink::nobody(),
        );
        Self { folder, home, performers, agent: AgentId::new("main").expect("a name"), texts }
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The performers go, as with an orderly end; the folder stays.
    pub(crate) fn leave(self) -> tempfile::TempDir {
        self.folder
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) async fn succeed(&self, cmd: &str) -> Result {
        let found = self.call(serde_json::json!({ "cmd": cmd })).await;
        assert_eq!(found.error, None, "{found:?}");
        found
    }

    pub(crate) async fn call(&self, mut arguments: Value) -> Result {
        arguments["login"] = Value::Bool(false);
        self.perform(Tool::ExecCommand, arguments, 60_000).await
    }

    pub(crate) async fn batch(&self, arguments: Value) -> Result {
        self.batch_within(arguments, 60_000).await
    }

    pub(crate) async fn batch_within(&self, arguments: Value, timeout: u64) -> Result {
        self.perform(Tool::ExecCommandBatch, arguments, timeout).await
    }

    async fn perform(&self, tool: Tool, arguments: Value, timeout: u64) -> Result {
        let call = self.tool_call(tool, &arguments, timeout);
        let outcome = self.performers.prepare_command(&self.agent, OpId(1), TaskId(1), call, None).await;
        let Outcome::Prepared { supervisor, .. } = outcome else { return self.read_result(outcome) };
        let result = self.run(2, supervisor).await;
        self.performers.settled(&self.agent, OpId(2));
        result
    }

    pub(crate) async fn prepare(&self, op: u64, mut arguments: Value) -> Option<SupervisorIdentity> {
        arguments["login"] = Value::Bool(false);
        let call = self.tool_call(Tool::ExecCommand, &arguments, 60_000);
        let outcome = self.performers.prepare_command(&self.agent, OpId(op), TaskId(op), call, None).await;
        if let Outcome::Prepared { supervisor, .. } = outcome { Some(supervisor) } else { None }
    }

    pub(crate) async fn run(&self, op: u64, supervisor: SupervisorIdentity) -> Result {
        self.read_result(self.performers.run_command(&self.agent, OpId(op), supervisor).await)
    }

    fn tool_call(&self, tool: Tool, arguments: &Value, timeout: u64) -> ToolCall {
        let at = self.root().display().to_string();
        ToolCall {
            run_id: Some(RunId(1)),
            call_id: "call_1".into(),
            tool,
            arguments: self.texts.take(&arguments.to_string()),
            execution: ExecutionBinding::project(at.clone(), at),
            output_tokens: 64_000,
            timeout: Millis(timeout),
        }
    }

    fn read_result(&self, outcome: Outcome) -> Result {
        let Outcome::Tool { outcome } = outcome else { panic!("{outcome:?}") };
        let text = |text: &Text| self.texts.resolve(text).expect("a kept text").to_string();
        let receipt = outcome.receipt;
        let (error, hint) = match &receipt.error {
            Some(error) => (Some(error.kind), error.hint.clone().unwrap_or_default()),
            None => (None, String::new()),
        };
        let said = receipt.content.iter().chain(receipt.error.iter().map(|error| &error.message));
        Result { error, hint, text: said.map(text).collect(), facts: receipt.facts }
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    /// Processes that still run in the folder of this test.
    pub(crate) fn strays(&self) -> Vec<String> {
        let root = self.root();
        let at = |pid: u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == root);
        self.processes(at)
    }

    /// Those that have a command.
    pub(crate) fn supervisors(&self) -> Vec<String> {
        let (home, next) = (self.home.display().to_string(), self.next());
        self.processes(|pid| command_line(pid).contains(&home) && next != Some(pid))
    }

    /// The one that waits for a next command. There are never two.
    pub(crate) fn next(&self) -> Option<u32> {
        let waits = self.at_rest();
        assert!(waits.len() < 2, "{waits:?}");
        let folder = waits.first()?.display().to_string();
        let pids = process::all().into_iter().filter(|stat| !stat.ended).map(|stat| stat.pid);
        pids.into_iter().find(|&pid| command_line(pid).contains(&folder))
    }

    /// Folders of supervisors that have no command.
    pub(crate) fn at_rest(&self) -> Vec<PathBuf> {
        let is_new = |folder: &PathBuf| !folder.join(STARTED).exists() && !folder.join(RECORD).exists();
        list(&self.home.join("run/commands")).into_iter().filter(is_new).collect()
    }

    fn processes(&self, is: impl Fn(u32) -> bool) -> Vec<String> {
        let own = std::process::id();
        let others = process::all().into_iter().map(|stat| stat.pid).filter(|&pid| pid != own && is(pid));
        others.map(|pid| format!("{pid} {}", command_line(pid))).collect()
    }

    /// Folders of supervisors that are still there, without the one that waits for a next command.
    pub(crate) fn traces(&self) -> Vec<PathBuf> {
        let mut at_rest = self.at_rest();
        let next = at_rest.pop().filter(|_| at_rest.is_empty());
        list(&self.home.join("run/commands"))
            .into_iter()
            .filter(|folder| Some(folder) != next.as_ref())
            .collect()
    }

    /// Logs of the agent that are still there.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        list(&self.home.join("agents/main/task-output"))
    }
}

fn command_line(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

fn list(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path()).collect()
}

pub(crate) fn wait_for(condition: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("it did not happen within 8 s: {}", otherwise());
}
