//! One agent at one moment: as it is now, or as the ledger has it while that waits for its disk. A read needs no
//! room: whoever rests outside memory is read where it is, and stays there.

use std::fmt::Display;
use std::time::Duration;

use holon_core::view::View;
use holon_facts::AgentId;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::Handled;
use crate::runtime::Unavailable;

/// A state that was just decided is durable after so long at the latest, or something is wrong with the disk.
const DURABLE_WITHIN: u32 = 2_000;
/// The runtime answers within so long, or it waits for its disk. It is asked twice at most.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// What was seen; everything in it is durable.
pub(super) struct Looked<T> {
    pub(super) seen: T,
    /// Why it is not the present moment.
    pub(super) waits: Option<String>,
}

/// What keeps the present state from being told.
pub(super) fn waits(problem: &impl Display) -> String {
    format!("this is the last durable state: {problem}")
}

/// Looks at an agent. `read` gives none when there is no such agent.
pub(super) async fn look<T: Send + 'static>(
    app: &App,
    agent: &AgentId,
    read: impl Fn(View<'_>, &AgentId) -> Option<T> + Clone + Send + 'static,
) -> Handled<Looked<T>> {
    let name = agent.clone();
    app.blocking(move |app| app.last_event(&name)).await?;
    let problem = match app.runtime.problem() {
        Some(problem) => problem.to_string(),
        None => {
            if let Some(seen) = at_rest(app, agent, read.clone()).await? {
                return Ok(Looked { seen, waits: None });
            }
            match now(app, agent, read.clone()).await? {
                Ok(seen) => return Ok(Looked { seen, waits: None }),
                Err(problem) => problem,
            }
        }
    };
    let agent = agent.clone();
    app.blocking(move |app| {
        let host = app.runtime.as_stored(&app.reader, &agent)?;
        let seen = read(host.view(), &agent).ok_or_else(|| Failure::unknown_agent(&agent))?;
        Ok(Looked { seen, waits: Some(waits(&problem)) })
    })
    .await
}

/// An agent that is not in memory, as its ledger has it. None where it is in memory, and where this can't be read: whoever brings it
/// in finds out why.
async fn at_rest<T: Send + 'static>(
    app: &App,
    agent: &AgentId,
    read: impl Fn(View<'_>, &AgentId) -> Option<T> + Send + 'static,
) -> Handled<Option<T>> {
    let name = agent.clone();
    let is_resident = app.runtime.read(None, move |view| view.agent(&name).is_some());
    let Ok(Ok(false)) = tokio::time::timeout(ANSWERED_WITHIN, is_resident).await else { return Ok(None) };
    let agent = agent.clone();
    app.blocking(move |app| {
        let host = app.runtime.at_rest(&app.reader, &agent).ok().flatten();
        Ok(host.and_then(|host| read(host.view(), &agent)))
    })
    .await
}

/// The present moment, once everything in it is durable; inside, why it does not become so.
async fn now<T: Send + 'static>(
    app: &App,
    agent: &AgentId,
    read: impl Fn(View<'_>, &AgentId) -> Option<T> + Send + 'static,
) -> Handled<Result<T, String>> {
    let name = agent.clone();
    let read = move |view: View<'_>| {
        let event_seq = view.agent(&name)?.event_seq;
        read(view, &name).map(|seen| (seen, event_seq))
    };
    let read = tokio::time::timeout(ANSWERED_WITHIN, app.runtime.read(Some(agent), read));
    let (seen, event_seq) = match read.await {
        Ok(Ok(seen)) => seen.ok_or_else(|| Failure::unknown_agent(agent))?,
        Ok(Err(
            full @ (Unavailable::DiskFull
            | Unavailable::LedgerLocked { .. }
            | Unavailable::DatabaseAway { .. }
            | Unavailable::NotStoredYet),
        )) => {
            return Ok(Err(full.to_string()));
        }
        Ok(Err(
            unavailable @ (Unavailable::Leaving
            | Unavailable::Stopped
            | Unavailable::NotAnswered
            | Unavailable::Damaged { .. }),
        )) => {
            return Err(unavailable.into());
        }
        Err(_) => return Ok(Err("the runtime is busy, or waits for its disk".to_owned())),
    };
    for _ in 0..DURABLE_WITHIN {
        let name = agent.clone();
        if app.blocking(move |app| Ok(app.reader.last_event(&name)?)).await? >= event_seq {
            return Ok(Ok(seen));
        }
        if let Some(problem) = app.runtime.problem() {
            return Ok(Err(problem.to_string()));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(Err("the disk of the ledger does not keep up".to_owned()))
}
