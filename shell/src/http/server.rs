//! The accept loop: the same for a unix socket, for TCP, and for a network that is simulated.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use holon_platform::spawn;
use holon_supervise::confine::peer::is_confined;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection_peak::ConnectionPeak;
use super::error_bodies::{Answer, ErrorBodyWriter, Requests};
use super::guard::{Guarded, TAKEN};
use super::peer::{OtherEnd, Peer};
use super::rest::{Arriving, Unread};

/// A client has so long to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// After a connection could not be accepted, mostly because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections at once; whoever comes later waits until one ends.
pub const CONNECTIONS: usize = 4_096;
/// Requests at once on one connection that speaks HTTP/2.
const STREAMS: u32 = 128;
/// Whether the other end is still there is asked so often, and it has so long to answer.
const ALIVE: Duration = Duration::from_secs(20);
/// Requests under way are waited for so long when the server leaves.
const DRAIN: Duration = Duration::from_secs(5);

/// Where connections come from.
pub trait Listener: Send + 'static {
    type Io: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Io, OtherEnd)>> + Send;
}

impl Listener for UnixListener {
    type Io = tokio::net::UnixStream;

    async fn accept(&mut self) -> io::Result<(Self::Io, OtherEnd)> {
        let (stream, _) = Self::accept(self).await?;
        // A process that can't be seen from here is none that was begun here.
        let pid = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|&pid| pid > 0);
        let peer = if pid.is_some_and(is_confined) { Peer::Confined } else { Peer::Socket };
        Ok((stream, OtherEnd::known(peer)))
    }
}

impl Listener for TcpListener {
    type Io = tokio::net::TcpStream;

    async fn accept(&mut self) -> io::Result<(Self::Io, OtherEnd)> {
        let (stream, peer) = Self::accept(self).await?;
        stream.set_nodelay(true)?;
        // The other end may be gone without a word: the kernel would send again for a quarter of an hour.
        sockopt::set_tcp_user_timeout(&stream, u32::try_from(TAKEN.as_millis()).unwrap_or(u32::MAX))?;
        let end = OtherEnd::over_tcp(stream.local_addr()?, peer);
        Ok((stream, end))
    }
}

/// Serves connections until `leave` is over; then takes no new one, and waits a while for requests under way.
pub async fn serve(mut listener: impl Listener, router: Router, leave: impl Future<Output = ()> + Send) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(ALIVE)
        .keep_alive_timeout(ALIVE);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (graceful, peak) = (GracefulShutdown::new(), ConnectionPeak::default());
    let mut leave = std::pin::pin!(leave);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut leave => break,
            accepted = accept(&mut listener, &room) => accepted,
        };
        let Ok((stream, end, place)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (requests, unread) = (Requests::default(), Unread::default());
        let stream = ErrorBodyWriter::new(Guarded::new(stream, unread.clone()), requests.clone());
        let router = TowerToHyperService::new(router.clone().layer(Extension(end)));
        let service = service_fn(move |request: Request<Incoming>| {
            let request = request.map(|body| Arriving::new(body, unread.clone()));
            let (begun, answered) = (requests.begin(), router.call(request));
            async move { answered.await.map(|answer| answer.map(|body| Answer { body, _request: begun })) }
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        let (peak, places) = (peak.clone(), room.clone());
        peak.came(CONNECTIONS - places.available_permits());
        // How a connection ends is its client's business.
        spawn::task(async move {
            drop(connection.await);
            drop(place);
            peak.left(CONNECTIONS - places.available_permits());
        });
    }
    drop(listener);
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
}

/// The next connection, with its place among all.
async fn accept<L: Listener>(
    listener: &mut L,
    room: &Arc<Semaphore>,
) -> io::Result<(L::Io, OtherEnd, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, end) = listener.accept().await?;
    Ok((stream, end, place))
}
