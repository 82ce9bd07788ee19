//! A home without a runtime that answers: what commands read of it comes from its ledger, by the same router and in the
//! same replies. Nothing is locked and nothing is written; the cost is that of opening the ledger and of the newest
//! snapshot of the agent that is read.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use axum::Router;
use holon_api::{Client, Control};
use holon_core::tool::catalogue;
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, Config, Millis, Wall};
use holon_ledger::LedgerReader;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::node::{CellId, Cluster, Directory};
use holon_ledger::read::{Reader, text_reader};
use holon_ledger::sqlite::import;
use holon_models::{Providers, Tools};
use holon_platform::{Environment, clock, regular, spawn};
use holon_text::{Texts, moment};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::output::Failure;
use super::setup::{commands_see, known_secrets};
use crate::daemon::{ProbeResult, look};
use crate::events::Hub;
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::signature::Signatures;
use crate::http::{About, App, Console, InProcess, Metrics, Parts, Peers, Process, Shutdown, across, router};
use crate::ledger_check::LedgerChecks;
use crate::live::LiveSink;
use crate::names::Names;
use crate::perform::{self, Performers};
use crate::runtime::Runtime;
use crate::settings::credentials::Credentials;
use crate::settings::{Access, Settings};
use crate::shared_roots::SharedRoots;
use crate::templates::Templates;
use crate::trigger_address::{TriggerAddresses, TriggerKey};

/// The model of a home that has none: nothing is asked.
const NO_MODEL: &str = "none/none";

/// Who reads the ledger, and why it is not a runtime that answers.
pub(super) struct Stopped {
    pub(super) client: Client,
    pub(super) note: String,
}

/// Who reads an export.
pub(super) struct Exported {
    pub(super) client: Client,
    /// It is there as long as somebody reads.
    pub(super) folder: TempDir,
}

/// How a home is read whose runtime does not answer; none where one does, or where there is no ledger to read.
///
/// # Errors
/// A ledger that can't be read, or has lost something.
pub(super) async fn find(
    home: &Home,
    environment: &Environment,
    live: &Client,
) -> Result<Option<Stopped>, Failure> {
    let holder = match look(home) {
        Ok(ProbeResult::Nobody) => None,
        Ok(ProbeResult::Busy { pid }) => Some(pid),
        Ok(ProbeResult::Ready(_)) | Err(_) => return Ok(None),
    };
    // A runtime that begins or ends may answer, or one at the address that is named.
    if (holder.is_some() || environment.get("HOLON_HTTP_ADDR").is_some()) && live.handshake().await.is_ok() {
        return Ok(None);
    }
    let ledger = home.ledger();
    // Nobody writes the file: what is missing from it is lost, also where all of it is.
    if holder.is_none() && ledger.file().is_some() {
        let ledger = ledger.clone();
        let whole = spawn::blocking(move || ledger.check_end()).await.map_err(anyhow::Error::from)?;
        // What else is wrong shows where it is read.
        if let Err(error @ LedgerError::Lost { .. }) = whole {
            return Err(error.into());
        }
    }
    if ledger.is_absent() {
        return Ok(None);
    }
    let (home, environment) = (home.clone(), environment.clone());
    // It asks a database for itself.
    let served = spawn::blocking(move || serves(&home, &environment)).await;
    let (router, last) = served.map_err(anyhow::Error::from)??;
    Ok(Some(Stopped { client: Client::over(InProcess::serve(router)), note: note(holder, last) }))
}

/// What serves the ledger of a home, or all of those that its nodes share; and when it was last written.
fn serves(home: &Home, environment: &Environment) -> Result<(Router, Option<Wall>), Failure> {
    let several = match home.database() {
        Some(server) => Cluster::of(server)?.filter(|cluster| cluster.cells.len() > 1).zip(Some(server)),
        None => None,
    };
    let Some((cluster, server)) = several else {
        let reader = Arc::new(home.ledger().reader()?);
        let last = reader.newest_record()?;
        return Ok((router(App::new(parts(home, environment, (reader.clone(), reader), None)?)), last));
    };
    let overview = Arc::new(home.ledger().reader_of_all()?);
    let (mut cells, mut last, mut default) = (BTreeMap::new(), None, None);
    for cell in &cluster.cells {
        let home = home.of_cell(i64::try_from(*cell).unwrap_or(i64::MAX));
        let reader = Arc::new(home.ledger().reader()?);
        last = last.max(reader.newest_record()?);
        let parts = parts(&home, environment, (reader, overview.clone()), None)?;
        default.get_or_insert(parts.about.default_agent.clone());
        cells.insert(CellId(*cell), router(App::new(parts)));
    }
    let default = default.ok_or_else(|| anyhow!("the cluster has no cell"))?;
    Ok((across(Directory::new(server.clone(), &cluster), cells, default), last))
}

/// Reads an export with its recorder, as a ledger in a folder that goes with it. Settings are those of the home.
///
/// # Errors
/// A file that is no such export.
pub(super) fn of_export(home: &Home, environment: &Environment, file: &Path) -> Result<Exported, Failure> {
    let unusable = |error: anyhow::Error| {
        let error = error.context(format!("{} can't be read as an export", file.display()));
        Failure::usage(error).hint("holon ledger export --recorder > ledger.jsonl writes one")
    };
    let export = regular::open(file).map_err(|error| unusable(error.into()))?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("ledger.sqlite3");
    import(BufReader::new(export), &path).map_err(|error| unusable(error.into()))?;
    let client = Client::over(InProcess::serve(router(App::new(parts(
        home,
        environment,
        one(Reader::open(&path)?),
        None,
    )?))));
    Ok(Exported { client, folder })
}

fn note(holder: Option<Option<u32>>, last: Option<Wall>) -> String {
    let last = last.map_or_else(|| "never".to_owned(), moment::near);
    match holder {
        None => format!("the runtime is stopped; it was last active: {last}"),
        Some(Some(pid)) => {
            format!(
                "process {pid} has the home and does not answer; its ledger is read, last written: {last}"
            )
        }
        Some(None) => format!("the home is in use by a process that does not answer; last written: {last}"),
    }
}

/// A ledger that is all there is.
pub(super) fn one(reader: Reader) -> (Arc<Reader>, Arc<Reader>) {
    let reader = Arc::new(reader);
    (reader.clone(), reader)
}

/// What answers for a ledger that is read: nothing is admitted, no model asked, and nobody logs in with a browser. `left_out`
/// stands for texts that are not stored; `overview` has the agents of all cells.
pub(super) fn parts(
    home: &Home,
    environment: &Environment,
    (reader, overview): (Arc<Reader>, Arc<Reader>),
    left_out: Option<&'static str>,
) -> Result<Parts, Failure> {
    // Whatever else is wrong with the configuration does not matter to whoever reads.
    let configured = Home::at(Home::shared(home.root())).config();
    let mut settings = Settings::survey(&configured, environment).ok().map(|(settings, _)| settings);
    // Nobody is asked: they show what a request looks like to them.
    let mut asked = None;
    if let Some(settings) = &mut settings {
        let credentials = Credentials::survey(&Home::at(Home::shared(home.root())).credentials());
        let configured = settings.choose_model(environment, &credentials.unwrap_or_default().0);
        asked = Some(configured.providers());
    }
    let config = settings.as_ref().and_then(|settings| settings.core_config().ok());
    let config = match config {
        Some(config) => config,
        None => Config::new(vec![ModelRef::new(NO_MODEL)?]),
    };
    let default = settings.as_ref().map_or("main", |settings| &settings.server.default_agent);
    // What is secret was replaced before it was stored; what an operator has set since is replaced here.
    let secrets = known_secrets(home, environment);
    let stored = text_reader(reader.clone());
    let shown = move |id| stored(id).map(|text| text.or_else(|| left_out.map(str::to_owned)));
    let texts = Texts::new(secrets, Box::new(shown));
    let providers = Providers::new(Vec::new(), Tools::new(catalogue()));
    let chosen = settings.as_ref().map(|settings| settings.execution.environment.clone()).unwrap_or_default();
    let skills = settings.as_ref().map(|settings| settings.skills.skills(environment)).unwrap_or_default();
    let performing = perform::Settings {
        skills,
        ..perform::Settings::new(home.clone(), commands_see(environment, &chosen))
    };
    let performers = Performers::new(texts.clone(), providers.clone(), performing, LiveSink::nobody());
    let models = config.models.clone();
    Ok(Parts {
        runtime: Runtime::stopped(reader.clone(), texts, performers, config),
        hub: Hub::default(),
        about: About {
            default_agent: default_agent(&overview, default)?,
            home: home.clone(),
            socket_path: home.socket().display().to_string(),
            listen: None,
            advertise_url: None,
            access: Access::Local,
            config_fingerprint: None,
            started_at: clock::now().wall,
            confinement: None,
        },
        overview,
        reader,
        names: Names::default(),
        roots: SharedRoots::default(),
        process: Process::default(),
        console: Console::none(home),
        ledger_checks: LedgerChecks::default(),
        home: home.clone(),
        templates: Templates::new(home, environment),
        policy: Policy::socket(),
        peers: Peers::default(),
        signatures: Signatures::new(None),
        triggers: TriggerAddresses::new("", TriggerKey::unused()),
        metrics: Metrics::default(),
        shutdown: Shutdown::default(),
        models,
        providers: asked.unwrap_or(providers),
        idle_limit: Millis(0),
        // Nobody prompts, so nobody waits.
        waits: Semaphore::new(0),
        allowed_origins: Vec::new(),
        stream_tokens: Arc::default(),
    })
}

/// The agent that is meant when none is named: the configured one; in the home of a temporary run its own.
fn default_agent(reader: &Reader, configured: &str) -> Result<AgentId, Failure> {
    let configured = AgentId::new(configured)?;
    let agents = reader.agents()?;
    if agents.iter().any(|row| row.agent == configured || !row.private) {
        return Ok(configured);
    }
    let own = agents.iter().find(|row| row.agent.as_str().starts_with("run-"));
    let own = own.or(agents.first()).map(|row| row.agent.clone());
    own.ok_or_else(|| anyhow!("its ledger has no agent yet").into())
}
