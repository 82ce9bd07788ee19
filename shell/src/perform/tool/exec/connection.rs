//! The runtime's end of the connection to a supervisor.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use holon_core::AgentId;
use holon_core::outcome::SupervisorIdentity;
use holon_core::tool::ToolErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::place::{self, Place};
use super::{Refusal, Settings};
use crate::seal;
use crate::supervise::protocol::{self, Hidden, Identity, Plan, Say, Tell};
use crate::supervise::{SOCKET, SUPERVISE, inside};

/// A supervisor that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection over which messages come whole.
pub(super) struct Connection {
    stream: UnixStream,
    arrived: Vec<u8>,
}

/// A supervisor that waits for the word. Dropping it ends it: nothing is executed.
pub(super) struct Prepared {
    pub(super) identity: SupervisorIdentity,
    pub(super) place: Place,
    connection: Connection,
    plan: Plan,
    hidden: Hidden,
    /// Kept so that its end is taken note of.
    _process: Child,
    waits: bool,
}

/// Removes the folder of a supervisor that did not come up.
struct Traces(Option<Place>);

impl Prepared {
    /// Starts a supervisor for this plan and waits until it says who it is.
    pub(super) async fn start(
        settings: &Settings,
        agent: &AgentId,
        address: Option<&str>,
        plan: Plan,
        hidden: Hidden,
    ) -> Result<Self, Refusal> {
        let failed = |problem: io::Error| {
            let message = format!("no supervisor could be started for the command: {problem}");
            Refusal::new(ToolErrorKind::CommandSpawnFailed, message).hint("nothing was executed")
        };
        let logs = plan.items.iter().map(|item| item.log.clone()).collect();
        let (place, name) = Place::make(settings, agent, logs).map_err(failed)?;
        let mut traces = Traces(Some(place.clone()));
        let terminal = plan.items.iter().any(|item| item.tty);
        let mut environment = vec![("HOLON_AGENT_ID", agent.as_str())];
        environment.extend(address.map(|address| (seal::VARIABLE, address)));
        if terminal && !settings.environment.has("TERM") {
            environment.push(("TERM", "xterm-256color"));
        }
        let (process, mut connection) = supervisor(settings, agent, &place, environment).map_err(failed)?;
        let Some(Tell::Ready { identity, .. }) = connection.hear_within(PATIENCE).await.map_err(failed)?
        else {
            return Err(failed(io::Error::other("it ended before it was ready")));
        };
        let Identity { pid, started, boot_id } = identity;
        if process.id() != Some(pid) {
            return Err(failed(io::Error::other("it is not who was started")));
        }
        let identity = SupervisorIdentity { pid, started, boot_id, socket: format!("{name}/{SOCKET}") };
        traces.0 = None;
        Ok(Self { identity, place, connection, plan, hidden, _process: process, waits: true })
    }

    /// Gives the word. From then on the command needs nobody: dropping this leaves it alone.
    pub(super) async fn give_word(&mut self) {
        let go = Say::Go { plan: self.plan.clone(), hidden: std::mem::take(&mut self.hidden) };
        let Ok(word) = protocol::frame(&go) else { return };
        self.waits = false;
        // One that does not hear it any more has ended, which is noticed next.
        self.connection.stream.write_all(&word).await.ok();
    }

    /// Waits for the end; however that comes, the record tells.
    pub(super) async fn until_ended(mut self) {
        if !self.waits {
            self.connection.until_ended().await;
        }
    }
}

impl Drop for Prepared {
    /// One that still waits is dismissed: it leaves without a trace.
    fn drop(&mut self) {
        if self.waits
            && let Ok(stop) = protocol::frame(&Say::Stop { force: true })
        {
            self.connection.stream.try_write(&stop).ok();
        }
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(place) = &self.0 {
            place.remove();
        }
    }
}

impl Connection {
    /// Reaches a supervisor through its named socket, and proves to it that this is a runtime of its home.
    pub(super) async fn reach(folder: &Path) -> io::Result<Self> {
        let key = place::key(folder)?;
        let folder = File::open(folder)?;
        let stream = UnixStream::connect(inside(&folder, SOCKET)).await?;
        let mut connection = Self { stream, arrived: Vec::new() };
        if let Some(key) = key {
            connection.say(&Say::Prove { key }).await?;
        }
        Ok(connection)
    }

    /// The process at the other end, as the kernel saw it connect or listen.
    pub(super) fn peer(&self) -> Option<u32> {
        u32::try_from(self.stream.peer_cred().ok()?.pid()?).ok()
    }

    pub(super) async fn say(&mut self, say: &Say) -> io::Result<()> {
        self.stream.write_all(&protocol::frame(say)?).await
    }

    /// The next message; none when the connection has ended.
    pub(super) async fn hear(&mut self) -> io::Result<Option<Tell>> {
        loop {
            if let Some(told) = protocol::take(&mut self.arrived)? {
                return Ok(Some(told));
            }
            if self.stream.read_buf(&mut self.arrived).await? == 0 {
                return Ok(None);
            }
        }
    }

    pub(super) async fn hear_within(&mut self, patience: Duration) -> io::Result<Option<Tell>> {
        tokio::time::timeout(patience, self.hear())
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Waits for the end of the supervisor, announced or not.
    pub(super) async fn until_ended(&mut self) {
        while let Ok(Some(Tell::Ready { .. } | Tell::Input { .. })) = self.hear().await {}
    }
}

/// Starts the process. Its environment is what the command will see, and its standard input the connection.
fn supervisor(
    settings: &Settings,
    agent: &AgentId,
    place: &Place,
    environment: Vec<(&str, &str)>,
) -> io::Result<(Child, Connection)> {
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = Command::new(&settings.supervisor);
    command
        .arg(SUPERVISE)
        .arg(&place.folder)
        .current_dir("/")
        .env_clear()
        .envs(settings.environment.variables())
        .env("HOLON_RUNTIME", "1")
        .env("HOLON_AGENT_HOME", settings.agent_home(agent))
        .envs(environment)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let process = command.spawn()?;
    Ok((process, Connection { stream: UnixStream::from_std(ours)?, arrived: Vec::new() }))
}
