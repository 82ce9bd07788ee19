//! `holon ledger gc`: what a home gives up with time.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use clap::Args;
use holon_facts::{Millis, Wall};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{Garbage, OldTexts};
use holon_ledger::sqlite::HomeLock;
use holon_platform::{Environment, clock};
use serde::Serialize;

use super::exit::Exit;
use super::output::{self, Failure};
use super::size::size;
use crate::home::Home;
use crate::prune::{self, Old};
use crate::settings::find_home;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Args)]
pub(super) struct GcArgs {
    /// Keep what is younger than this many days, at most 36500
    #[arg(long, value_name = "DAYS", default_value_t = 30, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=36_500))]
    keep: u32,
    /// Remove what is old of this cell, where the home's ledger is in a database with several
    #[arg(long, value_name = "CELL", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    cell: i64,
    /// Remove texts too that only older events name and no agent needs to go on: long prompts, answers, output of tools
    #[arg(long)]
    texts: bool,
    /// Show what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What was removed, or would be.
#[omit_none]
#[derive(Debug, Serialize)]
struct Removed {
    dry_run: bool,
    keep_days: u32,
    /// Of a ledger in a file; a database keeps the space for what comes.
    before_bytes: Option<u64>,
    after_bytes: Option<u64>,
    ledger: Garbage,
    /// Homes of temporary runs.
    runs: Old,
    /// Output of commands and tasks.
    outputs: Old,
    /// Whether output was left alone since commands are at work.
    commands_at_work: bool,
}

pub(super) fn gc(home: Option<PathBuf>, args: &GcArgs) -> Result<Exit, Failure> {
    let home = find_home(home, &Environment::of_process())?;
    let place = home.of_cell(args.cell).ledger();
    if let Some(path) = place.file().filter(|path| !path.exists()) {
        let error = anyhow!("there is no ledger at {}", path.display());
        return Err(Failure::new(Exit::NotFound, error).hint("another --home"));
    }
    // A runtime holds texts that it will name, and a start must find what it left.
    let lock = match args.dry_run {
        true => None,
        false => Some(HomeLock::acquire(home.root()).map_err(|error| {
            Failure::new(Exit::RefusedByState, error).hint("holon daemon stop, then the same again")
        })?),
    };
    let age = Millis(u64::from(args.keep) * DAY_MS);
    let cutoff = Wall(clock::now().wall.0 - i64::try_from(age.0 * 1_000).unwrap_or(i64::MAX));
    let bytes = || place.file().map(|path| path.metadata().map_or(0, |file| file.len()));
    let before_bytes = bytes();
    let texts = if args.texts { OldTexts::Unused } else { OldTexts::Unnamed };
    let plan = place.garbage(cutoff, texts)?;
    if !args.dry_run {
        place.collect(&plan).map_err(not_collected)?;
    }
    let old = clock::system().checked_sub(Duration::from_millis(age.0)).unwrap_or(SystemTime::UNIX_EPOCH);
    let commands_at_work = has_commands(&home);
    let removed = Removed {
        dry_run: args.dry_run,
        keep_days: args.keep,
        before_bytes,
        after_bytes: bytes(),
        ledger: plan.garbage(),
        runs: prune::runs_before(&home.runs(), old, !args.dry_run),
        outputs: match commands_at_work {
            true => Old::default(),
            false => prune::outputs_before(&home.agents(), old, !args.dry_run),
        },
        commands_at_work,
    };
    drop(lock);
    output::shown(&removed, args.json, || output::line(&told(&removed, args.texts)))
}

/// Whether commands of earlier runtimes may still write their output.
fn has_commands(home: &Home) -> bool {
    home.run_file("commands").read_dir().is_ok_and(|mut folders| folders.next().is_some())
}

fn not_collected(error: LedgerError) -> Failure {
    if matches!(error, LedgerError::Refused { .. } | LedgerError::Held { .. }) {
        return Failure::new(Exit::RefusedByState, error);
    }
    if !matches!(error, LedgerError::Full) {
        return Failure::from(error).hint("holon ledger verify");
    }
    Failure::from(anyhow!(
        "there is no space to write the ledger anew; what was removed of it leaves free pages, which are used again"
    ))
    .hint("free space for a copy of the ledger, then the same again")
}

fn told(removed: &Removed, old_texts: bool) -> String {
    let Removed { ledger, runs, outputs, .. } = removed;
    let rows = [
        ("calls of the flight recorder", ledger.calls, ledger.call_bytes),
        (
            if old_texts { "texts that nothing needs" } else { "texts that no record names" },
            ledger.texts,
            ledger.text_bytes,
        ),
        ("homes of temporary runs", runs.count, runs.bytes),
        ("files with output of commands", outputs.count, outputs.bytes),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(what, count, bytes)| format!("{count:>9} {what}, {}", size(*bytes))).collect();
    if removed.commands_at_work {
        lines.push("output of commands was left alone: some are still at work".to_owned());
    }
    lines.push(match (removed.dry_run, removed.before_bytes, removed.after_bytes) {
        (true, Some(bytes), _) => format!("nothing was changed; the ledger has {}", size(bytes)),
        (true, None, _) => "nothing was changed".to_owned(),
        (false, Some(before), Some(after)) => {
            format!("the ledger had {}, and has {}", size(before), size(after))
        }
        (false, _, _) => "the database uses the space again".to_owned(),
    });
    lines.join("\n")
}
