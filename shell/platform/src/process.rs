//! Processes as the kernel knows them: who they are, who their parents are, and how to end those of a
//! session without meeting a stranger.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Rounds of looking for members of a session that is to end; each finds what the last one missed.
const ROUNDS: usize = 20;

/// A process that can't be confused with another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// In ticks since the start of the kernel.
    pub started: u64,
    pub boot_id: String,
}

/// One line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// In ticks since the start of the kernel.
    pub started: u64,
    /// Whether it has ended, and only its parent has not heard of it.
    pub ended: bool,
}

/// What the kernel says of a process; none when there is no such process.
pub fn stat(pid: u32) -> Option<Stat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: u32, line: &str) -> Option<Stat> {
    // The name may contain anything, parentheses and spaces among it.
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let mut number = |skip| fields.nth(skip).and_then(|field| field.parse::<u64>().ok());
    let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
    let started = number(15)?;
    let id = |number: u64| u32::try_from(number).ok();
    Some(Stat { pid, parent: id(parent)?, group: id(group)?, session: id(session)?, started, ended })
}

/// The whole table.
pub fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).collect()
}

/// Everybody who descends from this process, as far as the table shows it at this moment.
pub fn descendants(of: u32) -> Vec<Stat> {
    let (mut others, mut found, mut parents) = (all(), Vec::new(), BTreeSet::from([of]));
    // Each round finds one more generation, or ends it.
    loop {
        let (children, rest): (Vec<Stat>, Vec<Stat>) =
            others.into_iter().partition(|stat| parents.contains(&stat.parent));
        if children.is_empty() {
            return found;
        }
        parents = children.iter().map(|child| child.pid).collect();
        found.extend(children);
        others = rest;
    }
}

/// Kills whoever descends from a process that nobody has waited for.
pub fn kill_descendants(of: Pid) {
    for stat in descendants(of.as_raw_nonzero().get().unsigned_abs()) {
        signal(&stat, Signal::KILL);
    }
}

/// The process that asks.
///
/// # Errors
/// Without `/proc`.
pub fn own_identity() -> io::Result<Identity> {
    identity(std::process::id())
}

/// The process that has this number now.
///
/// # Errors
/// There is none, or no `/proc`.
pub fn identity(pid: u32) -> io::Result<Identity> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("/proc does not show process {pid}"));
    let Stat { started, .. } = stat(pid).ok_or_else(missing)?;
    Ok(Identity { pid, started, boot_id: boot_id()? })
}

/// Which start of the kernel this is.
///
/// # Errors
/// Without `/proc`.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Whether that very process is alive.
pub fn is_alive(identity: &Identity) -> bool {
    let same = |stat: Stat| stat.started == identity.started && !stat.ended;
    boot_id().is_ok_and(|id| id == identity.boot_id) && stat(identity.pid).is_some_and(same)
}

fn is(pid: u32, started: u64) -> bool {
    stat(pid).is_some_and(|stat| stat.started == started)
}

/// Asks that very process to end; says whether it was there to be asked.
pub fn terminate(identity: &Identity) -> bool {
    let Some(handle) = pid(identity.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return false;
    };
    is_alive(identity) && pidfd_send_signal(&handle, Signal::TERM).is_ok()
}

/// The arguments that a process was started with; none when there is no such process, or when it is ending.
pub fn arguments(pid: u32) -> Option<Vec<String>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|line| !line.is_empty())?;
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    let arguments =
        line.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned());
    Some(arguments.collect())
}

pub fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(raw).ok()?)
}

/// What a process leads, and what keeps its number as long as it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Led {
    Session,
    Group,
}

/// Kills that very process, and what is left of the session or group that it led. As long as that has members
/// its number is given to nobody else; where a stranger leads one of that number, ours is gone. Without its
/// leader nothing tells one from another of that number but `ours`.
pub fn kill_led(led: Led, leader: u32, started: u64, ours: impl Fn(u32) -> bool) {
    for _ in 0..ROUNDS {
        let leads = match stat(leader) {
            Some(stat) if stat.started != started => return,
            Some(stat) => !stat.ended,
            None => false,
        };
        let number = |stat: &Stat| match led {
            Led::Session => stat.session,
            Led::Group => stat.group,
        };
        let is_led = |stat: &Stat| number(stat) == leader && stat.started >= started;
        let mut members: Vec<Stat> =
            all().into_iter().filter(|stat| is_led(stat) && (leads || ours(stat.pid))).collect();
        // The leader last: it is what tells the others from strangers.
        members.sort_by_key(|member| member.pid == leader);
        if members.iter().filter(|member| signal(member, Signal::KILL)).count() == 0 {
            return;
        }
    }
}

/// Whether a process was started with that value of a variable.
pub fn has_variable(pid: u32, name: &str, value: &Path) -> bool {
    let wanted = [name.as_bytes(), b"=", value.as_os_str().as_bytes()].concat();
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == wanted))
}

/// Whether there was somebody to signal: a process may end, and its id be given away, at any moment.
pub fn signal(member: &Stat, signal: Signal) -> bool {
    let Some(handle) = pid(member.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return false;
    };
    is(member.pid, member.started) && pidfd_send_signal(&handle, signal).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_line_of_the_table_is_read_whatever_the_name_is() {
        let line = "42 (a) b) (c) S 7 42 40 34816 42 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        let stat = parse(42, line).unwrap();
        assert_eq!(stat, Stat { pid: 42, parent: 7, group: 42, session: 40, started: 12_345, ended: false });
    }

    /// A session that its leader has left may be anybody's who has got its number.
    #[test]
    fn without_its_leader_only_ours_of_a_session_are_killed() {
        let mut leader = std::process::Command::new("setsid")
            .args(["--wait", "sh", "-c", "sleep 987 >/dev/null 2>&1 & echo $$ $!"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        leader.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
        leader.wait().unwrap();
        let pids: Vec<u32> = said.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let (leader, member) = (pids[0], stat(pids[1]).unwrap());
        assert!(stat(leader).is_none() && member.session == leader);
        let there = || stat(member.pid).is_some_and(|stat| stat.started == member.started && !stat.ended);
        kill_led(Led::Session, leader, 0, |_| false);
        assert!(there(), "a stranger");
        kill_led(Led::Session, leader, 0, |pid| pid == member.pid);
        let gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !there()
        });
        assert!(gone);
    }

    #[test]
    fn who_asks_is_alive_and_nobody_else_is_meant() {
        let own = own_identity().unwrap();
        assert!(is_alive(&own));
        assert!(all().iter().any(|stat| stat.pid == own.pid && stat.started == own.started));
        assert!(!is_alive(&Identity { started: own.started + 1, ..own.clone() }));
        assert!(!is_alive(&Identity { boot_id: "another".into(), ..own }));
    }
}
