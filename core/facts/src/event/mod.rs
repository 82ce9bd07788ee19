//! Durable facts, in the past tense. Two levels: family and fact; each family's `apply` lives with its
//! subject. A fact is stored as (kind, version, payload), so a reader knows what it does not know.

pub mod brief;
pub mod episode;
pub mod inbox;
pub mod lifecycle;
pub mod operation;
pub mod outbox;
pub mod scheduling;
pub mod skill;
pub mod task;
pub mod timer;
pub mod turn;
pub mod wait;
pub mod wake;
mod wire;
pub mod work;
pub mod workspace;

use alloc::string::String;
use alloc::vec::Vec;

use schemars::{Schema, SchemaGenerator};

use crate::content::{Content, Text};
use crate::ids::DepositId;

pub use brief::{BriefCreated, BriefFact};
pub use episode::{EpisodeClosed, EpisodeFact};
pub use inbox::InboxFact;
pub use lifecycle::LifecycleFact;
pub use operation::OperationFact;
pub use outbox::OutboxFact;
pub use scheduling::SchedulingFact;
pub use skill::{SkillActivated, SkillFact, SkillsCatalogued};
pub use task::TaskFact;
pub use timer::TimerFact;
pub use turn::TurnFact;
pub use wait::WaitFact;
pub use wake::WakeFact;
pub use wire::DecodeError;
pub use work::WorkFact;
pub use workspace::WorkspaceFact;

/// Declares a family: its facts with their payload types, names on the wire, and versions; after `each`, the id that all
/// of them carry.
macro_rules! family {
    ($(#[$doc:meta])* $family:ident each $id:ident: $type:ty { $($fact:ident $kind:literal v $version:literal),* $(,)? }) => {
        family! { $(#[$doc])* $family { $($fact $kind v $version),* } }

        impl $family {
            pub fn $id(&self) -> $type {
                match self { $(Self::$fact(fact) => fact.$id),* }
            }
        }
    };
    ($(#[$doc:meta])* $family:ident { $($fact:ident $kind:literal v $version:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $family { $($fact(Box<$fact>)),* }

        $(impl From<$fact> for crate::event::Event {
            fn from(fact: $fact) -> Self {
                $family::$fact(Box::new(fact)).into()
            }
        })*

        impl $family {
            /// Name and current version of each fact.
            pub const KINDS: &'static [(&'static str, u16)] = &[$(($kind, $version)),*];

            /// What the payload of each fact is.
            pub fn schemas(generator: &mut schemars::SchemaGenerator) -> alloc::vec::Vec<(&'static str, schemars::Schema)> {
                alloc::vec![$(($kind, generator.subschema_for::<$fact>())),*]
            }

            pub fn kind(&self) -> &'static str {
                match self { $(Self::$fact(_) => $kind),* }
            }

            pub fn version(&self) -> u16 {
                match self { $(Self::$fact(_) => $version),* }
            }

            pub fn payload(&self) -> Result<alloc::string::String, serde_json::Error> {
                match self { $(Self::$fact(fact) => serde_json::to_string(fact)),* }
            }

            pub fn decode(kind: &str, payload: &str) -> Option<Result<Self, serde_json::Error>> {
                match kind {
                    $($kind => Some(serde_json::from_str(payload).map(|fact| Self::$fact(Box::new(fact)))),)*
                    _ => None,
                }
            }
        }
    };
}
use family;

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Lifecycle(LifecycleFact),
    Inbox(InboxFact),
    Scheduling(SchedulingFact),
    Turn(TurnFact),
    Operation(OperationFact),
    Task(TaskFact),
    Timer(TimerFact),
    Work(WorkFact),
    Wait(WaitFact),
    Wake(WakeFact),
    Outbox(OutboxFact),
    Workspace(WorkspaceFact),
    Brief(BriefFact),
    Episode(EpisodeFact),
    Skill(SkillFact),
}

macro_rules! each_family {
    ($self:expr, $fact:ident => $body:expr) => {
        match $self {
            Event::Lifecycle($fact) => $body,
            Event::Inbox($fact) => $body,
            Event::Scheduling($fact) => $body,
            Event::Turn($fact) => $body,
            Event::Operation($fact) => $body,
            Event::Task($fact) => $body,
            Event::Timer($fact) => $body,
            Event::Work($fact) => $body,
            Event::Wait($fact) => $body,
            Event::Wake($fact) => $body,
            Event::Outbox($fact) => $body,
            Event::Workspace($fact) => $body,
            Event::Brief($fact) => $body,
            Event::Episode($fact) => $body,
            Event::Skill($fact) => $body,
        }
    };
}

impl Event {
    /// Name of the fact on the wire, for example `message_admitted`.
    pub fn kind(&self) -> &'static str {
        each_family!(self, fact => fact.kind())
    }

    pub fn version(&self) -> u16 {
        each_family!(self, fact => fact.version())
    }

    /// The payload as JSON with a fixed order of keys.
    ///
    /// # Errors
    /// None in practice: every payload is a plain struct with string keys.
    pub fn payload(&self) -> Result<String, serde_json::Error> {
        each_family!(self, fact => fact.payload())
    }

    /// What was deposited while nobody owned the agent, and is taken with this fact.
    pub fn deposit(&self) -> Option<DepositId> {
        if let Self::Inbox(InboxFact::MessageAdmitted(fact)) = self {
            return fact.deposit;
        }
        let Self::Wake(fact) = self else { return None };
        if let WakeFact::WakeHintRecorded(fact) = fact {
            return fact.hint.deposit;
        }
        let WakeFact::WakeHintCoalesced(fact) = fact else { return None };
        fact.hint.deposit
    }

    /// Name and current version of every fact there is.
    pub fn kinds() -> impl Iterator<Item = (&'static str, u16)> {
        [
            LifecycleFact::KINDS,
            InboxFact::KINDS,
            SchedulingFact::KINDS,
            TurnFact::KINDS,
            OperationFact::KINDS,
            TaskFact::KINDS,
            TimerFact::KINDS,
            WorkFact::KINDS,
            WaitFact::KINDS,
            WakeFact::KINDS,
            OutboxFact::KINDS,
            WorkspaceFact::KINDS,
            BriefFact::KINDS,
            EpisodeFact::KINDS,
            SkillFact::KINDS,
        ]
        .into_iter()
        .flatten()
        .copied()
    }

    /// What the payload of every fact is, by its name.
    pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
        [
            LifecycleFact::schemas,
            InboxFact::schemas,
            SchedulingFact::schemas,
            TurnFact::schemas,
            OperationFact::schemas,
            TaskFact::schemas,
            TimerFact::schemas,
            WorkFact::schemas,
            WaitFact::schemas,
            WakeFact::schemas,
            OutboxFact::schemas,
            WorkspaceFact::schemas,
            BriefFact::schemas,
            EpisodeFact::schemas,
            SkillFact::schemas,
        ]
        .into_iter()
        .flat_map(|schemas| schemas(generator))
        .collect()
    }

    /// Calls `visit` with every stored text that the fact names.
    pub fn contents<'a>(&'a self, visit: &mut dyn FnMut(&'a Content)) {
        let mut texts = |text: &'a Text| {
            if let Some(content) = text.content() {
                visit(content);
            }
        };
        match self {
            Self::Lifecycle(_)
            | Self::Scheduling(_)
            | Self::Timer(_)
            | Self::Wait(_)
            | Self::Workspace(_) => {}
            Self::Operation(fact) => fact.texts(&mut texts),
            Self::Task(fact) => fact.texts(&mut texts),
            Self::Work(fact) => fact.texts(&mut texts),
            Self::Wake(fact) => fact.texts(&mut texts),
            Self::Outbox(fact) => fact.texts(&mut texts),
            Self::Inbox(fact) => fact.texts(&mut texts),
            Self::Turn(fact) => fact.texts(&mut texts),
            Self::Brief(fact) => fact.texts(&mut texts),
            Self::Episode(fact) => fact.texts(&mut texts),
            Self::Skill(fact) => fact.texts(&mut texts),
        }
    }
}

macro_rules! into_event {
    ($($family:ident => $variant:ident),*) => {$(
        impl From<$family> for Event {
            fn from(fact: $family) -> Self {
                Self::$variant(fact)
            }
        }
    )*};
}
into_event!(LifecycleFact => Lifecycle, InboxFact => Inbox, SchedulingFact => Scheduling, TurnFact => Turn,
    OperationFact => Operation, TaskFact => Task, TimerFact => Timer, WorkFact => Work,
    WaitFact => Wait, WakeFact => Wake, OutboxFact => Outbox, WorkspaceFact => Workspace, BriefFact => Brief,
    EpisodeFact => Episode, SkillFact => Skill);
