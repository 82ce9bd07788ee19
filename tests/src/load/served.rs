//! A runtime in a process of our own, and its home.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::connection::Connection;
use super::model::Model;
use super::usage::{self, Usage};
use crate::Holon;

/// A start that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(120);
/// While it starts, whether it is still there is looked at so often.
const LOOK: Duration = Duration::from_secs(1);

/// A home, and the runtime that serves it, if one does.
pub struct Served {
    pub holon: Holon,
    child: Option<Child>,
}

impl Served {
    /// A home whose model is this one, with some more variables.
    pub fn new(model: &Model, variables: &[(&str, &str)]) -> Self {
        Self::at(&model.url, variables)
    }

    /// The same with the model at this address.
    pub fn at(url: &str, variables: &[(&str, &str)]) -> Self {
        let holon = Holon::new()
            .with("HOLON_MODEL", "local/load")
            .with("HOLON_LOCAL_BASE_URL", url)
            .with("HOLON_HTTP_ADDR", "127.0.0.1:0");
        let holon = variables.iter().fold(holon, |holon, (name, value)| holon.with(name, value));
        Self { holon, child: None }
    }

    /// Starts it; how long it took until it was ready.
    pub fn start(&mut self) -> Duration {
        let notify = self.holon.folder().join("notify");
        drop(std::fs::remove_file(&notify));
        let manager = UnixDatagram::bind(&notify).expect("a socket");
        manager.set_read_timeout(Some(LOOK)).expect("a time-out");
        let log = self.holon.folder().join("log");
        let stderr = File::create(&log).expect("a log");
        let mut command = self.holon.command(&["serve"]);
        command.env("NOTIFY_SOCKET", &notify).stdout(Stdio::null()).stderr(stderr);
        let began = Instant::now();
        let child = self.child.insert(command.spawn().expect("the binary starts"));
        let mut told = [0; 256];
        loop {
            let ready = manager.recv(&mut told).is_ok_and(|length| told[..length].starts_with(b"READY=1"));
            let took = began.elapsed();
            if ready {
                return took;
            }
            let ended = child.try_wait().expect("it is ours");
            let log = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none() && took < PATIENCE, "it does not get ready: {ended:?}\n{}", log());
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn usage(&self) -> Usage {
        usage::of(self.pid())
    }

    /// Lets it leave in good order.
    pub fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        crate::signal(&child, "TERM");
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }

    /// Ends it as a loss of power would.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Its socket.
    ///
    /// # Errors
    /// When it does not listen.
    pub async fn connect(&self) -> io::Result<Connection> {
        Connection::unix(&self.holon.home().join("run/holon.sock")).await
    }

    /// The same over TCP.
    ///
    /// # Errors
    /// When it does not listen.
    pub async fn connect_tcp(&self) -> io::Result<Connection> {
        let metadata = std::fs::read(self.holon.home().join("run/daemon.json"))?;
        let metadata: Value = serde_json::from_slice(&metadata)?;
        Connection::tcp(metadata["http_addr"].as_str().unwrap_or_default()).await
    }

    /// The last event of an agent.
    ///
    /// # Errors
    /// When there is no such agent.
    pub async fn last_event(&self, agent: &str) -> io::Result<u64> {
        let path = format!("/agents/{agent}/status");
        let status = self.connect().await?.get(&path).await?.json()?;
        status["event_seq"].as_u64().ok_or_else(|| io::Error::other(status.to_string()))
    }

    /// A counter or gauge of the runtime, over all its labels; 0 before it was ever counted.
    ///
    /// # Errors
    /// When the runtime does not answer.
    pub async fn metric(&self, name: &str) -> io::Result<u64> {
        let reply = self.connect().await?.get("/metrics").await?;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let of = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
        let value = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
        Ok(text.lines().filter(|line| of(line)).filter_map(value).sum())
    }

    /// Bytes of the ledger; all of it is in one file once the runtime has left.
    pub fn ledger_bytes(&self) -> u64 {
        let folder = std::fs::read_dir(self.holon.home()).expect("a home");
        let files = folder.filter_map(Result::ok);
        let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("ledger.sqlite3"));
        files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
