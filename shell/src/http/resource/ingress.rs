//! Messages for agents: how all of them are admitted, and those from outside.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use holon_api::rows::{DeliverWebhook, PostMessage};
use holon_api::{Admitted, AnyJson, Code, EnqueueKind, EnqueuePriority, Json, Payload};
use holon_core::{Answer as Answered, Input};
use holon_facts::AgentId;
use holon_facts::message::{Body, Idempotency, Ingress, Origin};
use holon_facts::provenance::{AdmissionContext, BodyType, MessageKind, Priority, Surface};
use holon_platform::crash_point::{Point, reached};
use holon_text::Texts;
use serde::Serialize;

use super::super::App;
use super::super::auth::Caller;
use super::super::failure::Failure;
use super::super::header::sole;
use super::super::route::{Call, Handled};
use super::control::unexpected;
use crate::runtime::Unavailable;

/// Longest name, reference or key that comes with a message, in characters: what the description says.
const NAME: usize = 256;

pub(in super::super) async fn enqueue(app: App, call: Call<PostMessage>) -> Handled<Admitted> {
    let Json(message) = call.body;
    check_names(
        Code::InvalidBody,
        &[
            ("source", &message.source),
            ("sender", &message.sender),
            ("correlation_id", &message.correlation_id),
            ("causation_id", &message.causation_id),
        ],
    )?;
    if message.source_refs.iter().any(|(name, value)| is_long(name) || is_long(value)) {
        return Err(too_long(Code::InvalidBody, "source_refs"));
    }
    let idempotency = keyed(key(&call.from.headers)?, "enqueue", &message)?;
    let texts = app.runtime.texts();
    let source = message.source.unwrap_or_else(|| "http".to_owned());
    let (kind, origin) = match message.kind {
        EnqueueKind::ChannelEvent => {
            (MessageKind::ChannelEvent, Origin::Channel { channel_id: source, sender_id: message.sender })
        }
        EnqueueKind::WebhookEvent if app.signatures.are_required() => {
            return Err(app.signatures.unsigned(&call.path.agent_id));
        }
        EnqueueKind::WebhookEvent => {
            (MessageKind::WebhookEvent, Origin::Webhook { source, event_type: message.sender })
        }
    };
    let body = match message.body {
        Payload::Text { text } => Body { kind: BodyType::Text, text: texts.take(&text) },
        Payload::Json { value, text } => {
            let text = text.unwrap_or_else(|| value.to_string());
            Body { kind: BodyType::Json, text: texts.take(&text) }
        }
    };
    let metadata =
        message.metadata.map(|metadata| texts.take(&serde_json::Value::Object(metadata).to_string()));
    let ingress = Ingress {
        kind,
        origin,
        priority: match message.priority {
            EnqueuePriority::Next => Priority::Next,
            EnqueuePriority::Normal => Priority::Normal,
            EnqueuePriority::Background => Priority::Background,
        },
        body,
        images: Vec::new(),
        skills: Vec::new(),
        metadata,
        source_refs: message.source_refs,
        delivery_surface: Surface::HttpPublicEnqueue,
        admission_context: admission(call.from.caller),
        correlation_id: message.correlation_id,
        causation_id: message.causation_id,
        idempotency,
        deposit: call.from.deposit,
    };
    admit(&app, call.path.agent_id, ingress).await
}

pub(in super::super) async fn webhook(app: App, call: Call<DeliverWebhook>) -> Handled<Admitted> {
    let (AnyJson { text, canonical }, query) = (call.body, call.query);
    check_names(
        Code::InvalidQuery,
        &[("source", &query.source), ("event_type", &query.event_type), ("delivery_id", &query.delivery_id)],
    )?;
    let source = query.source.unwrap_or_else(|| "generic".to_owned());
    let event_type = query.event_type.or(first(&call.from.headers, ["x-event-type", "x-github-event"])?);
    let delivery = query.delivery_id.or(first(&call.from.headers, ["x-delivery-id", "x-github-delivery"])?);
    let delivery = delivery.map(|id| delivered(&source, &id));
    let key = key(&call.from.headers)?.or(delivery);
    let idempotency = keyed(key, "webhook", &(&source, &event_type, &canonical))?;
    let ingress = Ingress {
        kind: MessageKind::WebhookEvent,
        origin: Origin::Webhook { source, event_type },
        priority: Priority::Normal,
        body: Body { kind: BodyType::Json, text: app.runtime.texts().take(&text) },
        images: Vec::new(),
        skills: Vec::new(),
        metadata: None,
        source_refs: BTreeMap::new(),
        delivery_surface: Surface::HttpWebhook,
        admission_context: admission(call.from.caller),
        correlation_id: None,
        causation_id: None,
        idempotency,
        deposit: call.from.deposit,
    };
    admit(&app, call.path.agent_id, ingress).await
}

/// Asks the runtime, and answers once the message is durable.
pub(super) async fn admit(app: &App, agent: AgentId, ingress: Ingress) -> Handled<Admitted> {
    let named = agent.clone();
    let ingress = redacted(app.runtime.texts(), ingress);
    let idempotency = ingress.idempotency.clone();
    let ask = move |reply| Input::Ingress { agent: named, ingress, reply };
    let answered = match (app.runtime.ask(Some(&agent), ask).await, idempotency) {
        (
            Err(Unavailable::DiskFull | Unavailable::LedgerLocked { .. } | Unavailable::DatabaseAway { .. }),
            Some(idempotency),
        ) => known(app, agent.clone(), idempotency).await?,
        (answered, idempotency) => {
            answered.map_err(|unavailable| unanswered(unavailable, idempotency.map(|it| it.key)))?
        }
    };
    let Answered::Admitted { message_id, duplicate } = answered else { return Err(unexpected(answered)) };
    reached(Point::MessageAcknowledged);
    Ok(Admitted { ok: true, agent_id: agent, message_id, duplicate })
}

/// Names, references and keys stand in records as they are: whatever a sender has put into them, no secret does.
fn redacted(texts: &Texts, ingress: Ingress) -> Ingress {
    let plain = |text: String| texts.redact(&text);
    let may = |text: Option<String>| text.map(plain);
    let origin = match ingress.origin {
        Origin::Operator { actor_id } => Origin::Operator { actor_id: may(actor_id) },
        Origin::Channel { channel_id, sender_id } => {
            Origin::Channel { channel_id: plain(channel_id), sender_id: may(sender_id) }
        }
        Origin::Webhook { source, event_type } => {
            Origin::Webhook { source: plain(source), event_type: may(event_type) }
        }
        Origin::Callback { descriptor_id, source } => Origin::Callback { descriptor_id, source: may(source) },
        own @ (Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. }) => own,
    };
    Ingress {
        origin,
        source_refs: ingress
            .source_refs
            .into_iter()
            .map(|(name, value)| (plain(name), plain(value)))
            .collect(),
        correlation_id: may(ingress.correlation_id),
        causation_id: may(ingress.causation_id),
        idempotency: ingress.idempotency.map(|it| Idempotency { key: plain(it.key), ..it }),
        ..ingress
    }
}

/// A full disk lets nobody come into memory. What became of a message is on it all the same: nobody is notified of it
/// that it was not taken in.
async fn known(app: &App, agent: AgentId, idempotency: Idempotency) -> Handled<Answered> {
    app.blocking(move |app| {
        let host = app.runtime.as_stored(&app.reader, &agent)?;
        match host.view().admitted(&agent, &idempotency) {
            Some(message_id) => Ok(Answered::Admitted { message_id, duplicate: true }),
            None => Err(app.runtime.problem().unwrap_or(Unavailable::DiskFull).into()),
        }
    })
    .await
}

/// Whoever gave a key may repeat what is not stored yet, and is told so.
fn unanswered(unavailable: Unavailable, key: Option<String>) -> Box<Failure> {
    match (unavailable, key) {
        (Unavailable::NotStoredYet, Some(key)) => {
            let failure: Box<Failure> = Unavailable::NotStoredYet.into();
            let hint = "free space on that disk, or see holon daemon status; then try again with the same key: it is admitted once";
            failure.hint(hint).detail("idempotency_key", key)
        }
        (unavailable, _) => unavailable.into(),
    }
}

/// Whoever signs a webhook has proven that he is its sender, and nothing else.
pub(super) fn admission(caller: Option<Caller>) -> AdmissionContext {
    caller.map_or(AdmissionContext::PublicUnauthenticated, Caller::admission)
}

pub(super) fn key(headers: &HeaderMap) -> Handled<Option<String>> {
    header(headers, "idempotency-key")
}

/// Refuses names that are longer than a record may carry: what they are called here, they are called nowhere else.
pub(super) fn check_names(code: Code, names: &[(&'static str, &Option<String>)]) -> Handled<()> {
    let long = names.iter().find(|(_, name)| name.as_deref().is_some_and(is_long));
    long.map_or(Ok(()), |(field, _)| Err(too_long(code, field)))
}

fn is_long(name: &str) -> bool {
    name.chars().nth(NAME).is_some()
}

fn too_long(code: Code, field: &'static str) -> Box<Failure> {
    Failure::new(code, format!("{field}: at most {NAME} characters")).detail("field", field)
}

/// The first of these headers that is there.
fn first(headers: &HeaderMap, names: [&str; 2]) -> Handled<Option<String>> {
    let [one, other] = names;
    let one = header(headers, one)?;
    Ok(one.or(header(headers, other)?))
}

/// A header that says something.
fn header(headers: &HeaderMap, name: &str) -> Handled<Option<String>> {
    let Some(value) = sole(headers, name)? else { return Ok(None) };
    let plain = |text: &&str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match value.to_str().ok().map(str::trim).filter(plain) {
        Some(text) if (1..=NAME).contains(&text.len()) => Ok(Some(text.to_owned())),
        Some(_) | None => Err(Failure::new(
            Code::InvalidHeader,
            format!("{name}: expected 1 to {NAME} visible ASCII characters"),
        )
        .detail("field", name)),
    }
}

/// The key of a delivery of a source; of a long one the hash: thousands are kept, and anybody may send them.
/// No source has the key of another one, and no header can name it: a header has no tab.
fn delivered(source: &str, id: &str) -> String {
    let key = format!("webhook\t{}", serde_json::json!([source, id]));
    if key.len() > NAME { format!("webhook\t{}", holon_text::hash(key.as_bytes())) } else { key }
}

/// A key stands for everything that was asked for, and for the surface that it was asked on.
pub(super) fn keyed(
    key: Option<String>,
    surface: &str,
    asked: &impl Serialize,
) -> Handled<Option<Idempotency>> {
    let Some(key) = key else { return Ok(None) };
    let asked = serde_json::to_string(asked).map_err(Failure::internal)?;
    let payload = holon_text::hash(format!("{surface}\n{asked}").as_bytes());
    Ok(Some(Idempotency { key, payload }))
}
