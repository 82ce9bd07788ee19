//! `holon task`: commands that run in the background, whoever started them.

mod begin;
mod end;
mod feed;
mod output;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use holon_api::TaskPath;
use holon_facts::AgentId;
use holon_facts::ids::TaskId;
use holon_facts::task::TaskStatus;

use super::client_context::{ClientContext, Whom, one_of};
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum TaskCommand {
    /// List running and recently ended tasks
    List(ListArgs),
    /// Run a command in the background
    Run(RunArgs),
    /// Show one task, without its output
    Status(StatusArgs),
    /// Print the output of a task
    Output(OutputArgs),
    /// Write to the standard input of a task
    Input(InputArgs),
    /// Stop a task and every process it started
    Stop(StopArgs),
}

/// Whose tasks.
#[derive(Debug, Clone, Args)]
struct Whose {
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whom: Whom,
    /// List only tasks with this status
    #[arg(long, value_parser = one_of(TaskStatus::ALL))]
    status: Option<TaskStatus>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    whose: Whose,
    /// Run in this folder, inside the agent's workspace
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    workdir: Option<String>,
    /// Run it with this shell [default: bash, or sh]
    #[arg(long, value_hint = ValueHint::ExecutablePath)]
    shell: Option<String>,
    /// Skip the profile of a login shell
    #[arg(long)]
    no_login: bool,
    /// Attach a terminal, which also accepts input
    #[arg(long)]
    tty: bool,
    /// Accept input from `holon task input`
    #[arg(long)]
    input: bool,
    /// Print its output until it ends
    #[arg(long, short)]
    follow: bool,
    /// Wait until it ends
    #[arg(long, conflicts_with = "follow")]
    wait: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Run this command: one argument is a shell line, several are a program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Name the task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Name the task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    /// Print all output, follow new output, and exit with the task's code
    #[arg(long, short, conflicts_with_all = ["wait", "characters"])]
    follow: bool,
    /// Skip this many bytes of output
    #[arg(long, value_name = "BYTES", requires = "follow")]
    offset: Option<u64>,
    /// Wait up to this many seconds for the task to end, at most 600
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(output::LONGEST_WAIT)))]
    wait: Option<u32>,
    /// Print up to this many characters, at most 1000000; longer output shows its start and end
    #[arg(long, value_name = "N", default_value_t = 8_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(output::MOST_CHARACTERS)))]
    characters: u32,
    /// Print one JSON document; with --follow one line of JSON per piece and one for the end
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct InputArgs {
    /// Name the task, for example task_3
    task: TaskId,
    /// Write this text unchanged; `-` reads it from standard input
    text: String,
    #[command(flatten)]
    whose: Whose,
    /// Append a line end to the text
    #[arg(long, short)]
    line: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Name the task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    /// Kill all processes at once, without time to clean up
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn task(home: Option<PathBuf>, command: TaskCommand) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        match command {
            TaskCommand::List(args) => ending.or(show::list(&cli, args)).await,
            TaskCommand::Status(args) => ending.or(show::status(&cli, args)).await,
            TaskCommand::Run(args) => begin::run(&cli, args, &ending).await,
            TaskCommand::Output(args) => output::output(&cli, args, &ending).await,
            TaskCommand::Input(args) => feed::input(&cli, args, &ending).await,
            TaskCommand::Stop(args) => ending.or(end::stop(&cli, args)).await,
        }
    })
}

/// One task of an agent.
struct One<'a> {
    cli: &'a ClientContext,
    agent: AgentId,
    task: TaskId,
    /// Whether the agent was named: then it is named in what is suggested, too.
    named: bool,
}

impl<'a> One<'a> {
    async fn of(cli: &'a ClientContext, of: &Whose, task: TaskId, ending: &Ending) -> Result<Self, Failure> {
        let agent = ending.or(cli.agent(of.agent.as_deref())).await?;
        Ok(Self { cli, agent, task, named: of.agent.is_some() })
    }

    /// Where it stands.
    fn path(&self) -> TaskPath {
        (&self.agent, self.task).into()
    }

    /// A command about it.
    fn command(&self, what: &str, options: &str) -> String {
        let agent = if self.named { format!(" --agent {}", self.agent) } else { String::new() };
        format!("holon task {what} {}{options}{agent}", self.task)
    }

    /// Whoever waits for it has seen enough.
    fn goes_on(&self) -> Failure {
        let error = anyhow::anyhow!("interrupted; {} continues", self.task);
        let hint = format!("{}, or {}", self.command("output", " --follow"), self.command("stop", ""));
        Failure::new(Exit::Interrupted, error).hint(hint)
    }
}
