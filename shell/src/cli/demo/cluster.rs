//! The demo on two nodes over one database: the one that works is killed in the middle, and the other one goes on.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow};
use holon_ledger::postgres::local::LocalServer;
use holon_platform::{Environment, clock};
use holon_supervise::program;
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::{PROMPT, copy_project};
use crate::cli::exit::Exit;
use crate::cli::interrupts::{self, Ending};
use crate::cli::output::{self, Failure};
use crate::home::Home;

/// The model thinks so long about each round: there is a middle.
const PACE_MS: u64 = 700;
/// How long a node owns what it owns without a sign of life.
const LEASE_MS: &str = "1000";
/// The nodes have so long to begin, and the agent to end.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// Two nodes, and what they share.
struct Demo {
    url: String,
    agents: std::path::PathBuf,
    environment: Environment,
    homes: [Home; 2],
}

/// Plays it with the database that `HOLON_STORE_URL` names, or with one that is made of the programs of this machine.
pub(super) fn play(folder: &Path) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let project = folder.join("project");
    copy_project(&project)?;
    let server = match environment.get("HOLON_STORE_URL") {
        Some(_) => None,
        None => Some(LocalServer::find(&folder.join("database")).ok_or_else(|| {
            Failure::usage(anyhow!("this machine has no PostgreSQL (initdb and pg_ctl)"))
                .hint("install it, or HOLON_STORE_URL=postgres://… holon demo --cluster with an empty schema")
        })?),
    };
    let url = match (&server, environment.get("HOLON_STORE_URL")) {
        (Some(server), _) => server.url(),
        (None, named) => named.unwrap_or_default().to_owned(),
    };
    if let Some(server) = &server {
        server.make().and_then(|()| server.start(&[])).context("PostgreSQL can't be started")?;
        output::line(&format!("A PostgreSQL begins in {}", folder.join("database").display()))?;
    }
    let homes = ["node-a", "node-b"].map(|name| Home::at(folder.join(name)));
    let demo = Demo { url, agents: folder.join("agents"), environment, homes };
    let played = demo
        .configure(folder)
        .and_then(|()| interrupts::block_on(|ending| async move { demo.run(&project, &ending).await }));
    if let Some(server) = &server {
        server.stop().context("PostgreSQL can't be stopped")?;
    }
    played
}

impl Demo {
    fn configure(&self, folder: &Path) -> Result<(), Failure> {
        let scenario = folder.join("scenario.json");
        fs::write(&scenario, super::slowed(PACE_MS)?.to_string())
            .with_context(|| scenario.display().to_string())?;
        for home in &self.homes {
            home.create()?;
            let model = toml_edit::Value::from(format!("scripted/{}", scenario.display()));
            let text = format!(
                "[model]\ndefault = {model}\n\n[server]\nlisten = \"127.0.0.1:0\"\n\n[templates]\nseed = false\n"
            );
            fs::write(home.config(), text).with_context(|| home.config().display().to_string())?;
        }
        Ok(())
    }

    async fn run(&self, project: &Path, ending: &Ending) -> Result<Exit, Failure> {
        self.holon(0, &["cluster", "init", "--lease-ms", LEASE_MS, "--grace-ms", "200"]).await?;
        let mut nodes = [self.node(0).await?, self.node(1).await?];
        output::line("Two nodes share its ledger")?;
        let played = ending.or(self.story(project, &mut nodes)).await;
        for node in &mut nodes {
            end(node).await;
        }
        played
    }

    async fn story(&self, project: &Path, nodes: &mut [Child; 2]) -> Result<Exit, Failure> {
        let owner = self.owner().await?;
        let other = 1 - owner;
        let name = |node: usize| ["node a", "node b"][node];
        let folder = project.to_str().ok_or_else(|| anyhow!("the folder for temporary files is no text"))?;
        self.holon(other, &["workspace", "use", folder]).await?;
        output::line(&format!("A small broken project: {folder}"))?;
        output::line(&format!(
            "The prompt, given to {} and passed on to {}: {PROMPT}",
            name(other),
            name(owner)
        ))?;
        self.holon(other, &["prompt", PROMPT]).await?;
        let waited = timeout(PATIENCE, self.until_it_works(other)).await;
        waited.map_err(|_| anyhow!("the agent does not begin"))??;
        let killed = clock::now();
        nodes[owner].kill().await.context("a node can't be killed")?;
        output::line(&format!("{} is killed in the middle of the work", name(owner)))?;
        let waited = timeout(PATIENCE, self.until_owned_by(other)).await;
        waited.map_err(|_| anyhow!("no node takes over"))??;
        output::line(&format!(
            "{} has taken over after {} ms, and goes on",
            name(other),
            clock::since(killed).0
        ))?;
        let waited = timeout(PATIENCE, self.until_quiet(other)).await;
        waited.map_err(|_| anyhow!("the agent does not end"))??;
        let transcript = self.holon(other, &["transcript"]).await?;
        output::line("")?;
        output::line(transcript.trim())?;
        let test = Command::new("sh").arg("test.sh").current_dir(project).output().await?;
        output::line(if test.status.success() {
            "The test of the project passes"
        } else {
            "The test of the project fails"
        })?;
        output::line(&format!("Ledger {}", self.holon(other, &["ledger", "verify"]).await?.trim()))?;
        output::line(&format!("Replay {}", self.holon(other, &["ledger", "replay"]).await?.trim()))?;
        Ok(if test.status.success() { Exit::Completed } else { Exit::Failed })
    }

    /// A node in a process of its own; it is killed with this one.
    async fn node(&self, at: usize) -> Result<Child, Failure> {
        let log = fs::File::create(self.homes[at].root().join("node.log"))?;
        let mut command = self.command(at, &["serve"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().context("a node can't be started")?;
        let ready = async {
            while !self.homes[at].run_file("daemon.json").exists() {
                if let Some(status) = child.try_wait()? {
                    return Err(anyhow!(
                        "a node ended with {status}; its log is in {}",
                        self.homes[at].root().display()
                    ));
                }
                sleep(LOOK).await;
            }
            Ok(())
        };
        timeout(PATIENCE, ready).await.map_err(|_| anyhow!("a node does not begin"))??;
        Ok(child)
    }

    /// Which of the two owns the ledger.
    async fn owner(&self) -> Result<usize, Failure> {
        let look = async {
            loop {
                for at in 0..self.homes.len() {
                    if self.owns(at).await? {
                        return Ok(at);
                    }
                }
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, look).await.map_err(|_| anyhow!("no node takes the ledger over"))?
    }

    async fn until_owned_by(&self, at: usize) -> Result<(), Failure> {
        while !self.owns(at).await? {
            sleep(LOOK).await;
        }
        Ok(())
    }

    async fn owns(&self, at: usize) -> Result<bool, Failure> {
        let status: Value = serde_json::from_str(&self.holon(at, &["cluster", "status", "--json"]).await?)?;
        let metadata: Value =
            serde_json::from_str(&fs::read_to_string(self.homes[at].run_file("daemon.json"))?)?;
        let url = format!("http://{}", metadata["http_addr"].as_str().unwrap_or_default());
        let nodes = status["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let own = nodes.iter().find(|node| node["url"] == url.as_str()).map(|node| &node["node"]);
        Ok(own.is_some() && own == status["cells"].get(0).map(|cell| &cell["node"]))
    }

    /// Until two commands of the agent have ended.
    async fn until_it_works(&self, at: usize) -> Result<(), Failure> {
        loop {
            let events = self.holon(at, &["tail", "--events", "512", "--json"]).await?;
            if events.matches(r#""type":"operation_settled""#).count() > 3 {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    async fn until_quiet(&self, at: usize) -> Result<(), Failure> {
        loop {
            let why: Value = serde_json::from_str(&self.holon(at, &["why", "--json"]).await?)?;
            if why["quiet"] == true {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    /// Runs a command at a node; gives what it prints.
    async fn holon(&self, at: usize, arguments: &[&str]) -> Result<String, Failure> {
        let output = self.command(at, arguments).stdin(Stdio::null()).output().await;
        let output = output.context("a command can't be started")?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = String::from_utf8_lossy(&output.stderr);
        Err(anyhow!("holon {}: {}", arguments.join(" "), printed.trim()).into())
    }

    fn command(&self, at: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        let own = |name: &&str| name.starts_with("HOLON_");
        for name in self.environment.names().filter(own) {
            command.env_remove(name);
        }
        command.env("HOLON_STORE_URL", &self.url).env("HOLON_STORE_AGENTS", &self.agents);
        command.arg0("holon").arg("--home").arg(self.homes[at].root()).args(arguments);
        command
    }
}

/// In good order, if it can.
async fn end(node: &mut Child) {
    let pid = node.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // One that has ended needs no signal.
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap_or_default();
    }
    if timeout(Duration::from_secs(10), node.wait()).await.is_err() {
        drop(node.kill().await);
    }
}
