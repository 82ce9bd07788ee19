//! Who is at the other end of TCP connections: told by the kernel alone, and with nothing taken on trust. What it does
//! not say is no answer: a socket that no process has open may be on its way from one to another.
//!
//! The kernel leads from a process to its sockets and not back. So all processes are gone through, once for all
//! connections that are asked about.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

use rustix::process::geteuid;

use super::is_confined;
use super::socket::{Socket, Unidentified, other_ends};

/// Who connected over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A process of this user, in this container, that is not held back as commands are.
    Owner,
    /// A process that is held back as commands are.
    Confined,
    /// Somebody on this machine; which process that is, the kernel does not say.
    Hidden,
    /// Another user of this machine, or another container.
    Other,
    /// Somebody on another machine.
    Remote,
    /// Somebody on this machine; which process that is, nobody asked.
    Unasked,
}

/// How many of the processes that have a socket open are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// None: whether it is of this machine is enough.
    Machine,
    /// One: whoever shares a connection with others asks for all of them.
    First,
    /// Each: a confined one may have given it to somebody who keeps it.
    Every,
}

/// A connection whose other end is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub own: SocketAddr,
    pub peer: SocketAddr,
    pub care: Care,
}

/// Who is at the other end of each of these connections, in their order.
pub fn of_tcp(all: &[Asked]) -> Vec<Standing> {
    let ends: Vec<_> = all.iter().map(|asked| (asked.own, asked.peer)).collect();
    let mut sought = Sought::default();
    let mut standings = Vec::with_capacity(all.len());
    for (asked, found) in all.iter().zip(other_ends(&ends)) {
        standings.push(match found {
            Ok(Some(_)) if asked.care == Care::Machine => Standing::Unasked,
            Ok(Some(socket)) => sought.add(standings.len(), socket, asked.care),
            Ok(None) if is_elsewhere(asked.peer.ip()) => Standing::Remote,
            Ok(None) | Err(Unidentified) => Standing::Hidden,
        });
    }
    sought.find(&mut standings);
    standings
}

/// Sockets whose processes are looked for.
#[derive(Default)]
struct Sought {
    by_inode: HashMap<u64, Wanted>,
}

struct Wanted {
    /// Which of the connections asked.
    at: Vec<usize>,
    care: Care,
    uid: u32,
}

impl Sought {
    /// What is known of a socket before any process is looked at.
    fn add(&mut self, at: usize, socket: Socket, care: Care) -> Standing {
        // Without a number nobody has it open any more; the kernel calls it root's then.
        if socket.inode == 0 {
            return Standing::Hidden;
        }
        let own = geteuid();
        // Root may be confined, and be somebody else then.
        if socket.uid != own.as_raw() && !own.is_root() {
            return Standing::Other;
        }
        let wanted = Wanted { at: Vec::new(), care, uid: socket.uid };
        self.by_inode.entry(socket.inode).or_insert(wanted).at.push(at);
        Standing::Hidden
    }

    /// Goes through all processes, until enough is known of every socket.
    fn find(mut self, standings: &mut [Standing]) {
        if self.by_inode.is_empty() {
            return;
        }
        for pid in newest_first() {
            let mut traits = None;
            for inode in open_sockets(pid) {
                let Some(wanted) = self.by_inode.get(&inode) else { continue };
                let traits = *traits.get_or_insert_with(|| Traits::of(pid));
                let mut enough = false;
                for &at in &wanted.at {
                    let Some(standing) = standings.get_mut(at) else { continue };
                    *standing = traits.change(*standing, wanted.uid);
                    enough = *standing == Standing::Confined || wanted.care == Care::First;
                }
                if enough {
                    self.by_inode.remove(&inode);
                }
            }
            if self.by_inode.is_empty() {
                return;
            }
        }
    }
}

/// What counts of a process.
#[derive(Clone, Copy)]
struct Traits {
    confined: bool,
    in_this_container: bool,
}

impl Traits {
    fn of(pid: u32) -> Self {
        Self { confined: is_confined(pid), in_this_container: is_in_this_container(pid) }
    }

    /// What is known of a socket once it is known that this process has it open, too.
    fn change(self, before: Standing, uid: u32) -> Standing {
        if self.confined || before == Standing::Confined {
            return Standing::Confined;
        }
        let other = uid != geteuid().as_raw() || !self.in_this_container;
        if other || before == Standing::Other { Standing::Other } else { Standing::Owner }
    }
}

/// All processes; who has just connected is mostly a young one.
fn newest_first() -> Vec<u32> {
    let pid = |name: &OsStr| name.to_str()?.parse::<u32>().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all: Vec<u32> = all.filter_map(|entry| pid(&entry.file_name())).collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    all
}

/// The numbers of its sockets, as far as this process may look into that one.
fn open_sockets(pid: u32) -> impl Iterator<Item = u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| number(&fs::read_link(entry.path()).ok()?))
}

/// Of `socket:[123]`.
fn number(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Whether that process sees the users and the processes that this one sees.
fn is_in_this_container(pid: u32) -> bool {
    ["user", "pid"].iter().all(|kind| {
        let space = |process: &str| fs::read_link(format!("/proc/{process}/ns/{kind}"));
        matches!((space("self"), space(&pid.to_string())), (Ok(own), Ok(other)) if own == other)
    })
}

/// Whether no address of this machine is meant: others can't be listened at.
fn is_elsewhere(ip: IpAddr) -> bool {
    !ip.to_canonical().is_loopback() && UdpSocket::bind((ip, 0)).is_err()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn this_process_is_its_own_peer_and_who_is_gone_is_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let client = TcpStream::connect(own).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let standing = |care| of_tcp(&[Asked { own, peer, care }]);
        for care in [Care::First, Care::Every] {
            assert_eq!(standing(care), [Standing::Owner]);
        }
        assert_eq!(standing(Care::Machine), [Standing::Unasked]);
        drop(client);
        // Its end is there without anybody who has it open, and then no more.
        assert_eq!(standing(Care::First), [Standing::Hidden]);
        drop(server);
        assert_eq!(standing(Care::First), [Standing::Hidden]);
    }

    #[test]
    fn another_machine_is_elsewhere() {
        let [own, peer] = ["127.0.0.1:7", "192.0.2.1:7"].map(|address| address.parse().unwrap());
        for care in [Care::Machine, Care::First] {
            assert_eq!(of_tcp(&[Asked { own, peer, care }]), [Standing::Remote]);
        }
    }

    #[test]
    fn many_are_found_at_once_each_for_itself() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let mut kept = Vec::new();
        let mut asked = Vec::new();
        for number in 0..60 {
            let client = TcpStream::connect(own).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let care = [Care::First, Care::Every, Care::Machine][number % 3];
            asked.push(Asked { own, peer, care });
            // Every fourth has gone.
            kept.push((server, (number % 4 != 0).then_some(client)));
        }
        // The same connection may be asked about twice.
        asked.push(asked[1]);
        let expected = |(number, asked): (usize, &Asked)| match asked.care {
            // An end that nobody has open is an end all the same.
            Care::Machine => Standing::Unasked,
            Care::First | Care::Every if number % 4 == 0 && number < 60 => Standing::Hidden,
            Care::First | Care::Every => Standing::Owner,
        };
        let expected: Vec<_> = asked.iter().enumerate().map(expected).collect();
        assert_eq!(of_tcp(&asked), expected);
        drop(kept);
    }

    #[test]
    fn a_confined_process_among_several_decides() {
        let (own, other) = (geteuid().as_raw(), geteuid().as_raw() + 1);
        let free = Traits { confined: false, in_this_container: true };
        let (confined, elsewhere) =
            (Traits { confined: true, ..free }, Traits { in_this_container: false, ..free });
        for (before, traits, uid, after) in [
            (Standing::Hidden, free, own, Standing::Owner),
            (Standing::Hidden, free, other, Standing::Other),
            (Standing::Hidden, elsewhere, own, Standing::Other),
            (Standing::Other, free, own, Standing::Other),
            (Standing::Owner, elsewhere, own, Standing::Other),
            (Standing::Owner, confined, own, Standing::Confined),
            (Standing::Other, confined, other, Standing::Confined),
        ] {
            assert_eq!(traits.change(before, uid), after, "{before:?}");
        }
    }
}
