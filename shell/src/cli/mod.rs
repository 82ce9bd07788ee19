//! The command line: one file per group of commands (contract: surface.md, Command line).

mod acp;
mod addresses;
mod agent;
mod attached_input;
mod attached_run;
mod backup;
mod browser;
mod budget_limit;
mod bundle;
mod bundle_console;
mod candidates;
mod client_context;
mod cluster;
mod compare;
mod conditions;
mod config;
mod console;
mod daemon;
mod debug;
mod demo;
mod explained;
mod fork;
mod gc;
mod given_limits;
mod hints;
mod hosted;
mod image_args;
mod inbox;
mod init;
mod interrupts;
mod labels;
mod ledger;
mod leftover_runs;
mod mcp;
mod memory;
mod new_home;
mod node;
mod outcome;
mod output;
mod overview;
mod pages;
mod patience;
mod prompt;
mod recover;
mod replay;
mod run;
mod run_input;
mod run_request;
mod runs;
mod serve;
mod server;
mod server_options;
mod service_manager;
mod session;
mod session_input;
mod setup;
mod size;
mod skills;
mod spending;
mod status;
mod stopped;
mod table;
mod tail;
mod tail_all;
mod task;
mod telemetry;
mod template;
mod terminal;
mod timer;
mod transcript;
mod trigger;
mod tui;
mod wake;
mod work;
mod workspace;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;
use holon_platform::{Environment, shield};
use holon_text::variables;

use crate::exit;
use agent::AgentCommand;
use bundle::BundleCommand;
pub use exit::Exit;
use mcp::McpCommand;
use memory::MemoryCommand;
use skills::SkillsCommand;
use task::TaskCommand;
use telemetry::TelemetryCommand;
use template::TemplateCommand;
use timer::TimerCommand;
use trigger::TriggerCommand;
use work::WorkCommand;
use workspace::WorkspaceCommand;

/// Run long-lived software agents with durable history; without a command, show how things stand
#[derive(Debug, Parser)]
#[command(name = "holon", version = holon_platform::build::version(), max_term_width = 100)]
pub struct Cli {
    /// Use this folder for all state [default: $HOLON_HOME, or ~/.holon]
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// Print one JSON document, where no command is given
    #[arg(long = "json", id = "overview_json", hide = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

impl Cli {
    /// Whether a process with these arguments is a runtime.
    fn serves(arguments: &[String]) -> bool {
        Self::try_parse_from(arguments).is_ok_and(|cli| matches!(cli.command, Some(Command::Serve(_))))
    }

    /// Whether its commands could look up what it was started with.
    fn executes_commands(&self) -> bool {
        match &self.command {
            Some(Command::Mcp(command)) => command.starts_servers(),
            command => matches!(command, Some(Command::Run(_) | Command::Serve(_) | Command::Demo(_))),
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Choose a model, store its key and check that it answers
    Init(init::InitArgs),
    /// Run one prompt to its end
    Run(run::RunArgs),
    /// List and show temporary runs
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    /// Run the runtime of a home in the foreground
    Serve(serve::ServeArgs),
    /// Start, stop and inspect the runtime in the background
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    /// Send a prompt to an agent of the runtime
    Prompt(prompt::PromptArgs),
    /// List what agents have asked of you
    Inbox(inbox::InboxArgs),
    /// Answer what an agent has asked
    Answer(inbox::AnswerArgs),
    /// Summarize one agent
    Status(status::AtArgs),
    /// Explain why an agent is in its state and what would change it
    Why(status::StatusArgs),
    /// Show an agent's events
    Tail(tail::TailArgs),
    /// Follow and steer an agent in a terminal
    Tui(tui::TuiArgs),
    /// Follow and steer all agents in a browser
    Console(console::ConsoleArgs),
    /// Show the transcript of an agent's turns
    Transcript(transcript::TranscriptArgs),
    /// Manage agents and their lifecycle
    #[command(subcommand, alias = "agents")]
    Agent(AgentCommand),
    /// List, show and check what new agents can begin with
    #[command(subcommand, alias = "templates")]
    Template(TemplateCommand),
    /// Run commands in the background: start, inspect, write, stop
    #[command(subcommand, alias = "tasks")]
    Task(TaskCommand),
    /// Manage work items: goals of an agent over many turns
    #[command(subcommand, aliases = ["work-item", "work-items"])]
    Work(WorkCommand),
    /// Search what an agent remembers
    #[command(subcommand, alias = "memories")]
    Memory(MemoryCommand),
    /// Manage an agent's workspaces
    #[command(subcommand, alias = "workspaces")]
    Workspace(WorkspaceCommand),
    /// Install, list and check skills: instructions for kinds of tasks
    #[command(subcommand, alias = "skill")]
    Skills(SkillsCommand),
    /// Manage servers whose tools agents may use, over the Model Context Protocol
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Let an editor have agents of this runtime, over the Agent Client Protocol
    Acp(acp::AcpArgs),
    /// Manage timers that wake an agent
    #[command(subcommand, alias = "timers")]
    Timer(TimerCommand),
    /// Manage the address at which other systems wake an agent
    #[command(subcommand, alias = "triggers")]
    Trigger(TriggerCommand),
    /// Send a wake hint; the agent handles it when idle
    Wake(wake::WakeArgs),
    /// Stop an agent (old name of `agent stop`)
    #[command(hide = true)]
    Pause(status::StatusArgs),
    /// Start an agent (old name of `agent start`)
    #[command(hide = true)]
    Resume(status::StatusArgs),
    /// Run the whole loop offline: a scripted model repairs a small project
    Demo(demo::DemoArgs),
    /// Export, verify, replay, back up or fork durable history
    #[command(subcommand, alias = "ledgers")]
    Ledger(ledger::LedgerCommand),
    /// Share a database between several nodes
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Export traces of what agents did
    #[command(subcommand)]
    Telemetry(TelemetryCommand),
    /// Inspect, verify and replay what an agent of another home did
    #[command(subcommand, alias = "bundles")]
    Bundle(BundleCommand),
    /// Inspect what a model was shown, where time went, and past decisions
    #[command(subcommand)]
    Debug(debug::DebugCommand),
    /// Show, change and check the configuration
    Config(config::ConfigArgs),
    /// Print the completions of a shell
    #[command(alias = "completion")]
    Completions(pages::CompletionsArgs),
    /// Print the manual page of a command
    Man(pages::ManArgs),
}

/// Runs the command line; everything that can go wrong ends in an exit code.
pub fn main() -> std::process::ExitCode {
    // Where a shell asks for completions, nothing else is done.
    CompleteEnv::with_factory(|| candidates::completing(Cli::command())).var(pages::COMPLETE).complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    if let Some(home) = &cli.home {
        hints::at(home);
    }
    // Whoever only asks a runtime stays visible: over TCP that looks for the process that asks.
    if cli.executes_commands() {
        let environment = Environment::of_process();
        shield::cover(|name| variables::holds_secret(&environment, name));
    }
    let Some(command) = cli.command else {
        return ended(overview::overview(cli.home, cli.json));
    };
    if cli.json {
        let error = Cli::command().error(ErrorKind::ArgumentConflict, "--json stands after the command");
        return output::usage(&error);
    }
    let outcome = match command {
        Command::Init(args) => init::init(cli.home, args),
        Command::Run(args) => run::run(cli.home, args),
        Command::Runs(command) => runs::runs(cli.home, command),
        Command::Serve(args) => serve::serve(cli.home, args),
        Command::Daemon(command) => daemon::daemon(cli.home, command),
        Command::Prompt(args) => prompt::prompt(cli.home, args),
        Command::Inbox(args) => inbox::inbox(cli.home, args),
        Command::Answer(args) => inbox::answer(cli.home, args),
        Command::Status(args) => status::status(cli.home, args),
        Command::Why(args) => status::why(cli.home, args),
        Command::Template(command) => template::template(cli.home, command),
        Command::Tail(args) => tail::tail(cli.home, args),
        Command::Tui(args) => tui::tui(cli.home, args),
        Command::Console(args) => console::console(cli.home, args),
        Command::Transcript(args) => transcript::transcript(cli.home, args),
        Command::Agent(command) => agent::agent(cli.home, command),
        Command::Task(command) => task::task(cli.home, command),
        Command::Work(command) => work::work(cli.home, command),
        Command::Memory(command) => memory::memory(cli.home, command),
        Command::Workspace(command) => workspace::workspace(cli.home, command),
        Command::Skills(command) => skills::skills(cli.home, command),
        Command::Mcp(command) => mcp::mcp(cli.home, command),
        Command::Acp(args) => acp::acp(cli.home, args),
        Command::Timer(command) => timer::timer(cli.home, command),
        Command::Trigger(command) => trigger::trigger(cli.home, command),
        Command::Wake(args) => wake::wake(cli.home, args),
        Command::Pause(args) => agent::agent(cli.home, AgentCommand::Pause(args)),
        Command::Resume(args) => agent::agent(cli.home, AgentCommand::Resume(args)),
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
        Command::Demo(args) => demo::demo(args),
        Command::Config(args) => config::config(cli.home, args),
        Command::Debug(command) => debug::debug(cli.home, command),
        Command::Cluster(command) => cluster::cluster(cli.home, command),
        Command::Telemetry(command) => telemetry::telemetry(cli.home, command),
        Command::Bundle(command) => bundle::bundle(command),
        Command::Ledger(command) => ledger::ledger(cli.home, command),
    };
    ended(outcome)
}

fn ended(outcome: Result<Exit, output::Failure>) -> std::process::ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => output::failed(&error),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn leaves<'a>(command: &'a clap::Command, found: &mut Vec<&'a clap::Command>) {
        let before = found.len();
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            leaves(below, found);
        }
        if found.len() == before {
            found.push(command);
        }
    }

    #[test]
    fn only_the_command_makes_a_process_a_runtime() {
        let serves = |words: &[&str]| Cli::serves(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(serves(&["/proc/self/exe", "--home", "/x", "serve"]));
        assert!(serves(&["holon", "serve"]));
        assert!(!serves(&["holon", "run", "--agent", "serve", "do it"]));
        assert!(!serves(&["holon", "run", "serve"]));
        assert!(!serves(&["sleep", "60"]));
    }

    #[test]
    fn a_group_of_commands_is_found_by_either_number_of_its_name() {
        let same = |one: &[&str], other: &[&str]| {
            let parsed =
                |words: &[&str]| format!("{:?}", Cli::try_parse_from([&["holon"], words].concat()).unwrap());
            assert_eq!(parsed(one), parsed(other));
        };
        for (one, many) in [
            ("agent", "agents"),
            ("skill", "skills"),
            ("task", "tasks"),
            ("template", "templates"),
            ("timer", "timers"),
            ("work", "work-items"),
            ("work", "work-item"),
            ("workspace", "workspaces"),
        ] {
            same(&[one, "list"], &[many, "list"]);
        }
        same(&["trigger", "show"], &["triggers", "show"]);
        same(&["memory", "status"], &["memories", "status"]);
        same(&["ledger", "verify"], &["ledgers", "verify"]);
        same(&["completions", "bash"], &["completion", "bash"]);
        same(&["daemon", "logs"], &["daemon", "log"]);
        same(&["workspace", "worktrees"], &["workspace", "worktree"]);
        for (one, many) in [
            ("model", "models"),
            ("price", "prices"),
            ("provider", "providers"),
            ("credential", "credentials"),
        ] {
            let list: &[&str] = if ["model", "price"].contains(&one) { &[] } else { &["list"] };
            same(&[&["config", one], list].concat(), &[&["config", many], list].concat());
        }
    }

    #[test]
    fn every_command_speaks_to_programs() {
        let mut cli = Cli::command();
        cli.build();
        let mut found = Vec::new();
        leaves(&cli, &mut found);
        assert!(found.len() > 30, "{}", found.len());
        // A console is for people alone; programs read what it shows from the commands beside it. What speaks a protocol
        // speaks nothing else.
        let apart = ["holon tui", "holon mcp serve", "holon acp"];
        let named = |command: &&clap::Command| apart.contains(&command.get_bin_name().unwrap_or_default());
        for command in found.into_iter().filter(|command| !named(command)) {
            let json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
            assert!(json, "{:?} has no --json", command.get_bin_name());
        }
    }

    /// The rule of docs/daemon.md, Which agent.
    #[test]
    fn an_agent_is_named_in_one_way() {
        let mut cli = Cli::command();
        cli.build();
        let mut found = Vec::new();
        leaves(&cli, &mut found);
        let mut words = 0;
        for command in found {
            let path = command.get_bin_name().unwrap_or_default();
            let makes_or_names = ["create", "rename", "describe", "fork"].contains(&command.get_name());
            let positional: Vec<_> = command.get_positionals().map(clap::Arg::get_id).collect();
            let named = command.get_arguments().find(|argument| argument.get_long() == Some("agent"));
            let Some(named) = named else {
                let names = positional.iter().any(|id| *id == "agent");
                assert!(makes_or_names || !names, "{path} takes an agent without --agent");
                continue;
            };
            let value = named.get_value_names().map(|names| names[0].as_str());
            assert_eq!(value, Some("AGENT"), "{path}");
            assert!(!named.is_hide_set(), "{path} hides --agent");
            let apart = ["run", "export", "acp"].contains(&command.get_name());
            if positional.is_empty() && !apart {
                panic!("{path} takes no agent as a word");
            }
            words += usize::from(positional == ["agent"]);
        }
        assert!(words > 15, "{words}");
    }

    #[test]
    fn a_number_beyond_its_limit_is_refused_with_the_limit() {
        for (command, flag, most) in [
            (&["daemon", "logs"][..], "-n", 10_000),
            (&["tail"], "-n", 512),
            (&["transcript"], "-n", 500),
            (&["task", "output", "task_1"], "--wait", 600),
            (&["task", "output", "task_1"], "--characters", 1_000_000),
            (&["daemon", "start"], "--wait", 86_400),
            (&["daemon", "stop"], "--wait", 86_400),
            (&["daemon", "restart"], "--wait", 86_400),
        ] {
            let parsed = |number: &str| Cli::try_parse_from([&["holon"], command, &[flag, number]].concat());
            for number in ["0".to_owned(), most.to_string()] {
                assert!(parsed(&number).is_ok(), "{command:?} {number}");
            }
            for number in [(most + 1).to_string(), "-1".to_owned(), "4294967296".to_owned()] {
                let refused = parsed(&number).unwrap_err().to_string();
                assert!(refused.contains(&format!("{number} is not in 0..={most}")), "{refused}");
            }
            let mut cli = Cli::command();
            let words = command.iter().filter(|word| !word.starts_with("task_"));
            let command = words.fold(&mut cli, |above, word| above.find_subcommand_mut(word).unwrap());
            let help = command.render_help().to_string();
            assert!(help.contains(&format!("at most {most}")), "{help}");
        }
    }
}
