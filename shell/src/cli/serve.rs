//! `holon serve`: the runtime of a home, in the foreground, until it is asked to end. `daemon start` starts the
//! same in the background.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use holon_platform::crash_point::{Point, reached};
use holon_platform::{Environment, open_files, spawn, threads};
use holon_text::{Secrets, variables};
use rustix::io::Errno;

use super::backup;
use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::node::{self, NodePlace};
use super::output::{self, Failure};
use super::server::Server;
use super::server_options::{Effective, ServerOptions};
use crate::daemon::journal::{self, FilterError, Format};
use crate::daemon::log::{self, Log};
use crate::daemon::{LastFailure, Phase, Unit};
use crate::home::Home;
use crate::settings::find_home;
use holon_ledger::postgres::Server as Database;
use holon_ledger::postgres::node::Cluster;
use holon_ledger::sqlite::reserve_problem;
use holon_ledger::sqlite::{HomeLock, LockError};

/// Threads for connections and the driver; models and commands are waited for, not computed.
const WORKERS: usize = 2;

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    options: ServerOptions,
    /// Write the log in this format
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    log_format: LogFormat,
    /// Write the log as JSON; same as --log-format json
    #[arg(long, conflicts_with = "log_format")]
    json: bool,
    /// Leave the terminal and write to the log of the home; `daemon start` does this
    #[arg(long, hide = true)]
    detached: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

pub(super) fn serve(home: Option<PathBuf>, args: ServeArgs) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    home.create().map_err(|error| unless_full(error.into()))?;
    begin_journal(&home, &environment, &args)?;
    // On a terminal the error itself says it all.
    let told_in_log = args.detached || args.json || args.log_format == LogFormat::Json;
    let served = enough_threads().and_then(|()| {
        interrupts::block_on_workers(WORKERS, |ending| {
            let (home, environment) = (home.clone(), environment.clone());
            Box::pin(locked(home, environment, args.options, ending))
        })
    });
    if let Err(failure) = &served
        && told_in_log
    {
        tracing::error!("{:#}", failure.error);
    }
    served
}

fn enough_threads() -> Result<(), Failure> {
    threads::probe(WORKERS).map_err(|error| {
        let hint = error.hint();
        Failure::new(Exit::Failed, error).hint(hint)
    })
}

/// A log whose filter can't be read.
pub(super) fn unfiltered(error: FilterError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).hint(hint)
}

fn begin_journal(home: &Home, environment: &Environment, args: &ServeArgs) -> Result<(), Failure> {
    let filter = journal::filter(environment).map_err(unfiltered)?;
    let out: Box<dyn io::Write + Send> = if args.detached {
        // Whoever was started by a shell of its own leads no group, and may lead a session.
        rustix::process::setsid().map_err(io::Error::from)?;
        Box::new(Log::take_over(&log::path(home))?)
    } else {
        Box::new(io::stderr())
    };
    let format = match if args.json { LogFormat::Json } else { args.log_format } {
        LogFormat::Text => {
            let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
            Format::Text { colour: colour && !args.detached && io::stderr().is_terminal() }
        }
        LogFormat::Json => Format::Json,
    };
    Ok(journal::begin(out, format, filter)?)
}

/// Serves while no other process has the home. What fails is written down for whoever looks later: only whoever
/// has the home may do that.
async fn locked(
    home: Home,
    environment: Environment,
    options: ServerOptions,
    ending: Ending,
) -> Result<Exit, Failure> {
    let lock = HomeLock::acquire(home.root()).map_err(|error| match error {
        LockError::Held { .. } => Failure::new(Exit::NotReachable, error).hint("holon daemon status"),
        LockError::Unusable { .. } => unless_full(Failure::usage(error)),
    })?;
    let mut phase = Phase::Startup;
    let served =
        Box::pin(whole(&home, &environment, &options, ending, &mut phase)).await.map_err(unless_full);
    let written = match &served {
        Ok(_) => LastFailure::clear(&home),
        // Whoever asked knows.
        Err(failure) if failure.exit == Exit::Interrupted => Ok(()),
        Err(failure) => told(failure, phase).write(&home),
    };
    if let Err(error) = written {
        tracing::warn!("{} can't be changed: {error}", LastFailure::path(&home).display());
    }
    drop(lock);
    served
}

/// A disk that is full is no wrong usage: whoever starts runtimes again (a service manager) shall do so, since there may
/// be space by then.
fn unless_full(failure: Failure) -> Failure {
    let problem = format!("{:#}", failure.error);
    let full = [Errno::NOSPC, Errno::DQUOT].map(|errno| io::Error::from(errno).to_string());
    if failure.exit != Exit::Usage || !full.iter().any(|full| problem.contains(full)) {
        return failure;
    }
    Failure::new(Exit::Failed, failure.error).hint("free space on the disk of the home")
}

/// With the limit that is common, a thousand followers would leave no file for the ledger.
fn take_files() {
    match open_files::raise() {
        Ok(Some(files)) if files < open_files::NEEDED => tracing::warn!(
            "only {files} files may be open at once: fewer connections than {} can be served; raise the hard limit \
             (ulimit -Hn, LimitNOFILE)",
            crate::http::CONNECTIONS
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!("the limit of open files stays as it is: {error}"),
    }
}

/// The cluster that the database of a home has, if it has one.
async fn cluster_of(home: &Home) -> Result<Option<(Database, Cluster)>, Failure> {
    let Some(database) = home.database().cloned() else { return Ok(None) };
    let looked = database.clone();
    let cluster = spawn::blocking(move || Cluster::of_node(&looked)).await.map_err(anyhow::Error::from)??;
    Ok(cluster.map(|cluster| (database, cluster)))
}

fn told(failure: &Failure, phase: Phase) -> LastFailure {
    let summary = output::said_once(&failure.error);
    LastFailure {
        exit_code: Some(failure.exit.code()),
        ..LastFailure::now(phase, summary, failure.hint.clone())
    }
}

async fn whole(
    home: &Home,
    environment: &Environment,
    options: &ServerOptions,
    ending: Ending,
    phase: &mut Phase,
) -> Result<Exit, Failure> {
    backup::may_start(home, options.accept_restored())?;
    let effective = Effective::load(home, environment, options)?.with_secrets_of(home)?;
    let secrets =
        Secrets::new(variables::secrets(environment).chain(effective.setup.secrets.iter().cloned()));
    journal::hide(secrets.with_shapes(effective.setup.settings.redact_token_shapes));
    tracing::info!("{} begins with the home {}", holon_platform::build::id(), home.root().display());
    take_files();
    if let Some(problem) = reserve_problem(home.root()) {
        tracing::warn!("{problem}");
    }
    if let Some(unit) = Unit::that_kills_all(std::process::id()) {
        tracing::warn!("{}: {}", unit.warning(), unit.remedy());
    }
    if let Some(chosen) = effective.setup.settings.chosen_model() {
        tracing::info!("{chosen}");
    }
    if let Some(guess) = effective.setup.settings.guessed_window() {
        tracing::info!("{guess}");
    }
    for problem in &effective.setup.unusable {
        tracing::warn!("{problem}; the other models are used");
    }
    if let Some((database, cluster)) = cluster_of(home).await? {
        let place = NodePlace { home, environment, options, server: database, cluster };
        *phase = Phase::Shutdown;
        Box::pin(node::serve(place, effective, &ending)).await?;
        tracing::info!("the node left in good order");
        return Ok(Exit::Completed);
    }
    let server = tokio::select! {
        biased;
        () = ending.wait() => {
            return Err(Failure::new(Exit::Interrupted, anyhow!("stopped before the runtime was ready")));
        }
        server = Box::pin(Server::start(home, environment, effective)) => server?,
    };
    *phase = Phase::Shutdown;
    server.until_the_end(&ending).await?;
    reached(Point::LeftInGoodOrder);
    tracing::info!("the runtime left in good order");
    Ok(Exit::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_wrong_usage() {
        let failed = |kind: Errno| {
            let source = io::Error::from(kind);
            unless_full(Failure::usage(anyhow!("the home can't be locked: {source}")))
        };
        let full = [Errno::NOSPC, Errno::DQUOT].map(failed);
        assert!(full.iter().all(|failure| failure.exit == Exit::Failed && failure.hint.is_some()));
        assert_eq!(failed(Errno::ACCESS).exit, Exit::Usage);
    }
}
