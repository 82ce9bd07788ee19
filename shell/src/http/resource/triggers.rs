//! Triggers: what is sent to their addresses, and what operators do about those.

use holon_api::rows::{DeliverMessage, DeliverWake, ListTriggers, RevokeTrigger, RotateTrigger};
use holon_api::{
    Anything, Code, Delivered, DeliveryQuery, TriggerReply, TriggerSnapshot, Triggers, WEBHOOK_BYTES,
};
use holon_core::agent::external_trigger::ExternalTrigger;
use holon_core::{Answer as Answered, Input};
use holon_facts::hint::Hint;
use holon_facts::ids::{DepositId, ExternalTriggerId};
use holon_facts::trigger::{Delivery, DeliveryMode, TriggerChange, TriggerStatus};
use holon_facts::{AgentId, Reject};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::unexpected;
use super::ingress::check_names;
use super::look::{Looked, look};

/// Whose hints deliveries are that name nobody.
const SOURCE: &str = "external_trigger";
const REASON: &str = "something was delivered";

pub(in super::super) async fn list(app: App, call: Call<ListTriggers>) -> Handled<Triggers> {
    let read =
        |view: holon_core::view::View<'_>, agent: &AgentId| Some(view.agent(agent)?.external_trigger.clone());
    let Looked { seen, .. } = look(&app, &call.path.agent_id, read).await?;
    let triggers = seen.map(|trigger| snapshot(&app, &call.path.agent_id, trigger)).into_iter().collect();
    Ok(Triggers { ok: true, triggers })
}

pub(in super::super) async fn rotate(app: App, call: Call<RotateTrigger>) -> Handled<TriggerReply> {
    change(&app, call.path.agent_id, TriggerChange::Rotate).await
}

pub(in super::super) async fn revoke(app: App, call: Call<RevokeTrigger>) -> Handled<TriggerReply> {
    change(&app, call.path.agent_id, TriggerChange::Revoke).await
}

pub(in super::super) async fn deliver(app: App, call: Call<DeliverWake>) -> Handled<Delivered> {
    delivered(&app, (call.from.trigger, call.from.deposit), call.query, call.body, DeliveryMode::WakeHint)
        .await
}

pub(in super::super) async fn enqueue(app: App, call: Call<DeliverMessage>) -> Handled<Delivered> {
    let mode = DeliveryMode::EnqueueMessage;
    delivered(&app, (call.from.trigger, call.from.deposit), call.query, call.body, mode).await
}

/// What is wrong with a delivery is told to those alone whose address is in force (contract: work.md, External triggers).
pub(in super::super) async fn refusal(
    app: &App,
    trigger: Option<&(AgentId, u64)>,
    failure: Box<Failure>,
) -> Box<Failure> {
    let Some((agent, generation)) = trigger else { return failure };
    let in_force =
        |view: holon_core::view::View<'_>, agent: &AgentId| Some(view.agent(agent)?.trigger_generation());
    match look(app, agent, in_force).await {
        Ok(looked) if looked.seen == Some(*generation) => failure,
        Err(problem) if problem.code() == Code::UnknownAgent => Reject::UnknownTrigger.into(),
        // A runtime that leaves does not know: whoever asks again is answered by the next one.
        Err(_) if failure.code().status().is_server_error() => failure,
        Err(problem) => problem,
        Ok(_) => Reject::UnknownTrigger.into(),
    }
}

async fn delivered(
    app: &App,
    (trigger, deposit): (Option<(AgentId, u64)>, Option<DepositId>),
    query: DeliveryQuery,
    body: Anything<WEBHOOK_BYTES>,
    delivery_mode: DeliveryMode,
) -> Handled<Delivered> {
    match take(app, (trigger.clone(), deposit), query, body, delivery_mode).await {
        Err(failure) => Err(refusal(app, trigger.as_ref(), failure).await),
        delivered => delivered,
    }
}

async fn take(
    app: &App,
    (trigger, deposit): (Option<(AgentId, u64)>, Option<DepositId>),
    query: DeliveryQuery,
    body: Anything<WEBHOOK_BYTES>,
    delivery_mode: DeliveryMode,
) -> Handled<Delivered> {
    let (agent, generation) = trigger.ok_or(Reject::UnknownTrigger)?;
    check_names(
        Code::InvalidQuery,
        &[
            ("source", &query.source),
            ("reason", &query.reason),
            ("description", &query.description),
            ("resource", &query.resource),
            ("correlation_id", &query.correlation_id),
            ("causation_id", &query.causation_id),
        ],
    )?;
    let Anything { text, content_type } = body;
    check_names(Code::InvalidHeader, &[("content-type", &content_type)])?;
    let texts = app.runtime.texts();
    let plain = |text: Option<String>| text.map(|text| texts.redact(&text));
    let source = plain(query.source).unwrap_or_else(|| SOURCE.to_owned());
    let reason = plain(query.reason).unwrap_or_else(|| REASON.to_owned());
    // Which trigger it was, and what came before, the core knows.
    let hint = Hint {
        description: plain(query.description),
        resource: plain(query.resource),
        body: text.map(|text| texts.take(&text)),
        content_type: plain(content_type),
        correlation_id: plain(query.correlation_id),
        causation_id: plain(query.causation_id),
        deposit,
        ..Hint::new(source, reason)
    };
    let delivery = Delivery { generation, delivery_mode, hint };
    let named = agent.clone();
    let ask = move |reply| Input::Deliver { agent: named, delivery, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    // That there was such an agent once is nobody's business.
    if let Answered::Refused { reject: Reject::UnknownAgent { .. } } = answered {
        return Err(Reject::UnknownTrigger.into());
    }
    let Answered::Woken { disposition } = answered else { return Err(unexpected(answered)) };
    Ok(Delivered {
        ok: true,
        external_trigger_id: ExternalTriggerId::OF_AGENT,
        disposition,
        delivery_mode: DeliveryMode::WakeHint,
        deprecated: delivery_mode != DeliveryMode::WakeHint,
    })
}

/// A revocation gets through whatever else waits.
async fn change(app: &App, agent: AgentId, change: TriggerChange) -> Handled<TriggerReply> {
    let named = agent.clone();
    let ask = move |reply| Input::ChangeTrigger { agent: named, change, reply };
    let answered = match change {
        TriggerChange::Rotate => app.runtime.ask(Some(&agent), ask).await?,
        TriggerChange::Revoke => app.runtime.ask_urgently(&agent, ask).await?,
    };
    let Answered::ExternalTrigger { trigger, changed } = answered else { return Err(unexpected(answered)) };
    let trigger = snapshot(app, &agent, *trigger);
    Ok(TriggerReply { ok: true, agent_id: agent, changed, trigger })
}

fn snapshot(app: &App, agent: &AgentId, trigger: ExternalTrigger) -> TriggerSnapshot {
    let active = trigger.status == TriggerStatus::Active;
    let trigger_url = active.then(|| app.triggers.url(agent, trigger.generation));
    TriggerSnapshot { trigger, target_agent_id: agent.clone(), trigger_url }
}
