//! `holon task`: commands that run in the background, whoever started them.

mod begin;
mod end;
mod feed;
mod output;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use holon_api::TaskPath;
use holon_core::AgentId;
use holon_core::agent::task::TaskStatus;
use holon_core::ids::TaskId;

use super::exit::Exit;
use super::interrupts::Ending;
use super::output::Failure;
use super::through::{Through, one_of};

#[derive(Debug, Subcommand)]
pub(super) enum TaskCommand {
    /// Those under way and those that ended lately
    List(ListArgs),
    /// Execute a command in the background
    Run(RunArgs),
    /// One task, without its output
    Status(StatusArgs),
    /// What a task has written
    Output(OutputArgs),
    /// Write to the command of a task
    Input(InputArgs),
    /// End a task, with everything that it has started
    Stop(StopArgs),
}

/// Whose tasks.
#[derive(Debug, Clone, Args)]
struct Whose {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whose: Whose,
    /// Only tasks that stand like this
    #[arg(long, value_parser = one_of(TaskStatus::ALL))]
    status: Option<TaskStatus>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    whose: Whose,
    /// The folder to run in, inside of the agent's workspace
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    workdir: Option<String>,
    /// The shell to run it with [default: bash, or sh]
    #[arg(long, value_hint = ValueHint::ExecutablePath)]
    shell: Option<String>,
    /// Without the profile of a login shell
    #[arg(long)]
    no_login: bool,
    /// Give it a terminal, which takes input, too
    #[arg(long)]
    tty: bool,
    /// Let `holon task input` write to it
    #[arg(long)]
    input: bool,
    /// Print what it writes, to its end
    #[arg(long, short)]
    follow: bool,
    /// Wait for its end
    #[arg(long, conflicts_with = "follow")]
    wait: bool,
    #[arg(long)]
    json: bool,
    /// The command: one word is a line of the shell, several are a program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// The task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// The task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    /// Print all of it, go on with what the task writes, and end like it
    #[arg(long, short, conflicts_with_all = ["wait", "characters"])]
    follow: bool,
    /// How many bytes of it to leave out
    #[arg(long, value_name = "BYTES", requires = "follow")]
    offset: Option<u64>,
    /// How many seconds to wait for the end of the task, at most 600
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(output::LONGEST_WAIT)))]
    wait: Option<u32>,
    /// How many characters to print, at most 1000000: of more the beginning and the end
    #[arg(long, value_name = "N", default_value_t = 8_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(output::MOST_CHARACTERS)))]
    characters: u32,
    /// Print one JSON document; with --follow a line of JSON for each piece, and one for the end
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct InputArgs {
    /// The task, for example task_3
    task: TaskId,
    /// The text, as it is; `-` reads it from standard input
    text: String,
    #[command(flatten)]
    whose: Whose,
    /// Put a line end behind the text
    #[arg(long, short)]
    line: bool,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// The task, for example task_3
    task: TaskId,
    #[command(flatten)]
    whose: Whose,
    /// Kill everything at once, without time to clean up
    #[arg(long)]
    force: bool,
    #[arg(long)]
    json: bool,
}

pub(super) fn task(home: Option<PathBuf>, command: TaskCommand) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        match command {
            TaskCommand::List(args) => ending.or(show::list(&through, args)).await,
            TaskCommand::Status(args) => ending.or(show::status(&through, args)).await,
            TaskCommand::Run(args) => begin::run(&through, args, &ending).await,
            TaskCommand::Output(args) => output::output(&through, args, &ending).await,
            TaskCommand::Input(args) => feed::input(&through, args, &ending).await,
            TaskCommand::Stop(args) => ending.or(end::stop(&through, args)).await,
        }
    })
}

/// One task of an agent.
struct One<'a> {
    through: &'a Through,
    agent: AgentId,
    task: TaskId,
    /// Whether the agent was named: then it is named in what is suggested, too.
    named: bool,
}

impl<'a> One<'a> {
    async fn of(through: &'a Through, whose: &Whose, task: TaskId, ending: &Ending) -> Result<Self, Failure> {
        let agent = ending.or(through.agent(whose.agent.as_deref())).await?;
        Ok(Self { through, agent, task, named: whose.agent.is_some() })
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
        let error = anyhow::anyhow!("interrupted; {} goes on", self.task);
        let hint = format!("{}, or {}", self.command("output", " --follow"), self.command("stop", ""));
        Failure::new(Exit::Interrupted, error).hint(hint)
    }
}
