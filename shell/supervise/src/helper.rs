//! What stands between a supervisor, or the runtime, and a program: this binary once more, which does to itself what
//! only the process itself can do. It then becomes the program, or stays until all of it has ended.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holon_facts::Millis;
use holon_platform::{clock, process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, ioctl_tiocsctty, set_child_subreaper, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdout};

use super::phase::KILLED;
use super::tree::Tree;
use crate::confine::Policy;

/// The hidden subcommand that begins a session, with standard input for its terminal.
pub(super) const TERMINAL: &str = "__terminal";
/// The hidden subcommand that confines itself; its first argument is the policy.
const CONFINED: &str = "__confined";
/// The same for a program that leaves nothing behind.
const WHOLE: &str = "__confined_whole";
/// The hidden subcommand that keeps a program which serves the runtime: it ends with the one who writes to it.
const SERVER: &str = "__tool_server";

/// The status of a program that can't be executed, as shells have it.
pub const CANNOT_EXECUTE: u8 = 126;
/// Between two looks at those who are being killed.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Between two looks at those who are asked to end, or may end by themselves.
const LOOK_AT_THE_END: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A server that nobody writes to any more may end by itself for so long.
pub const SERVER_ENDS: Millis = Millis::seconds(5);
/// Once it is asked to end, it and whoever it has started have so long.
pub const SERVER_GRACE: Millis = Millis::seconds(2);

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

/// A program that reads requests from its standard input, through a helper in a session of its own; `helper` is this
/// binary. Once nobody has the other end of that input, or the program has ended, whatever it has started ends: after
/// [`SERVER_ENDS`] it is asked to, and killed after [`SERVER_GRACE`]. The helper's own end says that nobody is left.
pub fn server(helper: &Path, program: &OsStr) -> Command {
    let mut command = Command::new(helper);
    command.arg(SERVER).arg(program);
    command
}

/// What comes before the words of a command that is to be confined.
pub(super) fn words(policy: &Policy) -> io::Result<[OsString; 3]> {
    Ok([super::program().into(), CONFINED.into(), serde_json::to_string(policy)?.into()])
}

/// Does its work if the process was started for that. Becoming a program returns only if it could not.
pub(super) fn asked(subcommand: &OsStr, mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let whole = subcommand == OsStr::new(WHOLE);
    let serves = subcommand == OsStr::new(SERVER);
    let prepared = if subcommand == OsStr::new(TERMINAL) {
        setsid().and_then(|_| ioctl_tiocsctty(io::stdin())).map_err(io::Error::from)
    } else if whole || subcommand == OsStr::new(CONFINED) {
        confine(arguments.next())
    } else if serves {
        // Whoever leads a group can't begin a session, and needs none.
        setsid().ok();
        Ok(())
    } else {
        return None;
    };
    let program = arguments.next()?;
    let mut command = Command::new(&program);
    command.args(arguments);
    let ended = match prepared {
        Ok(()) if whole => run_whole(command),
        Ok(()) if serves => keep_server(command),
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
        // Where nothing reports its end it is looked for again and again.
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

/// Runs it as long as somebody can write to it, and then ends it with all that it has started.
fn keep_server(mut command: Command) -> io::Result<ExitCode> {
    set_child_subreaper(Some(getpid()))?;
    let child = command.process_group(0).spawn()?;
    let main = process::pid(child.id()).ok_or_else(|| io::Error::other("the process has no id"))?;
    let mut tree = Tree::of(main);
    // Its own end of the output closes with the program's: who reads it sees the end.
    let nothing = File::options().write(true).open("/dev/null")?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    let stdin = io::stdin();
    let mut written_to = true;
    tree.reap();
    while written_to && tree.status.is_none() && !tree.empty {
        // Nothing is read: that the other end is gone is told in any case.
        let mut watched = vec![PollFd::new(&stdin, PollFlags::empty())];
        watched.extend(tree.ends().map(|ends| PollFd::new(ends, PollFlags::IN)));
        let again = (watched.len() == 1).then_some(&LOOK_AT_THE_END);
        poll(&mut watched, again).ok();
        written_to = watched[0].revents().is_empty();
        tree.reap();
    }
    if tree.status.is_none() {
        wait_for_end(&mut tree, SERVER_ENDS);
    }
    for (signal, patience) in [(Signal::TERM, SERVER_GRACE), (Signal::KILL, KILLED)] {
        if !tree.empty {
            tree.signal(signal);
            wait_for_end(&mut tree, patience);
        }
    }
    let status = tree.status.and_then(|status| u8::try_from(status).ok());
    Ok(ExitCode::from(status.unwrap_or(CANNOT_EXECUTE)))
}

/// Waits until nobody is left; whoever comes up after a signal gets it, too.
fn wait_for_end(tree: &mut Tree, patience: Millis) {
    let until = clock::now().mono.after(patience);
    while !tree.empty && clock::now().mono < until {
        poll(&mut [], Some(&LOOK_AT_THE_END)).ok();
        tree.reap();
        tree.signal_newcomers();
    }
}
