//! Who is at the other end of a connection. Over TCP the kernel is asked once for each connection, only when a request
//! depends on it (most do not), and for all connections together that wait for it: its processes are many.

use std::fmt;
use std::future::Future;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holon_platform::spawn;
use holon_supervise::confine::peer::{Asked, Care, Standing, of_tcp};
use tokio::sync::{OnceCell, oneshot};

use super::server::CONNECTIONS;

/// A peer that the kernel has not named by then is unknown.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known of whoever connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Whoever may open the home's socket.
    Socket,
    /// The same, held back as a confined command is.
    Confined,
    Tcp(Standing),
}

/// The other end of one connection; its requests share what was found out about it.
#[derive(Debug, Clone)]
pub struct OtherEnd(Arc<Connected>);

#[derive(Debug)]
enum Connected {
    Known(Peer),
    /// Over TCP on this machine, or from another one.
    Tcp {
        own: SocketAddr,
        peer: SocketAddr,
        /// A runtime asks with one care, or not at all.
        standing: OnceCell<Standing>,
    },
}

impl OtherEnd {
    pub fn known(peer: Peer) -> Self {
        Self(Arc::new(Connected::Known(peer)))
    }

    /// Of a connection to the address `own`.
    pub(super) fn over_tcp(own: SocketAddr, peer: SocketAddr) -> Self {
        Self(Arc::new(Connected::Tcp { own, peer, standing: OnceCell::new() }))
    }

    /// Who that is, as far as `care` goes; without any nobody is asked.
    pub(super) async fn peer(&self, peers: &Peers, care: Option<Care>) -> Peer {
        let (own, peer, standing) = match &*self.0 {
            Connected::Known(peer) => return *peer,
            Connected::Tcp { own, peer, standing } => (*own, *peer, standing),
        };
        let Some(care) = care else { return Peer::Tcp(Standing::Unasked) };
        let found = standing.get_or_try_init(|| peers.ask(Asked { own, peer, care })).await;
        // Who was not asked about in time is nobody, and may be asked about again.
        Peer::Tcp(found.copied().unwrap_or(Standing::Hidden))
    }
}

/// Asks the kernel about connections: about all that wait at once, and never twice at the same time.
#[derive(Clone)]
pub struct Peers(Arc<Inner>);

/// Says who is at the other end of each connection.
type Look = dyn Fn(&[Asked]) -> Vec<Standing> + Send + Sync;

struct Inner {
    look: Box<Look>,
    patience: Duration,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Whether somebody looks, and will look again for those who wait now.
    looking: bool,
}

struct Waiting {
    asked: Asked,
    answer: oneshot::Sender<Standing>,
}

/// Nobody was asked: too many wait, or it took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unanswered;

impl Default for Peers {
    fn default() -> Self {
        Self::new(of_tcp, PEER_TIMEOUT)
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").finish_non_exhaustive()
    }
}

impl Peers {
    fn new(look: impl Fn(&[Asked]) -> Vec<Standing> + Send + Sync + 'static, patience: Duration) -> Self {
        let queue = Mutex::default();
        Self(Arc::new(Inner { look: Box::new(look), patience, queue }))
    }

    /// Is answered by a look that begins from now on, with all who ask before it begins.
    fn ask(&self, asked: Asked) -> impl Future<Output = Result<Standing, Unanswered>> {
        let answer = self.wait(asked);
        async move {
            match tokio::time::timeout(self.0.patience, answer?).await {
                Ok(Ok(standing)) => Ok(standing),
                Ok(Err(_)) | Err(_) => Err(Unanswered),
            }
        }
    }

    fn wait(&self, asked: Asked) -> Result<oneshot::Receiver<Standing>, Unanswered> {
        let (answer, answered) = oneshot::channel();
        let mut queue = self.0.queue();
        if queue.waiting.len() >= CONNECTIONS {
            queue.waiting.retain(|waiting| !waiting.answer.is_closed());
        }
        if queue.waiting.len() >= CONNECTIONS {
            return Err(Unanswered);
        }
        queue.waiting.push(Waiting { asked, answer });
        if !mem::replace(&mut queue.looking, true) {
            drop(spawn::task(look(self.clone())));
        }
        Ok(answered)
    }
}

impl Inner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who wait now; none: nobody looks from here on.
    fn next(&self) -> Vec<Waiting> {
        let mut queue = self.queue();
        let mut next = mem::take(&mut queue.waiting);
        next.retain(|waiting| !waiting.answer.is_closed());
        queue.looking = !next.is_empty();
        next
    }
}

/// Looks until nobody waits.
async fn look(Peers(inner): Peers) {
    loop {
        let waiting = inner.next();
        if waiting.is_empty() {
            return;
        }
        let asked: Vec<Asked> = waiting.iter().map(|waiting| waiting.asked).collect();
        let looking = inner.clone();
        // Where a look fails its answers are dropped, and who waits for them is told so.
        let found = spawn::blocking(move || (looking.look)(&asked)).await.unwrap_or_default();
        for (waiting, standing) in waiting.into_iter().zip(found) {
            // Who has gone needs no answer.
            waiting.answer.send(standing).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn asked(port: u16) -> Asked {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Asked { own: address(7878), peer: address(port), care: Care::First }
    }

    /// Looks that begin when they are told to, and tell which ports they are about.
    struct Gate {
        peers: Peers,
        begun: mpsc::Receiver<Vec<u16>>,
        go: mpsc::Sender<()>,
    }

    impl Gate {
        fn new(patience: Duration) -> Self {
            let (tell, begun) = mpsc::channel();
            let (go, gone) = mpsc::channel();
            let gone = Mutex::new(gone);
            let at_once = AtomicUsize::new(0);
            let look = move |asked: &[Asked]| {
                assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                tell.send(asked.iter().map(|asked| asked.peer.port()).collect()).unwrap();
                gone.lock().unwrap().recv().unwrap();
                at_once.fetch_sub(1, Ordering::SeqCst);
                let standing = |asked: &Asked| match asked.peer.port() % 2 {
                    0 => Standing::Owner,
                    _ => Standing::Other,
                };
                asked.iter().map(standing).collect()
            };
            Self { peers: Peers::new(look, patience), begun, go }
        }

        /// The ports that the next look is about; it goes on.
        async fn let_go(self) -> (Vec<u16>, Self) {
            spawn::blocking(move || {
                let ports = self.begun.recv_timeout(LONG).unwrap();
                self.go.send(()).unwrap();
                (ports, self)
            })
            .await
            .unwrap()
        }
    }

    #[tokio::test]
    async fn who_asks_while_somebody_looks_shares_the_next_look() {
        let gate = Gate::new(LONG);
        let first = spawn::task(gate.peers.clone().wait(asked(1)).unwrap());
        // The first look has begun: its ports are told before it waits.
        let begun = gate.begun;
        let (ports, begun) =
            spawn::blocking(move || (begun.recv_timeout(LONG).unwrap(), begun)).await.unwrap();
        assert_eq!(ports, [1]);
        let later: Vec<_> = (2..1_002).map(|port| gate.peers.wait(asked(port)).unwrap()).collect();
        gate.go.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(Standing::Other));
        let (ports, gate) = Gate { begun, ..gate }.let_go().await;
        assert_eq!(ports, (2..1_002).collect::<Vec<_>>());
        for (port, answer) in (2_u16..).zip(later) {
            let expected = if port % 2 == 0 { Standing::Owner } else { Standing::Other };
            assert_eq!(answer.await, Ok(expected), "{port}");
        }
        // Nobody looks any more; who asks now begins anew.
        let last = gate.peers.wait(asked(7)).unwrap();
        let (ports, gate) = gate.let_go().await;
        assert_eq!((ports, last.await), (vec![7], Ok(Standing::Other)));
        assert!(gate.begun.try_recv().is_err());
    }

    #[tokio::test]
    async fn who_waits_too_long_or_among_too_many_is_not_answered() {
        let gate = Gate::new(Duration::from_millis(20));
        let late = gate.peers.ask(asked(1)).await;
        assert_eq!(late, Err(Unanswered), "the look has not ended");
        let waiting: Vec<_> = (0..CONNECTIONS).map(|_| gate.peers.wait(asked(2)).unwrap()).collect();
        assert_eq!(gate.peers.ask(asked(3)).await, Err(Unanswered), "all places are taken");
        // Who has gone gives its place away, and nobody looks for it.
        drop(waiting);
        let here = gate.peers.wait(asked(4)).unwrap();
        let (ports, gate) = gate.let_go().await;
        assert_eq!(ports, [1]);
        let (ports, _gate) = gate.let_go().await;
        assert_eq!((ports, here.await), (vec![4], Ok(Standing::Owner)));
    }

    #[tokio::test]
    async fn a_look_that_fails_leaves_the_next_one_its_turn() {
        let looks = AtomicUsize::new(0);
        let look = move |asked: &[Asked]| {
            assert!(looks.fetch_add(1, Ordering::SeqCst) > 0, "the first fails");
            vec![Standing::Owner; asked.len()]
        };
        let peers = Peers::new(look, LONG);
        let end = OtherEnd::over_tcp(asked(1).own, asked(1).peer);
        assert_eq!(end.peer(&peers, None).await, Peer::Tcp(Standing::Unasked), "nobody is asked");
        assert_eq!(end.peer(&peers, Some(Care::First)).await, Peer::Tcp(Standing::Hidden));
        // What was not found out is asked once more, and what was is not.
        assert_eq!(end.peer(&peers, Some(Care::First)).await, Peer::Tcp(Standing::Owner));
        assert_eq!(end.peer(&peers, None).await, Peer::Tcp(Standing::Unasked));
    }
}
