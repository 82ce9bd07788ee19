//! The command line: one file per group of commands (contract: surface.md, Command line).

mod config;
mod daemon;
mod demo;
mod exit;
mod interrupts;
mod ledger;
mod outcome;
mod output;
mod run;
mod serve;
mod server;
mod server_options;
mod session;
mod setup;
mod terminal;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use exit::Exit;

/// A durable runtime for long-lived software agents.
#[derive(Debug, Parser)]
#[command(name = "holon", version, about, max_term_width = 100)]
pub struct Cli {
    /// The folder that holds all state [default: $HOLON_HOME, or ~/.holon]
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Give an agent one prompt, and wait for its end
    Run(run::RunArgs),
    /// Keep the runtime of a home going in the foreground
    Serve(serve::ServeArgs),
    /// The same in the background: start, stop and look after it
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    /// Show the whole loop offline: a scripted model repairs a small project
    Demo(demo::DemoArgs),
    /// Look at durable history
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// Look at the configuration, change it, and find what is wrong with it
    Config(config::ConfigArgs),
}

/// Runs the command line; everything that can go wrong ends in an exit code.
pub fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let outcome = match cli.command {
        Command::Run(args) => run::run(cli.home, args),
        Command::Serve(args) => serve::serve(cli.home, args),
        Command::Daemon(command) => daemon::daemon(cli.home, command),
        Command::Demo(args) => demo::demo(args),
        Command::Config(args) => config::config(cli.home, args),
        Command::Ledger(command) => ledger::ledger(cli.home, command),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => output::failed(&error),
    }
}
