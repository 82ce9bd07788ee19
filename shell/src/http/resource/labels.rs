//! How people name and describe an agent.

use holon_api::rows::{DescribeAgent, RenameAgent};
use holon_api::{Describe, Json, LabelReply, Rename};
use holon_core::view::View;
use holon_core::{Answer as Answered, Input};
use holon_facts::AgentId;
use holon_facts::label::LabelChange;
use holon_platform::spawn;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::{claim, is_nobody, unexpected};
use crate::runtime::Unavailable;

pub(in super::super) async fn rename(app: App, call: Call<RenameAgent>) -> Handled<LabelReply> {
    let Json(Rename { name }) = call.body;
    let agent = call.path.agent_id;
    // Its own id takes the name away.
    let name = name.filter(|name| *name != agent);
    // It goes on although nobody waits any more: the name that is given up is released.
    spawn::task(renamed(app, agent, name)).await.map_err(Failure::internal)?
}

async fn renamed(app: App, agent: AgentId, name: Option<AgentId>) -> Handled<LabelReply> {
    // One at a time: each releases the name that the one before has given.
    let _turn = app.names.renames().await;
    let named = agent.clone();
    let look = move |view: View<'_>| view.agent(&named).and_then(|agent| agent.label.name.clone());
    let before = app.runtime.read(Some(&agent), look).await?;
    let claim = match &name {
        Some(name) => Some(claim(&app, name).await?),
        None => None,
    };
    let answered = ask(&app, &agent, LabelChange::Rename { name: name.clone() }).await;
    match claim {
        Some(claim) if is_nobody(&answered) => claim.give_back().await,
        Some(claim) if answered.is_ok() => claim.had(),
        // Dropped where it is not known.
        Some(_) | None => {}
    }
    let answered = answered?;
    if let (Answered::Labelled { .. }, Some(before)) =
        (&answered, before.filter(|before| name.as_ref() != Some(before)))
    {
        app.names.release(&before).await;
    }
    labelled(agent, answered)
}

pub(in super::super) async fn describe(app: App, call: Call<DescribeAgent>) -> Handled<LabelReply> {
    let Json(Describe { description }) = call.body;
    apply(&app, call.path.agent_id, LabelChange::Describe { description }).await
}

async fn apply(app: &App, agent: AgentId, change: LabelChange) -> Handled<LabelReply> {
    let answered = ask(app, &agent, change).await?;
    labelled(agent, answered)
}

async fn ask(app: &App, agent: &AgentId, change: LabelChange) -> Result<Answered, Unavailable> {
    let named = agent.clone();
    app.runtime.ask(Some(agent), move |reply| Input::Label { agent: named, change, reply }).await
}

fn labelled(agent: AgentId, answered: Answered) -> Handled<LabelReply> {
    let Answered::Labelled { label, changed } = answered else { return Err(unexpected(answered)) };
    Ok(LabelReply { ok: true, agent_id: agent, changed, label })
}
