//! The helper between a supervisor and a command with a terminal: it begins a session, takes its standard
//! input for the session's terminal, and becomes the command.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{ioctl_tiocsctty, setsid};

/// What a shell says of a program that can't be executed.
const CANNOT_EXECUTE: u8 = 126;

/// `arguments` are the program and its own arguments. Returns only if that failed.
pub(super) fn become_command(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = arguments.next() else { return ExitCode::from(CANNOT_EXECUTE) };
    let problem = match setsid().and_then(|_| ioctl_tiocsctty(io::stdin())) {
        Ok(()) => Command::new(&program).args(arguments).exec(),
        Err(problem) => problem.into(),
    };
    // Nobody but the reader of the command's output could be told.
    writeln!(io::stderr(), "{} can't be started: {problem}", program.display()).ok();
    ExitCode::from(CANNOT_EXECUTE)
}
