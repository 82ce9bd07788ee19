//! `holon ledger replay`: decisions taken again, by this build, by another one, or under another configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::anyhow;
use clap::Args;
use holon_law::replay::{Again, AuditReport};
use holon_ledger::{LedgerPlace, read};
use holon_platform::{Environment, build};

use super::exit::Exit;
use super::ledger::{Which, open};
use super::output::{self, Failure};
use crate::ledger_check::replayed;
use crate::settings::Settings;

/// Bytes of a configuration file at most, here: whatever is larger is no configuration.
const CONFIG_BYTES: u64 = 4 << 20;

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    ledger: Which,
    /// Replay decisions of other builds too, to show where this build differs
    #[arg(long)]
    all_builds: bool,
    /// Show the first decision that another build (a program) or configuration (a file of TOML) takes otherwise;
    /// nothing is performed
    #[arg(long, value_name = "BUILD|CONFIG")]
    against: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn replay(home: Option<PathBuf>, args: ReplayArgs) -> Result<Exit, Failure> {
    let place = args.ledger.place(home)?;
    let again = if args.all_builds { Again::Every } else { Again::Build(build::id().to_owned()) };
    let report = match &args.against {
        None => read::replay(&open(&place)?, again)?,
        Some(other) if is_program(other)? => return by(other, &place, args.json),
        Some(config) => under(config, &place, again)?,
    };
    output::line(&if args.json { serde_json::to_string(&report)? } else { replayed(&report) })?;
    Ok(Exit::Completed)
}

fn is_program(path: &Path) -> Result<bool, Failure> {
    let about = fs::metadata(path).map_err(|error| {
        Failure::new(Exit::NotFound, anyhow!("--against {}: {error}", path.display()))
            .hint("the path of a holon program, or of a config.toml")
    })?;
    let executable = about.permissions().mode() & 0o111 != 0;
    if !about.is_file() || (!executable && about.len() > CONFIG_BYTES) {
        let error = anyhow!("--against {} is neither a program nor a configuration", path.display());
        return Err(Failure::usage(error).hint("the path of a holon program, or of a config.toml"));
    }
    Ok(executable)
}

/// The other build decides again what every build has decided, and reports by itself.
fn by(program: &Path, place: &LedgerPlace, json: bool) -> Result<Exit, Failure> {
    let Some(file) = place.file() else {
        let error = anyhow!("another build replays the file of a ledger, and this one is in a database");
        return Err(Failure::usage(error).hint("a file that holon ledger backup or agent bundle has written"));
    };
    open(place)?;
    let program = program.canonicalize()?;
    let mut command = Command::new(&program);
    command.args(["ledger", "replay", "--all-builds"]).args(json.then_some("--json")).arg("--").arg(file);
    let status = command
        .status()
        .map_err(|error| Failure::usage(anyhow!("{} can't be started: {error}", program.display())))?;
    Ok(if status.success() { Exit::Completed } else { Exit::Failed })
}

fn under(config: &Path, place: &LedgerPlace, again: Again) -> Result<AuditReport, Failure> {
    let settings = Settings::load(config, &Environment::of_process())?;
    Ok(read::replay_under(&open(place)?, again, settings.core_config()?)?)
}
