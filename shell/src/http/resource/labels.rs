//! How people name and describe an agent.

use holon_api::rows::{DescribeAgent, RenameAgent};
use holon_api::{Describe, Json, LabelReply, Rename};
use holon_core::{Answer as Answered, Input};
use holon_facts::label::LabelChange;
use holon_facts::{AgentId, Reject};

use super::super::App;
use super::super::route::{Call, Handled};
use super::control::unexpected;

pub(in super::super) async fn rename(app: App, call: Call<RenameAgent>) -> Handled<LabelReply> {
    let Json(Rename { name }) = call.body;
    if let Some(name) = &name
        && !app.names.claim(name).await?
    {
        return Err(Reject::AgentExists { agent: name.clone() }.into());
    }
    apply(&app, call.path.agent_id, LabelChange::Rename { name }).await
}

pub(in super::super) async fn describe(app: App, call: Call<DescribeAgent>) -> Handled<LabelReply> {
    let Json(Describe { description }) = call.body;
    apply(&app, call.path.agent_id, LabelChange::Describe { description }).await
}

async fn apply(app: &App, agent: AgentId, change: LabelChange) -> Handled<LabelReply> {
    let named = agent.clone();
    let ask = move |reply| Input::Label { agent: named, change, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    let Answered::Labelled { label, changed } = answered else { return Err(unexpected(answered)) };
    Ok(LabelReply { ok: true, agent_id: agent, changed, label })
}
