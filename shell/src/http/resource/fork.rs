//! A new agent that begins as a copy of another.

use holon_core::{AgentId, Reject};

use super::super::App;
use super::super::api::{ForkAgent, Forked, Nothing};
use super::super::body::{Json, OTHER_BYTES};
use super::super::code::Code;
use super::super::failure::Failure;
use super::super::reply::Made;
use super::super::route::{Call, Handled};
use crate::ledger::{Fork, ForkError};
use crate::runtime::Unavailable;

pub(in super::super) async fn fork(
    app: App,
    call: Call<Nothing, Json<ForkAgent, OTHER_BYTES>>,
) -> Handled<Made<Forked>> {
    let (from, Json(ForkAgent { agent_id, event_seq })) = (call.agent, call.body);
    let fork = Fork { from: from.clone(), at: event_seq, to: agent_id.clone() };
    let forked = app.runtime.fork(fork).await?;
    match forked {
        Ok(through) => {
            let home = copy_home(&app, &from, &agent_id).await?;
            Ok(Made(Forked { ok: true, agent_id, forked_from: from, event_seq: through, agent_home: home }))
        }
        Err(waits @ ForkError::Waits) => {
            // It will be there, and has a home then.
            let failure = refused(waits);
            Err(match copy_home(&app, &from, &agent_id).await {
                Ok(_) => failure,
                Err(problem) => failure.detail("agent_home", problem.to_string()),
            })
        }
        Err(error) => Err(refused(error)),
    }
}

async fn copy_home(app: &App, from: &AgentId, to: &AgentId) -> Handled<String> {
    let (from, to) = (from.clone(), to.clone());
    let copy = move |app: &App| app.home.copy_agent(&from, &to).map_err(Failure::internal);
    Ok(app.blocking(copy).await?.display().to_string())
}

fn refused(error: ForkError) -> Box<Failure> {
    let text = error.to_string();
    match error {
        ForkError::NoAgent(agent) => Failure::unknown_agent(&agent),
        ForkError::Exists(agent) => Reject::AgentExists { agent }.into(),
        ForkError::Beyond { agent, last, .. } => Failure::new(Code::CursorAhead, text)
            .hint(format!("holon tail {agent} shows the last events"))
            .detail("last_event_seq", last.0),
        ForkError::TooLarge { records } => Failure::new(Code::TooLarge, text).detail("records", records),
        ForkError::DiskFull => Unavailable::DiskFull.into(),
        ForkError::Waits => Unavailable::NotStoredYet.into(),
        ForkError::Ledger(error) => error.into(),
        ForkError::Encode(_) | ForkError::Restore(_) => Failure::internal(text),
    }
}
