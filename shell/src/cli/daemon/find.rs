//! A runtime whose metadata is lost, or says too little: it is known by listening at the socket of its home, and
//! tells the rest itself.

use std::path::PathBuf;

use holon_api::{Client, ClientError, Control};
use holon_platform::process::Identity;
use holon_platform::{process, spawn};
use tokio::time::timeout;

use super::{ANSWER_TIMEOUT, DaemonHome, unusable};
use crate::cli::output::Failure;
use crate::daemon::{Metadata, ProbeResult, look, socket};

/// Who has the home, as files and the lock tell; a runtime that they don't show is looked for at its socket.
pub(super) async fn find(daemon: &DaemonHome) -> Result<ProbeResult, Failure> {
    let found = look(&daemon.home).map_err(unusable)?;
    let ProbeResult::Busy { pid: Some(pid) } = found else { return Ok(found) };
    let metadata = at_socket(daemon, pid, |socket| daemon.client(socket)).await;
    Ok(metadata.map_or(found, |metadata| ProbeResult::Ready(Box::new(metadata))))
}

/// The runtime that has the home, if it listens and answers. Another process at the socket is not believed.
pub(super) async fn at_socket(
    daemon: &DaemonHome,
    pid: u32,
    client: impl Fn(PathBuf) -> Client,
) -> Option<Metadata> {
    let process = Identity { pid, started: process::stat(pid)?.started, boot_id: process::boot_id().ok()? };
    for socket in daemon.sockets() {
        if listener(socket.clone()).await != Some(pid) {
            continue;
        }
        let metadata = Metadata { socket_path: Some(socket.clone()), ..Metadata::of(process.clone()) };
        match filled(metadata.clone(), &client(socket)).await {
            Ok(metadata) => return Some(metadata),
            // It is well, and tells this caller nothing.
            Err(ClientError::Refused { status: 401 | 403, .. }) => return Some(metadata),
            Err(_) => {}
        }
    }
    None
}

/// What metadata leaves out, as the runtime tells it.
///
/// # Errors
/// A runtime that does not answer.
pub(super) async fn filled(metadata: Metadata, client: &Client) -> Result<Metadata, ClientError> {
    let runtime = client.runtime_status().await?.into_reply();
    Ok(Metadata {
        started_at: metadata.started_at.or(runtime.started_at),
        version: metadata.version.or_else(|| Some(runtime.version).filter(|version| !version.is_empty())),
        home_dir: metadata.home_dir.or_else(|| Some(PathBuf::from(runtime.home_dir))),
        socket_path: metadata.socket_path.or_else(|| Some(PathBuf::from(runtime.socket_path))),
        http_addr: metadata.http_addr.or(runtime.http_addr),
        advertise_url: metadata.advertise_url.or(runtime.advertise_url),
        access: metadata.access.or_else(|| Some(runtime.access?.name().to_owned())),
        auth: metadata.auth.or_else(|| Some(runtime.auth?.name().to_owned())),
        fingerprint_digest: runtime.config_fingerprint,
        ..metadata
    })
}

async fn listener(path: PathBuf) -> Option<u32> {
    // One that accepts nobody holds up whoever connects.
    let asked = timeout(ANSWER_TIMEOUT, spawn::blocking(move || socket::listener(&path))).await;
    asked.ok()?.ok()?.ok()
}
