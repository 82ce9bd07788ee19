//! `holon daemon`: the same runtime in the background (the spec's daemon contract).

mod find;
mod launch;
mod ledger;
mod logs;
mod may_restart;
mod start;
mod status;
mod stop;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use holon_api::Client;
use holon_platform::Environment;

use super::exit::Exit;
use super::interrupts;
use super::output::Failure;
use super::server_options::ServerOptions;
use crate::client;
use crate::daemon::{self, Metadata, Token};
use crate::home::{Home, HomeError};
use crate::settings::Settings;
use crate::settings::find_home;
use holon_ledger::sqlite::LockError;

#[derive(Debug, Subcommand)]
pub(super) enum DaemonCommand {
    /// Start the runtime in the background, unless it already runs
    Start(StartArgs),
    /// Stop the runtime and wait until it has ended
    Stop(StopArgs),
    /// Show whether the runtime runs, its addresses and its activity
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Restart the runtime
    Restart(StartArgs),
    /// Show the runtime's files, its last failure and the end of its log
    #[command(alias = "log")]
    Logs(logs::LogsArgs),
}

#[derive(Debug, Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    options: ServerOptions,
    /// Wait up to this many seconds until it is ready, at most 86400
    #[arg(long, value_name = "SECONDS", default_value_t = START_SECONDS, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=WAIT))]
    wait: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Wait up to this many seconds until it has ended, at most 86400
    #[arg(long, value_name = "SECONDS", default_value_t = 30, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=WAIT))]
    wait: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A start is waited for so long where nobody says how long.
const START_SECONDS: u32 = 60;

/// Longest wait, in seconds: a day.
const WAIT: i64 = 86_400;

/// Between two looks at a runtime that starts or ends.
const LOOK: Duration = Duration::from_millis(50);

/// A runtime that begins or ends is through with what others see of it within so long, on a busy machine too. What
/// looks the same for longer is no transition: a process without readable metadata is looked for at the socket, and
/// one that lets nobody in, or of which nothing can be seen, is told of.
const MOMENT: Duration = Duration::from_secs(5);

/// A runtime that does not answer within this time is unhealthy.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The home whose daemon a command is about.
pub(super) struct DaemonHome {
    home: Home,
    environment: Environment,
}

impl DaemonHome {
    /// Where a runtime of this home would listen, with the configuration as it is, and without one.
    fn sockets(&self) -> Vec<PathBuf> {
        daemon::sockets(&self.home, &self.environment)
    }

    /// The first of them.
    fn socket(&self) -> PathBuf {
        self.sockets().into_iter().next().unwrap_or_else(|| self.home.socket())
    }

    /// Takes away what a runtime that was killed left behind.
    fn clean(&self) -> Result<(), Failure> {
        let not_writable = |source| HomeError::NotWritable { path: Metadata::path(&self.home), source };
        let removed = daemon::clean(&self.home).map_err(unusable)?;
        Ok(removed.map_err(not_writable)?)
    }

    /// The runtime at that socket and nowhere else. The token is the configured one, as far as it can be read.
    fn client(&self, socket: PathBuf) -> Client {
        let settings = Settings::load(&self.home.config(), &self.environment).ok();
        let file = settings.and_then(|settings| settings.server.token_file);
        let token = Token::find(None, &self.environment, file.as_deref()).ok().flatten();
        client::at(socket, token.as_ref()).within(ANSWER_TIMEOUT)
    }
}

/// Starts the runtime of a home unless a process has it, with its own configuration. Gives the process that was
/// started.
///
/// # Errors
/// As `daemon start`.
pub(super) async fn ensure(home: &Home, environment: &Environment) -> Result<Option<u32>, Failure> {
    let daemon = DaemonHome { home: home.clone(), environment: environment.clone() };
    start::ensure(&daemon).await
}

pub(super) fn daemon(home: Option<PathBuf>, command: DaemonCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let daemon = DaemonHome { home: find_home(home, &environment)?, environment };
    interrupts::block_on(|ending| async move {
        let work: interrupts::Work<'_, Exit> = match command {
            DaemonCommand::Start(args) => Box::pin(start::start(&daemon, args)),
            DaemonCommand::Stop(args) => Box::pin(stop::stop(&daemon, args)),
            DaemonCommand::Status { json } => Box::pin(status::status(&daemon, json)),
            DaemonCommand::Restart(args) => Box::pin(start::restart(&daemon, args)),
            DaemonCommand::Logs(args) => return logs::logs(&daemon, args, &ending).await,
        };
        ending.or(work).await
    })
}

/// A home that can't be looked at.
fn unusable(error: LockError) -> Failure {
    Failure::usage(error).hint("holon config doctor")
}
