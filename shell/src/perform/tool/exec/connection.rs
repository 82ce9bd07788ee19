//! The runtime's end of the connection to a supervisor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use holon_facts::AgentId;
use holon_facts::outcome::SupervisorIdentity;
use holon_facts::receipt::ToolErrorKind;
use holon_platform::process::Identity;
use holon_platform::socket::inside;
use holon_supervise::protocol::{self, Hidden, Plan, Reply, Request};
use holon_supervise::{SOCKET, SUPERVISE};
use holon_text::trigger_signature;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::run_directory::{self, RunDirectory};
use super::{Refusal, Settings};

/// A supervisor that says nothing for so long is given up.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection over which messages come whole.
pub(super) struct Connection {
    stream: UnixStream,
    arrived: Vec<u8>,
}

/// What a supervisor is started with, which its command will see.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// A supervisor that is up and has no order yet. Dropping it ends it, without a trace.
pub(super) struct Supervisor {
    identity: SupervisorIdentity,
    folder: PathBuf,
    connection: Connection,
    /// Kept so that its end is taken note of.
    process: Child,
    waits: bool,
}

/// A supervisor that waits for the word with its plan. Dropping it ends it: nothing is executed.
pub(super) struct Prepared {
    pub(super) place: RunDirectory,
    /// What its supervisor was started with.
    pub(super) environment: Variables,
    supervisor: Supervisor,
    plan: Plan,
    hidden: Hidden,
}

/// Removes the folder of a supervisor that did not come up.
struct Traces(Option<PathBuf>);

impl Supervisor {
    /// Starts one and waits until it says who it is.
    pub(super) async fn start(settings: &Settings, environment: &Variables) -> io::Result<Self> {
        let (folder, name) = run_directory::make(settings)?;
        let mut traces = Traces(Some(folder.clone()));
        let (process, mut connection) = spawned(settings, &folder, environment)?;
        let Some(Reply::Ready { identity, .. }) = connection.receive_within(READY_TIMEOUT).await? else {
            return Err(io::Error::other("it ended before it was ready"));
        };
        let Identity { pid, started, boot_id } = identity;
        if process.id() != Some(pid) {
            return Err(io::Error::other("it is not who was started"));
        }
        let identity = SupervisorIdentity { pid, started, boot_id, socket: format!("{name}/{SOCKET}") };
        traces.0 = None;
        Ok(Self { identity, folder, connection, process, waits: true })
    }

    /// Whether it is there. One that was ended has told nobody.
    pub(super) fn is_alive(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Prepared {
    /// Brings a supervisor up for this plan: the one that waits, where there is one.
    pub(super) async fn start(
        settings: &Settings,
        agent: &AgentId,
        environment: Variables,
        (plan, hidden): (Plan, Hidden),
        spare: Option<Supervisor>,
    ) -> Result<Self, Refusal> {
        let supervisor = match spare {
            Some(spare) => spare,
            None => Supervisor::start(settings, &environment).await.map_err(|problem| {
                let message = format!("no supervisor could be started for the command: {problem}");
                Refusal::new(ToolErrorKind::CommandSpawnFailed, message).hint("nothing was executed")
            })?,
        };
        let logs = plan.items.iter().map(|item| item.log.clone()).collect();
        let place = RunDirectory::new(settings, agent, supervisor.folder.clone(), logs);
        Ok(Self { place, environment, supervisor, plan, hidden })
    }

    pub(super) fn identity(&self) -> &SupervisorIdentity {
        &self.supervisor.identity
    }

    /// Gives the word. From then on the command needs nobody: dropping this leaves it alone.
    pub(super) async fn give_word(&mut self) {
        let go = Request::Go { plan: self.plan.clone(), hidden: std::mem::take(&mut self.hidden) };
        let Ok(word) = protocol::frame(&go) else { return };
        self.supervisor.waits = false;
        // One that does not hear it any more has ended, which is noticed next.
        self.supervisor.connection.stream.write_all(&word).await.ok();
    }

    /// Waits for the end; however that comes, the record tells. What the supervisor was started with is told.
    pub(super) async fn until_ended(mut self) -> Variables {
        if !self.supervisor.waits {
            self.supervisor.connection.until_ended().await;
        }
        self.environment
    }
}

impl Drop for Supervisor {
    /// One that still waits is dismissed: it leaves without a trace.
    fn drop(&mut self) {
        if !self.waits {
            return;
        }
        let told = protocol::frame(&Request::Stop { force: true })
            .and_then(|stop| self.connection.stream.try_write(&stop));
        if told.is_err() || !self.is_alive() {
            run_directory::remove(&self.folder);
        }
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            run_directory::remove(folder);
        }
    }
}

impl Connection {
    /// Reaches a supervisor through its named socket, and proves to it that this is a runtime of its home.
    pub(super) async fn reach(folder: &Path) -> io::Result<Self> {
        let key = run_directory::key(folder)?;
        let folder = File::open(folder)?;
        let stream = UnixStream::connect(inside(&folder, SOCKET)).await?;
        let mut connection = Self { stream, arrived: Vec::new() };
        if let Some(key) = key {
            connection.send(&Request::Prove { key }).await?;
        }
        Ok(connection)
    }

    /// The process at the other end, as the kernel saw it connect or listen.
    pub(super) fn peer(&self) -> Option<u32> {
        u32::try_from(self.stream.peer_cred().ok()?.pid()?).ok()
    }

    pub(super) async fn send(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&protocol::frame(request)?).await
    }

    /// The next message; none when the connection has ended.
    pub(super) async fn receive(&mut self) -> io::Result<Option<Reply>> {
        loop {
            if let Some(told) = protocol::take(&mut self.arrived)? {
                return Ok(Some(told));
            }
            if self.stream.read_buf(&mut self.arrived).await? == 0 {
                return Ok(None);
            }
        }
    }

    pub(super) async fn receive_within(&mut self, timeout: Duration) -> io::Result<Option<Reply>> {
        tokio::time::timeout(timeout, self.receive())
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Waits for the end of the supervisor, announced or not.
    pub(super) async fn until_ended(&mut self) {
        while let Ok(Some(Reply::Ready { .. } | Reply::Input { .. })) = self.receive().await {}
    }
}

/// What a supervisor of such a command is started with.
pub(super) fn environment(
    settings: &Settings,
    agent: &AgentId,
    address: Option<&str>,
    plan: &Plan,
) -> Variables {
    let own = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
    let mut all: Variables = settings.environment.variables().map(own).collect();
    all.push(("HOLON_RUNTIME".into(), "1".into()));
    all.push((super::AGENT_HOME.into(), settings.agent_home(agent).into()));
    all.push(("HOLON_AGENT_ID".into(), agent.as_str().into()));
    all.extend(address.map(|address| (trigger_signature::VARIABLE.into(), address.into())));
    if plan.items.iter().any(|item| item.tty) && !settings.environment.has("TERM") {
        all.push(("TERM".into(), "xterm-256color".into()));
    }
    all
}

/// Starts the process, with the connection as its standard input.
fn spawned(settings: &Settings, folder: &Path, environment: &Variables) -> io::Result<(Child, Connection)> {
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut command = Command::new(&settings.supervisor);
    command
        .arg(SUPERVISE)
        .arg(folder)
        .current_dir("/")
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let process = command.spawn()?;
    Ok((process, Connection { stream: UnixStream::from_std(ours)?, arrived: Vec::new() }))
}
