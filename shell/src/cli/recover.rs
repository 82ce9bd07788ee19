//! `holon ledger recover`: what a damaged ledger lost, and how it goes on without that.

use std::path::{Path, PathBuf};

use clap::Args;
use holon_law::Laws;
use holon_ledger::LedgerPlace;
use holon_ledger::error::LedgerError;
use holon_ledger::read::{check_restorable, verify_newest};
use holon_platform::clock;
use serde_json::json;

use super::exit::Exit;
use super::ledger::Which;
use super::output::{self, Failure};
use holon_ledger::sqlite::{self as ledger, HomeLock, Loss, RecordCheck};

#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    #[command(flatten)]
    ledger: Which,
    /// Replace the ledger with its intact records and keep the damaged files aside
    #[arg(long)]
    accept_loss: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn recover(home: Option<PathBuf>, args: RecoverArgs) -> Result<Exit, Failure> {
    let place = args.ledger.place(home)?;
    let Some(path) = place.file() else {
        let error =
            anyhow::anyhow!("the ledger is in {place}, and what a database has lost is not in its files");
        return Err(
            Failure::usage(error).hint("holon ledger verify, then restore a newer backup of the database")
        );
    };
    let path = std::path::absolute(path)?;
    if path.is_dir() {
        let error = anyhow::anyhow!("{} is a folder, and a ledger is a file", path.display());
        return Err(Failure::usage(error).hint("the file of a ledger, for example ledger.sqlite3 of a home"));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    // A runtime holds what it was given before, and would write on.
    let _held = if folder.join("run").is_dir() { Some(HomeLock::acquire(folder)?) } else { None };
    if args.accept_loss { accept(&path, args.json) } else { look(&path, args.json) }
}

fn laws() -> RecordCheck {
    let mut laws = Laws::new();
    Box::new(move |record| laws.step(record).map_err(|violation| violation.to_string()))
}

fn look(path: &Path, as_json: bool) -> Result<Exit, Failure> {
    let Some(loss) = ledger::examine(path, &mut laws)? else { return in_order(path, as_json) };
    if as_json {
        output::document(&json!({ "in_order": false, "accepted": false, "loss": loss }))?;
    } else {
        output::line(&told(&loss))?;
        output::line("Nothing was changed.")?;
    }
    output::hint("continue without the lost records", "holon ledger recover --accept-loss");
    Ok(Exit::Failed)
}

fn accept(path: &Path, as_json: bool) -> Result<Exit, Failure> {
    let Some(recovered) = ledger::recover(path, &mut laws)? else { return in_order(path, as_json) };
    if as_json {
        output::document(&json!({
            "in_order": true, "accepted": true, "loss": recovered.loss, "kept": recovered.kept,
        }))?;
    } else {
        output::line(&told(&recovered.loss))?;
        output::line(&format!("The files as they were are kept in {}.", recovered.kept.display()))?;
    }
    Ok(Exit::Completed)
}

/// It has lost nothing. Whether a start takes it is another question.
fn in_order(path: &Path, as_json: bool) -> Result<Exit, Failure> {
    let place = LedgerPlace::from(path.to_owned());
    if let Err(error) = startable(&place) {
        let problem = error.to_string();
        if as_json {
            output::document(&json!({ "in_order": false, "accepted": false, "problem": problem }))?;
        } else {
            output::line(&format!(
                "{place} has lost nothing that was acknowledged, and a start is refused: {problem}"
            ))?;
            output::line("Nothing was changed.")?;
        }
        if error.is_for_newer_builds() {
            output::hint("use", "the build that wrote it, or a later one");
        } else {
            output::hint("make another home of a backup", "holon --home OTHER ledger restore FILE");
        }
        return Ok(Exit::Failed);
    }
    if as_json {
        output::document(&json!({ "in_order": true, "accepted": false }))?;
    } else {
        output::line(&format!("{} holds everything that was acknowledged", path.display()))?;
    }
    Ok(Exit::Completed)
}

/// What a start reads of it before it is ready.
fn startable(place: &LedgerPlace) -> Result<(), LedgerError> {
    place.check_start()?;
    match place.reader() {
        Ok(reader) => {
            verify_newest(&reader)?;
            check_restorable(&reader, clock::now().wall).map(drop)
        }
        // A start makes one.
        Err(error) if place.is_absent() || error.is_empty() => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is gone, and what is left.
fn told(loss: &Loss) -> String {
    let ledger = loss.ledger.display();
    let problem = &loss.problem;
    let left = match &loss.left {
        Some(left) => format!("What is whole ends at {left}."),
        None => "Nothing of it is left: the next start makes a new one.".to_owned(),
    };
    let gone = match (&loss.acknowledged, &loss.left) {
        _ if loss.is_nothing() => "Nothing that was acknowledged is gone.".to_owned(),
        (Some(head), Some(left)) if head.batch <= left.batch => {
            format!("It is not the history in which {head} was acknowledged.")
        }
        (Some(head), Some(left)) => format!(
            "Gone are batches {} to {} with {} records; the last that was acknowledged is {head}.",
            left.batch + 1,
            head.batch,
            head.records - left.records
        ),
        (Some(head), None) => format!("Gone is everything up to {head}."),
        (None, _) => "How much was acknowledged behind that is not known.".to_owned(),
    };
    format!("{ledger}: {problem}.\n{left}\n{gone}")
}
