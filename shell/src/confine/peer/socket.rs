//! The socket at the other end of a TCP connection, where that is a socket of this machine: whose it is, and its number.
//! The kernel is asked for that one socket (`sock_diag`); where it can't be asked, its list is read.

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

/// The socket of whoever connected from `peer` to `own`; none when no such socket is in this network namespace.
///
/// # Errors
/// The kernel tells nobody.
pub(super) fn other_end(own: SocketAddr, peer: SocketAddr) -> io::Result<Option<Socket>> {
    ask(own, peer).or_else(|_| list(own, peer))
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

/// Line by line: there may be many sockets.
fn list(own: SocketAddr, peer: SocketAddr) -> io::Result<Option<Socket>> {
    // A program may reach an address of the fourth version through a socket of the sixth.
    let names = ["tcp", "tcp6"];
    let mut first = None;
    for name in names.into_iter().filter(|name| peer.is_ipv4() || *name == "tcp6") {
        match File::open(format!("/proc/self/net/{name}")) {
            Ok(file) => {
                for line in BufReader::new(file).lines().skip(1) {
                    if let Some(socket) = listed(&line?, own, peer) {
                        return Ok(Some(socket));
                    }
                }
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(None), Err)
}

fn listed(line: &str, own: SocketAddr, peer: SocketAddr) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace();
    let (here, there) = (address(fields.nth(1)?)?, address(fields.next()?)?);
    let is = |found: (IpAddr, u16), wanted: SocketAddr| found == (wanted.ip().to_canonical(), wanted.port());
    if !is(here, peer) || !is(there, own) {
        return None;
    }
    Some(Socket { uid: fields.nth(4)?.parse().ok()?, inode: fields.nth(1)?.parse().ok()? })
}

/// `0100007F:1EC6`: each four bytes as a number of this machine, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
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
    Some((ip, u16::from_str_radix(port, 16).ok()?))
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

    #[test]
    fn the_kernel_and_its_list_know_the_same_socket() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let (client, server) = connected(place);
            let (own, peer) = (server.local_addr().unwrap(), client.local_addr().unwrap());
            let link = fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
            let uid = rustix::process::geteuid().as_raw();
            let found = ask(own, peer).unwrap().unwrap();
            assert_eq!((found.uid, format!("socket:[{}]", found.inode)), (uid, link.display().to_string()));
            assert_eq!(list(own, peer).unwrap(), Some(found));
            drop((client, server));
            let gone = |socket: Option<Socket>| socket.is_none_or(|socket| socket.inode == 0);
            assert!(gone(ask(own, peer).unwrap()) && gone(list(own, peer).unwrap()));
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
        assert_eq!(list(own, peer).unwrap(), found);
        drop((client, server));
    }

    #[test]
    fn who_listens_at_the_address_of_who_is_gone_is_not_meant() {
        let (listener, another) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let [own, peer] = [listener, another].map(|listener| listener.unwrap());
        let [own_at, peer_at] = [&own, &peer].map(|listener| listener.local_addr().unwrap());
        assert_eq!((ask(own_at, peer_at).unwrap(), list(own_at, peer_at).unwrap()), (None, None));
    }
}
