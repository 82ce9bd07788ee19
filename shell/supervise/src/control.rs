//! The connections of a supervisor: the one that it was started with, and those of runtimes that come later.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_facts::Millis;
use holon_platform::process::Identity;
use holon_platform::socket::inside;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use subtle::ConstantTimeEq;

use super::input::{Answer, ENDED, Given};
use super::lease::Lease;
use super::protocol::{self, Hidden, Plan, Reply, Request};
use super::{KEY, SOCKET};
use crate::confine::peer::is_confined;

/// Connections at a time; further ones wait.
const CONNECTIONS: usize = 8;
/// Bytes that are read from a connection at a time: a large message must not hold up the rest.
const AT_ONCE: usize = 64 << 10;
/// The order to start comes within a commit of the ledger; a disk that is full may take two minutes. One that was started
/// before there was a command has waited for one minute more.
const GO_TIMEOUT: Duration = Duration::from_mins(3);

pub(super) struct Control {
    identity: Identity,
    listener: UnixListener,
    connections: Vec<Connection>,
    /// What a runtime has to know; none where the one that started this made none.
    key: Option<String>,
    /// Of the next connection.
    number: u64,
    /// Whether the end of the first connection is a request to end.
    tied: bool,
    /// Until when commands may run.
    lease: Option<Lease>,
}

struct Connection {
    number: u64,
    stream: UnixStream,
    arrived: Vec<u8>,
    /// Whether a runtime is at the other end.
    proven: bool,
}

/// What comes of a supervisor that is ready.
pub(super) enum Word {
    Go(Box<Plan>, Hidden),
    /// The runtime thought better of it.
    Dismissed,
    /// The runtime is gone, or takes longer than anybody waits.
    Silence,
}

/// What came on all connections together.
#[derive(Default)]
pub(super) struct Received {
    pub(super) wish: Option<Wish>,
    pub(super) inputs: Vec<Given>,
    /// The connections that ask who is there.
    pub(super) asked: Vec<u64>,
}

/// What a runtime wants of a command in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    Stop,
    StopNow,
}

impl Control {
    /// Makes the socket and reports the identity.
    pub(super) fn new(runtime: UnixStream, folder: &Path, identity: Identity) -> io::Result<Self> {
        let key = match fs::read_to_string(folder.join(KEY)) {
            Ok(key) => Some(key.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let folder = File::open(folder)?;
        let listener = UnixListener::bind(inside(&folder, SOCKET))?;
        listener.set_nonblocking(true)?;
        let connections = vec![Connection { number: 0, stream: runtime, arrived: Vec::new(), proven: true }];
        Ok(Self { identity, listener, connections, key, number: 1, tied: false, lease: None })
    }

    /// Reports the identity, and waits for the order to start.
    pub(super) fn wait_for_go(&mut self) -> io::Result<Word> {
        let ready = Reply::Ready { identity: self.identity.clone(), remaining_ms: Some(0) };
        let Some(Connection { stream, .. }) = self.connections.first_mut() else { return Ok(Word::Silence) };
        protocol::send(stream, &ready)?;
        stream.set_read_timeout(Some(GO_TIMEOUT))?;
        let said = protocol::receive(stream);
        stream.set_read_timeout(None)?;
        stream.set_nonblocking(true)?;
        match said {
            Ok(Request::Go { plan, hidden }) => Ok(Word::Go(Box::new(plan), hidden)),
            Ok(Request::Stop { .. }) => Ok(Word::Dismissed),
            Ok(Request::Hello | Request::Input { .. } | Request::Prove { .. }) | Err(_) => Ok(Word::Silence),
        }
    }

    /// From now on the command is wanted as long as the runtime is there that started it.
    pub(super) fn tie(&mut self) {
        self.tied = true;
    }

    /// From now on commands run as long as the lease in that file is.
    pub(super) fn lease(&mut self, path: PathBuf) {
        self.lease = Some(Lease::of(path));
    }

    /// How long commands may still run; none: as long as they take.
    pub(super) fn lease_left(&mut self) -> Option<Millis> {
        self.lease.as_mut().map(Lease::left)
    }

    /// What becomes readable when a message comes.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let streams = self.connections.iter().map(|connection| connection.stream.as_fd());
        let more = self.connections.len() < CONNECTIONS;
        streams.chain(more.then(|| self.listener.as_fd()))
    }

    /// Reads every connection; one that breaks is forgotten, and the command continues.
    pub(super) fn listen(&mut self) -> Received {
        while self.connections.len() < CONNECTIONS
            && let Ok((stream, _)) = self.listener.accept()
        {
            if may_be_a_runtime(&stream) && stream.set_nonblocking(true).is_ok() {
                let (number, proven) = (self.number, self.key.is_none());
                self.connections.push(Connection { number, stream, arrived: Vec::new(), proven });
                self.number += 1;
            }
        }
        let mut received = Received::default();
        let key = self.key.as_deref();
        self.connections.retain_mut(|connection| connection.receive(key, &mut received));
        if self.tied && !self.connections.iter().any(|connection| connection.number == 0) {
            received.wish = received.wish.max(Some(Wish::Stop));
        }
        received
    }

    /// Reports the identity to the connections that asked for it.
    pub(super) fn present(&mut self, asked: Vec<u64>, remaining_ms: Option<u64>) {
        let ready = || Reply::Ready { identity: self.identity.clone(), remaining_ms };
        let answers: Vec<Answer> = asked.into_iter().map(|to| Answer { to, reply: ready() }).collect();
        self.answer(answers);
    }

    /// Sends each connection its answer. One that does not read is forgotten: half a message would be worse than none.
    pub(super) fn answer(&mut self, answers: impl IntoIterator<Item = Answer>) {
        for Answer { to, reply } in answers {
            self.connections.retain_mut(|connection| {
                connection.number != to || protocol::send(&mut connection.stream, &reply).is_ok()
            });
        }
    }

    /// Still answers while the end can't be put on record.
    pub(super) fn wait_after_the_end(&mut self, time: Duration) {
        self.refuse_late(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        std::thread::sleep(time);
    }

    fn refuse_late(&mut self, remaining_ms: u64) {
        let Received { inputs, asked, wish: _ } = self.listen();
        self.present(asked, Some(remaining_ms));
        self.answer(inputs.iter().map(|given| given.answer(0, Some(ENDED))));
    }

    /// Everything is over and on record.
    pub(super) fn send_end(&mut self) {
        self.refuse_late(0);
        for Connection { stream, .. } in &mut self.connections {
            // Who does not listen any more will look for the record.
            protocol::send(stream, &Reply::Ended).ok();
        }
    }
}

impl Connection {
    /// Whether the connection is still one. `key` is what a runtime has to know.
    fn receive(&mut self, key: Option<&str>, received: &mut Received) -> bool {
        let mut buffer = [0; 4_096];
        let mut read = 0;
        let open = loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break false,
                Ok(count) => {
                    self.arrived.extend_from_slice(&buffer[..count]);
                    read += count;
                    if read >= AT_ONCE {
                        break true;
                    }
                }
                Err(problem) if problem.kind() == io::ErrorKind::WouldBlock => break true,
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        loop {
            match protocol::take(&mut self.arrived) {
                Ok(Some(Request::Prove { key: shown })) => {
                    self.proven |= key.is_some_and(|key| bool::from(key.as_bytes().ct_eq(shown.as_bytes())));
                }
                // Whoever it is, it is no runtime of this home.
                Ok(Some(_)) if !self.proven => return false,
                Ok(Some(Request::Stop { force })) => {
                    let wanted = if force { Wish::StopNow } else { Wish::Stop };
                    received.wish = received.wish.max(Some(wanted));
                }
                Ok(Some(Request::Hello)) => received.asked.push(self.number),
                Ok(Some(Request::Input { id, text })) => {
                    // Who has gone takes it for not written.
                    if open && !self.left() {
                        received.inputs.push(Given { from: self.number, id, text });
                    }
                }
                // A plan is taken once.
                Ok(Some(Request::Go { .. })) => {}
                Ok(None) => return open,
                Err(_) => return false,
            }
        }
    }

    /// Whether nobody is at the other end any more, however much of what they said is still to be read.
    fn left(&self) -> bool {
        let mut watched = [PollFd::new(&self.stream, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// Whether a process of the same user that is not held back is at the other end.
fn may_be_a_runtime(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| {
        let pid = peer.pid.as_raw_nonzero().get().unsigned_abs();
        peer.uid == geteuid() && !is_confined(pid)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn received(connection: &mut Connection) -> Vec<u64> {
        let mut received = Received::default();
        connection.receive(Some("key"), &mut received);
        received.inputs.iter().map(|given| given.id).collect()
    }

    /// Their sender has been told, or has to assume, that nothing of them was written.
    #[test]
    fn inputs_of_who_has_gone_are_not_taken() {
        for bytes in [5, 40 << 10] {
            let (mut theirs, stream) = UnixStream::pair().unwrap();
            stream.set_nonblocking(true).unwrap();
            let mut connection = Connection { number: 1, stream, arrived: Vec::new(), proven: true };
            let mut say = |id| {
                let input = Request::Input { id, text: "x".repeat(bytes) };
                theirs.write_all(&protocol::frame(&input).unwrap()).unwrap();
            };
            say(1);
            assert_eq!(received(&mut connection), [1]);
            (2..5).for_each(&mut say);
            // Whoever is being started by another test may have a copy of it for a moment.
            theirs.shutdown(std::net::Shutdown::Both).unwrap();
            for _ in 0..5 {
                assert!(received(&mut connection).is_empty(), "{bytes}");
            }
        }
    }

    #[test]
    fn who_does_not_know_the_key_is_not_heard() {
        for (shown, heard_of) in [(Some("key"), 1), (Some("kez"), 0), (Some(""), 0), (None, 0)] {
            let (mut theirs, stream) = UnixStream::pair().unwrap();
            stream.set_nonblocking(true).unwrap();
            let mut connection = Connection { number: 1, stream, arrived: Vec::new(), proven: false };
            let proof = shown.map(|key| Request::Prove { key: key.into() });
            let input = Request::Input { id: 1, text: "x".into() };
            for say in proof.into_iter().chain([input, Request::Stop { force: true }, Request::Hello]) {
                theirs.write_all(&protocol::frame(&say).unwrap()).unwrap();
            }
            let mut received = Received::default();
            let stays = connection.receive(Some("key"), &mut received);
            assert_eq!(
                (stays, received.inputs.len(), received.asked.len()),
                (heard_of == 1, heard_of, heard_of)
            );
            assert_eq!(received.wish.is_some(), heard_of == 1, "{shown:?}");
        }
    }

    #[test]
    fn this_process_may_be_a_runtime() {
        let (stream, _other) = UnixStream::pair().unwrap();
        assert!(may_be_a_runtime(&stream));
    }
}
