//! `holon ledger`: look at durable history. Only `fork` and `recover` write to a ledger.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use holon_facts::AgentId;
use holon_ledger::LedgerPlace;
use holon_ledger::error::LedgerError;
use holon_ledger::read::{self, Reader};
use holon_platform::{Environment, regular};

use super::backup::{self, BackupArgs, RestoreArgs};
use super::compare::{self, CompareArgs};
use super::exit::Exit;
use super::fork::{self, ForkArgs};
use super::gc::{self, GcArgs};
use super::output::{self, Failure};
use super::recover::{self, RecoverArgs};
use super::replay::{self, ReplayArgs};
use crate::home::Home;
use crate::ledger_check::{newest_verified, verified, verify};
use crate::settings::find_home;

#[derive(Debug, Subcommand)]
pub(super) enum LedgerCommand {
    /// Print every record as a line of JSON
    Export {
        #[command(flatten)]
        ledger: Which,
        /// Export only the records of this agent
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Include the flight recorder: each call, followed by its records
        #[arg(long, conflicts_with = "agent")]
        recorder: bool,
        /// Accept --json like every command; an export is always lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// Check hash links, texts, folds, snapshots and laws
    Verify {
        #[command(flatten)]
        ledger: Which,
        /// Check only what was written last and that every agent is listed as its log ends
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// Check everything; this is the default
        #[arg(long)]
        full: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Replay every recorded decision, compare byte for byte, and check all records against the laws
    Replay(ReplayArgs),
    /// Create an agent from a past event of another one
    Fork(ForkArgs),
    /// Show the decisions of two agents side by side, from the first difference on
    Compare(CompareArgs),
    /// Show what a damaged ledger lost; --accept-loss continues without it
    Recover(RecoverArgs),
    /// Back up the home, also while its runtime lives
    Backup(BackupArgs),
    /// Restore a backup into an empty home
    Restore(RestoreArgs),
    /// Remove what is old: flight recorder, unnamed texts, temporary runs, output of commands
    Gc(GcArgs),
}

#[derive(Debug, Args)]
pub(super) struct Which {
    /// Read this ledger file [default: the home's]
    path: Option<PathBuf>,
    /// Read this cell, where the home's ledger is in a database with several
    #[arg(long, value_name = "CELL", default_value_t = 1, conflicts_with = "path", value_parser = clap::value_parser!(i64).range(1..))]
    cell: i64,
}

pub(super) fn ledger(home: Option<PathBuf>, command: LedgerCommand) -> Result<Exit, Failure> {
    match command {
        LedgerCommand::Export { ledger, agent, recorder, json: _ } => {
            let agent = agent.as_deref().map(AgentId::new).transpose().map_err(Failure::usage)?;
            export(&open(&ledger.place(home)?)?, agent.as_ref(), recorder)?;
        }
        LedgerCommand::Verify { ledger, quick, full: _, json } => {
            let place = ledger.place(home)?;
            if !place.file().is_some_and(Path::is_dir) {
                place.check_end()?;
            }
            if quick {
                let report = read::verify_newest(&open(&place)?)?;
                output::line(&if json { serde_json::to_string(&report)? } else { newest_verified(&report) })?;
                return Ok(Exit::Completed);
            }
            let report = verify(&open(&place)?)?;
            output::line(&if json { serde_json::to_string(&report)? } else { verified(&report) })?;
        }
        LedgerCommand::Replay(args) => return replay::replay(home, args),
        LedgerCommand::Fork(args) => return fork::fork(home, args),
        LedgerCommand::Compare(args) => return compare::compare(home, args),
        LedgerCommand::Recover(args) => return recover::recover(home, args),
        LedgerCommand::Backup(args) => return backup::backup(home, args),
        LedgerCommand::Restore(args) => return backup::restore(home, args),
        LedgerCommand::Gc(args) => return gc::gc(home, &args),
    }
    Ok(Exit::Completed)
}

impl Which {
    pub(super) fn place(self, home: Option<PathBuf>) -> Result<LedgerPlace, Failure> {
        match self.path {
            Some(path) => {
                if path.exists() && !path.is_dir() {
                    let wrong = |error| Failure::usage(anyhow!("{}: {error}", path.display()));
                    regular::check(&path).map_err(wrong)?;
                }
                Ok(LedgerPlace::File(path))
            }
            None => Ok(find_home(home, &Environment::of_process())?.of_cell(self.cell).ledger()),
        }
    }
}

pub(super) fn open(place: &LedgerPlace) -> Result<Reader, Failure> {
    let Some(path) = place.file() else { return Ok(place.reader()?) };
    if !path.exists() {
        // One that was lost has a head still.
        place.check_end()?;
        let error = anyhow!("there is no ledger at {}", path.display());
        return Err(
            Failure::new(Exit::NotFound, error).hint("holon demo, which leaves one and prints its path")
        );
    }
    if path.is_dir() {
        let error = anyhow!("{} is a folder, and a ledger is a file", path.display());
        let inside = Home::at(path).ledger_file();
        let hint = if inside.exists() {
            format!("{}, which is the ledger of that home", inside.display())
        } else {
            "the file of a ledger, for example ledger.sqlite3 of a home".to_owned()
        };
        return Err(Failure::usage(error).hint(hint));
    }
    Ok(Reader::open(path)?)
}

fn export(reader: &Reader, agent: Option<&AgentId>, recorder: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if recorder {
        read::export_recorder(reader, &mut out)?;
        return Ok(());
    }
    if let Some(agent) = agent {
        reader.last_event(agent).map_err(|error| {
            let unknown = matches!(error, LedgerError::NoAgent { .. });
            if unknown {
                Failure::new(Exit::NotFound, error).hint("without --agent, which exports every agent")
            } else {
                Failure::from(error)
            }
        })?;
    }
    read::export(reader, agent, &mut out)?;
    Ok(())
}
