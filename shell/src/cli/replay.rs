//! `holon ledger replay`: decisions taken again, by this build, by another one, or under another configuration.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// What may be named to compare decisions with.
const AGAINST: &str = "the path of a holon program, or of a config.toml";

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
        Failure::new(Exit::NotFound, anyhow!("--against {}: {error}", path.display())).hint(AGAINST)
    })?;
    let executable = about.permissions().mode() & 0o111 != 0;
    if !about.is_file() || (!executable && about.len() > CONFIG_BYTES) {
        let error = anyhow!("--against {} is neither a program nor a configuration", path.display());
        return Err(Failure::usage(error).hint(AGAINST));
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
    is_holon(&program)?;
    let mut command = Command::new(&program);
    command.args(["ledger", "replay", "--all-builds"]).args(json.then_some("--json")).arg("--").arg(file);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(&program, &error))?;
    if !output.status.success() {
        return Ok(Exit::Failed);
    }
    let report = String::from_utf8_lossy(&output.stdout);
    if report.trim().is_empty() {
        return Err(anyhow!("{} ended without a report", program.display()).into());
    }
    output::line(report.trim_end())?;
    Ok(Exit::Completed)
}

/// Another program would do something else with these arguments, and its end would pass for a report.
fn is_holon(program: &Path) -> Result<(), Failure> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(program, &error))?;
    if output.status.success() && output.stdout.starts_with(b"holon ") {
        return Ok(());
    }
    let error = anyhow!("--against {} is no holon program: `--version` does not name one", program.display());
    Err(Failure::usage(error).hint(AGAINST))
}

fn not_started(program: &Path, error: &io::Error) -> Failure {
    Failure::usage(anyhow!("{} can't be started: {error}", program.display()))
}

fn under(config: &Path, place: &LedgerPlace, again: Again) -> Result<AuditReport, Failure> {
    let settings = Settings::load(config, &Environment::of_process())?;
    Ok(read::replay_under(&open(place)?, again, settings.core_config()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_is_no_build_of_holon() {
        for program in ["/bin/true", "/bin/false", "/bin/cat"] {
            let failure = is_holon(Path::new(program)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.error.to_string().contains("is no holon program"), "{}", failure.error);
        }
    }
}
