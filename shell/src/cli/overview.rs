//! `holon` alone: how things stand, and three commands to go on with.

use std::path::PathBuf;

use holon_api::{Control, ListQuery, Listed};
use holon_core::view::standing::Standing;
use holon_facts::lifecycle::Status;
use holon_platform::Environment;
use serde::Serialize;

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};
use crate::home::Home;
use crate::settings::Settings;
use crate::settings::credentials::Credentials;
use crate::settings::find_home;

/// Agents that are counted; of more, the number is at least this.
const COUNTED: u32 = 1_000;

/// How things stand in a home.
#[derive(Debug, Serialize)]
struct Overview {
    ok: bool,
    home: String,
    /// None where no model can be asked.
    model: Option<String>,
    /// Where the model comes from, or why there is none.
    model_origin: String,
    /// None where no runtime runs.
    runtime: Option<RuntimeOverview>,
    /// Commands to go on with.
    next: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct RuntimeOverview {
    version: String,
    agents: usize,
    running: usize,
    asks: u64,
}

#[derive(Debug, Serialize)]
struct Step {
    command: String,
    what: &'static str,
}

pub(super) fn overview(home: Option<PathBuf>, json: bool) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home_of = find_home(home.clone(), &environment)?;
    let (model, model_origin) = model(&home_of, &environment);
    ClientContext::work(home, |cli, ending| async move {
        let runtime = ending.or(async { Ok(runtime(&cli).await) }).await?;
        let overview = Overview {
            ok: true,
            home: home_of.root().display().to_string(),
            next: next(model.is_some(), runtime.as_ref()),
            model,
            model_origin,
            runtime,
        };
        output::shown(&overview, json, || overview.show())
    })
}

/// The model that would be asked, and where it comes from; or why there is none.
pub(super) fn model(home: &Home, environment: &Environment) -> (Option<String>, String) {
    let credentials = Credentials::survey(&home.credentials()).unwrap_or_default().0;
    let mut settings = match Settings::survey(&home.config(), environment) {
        Ok((settings, _)) => settings,
        Err(error) => return (None, error.to_string()),
    };
    let configured = settings.choose_model(environment, &credentials);
    let Some(model) = settings.model.as_ref() else { return (None, "none is configured".to_owned()) };
    match configured.providers().check(model) {
        Ok(()) => (Some(model.to_string()), settings.origin("model.default").to_string()),
        Err(problem) => (None, problem.to_string()),
    }
}

/// None where no runtime answers.
async fn runtime(cli: &ClientContext) -> Option<RuntimeOverview> {
    let status = cli.client.runtime_status().await.ok()?.into_reply();
    let agents = cli
        .client
        .agents(ListQuery { limit: Some(COUNTED), ..ListQuery::default() })
        .await
        .ok()?
        .into_reply()
        .agents;
    let entries = || {
        agents.iter().filter_map(|agent| match &**agent {
            Listed::Agent(entry) => Some(entry),
            Listed::Damaged(_) => None,
        })
    };
    let standings = entries().filter_map(|entry| entry.standing.as_ref());
    Some(RuntimeOverview {
        version: status.version,
        agents: agents.len(),
        running: entries().filter(|entry| entry.status == Status::AwakeRunning).count(),
        asks: standings.map(Standing::open_asks).sum(),
    })
}

fn next(has_model: bool, runtime: Option<&RuntimeOverview>) -> Vec<Step> {
    let step = |command: &str, what| Step { command: command.to_owned(), what };
    let mut steps = match (has_model, runtime) {
        (_, Some(runtime)) if runtime.asks > 0 => {
            vec![step("holon inbox", "show what agents have asked of you")]
        }
        (false, _) => vec![
            step("holon init", "choose a model and store its key"),
            step("holon demo", "see the whole loop, without a model"),
        ],
        (true, _) => vec![step("holon run \"…\"", "run one prompt in this folder")],
    };
    if has_model || runtime.is_some() {
        steps.push(step("holon prompt --wait \"…\"", "send a prompt to an agent that stays"));
    }
    steps.push(match runtime {
        Some(_) => step("holon agent list", "show every agent"),
        None if has_model => step("holon daemon start", "start the runtime, where agents stay"),
        None => step("holon config doctor", "find what is missing"),
    });
    steps.push(step("holon --help", "list every command"));
    steps.truncate(3);
    steps
}

impl Overview {
    fn show(&self) -> std::io::Result<()> {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let model = match &self.model {
            Some(model) => format!("{model} ({})", self.model_origin),
            None => self.model_origin.clone(),
        };
        let runtime = self.runtime.as_ref().map_or_else(
            || "does not run".to_owned(),
            |runtime| {
                let RuntimeOverview { version, agents, running, asks } = runtime;
                format!(
                    "{version}, {}, {running} running, {}",
                    counted(*agents as u64, "agent"),
                    counted(*asks, "open ask")
                )
            },
        );
        output::table(&[row("home", self.home.clone()), row("model", model), row("runtime", runtime)])?;
        output::line("")?;
        let steps = self.next.iter().map(|step| vec![output::with_home(&step.command), step.what.to_owned()]);
        output::table(&steps.collect::<Vec<_>>())
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
