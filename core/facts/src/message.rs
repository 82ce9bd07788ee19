//! The envelope of everything that enters an agent, and the one table that says what may come from where
//! and with which authority (contract: agent.md, Messages).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{ContentId, Text};
use crate::ids::{DepositId, MessageId, TimerId};
use crate::image::{self, Image, MESSAGE_BYTES, PER_MESSAGE};
use crate::reject::Reject;
use crate::skill::{GIVEN, GIVEN_BYTES, GivenSkill};
use crate::subsystem::SUPERVISOR;
use crate::time::Wall;

pub use crate::provenance::{
    AdmissionContext, AuthorityClass, BodyType, MessageKind, Priority, Surface, TriggerKind, Trust,
};

/// Who a message comes from.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    Operator { actor_id: Option<String> },
    Channel { channel_id: String, sender_id: Option<String> },
    Webhook { source: String, event_type: Option<String> },
    Callback { descriptor_id: String, source: Option<String> },
    Timer { timer_id: String },
    System { subsystem: String },
    Task { task_id: String },
}

/// The payload, as text or as JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Body {
    #[serde(rename = "type")]
    pub kind: BodyType,
    pub text: Text,
}

/// Longest name, reference or key that comes with a message, in bytes: it stands in records as it is. Surfaces
/// take 256 characters, of which each may have four bytes.
pub const NAME_BYTES: usize = 4 * 256;

/// Most references that come with a message.
pub const SOURCE_REFS: usize = 16;

/// What a caller may say about a message. Authority and trust are not among it: they follow from origin.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    pub kind: MessageKind,
    pub origin: Origin,
    pub priority: Priority,
    pub body: Body,
    /// What the model is shown with the text; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Skills that an operator wants to be used; at most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<GivenSkill>,
    /// JSON text of the transport's own context; provenance only.
    pub metadata: Option<Text>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    pub delivery_surface: Surface,
    pub admission_context: AdmissionContext,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
    pub idempotency: Option<Idempotency>,
    /// It was kept while nobody owned its agent.
    pub deposit: Option<DepositId>,
}

impl Ingress {
    /// A plain prompt of the operator.
    pub fn prompt(text: Text, delivery_surface: Surface, admission_context: AdmissionContext) -> Self {
        Self {
            kind: MessageKind::OperatorPrompt,
            origin: Origin::Operator { actor_id: None },
            priority: Priority::Normal,
            body: Body { kind: BodyType::Text, text },
            images: Vec::new(),
            skills: Vec::new(),
            metadata: None,
            source_refs: BTreeMap::new(),
            delivery_surface,
            admission_context,
            correlation_id: None,
            causation_id: None,
            idempotency: None,
            deposit: None,
        }
    }
}

/// Names one intention of a caller, so that a retry admits nothing new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Idempotency {
    pub key: String,
    /// Hash of everything that the caller asked for.
    pub payload: ContentId,
}

/// An admitted message. Everything in it is fixed at admission.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub id: MessageId,
    pub created_at: Wall,
    pub kind: MessageKind,
    pub origin: Origin,
    pub trust: Trust,
    pub authority_class: AuthorityClass,
    pub priority: Priority,
    pub trigger_kind: TriggerKind,
    pub body: Body,
    /// What the model is shown with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Skills that the operator wants to be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<GivenSkill>,
    pub metadata: Option<Text>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    pub delivery_surface: Surface,
    pub admission_context: AdmissionContext,
    pub correlation_id: Option<String>,
    pub causation_id: Option<String>,
}

impl Message {
    /// Normalises what a caller sent: checks that the kind may come from the origin and with the priority,
    /// and derives trust, authority and trigger. Nothing later reads free text to learn what a message is.
    pub fn admit(id: MessageId, at: Wall, ingress: Ingress) -> Result<Self, Reject> {
        let (trust, authority_class) = standing(ingress.kind, &ingress.origin)?;
        check_priority(&ingress, trust)?;
        check_names(&ingress)?;
        check_images(&ingress.images)?;
        check_skills(ingress.kind, &ingress.skills)?;
        Ok(Self {
            id,
            created_at: at,
            kind: ingress.kind,
            trigger_kind: trigger(ingress.kind),
            origin: ingress.origin,
            trust,
            authority_class,
            priority: ingress.priority,
            body: ingress.body,
            images: ingress.images,
            skills: ingress.skills,
            metadata: ingress.metadata,
            source_refs: ingress.source_refs,
            delivery_surface: ingress.delivery_surface,
            admission_context: ingress.admission_context,
            correlation_id: ingress.correlation_id,
            causation_id: ingress.causation_id,
        })
    }

    /// Whether a turn in progress takes it in at its next safe point.
    pub fn interjects(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
            && self.trust == Trust::TrustedOperator
            && self.priority == Priority::Interject
    }

    /// The timer that it reports.
    pub fn timer(&self) -> Option<TimerId> {
        match &self.origin {
            Origin::Timer { timer_id } => timer_id.parse().ok(),
            Origin::Operator { .. }
            | Origin::Channel { .. }
            | Origin::Webhook { .. }
            | Origin::Callback { .. }
            | Origin::System { .. }
            | Origin::Task { .. } => None,
        }
    }

    /// Whether an operator says it, or who stands in for one: the agent that supervises.
    pub fn is_by_operator(&self) -> bool {
        let supervisor = || self.origin.is_of(SUPERVISOR);
        self.kind == MessageKind::OperatorPrompt
            || (self.kind == MessageKind::InternalFollowup && supervisor())
    }

    /// What the message costs against the bytes of the queue.
    pub fn bytes(&self) -> u64 {
        let images = self.images.iter().map(|image| image.data.bytes()).fold(0, u64::saturating_add);
        let skills = self.skills.iter().map(|skill| skill.body.bytes()).fold(0, u64::saturating_add);
        self.body_bytes().saturating_add(images).saturating_add(skills)
    }

    /// The same without its images and skills, which have bounds of their own.
    pub fn body_bytes(&self) -> u64 {
        let refs: usize = self.source_refs.iter().map(|(name, value)| name.len() + value.len()).sum();
        let metadata = self.metadata.as_ref().map_or(0, Text::bytes);
        self.body.text.bytes().saturating_add(metadata).saturating_add(refs as u64)
    }
}

impl Origin {
    /// A part of the runtime (see [`crate::subsystem`]).
    pub fn system(subsystem: &str) -> Self {
        Self::System { subsystem: subsystem.into() }
    }

    /// Whether it is this part of the runtime.
    pub fn is_of(&self, part: &str) -> bool {
        matches!(self, Self::System { subsystem } if subsystem == part)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Operator { .. } => "operator",
            Self::Channel { .. } => "channel",
            Self::Webhook { .. } => "webhook",
            Self::Callback { .. } => "callback",
            Self::Timer { .. } => "timer",
            Self::System { .. } => "system",
            Self::Task { .. } => "task",
        }
    }

    /// Whatever the sender calls itself.
    pub fn ids(&self) -> [Option<&str>; 2] {
        match self {
            Self::Operator { actor_id } => [actor_id.as_deref(), None],
            Self::Channel { channel_id, sender_id } => [Some(channel_id), sender_id.as_deref()],
            Self::Webhook { source, event_type } => [Some(source), event_type.as_deref()],
            Self::Callback { descriptor_id, source } => [Some(descriptor_id), source.as_deref()],
            Self::Timer { timer_id } => [Some(timer_id), None],
            Self::System { subsystem } => [Some(subsystem), None],
            Self::Task { task_id } => [Some(task_id), None],
        }
    }
}

impl Origin {
    /// The same with other names for whom it names.
    pub fn map_ids(&self, map: impl Fn(&str) -> String) -> Self {
        let may = |id: &Option<String>| id.as_deref().map(&map);
        match self {
            Self::Operator { actor_id } => Self::Operator { actor_id: may(actor_id) },
            Self::Channel { channel_id, sender_id } => {
                Self::Channel { channel_id: map(channel_id), sender_id: may(sender_id) }
            }
            Self::Webhook { source, event_type } => {
                Self::Webhook { source: map(source), event_type: may(event_type) }
            }
            Self::Callback { descriptor_id, source } => {
                Self::Callback { descriptor_id: map(descriptor_id), source: may(source) }
            }
            Self::Timer { timer_id } => Self::Timer { timer_id: map(timer_id) },
            Self::System { subsystem } => Self::System { subsystem: map(subsystem) },
            Self::Task { task_id } => Self::Task { task_id: map(task_id) },
        }
    }
}

/// The table: each kind, its only origin, and what follows from it. Control requests never become messages.
fn standing(kind: MessageKind, origin: &Origin) -> Result<(Trust, AuthorityClass), Reject> {
    use MessageKind as Kind;
    const OPERATOR: (Trust, AuthorityClass) = (Trust::TrustedOperator, AuthorityClass::OperatorInstruction);
    const RUNTIME: (Trust, AuthorityClass) = (Trust::TrustedSystem, AuthorityClass::RuntimeInstruction);
    const INTEGRATION: (Trust, AuthorityClass) =
        (Trust::TrustedIntegration, AuthorityClass::IntegrationSignal);
    const EXTERNAL: (Trust, AuthorityClass) = (Trust::UntrustedExternal, AuthorityClass::ExternalEvidence);
    let (fits, standing) = match kind {
        Kind::OperatorPrompt => (matches!(origin, Origin::Operator { .. }), OPERATOR),
        Kind::Control => (false, RUNTIME),
        Kind::ChannelEvent => (matches!(origin, Origin::Channel { .. }), EXTERNAL),
        Kind::WebhookEvent => (matches!(origin, Origin::Webhook { .. }), INTEGRATION),
        Kind::CallbackEvent => (matches!(origin, Origin::Callback { .. }), INTEGRATION),
        Kind::TimerTick => (matches!(origin, Origin::Timer { .. }), RUNTIME),
        Kind::SystemTick | Kind::InternalFollowup | Kind::BriefAck | Kind::BriefResult => {
            (matches!(origin, Origin::System { .. }), RUNTIME)
        }
        Kind::TaskResult | Kind::TaskStatus => (matches!(origin, Origin::Task { .. }), RUNTIME),
    };
    if fits { Ok(standing) } else { Err(Reject::KindFromOrigin { kind, origin: origin.name().into() }) }
}

fn check_priority(ingress: &Ingress, trust: Trust) -> Result<(), Reject> {
    let may = match ingress.priority {
        Priority::Interject => trust == Trust::TrustedOperator,
        Priority::Next | Priority::Normal | Priority::Background => true,
    };
    if may {
        return Ok(());
    }
    Err(Reject::PriorityFromOrigin { priority: ingress.priority, origin: ingress.origin.name().into() })
}

fn check_names(ingress: &Ingress) -> Result<(), Reject> {
    let references = ingress.source_refs.len();
    if references > SOURCE_REFS {
        return Err(Reject::TooMany {
            what: "source_refs".into(),
            count: references as u64,
            limit: SOURCE_REFS as u64,
        });
    }
    let key = ingress.idempotency.as_ref().map(|idempotency| idempotency.key.as_str());
    let ids = [
        ("the idempotency key", key),
        ("correlation_id", ingress.correlation_id.as_deref()),
        ("causation_id", ingress.causation_id.as_deref()),
    ];
    let origin = ingress.origin.ids().map(|id| ("an id of the origin", id));
    let refs = ingress.source_refs.iter().flat_map(|(name, value)| [name, value]);
    let refs = refs.map(|text| ("one of source_refs", Some(text.as_str())));
    let mut names = ids.into_iter().chain(origin).chain(refs);
    let long =
        names.find_map(|(what, name)| Some((what, name.filter(|name| name.len() > NAME_BYTES)?.len())));
    long.map_or(Ok(()), |(what, bytes)| {
        Err(Reject::TooLarge { what: what.into(), bytes: bytes as u64, limit: NAME_BYTES as u64 })
    })
}

fn check_images(images: &[Image]) -> Result<(), Reject> {
    let (count, bytes) = (images.len(), image::bytes_of(images));
    if count > PER_MESSAGE {
        let (count, limit) = (count as u64, PER_MESSAGE as u64);
        return Err(Reject::TooMany { what: "images".into(), count, limit });
    }
    if bytes > MESSAGE_BYTES {
        return Err(Reject::TooLarge {
            what: "the images of the message".into(),
            bytes,
            limit: MESSAGE_BYTES,
        });
    }
    Ok(())
}

/// An operator alone gives skills.
fn check_skills(kind: MessageKind, skills: &[GivenSkill]) -> Result<(), Reject> {
    let (count, limit) = (skills.len(), if kind == MessageKind::OperatorPrompt { GIVEN } else { 0 });
    if count > limit {
        let what = format!("skills with a message of kind {kind}");
        return Err(Reject::TooMany { what, count: count as u64, limit: limit as u64 });
    }
    let ids: BTreeSet<&str> = skills.iter().map(|skill| skill.skill_id.as_str()).collect();
    if ids.len() < count {
        let what = "copies of one skill with a message".into();
        return Err(Reject::TooMany { what, count: (count - ids.len() + 1) as u64, limit: 1 });
    }
    let long = skills.iter().find(|skill| skill.body.bytes() > GIVEN_BYTES);
    long.map_or(Ok(()), |skill| {
        let what = format!("the text of the skill {}", skill.name);
        Err(Reject::TooLarge { what, bytes: skill.body.bytes(), limit: GIVEN_BYTES })
    })
}

fn trigger(kind: MessageKind) -> TriggerKind {
    use MessageKind as Kind;
    match kind {
        Kind::OperatorPrompt | Kind::Control => TriggerKind::OperatorInput,
        Kind::ChannelEvent | Kind::WebhookEvent | Kind::CallbackEvent => TriggerKind::ExternalEvent,
        Kind::TimerTick => TriggerKind::TimerFire,
        Kind::SystemTick | Kind::BriefAck | Kind::BriefResult => TriggerKind::SystemTick,
        Kind::InternalFollowup => TriggerKind::InternalFollowup,
        Kind::TaskResult | Kind::TaskStatus => TriggerKind::TaskResult,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingress(kind: MessageKind, priority: Priority, text: &str) -> Ingress {
        let prompt = Ingress::prompt(Text::short(text), Surface::CliPrompt, AdmissionContext::LocalProcess);
        Ingress { kind, origin: origin_of(kind), priority, ..prompt }
    }

    fn origin_of(kind: MessageKind) -> Origin {
        match kind {
            MessageKind::OperatorPrompt | MessageKind::Control => Origin::Operator { actor_id: None },
            MessageKind::ChannelEvent => Origin::Channel { channel_id: "c".into(), sender_id: None },
            MessageKind::WebhookEvent => Origin::Webhook { source: "w".into(), event_type: None },
            MessageKind::CallbackEvent => Origin::Callback { descriptor_id: "d".into(), source: None },
            MessageKind::TimerTick => Origin::Timer { timer_id: "t".into() },
            MessageKind::SystemTick
            | MessageKind::InternalFollowup
            | MessageKind::BriefAck
            | MessageKind::BriefResult => Origin::System { subsystem: "s".into() },
            MessageKind::TaskResult | MessageKind::TaskStatus => Origin::Task { task_id: "task_1".into() },
        }
    }

    /// The one origin of each kind, and what follows from it.
    type Row = (MessageKind, Option<&'static str>, Trust, AuthorityClass, TriggerKind);

    fn rows() -> [Row; 12] {
        use AuthorityClass::{ExternalEvidence, IntegrationSignal, OperatorInstruction, RuntimeInstruction};
        use MessageKind as Kind;
        use Trust::{TrustedIntegration, TrustedOperator, TrustedSystem, UntrustedExternal};
        let operator = (TrustedOperator, OperatorInstruction);
        let system = (TrustedSystem, RuntimeInstruction);
        let integration = (TrustedIntegration, IntegrationSignal);
        let external = (UntrustedExternal, ExternalEvidence);
        let row = |kind, origin, (trust, authority), trigger| (kind, origin, trust, authority, trigger);
        [
            row(Kind::OperatorPrompt, Some("operator"), operator, TriggerKind::OperatorInput),
            row(Kind::Control, None, system, TriggerKind::OperatorInput),
            row(Kind::ChannelEvent, Some("channel"), external, TriggerKind::ExternalEvent),
            row(Kind::WebhookEvent, Some("webhook"), integration, TriggerKind::ExternalEvent),
            row(Kind::CallbackEvent, Some("callback"), integration, TriggerKind::ExternalEvent),
            row(Kind::TimerTick, Some("timer"), system, TriggerKind::TimerFire),
            row(Kind::SystemTick, Some("system"), system, TriggerKind::SystemTick),
            row(Kind::InternalFollowup, Some("system"), system, TriggerKind::InternalFollowup),
            row(Kind::TaskResult, Some("task"), system, TriggerKind::TaskResult),
            row(Kind::TaskStatus, Some("task"), system, TriggerKind::TaskResult),
            row(Kind::BriefAck, Some("system"), system, TriggerKind::SystemTick),
            row(Kind::BriefResult, Some("system"), system, TriggerKind::SystemTick),
        ]
    }

    fn origins() -> [Origin; 7] {
        [
            Origin::Operator { actor_id: Some("someone".into()) },
            Origin::Channel { channel_id: "operator".into(), sender_id: Some("operator".into()) },
            Origin::Webhook { source: "operator".into(), event_type: None },
            Origin::Callback { descriptor_id: "d".into(), source: None },
            Origin::Timer { timer_id: "t".into() },
            Origin::System { subsystem: "s".into() },
            Origin::Task { task_id: "task_1".into() },
        ]
    }

    #[test]
    fn every_kind_from_every_origin() {
        assert!(rows().iter().map(|row| &row.0).eq(MessageKind::ALL), "each kind has one row");
        for (kind, only, trust, authority, trigger) in rows() {
            for origin in origins() {
                let name = origin.name();
                let sent = Ingress { origin, ..ingress(kind, Priority::Normal, "hello") };
                let admitted = Message::admit(MessageId(1), Wall(5), sent);
                if only != Some(name) {
                    assert_eq!(admitted, Err(Reject::KindFromOrigin { kind, origin: name.into() }));
                    continue;
                }
                let message = admitted.unwrap();
                let follows = (message.trust, message.authority_class, message.trigger_kind);
                assert_eq!(follows, (trust, authority, trigger), "{kind}");
                assert_eq!((message.id, message.created_at), (MessageId(1), Wall(5)));
            }
        }
    }

    #[test]
    fn only_operators_interject() {
        for (kind, only, trust, _, _) in rows() {
            for &priority in Priority::ALL {
                let admitted = Message::admit(MessageId(1), Wall(5), ingress(kind, priority, "hello"));
                let may = priority != Priority::Interject || trust == Trust::TrustedOperator;
                match only {
                    None => assert!(matches!(admitted, Err(Reject::KindFromOrigin { .. }))),
                    Some(origin) if !may => {
                        let origin = origin.into();
                        assert_eq!(admitted, Err(Reject::PriorityFromOrigin { priority, origin }));
                    }
                    Some(_) => {
                        let interjects =
                            kind == MessageKind::OperatorPrompt && priority == Priority::Interject;
                        assert_eq!(admitted.unwrap().interjects(), interjects, "{kind} {priority}");
                    }
                }
            }
        }
    }

    #[test]
    fn whatever_stands_in_records_as_it_is_has_a_bound() {
        let long = || "x".repeat(NAME_BYTES + 1);
        let sent = || ingress(MessageKind::WebhookEvent, Priority::Normal, "hello");
        let refs = |count: usize| (0..count).map(|n| (alloc::format!("r{n}"), String::new())).collect();
        let refused = [
            Ingress { correlation_id: Some(long()), ..sent() },
            Ingress { causation_id: Some(long()), ..sent() },
            Ingress { source_refs: [(long(), String::new())].into(), ..sent() },
            Ingress { source_refs: [(String::new(), long())].into(), ..sent() },
            Ingress { source_refs: refs(SOURCE_REFS + 1), ..sent() },
            Ingress { origin: Origin::Webhook { source: "w".into(), event_type: Some(long()) }, ..sent() },
            Ingress { idempotency: Some(Idempotency { key: long(), payload: ContentId([0; 32]) }), ..sent() },
        ];
        for sent in refused {
            let refusal = Message::admit(MessageId(1), Wall(5), sent).unwrap_err();
            assert!(matches!(refusal.code(), "too_large" | "too_many"), "{refusal}");
        }
        let full = Ingress { source_refs: refs(SOURCE_REFS), ..sent() };
        let bytes = Message::admit(MessageId(1), Wall(5), full).unwrap().bytes();
        assert!(bytes > "hello".len() as u64, "references count against the queue");
    }
}
