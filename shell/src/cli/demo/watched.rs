//! The demo behind a runtime of its own, to be watched in a console. The same commands do it that a user types; they see
//! the demo's own home and configuration, and nothing of the user's.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow};
use holon_api::{Client, Control, Nothing};
use holon_platform::Environment;
use holon_supervise::program;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::{PROMPT, copy_project};
use crate::cli::exit::Exit;
use crate::cli::interrupts::{self, Ending};
use crate::cli::output::{self, Failure};
use crate::cli::{console, tui};
use crate::client;
use crate::home::Home;

/// The model thinks so long about each round: people can follow.
const PACE_MS: u64 = 2_000;
/// A browser has so long to log in; then the story begins without it.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(250);

/// Where the demo is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    Browser,
    Terminal,
}

/// The runtime of the demo.
struct Demo {
    home: Home,
    environment: Environment,
}

pub(super) fn watch(folder: &Path, watched: Watched) -> Result<Exit, Failure> {
    if watched == Watched::Terminal {
        tui::check_terminal("holon demo")?;
    }
    let project = folder.join("project");
    copy_project(&project)?;
    let demo = Demo { home: Home::at(folder.join("home")), environment: Environment::of_process() };
    demo.configure(folder)?;
    output::line(&format!("A small broken project: {}", project.display()))?;
    let ended = interrupts::block_on(|ending| async move {
        let started = ending.or(demo.holon(&["daemon", "start"])).await;
        let watched = match started {
            Ok(()) => demo.play(&project, watched, &ending).await,
            Err(failure) => Err(failure),
        };
        // Also after an interrupt in the middle of the start.
        let stopped = demo.holon(&["daemon", "stop"]).await;
        watched.and(stopped)?;
        output::line(&format!("Everything stays there to look at: {}", demo.home.root().display()))?;
        Ok(Exit::Completed)
    });
    match ended {
        // That is how one leaves a browser.
        Err(failure) if failure.exit == Exit::Interrupted && watched == Watched::Browser => {
            Ok(Exit::Completed)
        }
        ended => ended,
    }
}

impl Demo {
    /// Its own model, any port that is free, and nothing written outside of its folder.
    fn configure(&self, folder: &Path) -> Result<(), Failure> {
        self.home.create()?;
        let scenario = folder.join("scenario.json");
        fs::write(&scenario, super::slowed(PACE_MS)?.to_string())
            .with_context(|| scenario.display().to_string())?;
        let config = self.home.config();
        let model = toml_edit::Value::from(format!("scripted/{}", scenario.display()));
        let text = format!(
            "[model]\ndefault = {model}\n\n[server]\nlisten = \"127.0.0.1:0\"\n\n[templates]\nseed = false\n"
        );
        fs::write(&config, text).with_context(|| config.display().to_string())?;
        Ok(())
    }

    async fn play(&self, project: &Path, watched: Watched, ending: &Ending) -> Result<(), Failure> {
        let project = project.to_str().ok_or_else(|| anyhow!("the folder for temporary files is no text"))?;
        ending.or(self.holon(&["workspace", "use", project])).await?;
        let prompt = ["prompt", PROMPT];
        match watched {
            Watched::Terminal => {
                ending.or(self.holon(&prompt)).await?;
                let shown = self.command(&["tui"]).status();
                let status =
                    ending.or(async { Ok(shown.await.context("the console can't be started")?) }).await?;
                if status.success() { Ok(()) } else { Err(anyhow!("the console ended with {status}").into()) }
            }
            Watched::Browser => {
                let client = client::at(self.home.socket(), None);
                ending.or(self.link(&client)).await?;
                ending.or(self.holon(&prompt)).await?;
                output::line(&format!("The prompt: {PROMPT}\nCtrl-C ends the demo."))?;
                ending.wait().await;
                Ok(())
            }
        }
    }

    /// Shows the link, and waits until a browser has logged in with it.
    async fn link(&self, client: &Client) -> Result<(), Failure> {
        let link = client.create_console_link(Nothing {}).await?;
        console::show(&link, &self.environment)?;
        output::note("holon: the demo begins when a browser has logged in");
        let logged_in = async {
            while client.sessions().await?.sessions.is_empty() {
                sleep(LOOK).await;
            }
            Ok(())
        };
        timeout(BROWSER_TIMEOUT, logged_in).await.unwrap_or(Ok(()))
    }

    /// Runs a command of this program in the demo's home; what it prints matters only where it fails.
    async fn holon(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.command(arguments);
        let output = command.stdin(Stdio::null()).output().await.context("a command can't be started")?;
        if output.status.success() {
            return Ok(());
        }
        let printed = String::from_utf8_lossy(&output.stderr);
        Err(anyhow!("holon {}: {}", arguments.join(" "), printed.trim()).into())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        let own = |name: &&str| name.starts_with("HOLON_");
        for name in self.environment.names().filter(own) {
            command.env_remove(name);
        }
        command.arg0("holon").arg("--home").arg(self.home.root()).args(arguments);
        command
    }
}
