//! `holon serve`: the runtime of a home, in the foreground, until it is asked to end.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;
use holon_core::AgentId;
use tokio::net::UnixListener;

use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::output::{self, Failure};
use super::setup::Setup;
use crate::driver::Driver;
use crate::events::Hub;
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::{self, About, App, Metrics, Shutdown};
use crate::ledger::{HomeLock, Reader};
use crate::runtime::Runtime;
use crate::settings::Environment;
use crate::{clock, spawn};

#[derive(Debug, Args)]
pub(super) struct ServeArgs {}

pub(super) fn serve(home: Option<PathBuf>, args: ServeArgs) -> Result<Exit, Failure> {
    interrupts::block_on(|ending| Box::pin(whole(home, args, ending)))
}

async fn whole(home: Option<PathBuf>, ServeArgs {}: ServeArgs, ending: Ending) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = Home::find(home, &environment)?;
    home.create()?;
    let lock = HomeLock::acquire(home.root())?;
    let setup = Setup::load(&home, &environment, None)?;
    let (hub, metrics) = (Hub::default(), Metrics::default());
    let observer = {
        let (hub, metrics) = (hub.clone(), metrics.clone());
        Box::new(move |record: &_| {
            metrics.see(record);
            hub.publish(record);
        })
    };
    let (models, providers) = (setup.config.models.clone(), setup.providers.clone());
    let driver = Driver::start(setup.start(&home, &environment, hub.live(), observer)).await?;
    let (runtime, ended) = Runtime::keep(driver, |warning| output::note(&format!("holon: {warning}")));
    let socket = home.socket();
    // The lock says that nobody else listens there.
    drop(fs::remove_file(&socket));
    let listener = UnixListener::bind(&socket).with_context(|| socket.display().to_string())?;
    let shutdown = Shutdown::default();
    let asked = shutdown.clone();
    spawn::task(async move {
        ending.wait().await;
        asked.ask();
    });
    let app = App::new(http::Parts {
        runtime: runtime.clone(),
        hub,
        reader: Arc::new(Reader::open(&home.ledger())?),
        about: About {
            default_agent: default_agent(&environment)?,
            listen: None,
            advertise_url: None,
            config_fingerprint: None,
            started_at: clock::now().wall,
        },
        home,
        policy: Policy::socket(),
        metrics,
        shutdown: shutdown.clone(),
        models,
        providers,
    });
    http::serve(listener, http::router(app), shutdown.asked()).await;
    runtime.leave().await;
    let left = ended.await.context("the runtime broke down")?;
    drop(fs::remove_file(&socket));
    drop(lock);
    left?;
    Ok(Exit::Completed)
}

/// `HOLON_AGENT_ID`, or `main`.
fn default_agent(environment: &Environment) -> Result<AgentId, Failure> {
    let name = environment.get("HOLON_AGENT_ID").unwrap_or("main");
    AgentId::new(name).map_err(|error| Failure::usage(anyhow!("HOLON_AGENT_ID: {error}")))
}
