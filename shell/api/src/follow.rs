//! What is followed: events of an agent as they become durable, and what a task writes, each once and in order.

use std::future::Future;

use holon_facts::EventSeq;
use tokio::sync::watch;

use super::client_error::ClientError;
use super::path::{AgentPath, TaskPath};
use super::reply::Document;
use super::{AnyEvent, Envelope, LedgerSeq, OutputEnd, OutputPiece};

/// What comes along with an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// A durable event.
    Event(Box<Document<Envelope>>),
    /// A piece of the model's text as it arrives; pieces may be missed.
    Live { kind: String, data: serde_json::Value },
}

/// What comes along with a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    Piece(OutputPiece),
    /// The task has ended, and everything was handed over.
    End(Box<Document<OutputEnd>>),
}

/// Follows the events of an agent.
pub trait Events: Send {
    /// Waits for what comes next. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    fn next(&mut self) -> impl Future<Output = Result<Followed, ClientError>> + Send;

    /// The last event that was handed over.
    fn cursor(&self) -> Option<EventSeq>;

    /// Whether the stream stands, for whoever shows it while `next` waits: false until it does, and while a runtime
    /// that went away is tried again.
    fn connected(&self) -> watch::Receiver<bool>;
}

/// Follows the events of all public agents.
pub trait AllEvents: Send {
    /// Waits for what comes next. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    fn next(&mut self) -> impl Future<Output = Result<AnyEvent, ClientError>> + Send;

    /// Where the last event that was handed over stands.
    fn cursor(&self) -> Option<LedgerSeq>;
}

/// Follows the output of a task.
pub trait Output: Send {
    /// Waits for what comes next; nothing does after the end. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    fn next(&mut self) -> impl Future<Output = Result<Written, ClientError>> + Send;

    /// Bytes that were handed over, or left out.
    fn offset(&self) -> u64;
}

/// Whoever can be followed.
pub trait Follow: Sync {
    type Events: Events;
    type AllEvents: AllEvents;
    type Output: Output;

    /// Begins after an event: 0 is before the first one, none with what is new. `live` is with pieces of what the model
    /// says.
    fn follow(&self, agent: impl Into<AgentPath>, after: Option<EventSeq>, live: bool) -> Self::Events;

    /// Begins behind a position of the ledger: 0 is before the first event of any agent, none with what is new.
    fn follow_all(&self, after: Option<LedgerSeq>) -> Self::AllEvents;

    /// Begins after so many bytes.
    fn follow_output(&self, task: impl Into<TaskPath>, offset: u64) -> Self::Output;
}
