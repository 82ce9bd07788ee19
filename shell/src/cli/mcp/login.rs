//! `holon mcp login`: a browser shows the page of a server, and comes back to an address of this machine.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _};
use std::time::Duration;

use anyhow::anyhow;
use axum::Router;
use axum::extract::{Query, RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use clap::Args;
use holon_mcp::{Attempt, Login, Logins, Wish};
use holon_platform::{Environment, spawn};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use super::{Known, Printed};
use crate::cli::browser;
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::home::Home;
use crate::http::serve;

/// Somebody has so long to log in.
const PATIENCE: Duration = Duration::from_secs(600);
/// Where the browser comes back to.
const PATH: &str = "/callback";
/// What it shows then.
const PAGE: &str = "<!doctype html><title>Holon</title><p>That is all. You can close this page; the terminal shows what came of it.";
/// It is given so long to take that page.
const SHOWN: Duration = Duration::from_secs(2);
/// So many addresses wait to be looked at, and are read from whoever pastes them.
const RETURNS: usize = 4;

#[derive(Debug, Args)]
pub(in crate::cli) struct LoginArgs {
    /// Name the server as `holon mcp list` shows it
    server: String,
    /// Be this client, where the server does not register clients by itself
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Ask for this scope, instead of those that the server suggests; more than once for several
    #[arg(long)]
    scope: Vec<String>,
    /// Come back to this port of this machine, where the client is registered with it [default: any]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address of the page instead of opening it in a browser
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    printed: Printed,
}

pub(super) async fn login(
    home: &Home,
    environment: &Environment,
    known: &Known,
    args: &LoginArgs,
) -> Result<Exit, Failure> {
    let name = &args.server;
    let Some(login) = Logins::of(&home.mcp()).of_server(known.get(name)?) else {
        let error = anyhow!("{name} is a program: only servers that are reached over HTTP have a login");
        return Err(Failure::usage(error).hint("a program is given its secrets with holon mcp add --env"));
    };
    let came = tokio::time::timeout(PATIENCE, in_a_browser(environment, &login, args)).await;
    came.map_err(|_| {
        Failure::from(anyhow!("nobody has logged in for {} minutes", PATIENCE.as_secs() / 60))
    })??;
    if args.printed.json {
        output::document(&serde_json::json!({ "server": name, "logged_in": true }))?;
    } else {
        output::line(&format!("logged in at {name}"))?;
        output::hint("try", &format!("holon mcp check {name}"));
    }
    Ok(Exit::Completed)
}

async fn in_a_browser(environment: &Environment, login: &Login, args: &LoginArgs) -> Result<(), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await;
    let listener = listener.map_err(|error| {
        Failure::usage(anyhow!("port {} of this machine can't be had: {error}", args.port))
    })?;
    let redirect = format!("http://127.0.0.1:{}{PATH}", listener.local_addr()?.port());
    let (client_id, scopes) = (args.client_id.clone(), args.scope.clone());
    let wish = Wish { redirect: redirect.clone(), client_id, scopes };
    let attempt = Attempt::begin(login, wish).await.map_err(|error| not_in(&args.server, &error))?;

    let (found, mut returns) = mpsc::channel(RETURNS);
    let router = Router::new().route(PATH, get(comes_back)).with_state((redirect, found.clone()));
    let (leave, left) = oneshot::channel::<()>();
    let serving = spawn::task(serve(listener, router, async move { left.await.unwrap_or_default() }));
    pasted(found)?;
    let opened = !args.print && browser::opens(attempt.page(), environment);
    match args.printed.json {
        true => output::note(attempt.page()),
        false => output::line(attempt.page())?,
    }
    output::prose(&format!(
        "holon: {}; where that is on another machine, paste here the address at which it ends",
        if opened { "log in in the browser that opens" } else { "log in there with a browser" }
    ));
    let came = loop {
        let came = returns.recv().await.ok_or_else(|| anyhow!("nobody listens for the browser any more"))?;
        if of_query(&came, "state") == of_query(attempt.page(), "state") {
            break came;
        }
        output::note("holon: an address of another login was passed over");
    };
    let done = match declined(&came) {
        Some(declined) => Err(not_in(&args.server, &declined)),
        None => attempt.finish(&came).await.map_err(|error| not_in(&args.server, &error)),
    };
    // The browser is shown its page.
    drop(leave);
    drop(tokio::time::timeout(SHOWN, serving).await);
    done
}

fn not_in(server: &str, why: &impl std::fmt::Display) -> Failure {
    Failure::from(anyhow!("nobody is logged in at {server}: {why}"))
}

async fn comes_back(
    State((redirect, found)): State<(String, mpsc::Sender<String>)>,
    RawQuery(query): RawQuery,
) -> impl IntoResponse {
    // Whoever asks once more asks for nothing new.
    found.try_send(format!("{redirect}?{}", query.unwrap_or_default())).ok();
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], PAGE)
}

/// Reads an address from whoever sits there. The thread ends with the process.
fn pasted(found: mpsc::Sender<String>) -> io::Result<()> {
    let reads = move || {
        for line in io::stdin().lock().lines().map_while(Result::ok).take(RETURNS) {
            let line = line.trim();
            if line.starts_with("http") && found.blocking_send(line.to_owned()).is_err() {
                break;
            }
        }
    };
    spawn::thread("paste", reads).map(drop)
}

/// What the server gives as the reason that it lets nobody in.
fn declined(address: &str) -> Option<String> {
    let error = of_query(address, "error")?;
    let text = of_query(address, "error_description").map(|text| format!("{text} ({error})"));
    Some(holon_present::one_line(&text.unwrap_or(error)))
}

/// What an address has under a name.
fn of_query(address: &str, name: &str) -> Option<String> {
    let Query(mut given) = Query::<BTreeMap<String, String>>::try_from_uri(&address.parse().ok()?).ok()?;
    given.remove(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_readable() {
        let of = |query: &str| declined(&format!("http://127.0.0.1:1/callback?{query}"));
        assert_eq!(of("code=a&state=b"), None);
        assert_eq!(of("error=access_denied&state=b").as_deref(), Some("access_denied"));
        let told = of("error=access_denied&error_description=not+you%21%0A");
        assert_eq!(told.as_deref(), Some("not you! (access_denied)"));
    }
}
