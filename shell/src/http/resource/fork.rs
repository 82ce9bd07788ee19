//! A new agent that begins as a copy of another.

use holon_api::rows::CopyAgent;
use holon_api::{Code, ForkAgent, Forked, Json};
use holon_facts::Reject;
use holon_ledger::sqlite::{Fork, ForkError};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use crate::runtime::Unavailable;

pub(in super::super) async fn fork(app: App, call: Call<CopyAgent>) -> Handled<Forked> {
    let (from, Json(ForkAgent { agent_id, event_seq })) = (call.path.agent_id, call.body);
    let fork = Fork { from: from.clone(), at: event_seq, to: agent_id.clone() };
    let through = app.runtime.fork(fork).await?.map_err(refused)?;
    let home = app.home.agent(&agent_id).display().to_string();
    Ok(Forked { ok: true, agent_id, forked_from: from, event_seq: through, agent_home: home })
}

fn refused(error: ForkError) -> Box<Failure> {
    let text = error.to_string();
    match error {
        ForkError::NoAgent(agent) => Failure::unknown_agent(&agent),
        ForkError::Child { supervisor, .. } => Failure::new(Code::PrivateAgent, text)
            .hint(format!("copy {supervisor} and have it delegate anew, or prompt a new agent")),
        ForkError::Exists(agent) => Reject::AgentExists { agent }.into(),
        ForkError::NameTaken { name, agent } => Reject::NameTaken { name, agent }.into(),
        ForkError::Beyond { agent, last, .. } => Failure::new(Code::CursorAhead, text)
            .hint(format!("holon tail {agent} shows the last events"))
            .detail("last_event_seq", last.0),
        ForkError::TooLarge { records } => Failure::new(Code::TooLarge, text).detail("records", records),
        ForkError::DiskFull => Unavailable::DiskFull.into(),
        ForkError::Waits => Unavailable::NotStoredYet.into(),
        ForkError::Ledger(error) => error.into(),
        ForkError::Restore(_) | ForkError::Home(_) => Failure::internal(text),
    }
}
