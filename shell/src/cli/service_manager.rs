//! The service manager, where there is one: it is told how the runtime stands, hears of its loop, and may hold its address.

use std::net::TcpListener as StdListener;
use std::os::fd::OwnedFd;

use anyhow::{Context, anyhow};
use holon_platform::spawn;
use rustix::net::{getsockname, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::output::Failure;
use crate::http::Shutdown;
use crate::runtime::Runtime;

/// Tells the service manager, where there is one.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager can't be notified: {error}");
    }
}

/// Reports the runtime as long as its loop answers, twice within the time that the service manager waits.
pub(super) fn report_loop(runtime: &Runtime, shutdown: &Shutdown) {
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let (runtime, shutdown) = (runtime.clone(), shutdown.clone());
    drop(spawn::task(async move {
        let reports = async {
            while runtime.read(None, |_| ()).await.is_ok() {
                notify(&[NotifyState::Watchdog]);
                sleep(patience / 2).await;
            }
        };
        tokio::select! {
            () = shutdown.asked() => {}
            () = reports => {}
        }
    }));
}

/// The listener that the service manager has opened for this process, if it has.
///
/// # Errors
/// When it has passed something else.
pub(super) fn listener() -> Result<Option<TcpListener>, Failure> {
    let mut passed = sd_notify::listen_fds().context("what the service manager has passed")?;
    let Some(first) = passed.next() else { return Ok(None) };
    if passed.next().is_some() {
        let error = anyhow!("the service manager has passed several sockets, and one is listened on");
        return Err(Failure::usage(error).hint("one ListenStream= in the unit of the socket"));
    }
    let own = || -> rustix::io::Result<OwnedFd> {
        let this = pidfd_open(getpid(), PidfdFlags::empty())?;
        let socket = pidfd_getfd(this, first, PidfdGetfdFlags::empty())?;
        let listens = sockopt::socket_acceptconn(&socket)?;
        getsockname(&socket)?;
        if listens { Ok(socket) } else { Err(rustix::io::Errno::NOTSOCK) }
    };
    let wrong = |problem: String| {
        Failure::usage(anyhow!("the service manager has passed no socket that listens: {problem}"))
            .hint("ListenStream= with an address and a port in the unit of the socket")
    };
    let listener = StdListener::from(own().map_err(|error| wrong(error.to_string()))?);
    if listener.local_addr().is_err() {
        return Err(wrong("it has no address of IP".to_owned()));
    }
    listener.set_nonblocking(true)?;
    Ok(Some(TcpListener::from_std(listener)?))
}
