//! `holon serve`: the runtime of a home, in the foreground, until it is asked to end.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tokio::net::UnixListener;

use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::output::{self, Failure};
use super::setup::Setup;
use crate::driver::Driver;
use crate::events::Hub;
use crate::home::Home;
use crate::http::{self, App};
use crate::ledger::HomeLock;
use crate::runtime::Runtime;
use crate::settings::Environment;

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
    let hub = Hub::default();
    let observer = {
        let hub = hub.clone();
        Box::new(move |record: &_| hub.publish(record))
    };
    let driver = Driver::start(setup.start(&home, &environment, hub.live(), observer)).await?;
    let (runtime, ended) = Runtime::keep(driver, |warning| output::note(&format!("holon: {warning}")));
    let socket = home.socket();
    // The lock says that nobody else listens there.
    drop(fs::remove_file(&socket));
    let listener = UnixListener::bind(&socket).with_context(|| socket.display().to_string())?;
    let app = App::new(http::Parts { runtime: runtime.clone(), hub, home });
    http::serve(listener, http::router(app), ending.wait()).await;
    runtime.leave().await;
    let left = ended.await.context("the runtime broke down")?;
    drop(fs::remove_file(&socket));
    drop(lock);
    left?;
    Ok(Exit::Completed)
}
