//! The socket at the other end of a TCP connection, where that is a socket of this machine: whose it is, and its number.
//! The kernel is asked for that one socket (`sock_diag`); where it can't be asked, its list is read, once for all.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// Of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const TCP: u8 = 6;
const INET: u8 = 2;
const INET6: u8 = 10;
/// Bytes of the head of a message, and of what answers a request for a socket.
const HEAD: usize = 16;
const SOCKET: usize = 72;
/// The one request of a connection to the kernel.
const SEQUENCE: u32 = 1;

/// A socket that the kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    /// 0 where no process has it open any more.
    pub(super) uid: u32,
    /// As `/proc/<pid>/fd` names it; 0 where no process has it open any more.
    pub(super) inode: u64,
}

/// Two ends of a connection: here, and there.
pub(super) type Ends = (SocketAddr, SocketAddr);

/// The kernel does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unidentified;

/// The sockets of whoever connected, in the order of the connections; none where no such socket is in this network
/// namespace.
pub(super) fn other_ends(all: &[Ends]) -> Vec<Result<Option<Socket>, Unidentified>> {
    let mut found: Vec<_> = all.iter().map(|&(own, peer)| ask(own, peer).map_err(|_| Unidentified)).collect();
    if found.contains(&Err(Unidentified)) {
        let listed = list(all);
        for (ends, found) in all.iter().zip(&mut found).filter(|(_, found)| found.is_err()) {
            *found = listed.of(*ends);
        }
    }
    found
}

fn ask(own: SocketAddr, peer: SocketAddr) -> io::Result<Option<Socket>> {
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    send(&kernel, &request(own, peer), SendFlags::empty())?;
    let mut answer = [0; 1_024];
    // It has answered before the request was through.
    let (length, _) = recv(&kernel, &mut answer, RecvFlags::DONTWAIT)?;
    read(answer.get(..length).unwrap_or_default(), own, peer)
}

fn request(own: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let family = if peer.is_ipv4() { INET } else { INET6 };
    let mut body = vec![family, TCP, 0, 0];
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(peer.port().to_be_bytes());
    body.extend(own.port().to_be_bytes());
    body.extend(octets(peer.ip()));
    body.extend(octets(own.ip()));
    // Any device, and no cookie.
    body.extend([0; 4]);
    body.extend([0xff; 8]);
    let length = u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEAD + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend(SEQUENCE.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(body);
    message
}

fn read(answer: &[u8], own: SocketAddr, peer: SocketAddr) -> io::Result<Option<Socket>> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is no socket");
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let number =
        |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    if number(8) != Some(SEQUENCE) {
        return Err(odd());
    }
    if kind == Some(ERROR) {
        let code = number(HEAD).ok_or_else(odd)?.cast_signed().wrapping_neg();
        let error = Errno::from_raw_os_error(code);
        return if error == Errno::NOENT { Ok(None) } else { Err(error.into()) };
    }
    let found = answer.get(HEAD..HEAD + SOCKET).filter(|_| kind == Some(BY_FAMILY)).ok_or_else(odd)?;
    // Where the connection is gone the kernel finds whoever listens at its address.
    let ports = [peer.port().to_be_bytes(), own.port().to_be_bytes()].concat();
    if found.get(4..8) != Some(&ports[..]) {
        return Ok(None);
    }
    let (uid, inode) = (number(HEAD + 64).ok_or_else(odd)?, number(HEAD + 68).ok_or_else(odd)?);
    Ok(Some(Socket { uid, inode: inode.into() }))
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let mut padded = [0; 16];
            padded[..4].copy_from_slice(&ip.octets());
            padded
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// Sockets of the kernel's list, by the ends of their connections.
struct Listed {
    found: HashMap<Ends, Option<Socket>>,
    /// Whether all of the list could be read.
    whole: bool,
}

impl Listed {
    fn of(&self, ends: Ends) -> Result<Option<Socket>, Unidentified> {
        match self.found.get(&canonical(ends)).copied().flatten() {
            None if !self.whole => Err(Unidentified),
            found => Ok(found),
        }
    }
}

/// Line by line: there may be many sockets.
fn list(wanted: &[Ends]) -> Listed {
    let found = wanted.iter().map(|&ends| (canonical(ends), None)).collect();
    let mut listed = Listed { found, whole: true };
    // A program may reach an address of the fourth version through a socket of the sixth.
    for name in ["tcp", "tcp6"] {
        listed.whole &= read_list(name, &mut listed.found).is_ok();
    }
    listed
}

fn read_list(name: &str, wanted: &mut HashMap<Ends, Option<Socket>>) -> io::Result<()> {
    for line in BufReader::new(File::open(format!("/proc/self/net/{name}"))?).lines().skip(1) {
        if let Some((ends, socket)) = listed(&line?)
            && let Some(place) = wanted.get_mut(&ends)
        {
            place.get_or_insert(socket);
        }
    }
    Ok(())
}

/// A socket of the list, and the connection of which it is the other end.
fn listed(line: &str) -> Option<(Ends, Socket)> {
    let mut fields = line.split_ascii_whitespace();
    let (there, here) = (address(fields.nth(1)?)?, address(fields.next()?)?);
    let socket = Socket { uid: fields.nth(4)?.parse().ok()?, inode: fields.nth(1)?.parse().ok()? };
    Some(((here, there), socket))
}

/// As the list names them, whatever else belongs to an address.
fn canonical((own, peer): Ends) -> Ends {
    let bare = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    (bare(own), bare(peer))
}

/// `0100007F:1EC6`: each four bytes as a number of this machine, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words = ip
        .as_bytes()
        .chunks(8)
        .map(|word| Some(u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?.to_ne_bytes()));
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let ip = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?)).to_canonical(),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    fn connected(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn list_one(own: SocketAddr, peer: SocketAddr) -> Option<Socket> {
        list(&[(own, peer)]).of((own, peer)).unwrap()
    }

    #[test]
    fn the_kernel_and_its_list_know_the_same_socket() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let (client, server) = connected(place);
            let (own, peer) = (server.local_addr().unwrap(), client.local_addr().unwrap());
            let link = fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
            let uid = rustix::process::geteuid().as_raw();
            let found = ask(own, peer).unwrap().unwrap();
            assert_eq!((found.uid, format!("socket:[{}]", found.inode)), (uid, link.display().to_string()));
            assert_eq!(list_one(own, peer), Some(found));
            drop((client, server));
            let gone = |socket: Option<Socket>| socket.is_none_or(|socket| socket.inode == 0);
            assert!(gone(ask(own, peer).unwrap()) && gone(list_one(own, peer)));
        }
    }

    #[test]
    fn a_socket_of_the_sixth_version_reaches_an_address_of_the_fourth() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let mapped: SocketAddr = format!("[::ffff:127.0.0.1]:{}", own.port()).parse().unwrap();
        let client = TcpStream::connect(mapped).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let found = ask(own, peer).unwrap();
        assert!(found.is_some_and(|socket| socket.inode != 0), "{found:?}");
        assert_eq!(list_one(own, peer), found);
        drop((client, server));
    }

    #[test]
    fn who_listens_at_the_address_of_who_is_gone_is_not_meant() {
        let (listener, another) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let [own, peer] = [listener, another].map(|listener| listener.unwrap());
        let [own_at, peer_at] = [&own, &peer].map(|listener| listener.local_addr().unwrap());
        assert_eq!((ask(own_at, peer_at).unwrap(), list_one(own_at, peer_at)), (None, None));
    }

    #[test]
    fn a_list_that_can_not_be_read_to_its_end_says_of_nobody_that_there_is_none() {
        let (client, server) = connected("127.0.0.1:0");
        let ends = (server.local_addr().unwrap(), client.local_addr().unwrap());
        let nowhere = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let listed = Listed { whole: false, ..list(&[ends, nowhere]) };
        assert!(listed.of(ends).is_ok_and(|socket| socket.is_some()));
        assert_eq!(listed.of(nowhere), Err(Unidentified));
        drop((client, server));
    }
}
