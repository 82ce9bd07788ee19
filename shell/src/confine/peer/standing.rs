//! Who is at the other end of a TCP connection: told by the kernel alone, and with nothing taken on trust. What it does
//! not say is no answer: a socket that no process has open may be on its way from one to another.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::is_confined;
use super::socket::{Socket, other_end};

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
}

/// How many of the processes that have a socket open are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// One: whoever shares a connection with others asks for all of them.
    First,
    /// Each: a confined one may have given it to somebody who keeps it.
    Every,
}

/// Who connected from `peer` to `own`.
pub fn of_tcp(own: SocketAddr, peer: SocketAddr, care: Care) -> Standing {
    match other_end(own, peer) {
        Ok(Some(socket)) => of_socket(socket, care),
        Ok(None) if is_elsewhere(peer.ip()) => Standing::Remote,
        Ok(None) | Err(_) => Standing::Hidden,
    }
}

fn of_socket(socket: Socket, care: Care) -> Standing {
    let own = geteuid();
    // Root may be confined, and be somebody else then.
    if socket.uid != own.as_raw() && !own.is_root() {
        return Standing::Other;
    }
    let link = PathBuf::from(format!("socket:[{}]", socket.inode));
    // Nobody has it open any more.
    let processes = if socket.inode == 0 { Vec::new() } else { newest_first() };
    let mut standing = Standing::Hidden;
    for process in processes.into_iter().filter(|pid| has_open(*pid, &link)) {
        if is_confined(process) {
            return Standing::Confined;
        }
        let other = socket.uid != own.as_raw() || !is_in_this_container(process);
        standing = if other || standing == Standing::Other { Standing::Other } else { Standing::Owner };
        if care == Care::First {
            return standing;
        }
    }
    standing
}

/// All processes; who has just connected is mostly a young one.
fn newest_first() -> Vec<u32> {
    let pid = |name: &OsStr| name.to_str()?.parse::<u32>().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all: Vec<u32> = all.filter_map(|entry| pid(&entry.file_name())).collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    all
}

/// As far as this process may look into that one.
fn has_open(pid: u32, link: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == link))
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
        for care in [Care::First, Care::Every] {
            assert_eq!(of_tcp(own, peer, care), Standing::Owner);
        }
        drop(client);
        // Its end is there without anybody who has it open, and then no more.
        assert_eq!(of_tcp(own, peer, Care::First), Standing::Hidden);
        drop(server);
        assert_eq!(of_tcp(own, peer, Care::First), Standing::Hidden);
    }

    #[test]
    fn another_machine_is_elsewhere() {
        let [own, peer] = ["127.0.0.1:7", "192.0.2.1:7"].map(|address| address.parse().unwrap());
        assert_eq!(of_tcp(own, peer, Care::First), Standing::Remote);
    }
}
