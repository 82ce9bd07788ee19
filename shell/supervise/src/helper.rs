//! What stands between a supervisor, or the runtime, and a program: this binary once more, which does to itself what
//! only the process itself can do. It then becomes the program, or stays until all of it has ended.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holon_platform::{clock, process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, ioctl_tiocsctty, set_child_subreaper, setsid};

use super::phase::KILLED;
use super::tree::Tree;
use crate::confine::Policy;

/// The hidden subcommand that begins a session, with standard input for its terminal.
pub(super) const TERMINAL: &str = "__terminal";
/// The hidden subcommand that confines itself; its first argument is the policy.
const CONFINED: &str = "__confined";
/// The same for a program that leaves nothing behind.
const WHOLE: &str = "__confined_whole";

/// What a shell says of a program that can't be executed.
const CANNOT_EXECUTE: u8 = 126;
/// Between two looks at those who are being killed.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Starts programs for the runtime itself: held back, and away from its terminal. What they have started ends with them.
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

    /// A program found in `PATH`, in a process group of its own, through a helper where there is one.
    ///
    /// # Errors
    /// A folder of the policy whose name is not UTF-8.
    pub fn command(helper: Option<&Self>, program: &str) -> io::Result<Command> {
        let Some(helper) = helper else {
            let mut command = Command::new(program);
            command.process_group(0);
            return Ok(command);
        };
        // It begins a session, which a leader of a group can't.
        let mut command = Command::new(&helper.program);
        command.arg(WHOLE).arg(serde_json::to_string(&helper.policy)?).arg(program);
        Ok(command)
    }
}

/// What comes before the words of a command that is to be confined.
pub(super) fn words(policy: &Policy) -> io::Result<[OsString; 3]> {
    Ok([super::program().into(), CONFINED.into(), serde_json::to_string(policy)?.into()])
}

/// Does its work if the process was started for that. Becoming a program returns only if it could not.
pub(super) fn asked(subcommand: &OsStr, mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let whole = subcommand == OsStr::new(WHOLE);
    let prepared = if subcommand == OsStr::new(TERMINAL) {
        setsid().and_then(|_| ioctl_tiocsctty(io::stdin())).map_err(io::Error::from)
    } else if whole || subcommand == OsStr::new(CONFINED) {
        confine(arguments.next())
    } else {
        return None;
    };
    let program = arguments.next()?;
    let mut command = Command::new(&program);
    command.args(arguments);
    let ended = match prepared {
        Ok(()) if whole => run_whole(command),
        Ok(()) => Err(command.exec()),
        Err(problem) => Err(problem),
    };
    Some(ended.unwrap_or_else(|problem| {
        // Nobody but the reader of the program's output could be told.
        writeln!(io::stderr(), "holon: {} can't be started: {problem}", program.display()).ok();
        ExitCode::from(CANNOT_EXECUTE)
    }))
}

fn confine(policy: Option<OsString>) -> io::Result<()> {
    let policy = policy.as_deref().and_then(OsStr::to_str).unwrap_or_default();
    let policy: Policy = serde_json::from_str(policy)?;
    // A terminal of the runtime would take what is typed into it for its user's word. Whoever leads a group has a
    // supervisor, which has no terminal.
    setsid().ok();
    // What is open already is not held back: of whoever began the runtime there may be more than three.
    close_fds::set_fds_cloexec(3, &[]);
    policy.enter().map_err(io::Error::other)
}

/// Runs it, and ends whoever is left of it.
fn run_whole(mut command: Command) -> io::Result<ExitCode> {
    set_child_subreaper(Some(getpid()))?;
    let child = command.spawn()?;
    let main = process::pid(child.id()).ok_or_else(|| io::Error::other("the process has no id"))?;
    let mut tree = Tree::of(main);
    // It may have ended before anybody listened.
    tree.reap();
    while tree.status.is_none() && !tree.empty {
        let mut watched: Vec<PollFd<'_>> =
            tree.ends().map(|ends| PollFd::new(ends, PollFlags::IN)).into_iter().collect();
        // Where nothing tells of its end it is looked for again and again.
        let again = watched.is_empty().then_some(&LOOK_AGAIN);
        poll(&mut watched, again).ok();
        tree.reap();
    }
    let until = clock::now().mono.after(KILLED);
    while !tree.empty && clock::now().mono < until {
        tree.signal(Signal::KILL);
        poll(&mut [], Some(&LOOK_AGAIN)).ok();
        tree.reap();
    }
    let status = tree.status.and_then(|status| u8::try_from(status).ok());
    Ok(ExitCode::from(status.unwrap_or(CANNOT_EXECUTE)))
}
