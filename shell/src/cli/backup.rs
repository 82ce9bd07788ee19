//! `holon ledger backup` and `holon ledger restore`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_ledger::error::LedgerError;
use holon_platform::{Environment, spawn};

use super::exit::Exit;
use super::output::{self, Failure};
use super::size::size;
use crate::archive::{ArchiveError, DraftError};
use crate::backup::{self, Made, MakeError, Request, RestoreError};
use crate::home::Home;
use crate::ledger_check::verified;
use crate::settings::find_home;

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// Make this file, or one that is named after the time in this folder
    #[arg(value_name = "FILE|FOLDER")]
    to: PathBuf,
    /// Back up this cell, where the home's ledger is in a database with several
    #[arg(long, value_name = "CELL", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    cell: i64,
    /// Check the ledger of the backup as a whole, and read the file again
    #[arg(long)]
    verify: bool,
    /// Include credentials.toml: the keys of your providers, in plain text
    #[arg(long)]
    with_credentials: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// Restore this backup into the home, which has to be empty
    #[arg(value_name = "FILE")]
    backup: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn backup(home: Option<PathBuf>, args: BackupArgs) -> Result<Exit, Failure> {
    let home = find_home(home, &Environment::of_process())?;
    let of_cell = home.of_cell(args.cell);
    if let Some(ledger) = of_cell.ledger().file().filter(|ledger| !ledger.exists()) {
        of_cell.ledger().check_end()?;
        let error = anyhow!("there is no ledger at {}", ledger.display());
        return Err(Failure::new(Exit::NotFound, error).hint("holon daemon start, which makes one"));
    }
    let request = Request {
        home: &home,
        of_cell: &of_cell,
        to: &args.to,
        credentials: args.with_credentials,
        verify: args.verify,
    };
    spawn::yield_processor();
    let made = backup::make(&request).map_err(not_made)?;
    let failed = match made.left_out.count {
        0 => Exit::Completed,
        _ => Exit::Failed,
    };
    if args.json {
        output::document(&made)?;
    } else {
        output::line(&told(&made))?;
    }
    if made.left_out.count > 0 {
        output::note(&format!("holon: {} files are not in it as they are:", made.left_out.count));
        for what in &made.left_out.first {
            output::note(&format!("  {what}"));
        }
    }
    Ok(failed)
}

fn not_made(error: MakeError) -> Failure {
    if error.is_full() {
        let hint = "free space for a copy of the ledger and for the backup, where the backup is made";
        return Failure::from(error).hint(hint);
    }
    match &error {
        MakeError::Draft(DraftError::Exists { .. }) => Failure::new(Exit::RefusedByState, error)
            .hint("another name, or a folder: the name is chosen then"),
        MakeError::Draft(DraftError::Busy { .. }) => Failure::new(Exit::RefusedByState, error),
        MakeError::Ledger(LedgerError::Lost { .. } | LedgerError::Damaged { .. })
        | MakeError::NotInOrder(_) => {
            Failure::from(error).hint("holon ledger verify; earlier backups may hold it whole")
        }
        MakeError::Draft(_)
        | MakeError::Ledger(_)
        | MakeError::Read { .. }
        | MakeError::Write(_)
        | MakeError::Archive(_) => Failure::from(error),
    }
}

fn told(made: &Made) -> String {
    let checked = made.verified.as_ref().map(|report| format!("\n{}", verified(report)));
    format!(
        "{}: {}, with the ledger ({}, up to {}) and {} more files{}",
        made.path.display(),
        size(made.size_bytes),
        size(made.ledger.bytes),
        made.ledger.head,
        made.files.saturating_sub(1),
        checked.unwrap_or_default()
    )
}

pub(super) fn restore(home: Option<PathBuf>, args: RestoreArgs) -> Result<Exit, Failure> {
    let home = find_home(home, &Environment::of_process())?;
    if home.ledger().file().is_none() {
        let error = anyhow!("the ledger of {} is in {}", home.root().display(), home.ledger());
        return Err(Failure::usage(error).hint(
            "a home whose ledger is a file: without store.url and HOLON_STORE_URL. From there, holon cluster import puts it into a database",
        ));
    }
    let backup = std::path::absolute(&args.backup)?;
    let restored = backup::restore(&backup, &home).map_err(not_restored)?;
    if args.json {
        output::document(&restored)?;
        return Ok(Exit::Completed);
    }
    let about = &restored.description;
    output::line(&format!(
        "{}: restored as {} was at {}, with {} files; its ledger ends at {}",
        restored.home_dir.display(),
        about.home_dir,
        about.made_at,
        restored.files,
        about.ledger.head
    ))?;
    if !about.credentials {
        output::note("holon: keys of providers are not in the backup: holon config credentials set NAME");
    }
    if about.home_dir != restored.home_dir.display().to_string() {
        output::note(
            "holon: the home has another path: holon config doctor names the agents that worked in it",
        );
    }
    output::hint("once the other runtime is stopped for good", "holon daemon start --accept-restored");
    Ok(Exit::Completed)
}

fn not_restored(error: RestoreError) -> Failure {
    if error.is_full() {
        return Failure::from(error).hint("free space, then the same command again");
    }
    match &error {
        RestoreError::NotEmpty { home, .. } => {
            let hint = format!("holon --home {}-restored ledger restore FILE", home.display());
            Failure::new(Exit::RefusedByState, error).hint(hint)
        }
        RestoreError::Lock(_) => Failure::new(Exit::RefusedByState, error).hint("another --home"),
        RestoreError::Newer { .. } => Failure::usage(error).hint("that build, or a newer one"),
        RestoreError::Ledger {
            source: LedgerError::NewerSchema { .. } | LedgerError::NewerEvents { .. },
            ..
        } => Failure::usage(error).hint("the build that made it, or a newer one"),
        RestoreError::Archive(ArchiveError::NotOne { .. }) => {
            Failure::usage(error).hint("a file that holon ledger backup has made")
        }
        RestoreError::Archive(ArchiveError::Damaged { .. }) => {
            Failure::new(Exit::Failed, anyhow!("{error}; use another backup"))
        }
        RestoreError::Archive(ArchiveError::Read { .. }) => Failure::new(Exit::NotFound, error),
        RestoreError::Archive(_)
        | RestoreError::Ledger { .. }
        | RestoreError::Home(_)
        | RestoreError::Write { .. } => Failure::from(error),
    }
}

/// Refuses to start a runtime in a home that was restored, unless that is accepted. Only who has the home may call this.
pub(super) fn may_start(home: &Home, accepted: bool) -> Result<(), Failure> {
    if !accepted {
        return backup::may_start(home).map_err(unaccepted);
    }
    if backup::accept(home).map_err(unaccepted)? {
        tracing::warn!("it was accepted that {} was restored from a backup", home.root().display());
    }
    Ok(())
}

/// Whether [`may_start`] would refuse; accepts nothing yet.
pub(super) fn could_start(home: &Home, accepted: bool) -> Result<(), Failure> {
    match backup::may_start(home) {
        Err(backup::Unaccepted::Restored { .. }) if accepted => Ok(()),
        found => found.map_err(unaccepted),
    }
}

fn unaccepted(error: backup::Unaccepted) -> Failure {
    let hint = error.hint();
    Failure::new(Exit::RefusedByState, error).hint(hint)
}
