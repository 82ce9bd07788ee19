//! `holon console --bundle`: what one agent did, as a bundle has it, in the web console of this process. Nothing of it can be
//! changed, no home is used, and what was unpacked goes with the process.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use holon_api::{AuthMode, Client, ConsoleLink, Control, Nothing};
use holon_ledger::read::Reader;
use holon_platform::Environment;
use tokio::net::TcpListener;

use super::bundle::unreadable;
use super::exit::Exit;
use super::interrupts::{self, Ending};
use super::output::{self, Failure};
use super::stopped::{one, parts};
use crate::bundle::{self, Description};
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::{About, App, Console, InProcess, Parts, Shutdown, router, serve};

/// Stands for a text that a bundle does not have.
const LEFT_OUT: &str = "[not in this bundle]";

/// Serves a bundle on this machine until the end is asked for; `show` gets the link of the console.
pub(super) fn look_at(
    file: &Path,
    show: impl FnOnce(&ConsoleLink, &Environment) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    interrupts::block_on(|ending| async move {
        let folder = tempfile::tempdir()?;
        let home = Home::at(folder.path().join("home"));
        fs::create_dir_all(home.root().join("run"))?;
        let ledger = home.ledger_file();
        let about = bundle::unpack(file, folder.path(), &ledger).map_err(unreadable)?;
        let app = parts(&home, &environment, one(Reader::open(&ledger)?), Some(LEFT_OUT))?;
        let done = until_the_end(app, about, &home, |link| show(link, &environment), &ending).await;
        folder.close()?;
        done
    })
}

async fn until_the_end(
    app: Parts,
    about: Description,
    home: &Home,
    show: impl FnOnce(&ConsoleLink) -> Result<(), Failure>,
    ending: &Ending,
) -> Result<Exit, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let listen = listener.local_addr()?;
    let shutdown = Shutdown::default();
    let router = router(App::new(Parts {
        about: About { default_agent: about.agent_id.clone(), listen: Some(listen.to_string()), ..app.about },
        policy: Policy::new(AuthMode::Auto, None, Some(listen)).map_err(anyhow::Error::from)?,
        console: Console::of(home, true)?,
        shutdown: shutdown.clone(),
        ..app
    }));
    let client = Client::over(InProcess::serve(router.clone()));
    let link = client.create_console_link(Nothing {}).await?.into_reply();
    output::prose(&format!(
        "holon: {} as it was, events {} to {}; nothing can be changed; Ctrl-C ends it",
        about.agent_id, about.from, about.to
    ));
    show(&link)?;
    // Streams have no other end.
    let leave = async {
        ending.wait().await;
        shutdown.ask();
    };
    serve(listener, router, leave).await;
    Ok(Exit::Completed)
}
