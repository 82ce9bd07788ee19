//! Facts as they are stored: reading old versions happens here and nowhere else.

use alloc::string::{String, ToString};

use super::{
    BriefFact, EpisodeFact, Event, InboxFact, LifecycleFact, OperationFact, OutboxFact, SchedulingFact,
    SkillFact, TaskFact, TimerFact, TurnFact, WaitFact, WakeFact, WorkFact, WorkspaceFact,
};

/// A stored fact that this build does not understand. The ledger is then opened for reading only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("unknown kind of event {kind:?}: the ledger was written by a newer build")]
    UnknownKind { kind: String },
    #[error(
        "event {kind} has version {version}, this build knows up to {known}: the ledger was written by a newer build"
    )]
    NewerVersion { kind: String, version: u16, known: u16 },
    #[error("event {kind} version {version} is damaged: {problem}")]
    Damaged { kind: String, version: u16, problem: String },
}

impl Event {
    /// Reads a fact as it was stored. Older versions are brought up to date here; there are none yet.
    pub fn decode(kind: &str, version: u16, payload: &str) -> Result<Self, DecodeError> {
        let known = Self::kinds()
            .find(|(name, _)| *name == kind)
            .map(|(_, known)| known)
            .ok_or_else(|| DecodeError::UnknownKind { kind: kind.to_string() })?;
        if version > known {
            return Err(DecodeError::NewerVersion { kind: kind.to_string(), version, known });
        }
        let read = LifecycleFact::decode(kind, payload)
            .map(|fact| fact.map(Self::from))
            .or_else(|| InboxFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| SchedulingFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| TurnFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| OperationFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| TaskFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| TimerFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| WorkFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| WaitFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| WakeFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| OutboxFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| WorkspaceFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| BriefFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| EpisodeFact::decode(kind, payload).map(|fact| fact.map(Self::from)))
            .or_else(|| SkillFact::decode(kind, payload).map(|fact| fact.map(Self::from)));
        match read {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                Err(DecodeError::Damaged { kind: kind.to_string(), version, problem: error.to_string() })
            }
            None => Err(DecodeError::UnknownKind { kind: kind.to_string() }),
        }
    }
}
