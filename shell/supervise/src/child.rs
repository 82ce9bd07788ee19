//! The start of a command: with a pipe for each of its streams, or with a terminal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::helper;
use super::protocol::{Input, Item};
use crate::confine::Policy;

/// The size that programs expect where nobody looks.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

pub(super) struct Started {
    pub(super) pid: u32,
    pub(super) stdout: Option<OwnedFd>,
    /// None with a terminal, which is one stream.
    pub(super) stderr: Option<OwnedFd>,
    /// Where its input is written; none when it has none.
    pub(super) input: Option<OwnedFd>,
}

/// Starts it, in a process group of its own.
pub(super) fn start(item: &Item, confine: Option<&Policy>) -> io::Result<Started> {
    let words = words(item, confine)?;
    if item.tty { with_terminal(item, words) } else { with_pipes(item, words) }
}

fn with_pipes(item: &Item, words: Vec<OsString>) -> io::Result<Started> {
    let mut words = words.into_iter();
    let mut child = Command::new(words.next().unwrap_or_default())
        .args(words)
        .current_dir(&item.folder)
        .stdin(match item.input {
            Input::None => Stdio::null(),
            Input::Pipe => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child.stderr.take().map(OwnedFd::from);
    let input = child.stdin.take().map(OwnedFd::from);
    Ok(Started { pid: child.id(), stdout, stderr, input })
}

/// A terminal belongs to a session, which only the process itself can begin: a helper does that, and then
/// becomes the command.
fn with_terminal(item: &Item, words: Vec<OsString>) -> io::Result<Started> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    tcsetwinsize(&theirs, SIZE)?;
    let input = match item.input {
        Input::None => None,
        Input::Pipe => Some(ours.try_clone()?),
    };
    let child: Child = Command::new(super::program())
        .arg(helper::TERMINAL)
        .args(words)
        .current_dir(&item.folder)
        .stdin(theirs.try_clone()?)
        .stdout(theirs.try_clone()?)
        .stderr(theirs)
        .spawn()?;
    Ok(Started { pid: child.id(), stdout: Some(ours), stderr: None, input })
}

/// The program and its arguments: the shell with the command, behind the helper that confines it.
fn words(item: &Item, confine: Option<&Policy>) -> io::Result<Vec<OsString>> {
    let shell =
        [item.shell.as_os_str(), OsStr::new(if item.login { "-lc" } else { "-c" }), OsStr::new(&item.cmd)];
    let helper = confine.map(helper::words).transpose()?;
    Ok(helper.into_iter().flatten().chain(shell.map(OsString::from)).collect())
}
