//! `holon config credentials`: keys come in by standard input or a prompt, and never go out again.

use std::io::{IsTerminal, Read};

use anyhow::{Context, anyhow};
use clap::Subcommand;
use holon_models::Credential;
use holon_text::nearest::did_you_mean;
use serde_json::json;

use super::{ConfigHome, told};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::terminal;
use crate::settings::credentials::{Credentials, check};
use crate::settings::providers::Configured;
use crate::settings::{Editor, Kind, is_name};

/// Most bytes that are read of standard input: more is no key.
const INPUT_BYTES: u64 = 64 << 10;

#[derive(Debug, Subcommand)]
pub(super) enum CredentialsCommand {
    /// Print the names of all keys and what uses them
    List,
    /// Store a key: prompts without echo, or with `-` reads standard input
    Set {
        /// Name the key: a provider id, or the `credential` of a provider
        name: String,
        /// Read the key from standard input with `-`; the command line never takes the key itself
        #[arg(value_name = "-", allow_hyphen_values = true)]
        from: Option<String>,
    },
    /// Delete a key
    Remove {
        /// Name the key as `holon config credentials list` shows it
        name: String,
    },
}

pub(super) fn credentials(cfg: &ConfigHome, command: CredentialsCommand) -> Result<Exit, Failure> {
    match command {
        CredentialsCommand::List => list(cfg),
        CredentialsCommand::Set { name, from } => set(cfg, &name, from.as_deref()),
        CredentialsCommand::Remove { name } => remove(cfg, &name),
    }
}

fn list(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let (credentials, problems) = Credentials::survey(&cfg.home.credentials())?;
    told(&problems);
    let (settings, problems) = cfg.survey()?;
    told(&problems);
    let configured = Configured::new(&settings, &cfg.environment, &credentials);
    let users = |name: &str| -> Vec<String> {
        let uses = |credential: &Credential| match credential {
            Credential::Key { origin, .. } => origin == name,
            Credential::Unneeded | Credential::Login { .. } | Credential::Missing { .. } => false,
        };
        let specs = configured.specs.iter().filter(|spec| uses(&spec.credential));
        specs.map(|spec| spec.id.clone()).collect()
    };
    let all: Vec<(&str, Vec<String>)> = credentials.names().map(|name| (name, users(name))).collect();
    let file = cfg.home.credentials().display().to_string();
    let documents: Vec<_> =
        all.iter().map(|(name, users)| json!({ "name": name, "set": true, "used_by": users })).collect();
    cfg.print(&json!({ "ok": true, "credentials": documents, "file": file }), || {
        if all.is_empty() {
            output::note(&format!("holon: no credentials in {file}"));
        }
        let rows = all.iter().map(|(name, users)| {
            let users = if users.is_empty() { "not used".to_owned() } else { users.join(", ") };
            vec![(*name).to_owned(), "set".to_owned(), users]
        });
        Ok(output::table(&rows.collect::<Vec<_>>())?)
    })?;
    Ok(Exit::Completed)
}

fn set(cfg: &ConfigHome, name: &str, from: Option<&str>) -> Result<Exit, Failure> {
    named(name)?;
    let again = format!("holon config credentials set {name} - < FILE");
    let typed = match from {
        Some("-") => read()?,
        Some(_) => {
            let error = anyhow!("a key is never taken from the command line, where others can see it");
            return Err(Failure::usage(error).hint(again));
        }
        None if std::io::stdin().is_terminal() => terminal::secret(&format!("Key for {name}: "))?,
        None => {
            let error = anyhow!("there is no terminal to ask for the key on");
            return Err(Failure::usage(error).hint(again));
        }
    };
    let key = check(&typed).map_err(|what| Failure::usage(anyhow!("{what}")).hint(again))?;
    let mut editor = Editor::credentials(&cfg.home)?;
    editor.set(&format!("credentials.{name}.key"), key.into())?;
    editor.save()?;
    done(cfg, name, "set")
}

fn remove(cfg: &ConfigHome, name: &str) -> Result<Exit, Failure> {
    named(name)?;
    let mut editor = Editor::credentials(&cfg.home)?;
    if !editor.unset(&format!("credentials.{name}"))? {
        let known = Credentials::survey(&cfg.home.credentials())?.0;
        let error = anyhow!("there is no credential {name}{}", did_you_mean(name, known.names()));
        return Err(Failure::new(Exit::NotFound, error).hint("holon config credentials list"));
    }
    editor.save()?;
    done(cfg, name, "removed")
}

fn named(name: &str) -> Result<(), Failure> {
    if is_name(name) {
        return Ok(());
    }
    // The name may be a key that was given in the wrong place.
    Err(Failure::usage(anyhow!("a credential has {}", Kind::Name.expected())))
}

/// A key from standard input.
pub(in crate::cli) fn read() -> Result<String, Failure> {
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    let bytes = stdin.take(INPUT_BYTES + 1).read_to_string(&mut text).context("the key on standard input")?;
    if bytes as u64 > INPUT_BYTES {
        return Err(Failure::usage(anyhow!("what came on standard input is too long for a key")));
    }
    Ok(text)
}

fn done(cfg: &ConfigHome, name: &str, done: &str) -> Result<Exit, Failure> {
    let file = cfg.home.credentials().display().to_string();
    cfg.print(&json!({ "name": name, "done": done, "file": file }), || {
        Ok(output::line(&format!("credential {name}: {done} ({file})"))?)
    })?;
    Ok(Exit::Completed)
}
