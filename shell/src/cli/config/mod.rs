//! `holon config`: look at the configuration, change it, and find what is wrong with it. What is broken can
//! still be looked at and repaired.

pub(super) mod credentials;
mod doctor;
mod flags;
mod models;
mod prices;
mod providers;
mod values;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use holon_platform::Environment;
use serde::Serialize;

use super::exit::Exit;
use super::hints;
use super::output::{self, Failure};
use crate::home::Home;
use crate::settings::credentials::Credentials;
use crate::settings::find_home;
use crate::settings::{Editor, Origin, Problem, Settings};

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print one value
    Get {
        /// Name the setting as `holon config list` shows it
        key: String,
    },
    /// Write one value into config.toml
    Set {
        /// Name the setting as `holon config list` shows it
        key: String,
        /// Set this value: a number, true or false, text, a list with commas, or TOML
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Remove one value from config.toml
    Unset {
        /// Name the setting as `holon config list` shows it, or an unknown name in the file
        key: String,
    },
    /// Print every value and its source
    List,
    /// Print the prices of models, in dollars per million tokens
    #[command(alias = "price")]
    Prices,
    /// Print known facts about models, and their configured settings
    #[command(alias = "model")]
    Models,
    /// Print the JSON schema of config.toml
    Schema,
    /// Find problems and show how to fix them; sends nothing
    Doctor,
    /// Manage providers of models
    #[command(subcommand, alias = "provider")]
    Providers(providers::ProvidersCommand),
    /// Manage API keys
    #[command(subcommand, alias = "credential")]
    Credentials(credentials::CredentialsCommand),
}

/// The home that a command reads, and how it prints.
struct ConfigHome {
    home: Home,
    home_origin: Origin,
    environment: Environment,
    json: bool,
}

pub(super) fn config(home: Option<PathBuf>, args: ConfigArgs) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home_origin = Origin::of_home(home.as_deref(), &environment);
    let cfg = ConfigHome { home: find_home(home, &environment)?, home_origin, environment, json: args.json };
    match args.command {
        ConfigCommand::Get { key } => values::get(&cfg, &key),
        ConfigCommand::Set { key, value } => values::set(&cfg, &key, &value),
        ConfigCommand::Unset { key } => values::unset(&cfg, &key),
        ConfigCommand::List => values::list(&cfg),
        ConfigCommand::Prices => prices::prices(&cfg),
        ConfigCommand::Models => models::models(&cfg),
        ConfigCommand::Schema => values::schema(),
        ConfigCommand::Doctor => doctor::doctor(&cfg),
        ConfigCommand::Providers(command) => providers::providers(&cfg, command),
        ConfigCommand::Credentials(command) => credentials::credentials(&cfg, command),
    }
}

impl ConfigHome {
    /// The settings as far as they are usable, and what is wrong with the rest.
    fn survey(&self) -> Result<(Settings, Vec<Problem>), Failure> {
        let (mut settings, problems) = Settings::survey(&self.home.config(), &self.environment)?;
        // Problems of that file are reported where keys are shown.
        let credentials = Credentials::survey(&self.home.credentials()).unwrap_or_default().0;
        settings.choose_model(&self.environment, &credentials);
        Ok((settings, problems))
    }

    /// The keys as far as they are usable; what is wrong with the rest is told.
    fn credentials(&self) -> Credentials {
        match Credentials::survey(&self.home.credentials()) {
            Ok((credentials, problems)) => {
                told(&problems);
                credentials
            }
            Err(error) => {
                output::note(&format!("holon: {error}; try: {}", hints::hint(&error.hint())));
                Credentials::default()
            }
        }
    }

    /// Prints one document, or what a person reads.
    fn print(
        &self,
        document: &impl Serialize,
        text: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            output::line(&output::pretty(document)?)?;
            return Ok(());
        }
        text()
    }
}

/// Tells what is wrong besides what was asked for.
fn told(problems: &[Problem]) {
    for problem in problems {
        output::note(&format!("holon: {problem}; try: {}", hints::hint(&problem.remedy)));
    }
}

/// Writes a changed config.toml, unless the change itself breaks it.
fn save(editor: Editor) -> Result<(), Failure> {
    let (new, old) = editor.problems()?;
    if let Some(first) = new.into_iter().next() {
        let hint = "holon config list, to see what it depends on";
        return Err(Failure::usage(anyhow!("{}: {}", first.key, first.what)).hint(hint));
    }
    told(&old);
    Ok(editor.save()?)
}
