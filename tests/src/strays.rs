//! Processes that outlive whoever started them: how tests find them, and how they are ended with their test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A supervisor that was told to kill its command ends within this.
const PATIENCE: Duration = Duration::from_secs(20);

/// The processes that work in this folder, or somewhere inside it.
pub fn inside(folder: &Path) -> Vec<u32> {
    all()
        .filter(|(_, path)| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .map(pid)
        .collect()
}

/// The supervisors of this home: of its commands, and the one that waits for the next command.
pub fn supervisors(home: &Path) -> Vec<u32> {
    all().filter(|(_, path)| supervises(path, home).is_some()).map(pid).collect()
}

/// Those of them that have begun to execute a command.
pub fn executing(home: &Path) -> Vec<u32> {
    let has_begun = |(_, path): &(u32, PathBuf)| {
        supervises(path, home).is_some_and(|folder| folder.join("started").exists())
    };
    all().filter(has_begun).map(pid).collect()
}

/// The folder in which that process supervises for this home.
fn supervises(process: &Path, home: &Path) -> Option<PathBuf> {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.split(|&byte| byte == 0).skip(1);
    words.next().filter(|word| *word == b"__supervise")?;
    let folder = PathBuf::from(std::str::from_utf8(words.next()?).ok()?);
    folder.as_os_str().as_encoded_bytes().starts_with(home.as_os_str().as_encoded_bytes()).then_some(folder)
}

/// Whether there is such a process; one that nobody has reaped yet is one.
pub fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The children of a process that have ended, and that it has not taken note of.
pub fn zombies_of(parent: u32) -> Vec<u32> {
    let is_one = |(_, path): &(u32, PathBuf)| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name in parentheses may hold anything.
        let mut rest = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        rest.next() == Some("Z") && rest.next() == Some(&parent.to_string())
    };
    all().filter(is_one).map(pid).collect()
}

/// `kill -9` of one process; one that has ended already stays so.
pub fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, Signal::KILL).ok();
    }
}

/// Ends the commands of a home, and whatever else still works in the folder of a test.
pub(crate) fn end(folder: &Path, home: &Path) {
    let commands = fs::read_dir(home.join("run/commands")).into_iter().flatten().flatten();
    let told: Vec<UnixStream> = commands.filter_map(|entry| stop(&entry.path())).collect();
    for mut stream in told {
        // Until it has ended, and closes the connection.
        stream.read_to_end(&mut Vec::new()).ok();
    }
    inside(folder).into_iter().chain(supervisors(home)).for_each(kill);
}

/// Tells a supervisor to kill its command, in the words of `shell/supervise/src/protocol.rs`.
fn stop(folder: &Path) -> Option<UnixStream> {
    let folder = File::open(folder).ok()?;
    // However long the path is.
    let mut stream = UnixStream::connect(format!("/proc/self/fd/{}/socket", folder.as_raw_fd())).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let say = br#"{"say":"stop","force":true}"#;
    let length = u32::try_from(say.len()).ok()?.to_be_bytes();
    stream.write_all(&[&length[..], say].concat()).ok()?;
    Some(stream)
}

fn all() -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

fn pid((pid, _): (u32, PathBuf)) -> u32 {
    pid
}
