//! The service manager, where there is one: it is told how the runtime stands, hears of its loop, and may hold its address.

use std::fmt::Display;

use anyhow::{Context, anyhow};
use holon_platform::spawn;
use listenfd::ListenFd;
use rustix::net::sockopt;
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
    let passed = sd_notify::listen_fds().context("what the service manager has passed")?;
    match passed.len() {
        0 => return Ok(None),
        1 => {}
        _ => {
            let error = anyhow!("the service manager has passed several sockets, and one is listened on");
            return Err(Failure::usage(error).hint("one ListenStream= in the unit of the socket"));
        }
    }
    let wrong = |problem: &dyn Display| {
        Failure::usage(anyhow!("the service manager has passed no socket that listens: {problem}"))
            .hint("ListenStream= with an address and a port in the unit of the socket")
    };
    let Some(listener) = ListenFd::from_env().take_tcp_listener(0).map_err(|error| wrong(&error))? else {
        return Ok(None);
    };
    if !sockopt::socket_acceptconn(&listener)? {
        return Err(wrong(&"it is one of a connection"));
    }
    listener.set_nonblocking(true)?;
    Ok(Some(TcpListener::from_std(listener)?))
}
