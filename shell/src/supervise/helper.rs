//! What stands between a supervisor and a command for a moment: this binary once more, which does to itself what only
//! the process itself can do, and then becomes the command.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::process::{ioctl_tiocsctty, setsid};

use crate::confine::Policy;

/// The hidden subcommand that begins a session, with standard input for its terminal.
pub(super) const TERMINAL: &str = "__terminal";
/// The hidden subcommand that confines itself; its first argument is the policy.
const CONFINED: &str = "__confined";

/// What a shell says of a program that can't be executed.
const CANNOT_EXECUTE: u8 = 126;

/// Starts programs that are held back.
#[derive(Debug, Clone)]
pub struct Helper {
    /// This binary.
    program: PathBuf,
    policy: Policy,
}

impl Helper {
    /// `program` is this binary, which is asked for by its hidden subcommand.
    pub fn new(program: &Path, policy: Policy) -> Self {
        Self { program: program.to_owned(), policy }
    }

    /// A program found in `PATH`, through a helper where there is one.
    ///
    /// # Errors
    /// A folder of the policy whose name is not UTF-8.
    pub(crate) fn command(helper: Option<&Self>, program: &str) -> io::Result<Command> {
        let Some(helper) = helper else { return Ok(Command::new(program)) };
        let [helper, subcommand, policy] = words(&helper.program, &helper.policy)?;
        let mut command = Command::new(helper);
        command.args([&subcommand, &policy]).arg(program);
        Ok(command)
    }
}

/// What comes before the words of a command that is to be confined.
pub(super) fn words(program: &Path, policy: &Policy) -> io::Result<[OsString; 3]> {
    Ok([program.into(), CONFINED.into(), serde_json::to_string(policy)?.into()])
}

/// Becomes the command if the process was started for that; returns only if it could not.
pub(super) fn asked(subcommand: &OsStr, mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let prepared = if subcommand == OsStr::new(TERMINAL) {
        setsid().and_then(|_| ioctl_tiocsctty(io::stdin())).map_err(io::Error::from)
    } else if subcommand == OsStr::new(CONFINED) {
        confine(arguments.next())
    } else {
        return None;
    };
    let program = arguments.next()?;
    let problem = match prepared {
        Ok(()) => Command::new(&program).args(arguments).exec(),
        Err(problem) => problem,
    };
    // Nobody but the reader of the command's output could be told.
    writeln!(io::stderr(), "holon: {} can't be started: {problem}", program.display()).ok();
    Some(ExitCode::from(CANNOT_EXECUTE))
}

fn confine(policy: Option<OsString>) -> io::Result<()> {
    let policy = policy.as_deref().and_then(OsStr::to_str).unwrap_or_default();
    serde_json::from_str::<Policy>(policy)?.enter().map_err(io::Error::other)
}
