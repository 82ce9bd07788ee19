//! The runtime of this process, followed without a connection. With what the table of routes answers, an [`App`] is a
//! whole `Control`.

use std::collections::VecDeque;
use std::sync::Arc;

use holon_api::{
    AgentPath, AllEvents, AnyEvent, ClientError, Events, Follow, Followed, LedgerSeq, LiveAttempt,
    LiveOutput, LiveText, Output, TaskPath, Written,
};
use holon_facts::EventSeq;
use tokio::sync::watch;

use super::App;
use super::failure::Failure;
use super::resource::all_events::{placed, subscribe as subscribe_all};
use super::resource::stream::subscribe;
use super::resource::tasks::stream::{Follower, Moment};
use crate::events::{AllSubscription, Delivery, Event, PlacedEvent, Subscription};
use crate::live::Live;
use crate::runtime::Unavailable;

/// Events of an agent.
pub struct LocalEvents {
    app: App,
    agent: AgentPath,
    live: bool,
    cursor: Option<EventSeq>,
    /// None before the first wait, and after one that was given up: then it begins anew behind the cursor.
    subscription: Option<Subscription>,
    ready: VecDeque<Arc<Event>>,
}

/// Events of all public agents.
pub struct LocalAllEvents {
    app: App,
    cursor: Option<LedgerSeq>,
    /// As that of one agent.
    subscription: Option<AllSubscription>,
    ready: VecDeque<Arc<PlacedEvent>>,
}

/// Output of a task.
pub struct LocalOutput {
    app: App,
    task: TaskPath,
    offset: u64,
    /// As a subscription.
    follower: Option<Follower>,
}

impl Follow for App {
    type Events = LocalEvents;
    type AllEvents = LocalAllEvents;
    type Output = LocalOutput;

    fn follow(&self, agent: impl Into<AgentPath>, after: Option<EventSeq>, live: bool) -> LocalEvents {
        let (app, agent, ready) = (self.clone(), agent.into(), VecDeque::new());
        LocalEvents { app, agent, live, cursor: after, subscription: None, ready }
    }

    fn follow_all(&self, after: Option<LedgerSeq>) -> LocalAllEvents {
        LocalAllEvents { app: self.clone(), cursor: after, subscription: None, ready: VecDeque::new() }
    }

    fn follow_output(&self, task: impl Into<TaskPath>, offset: u64) -> LocalOutput {
        LocalOutput { app: self.clone(), task: task.into(), offset, follower: None }
    }
}

impl Events for LocalEvents {
    async fn next(&mut self) -> Result<Followed, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.cursor = Some(event.seq);
                let event = serde_json::from_str(&event.json);
                return event.map(|event| Followed::Event(Box::new(event))).map_err(|error| odd(&error));
            }
            let mut subscription = match self.subscription.take() {
                Some(subscription) => subscription,
                None => {
                    let opened =
                        subscribe(&self.app, self.agent.agent_id.clone(), self.cursor, "after_seq", false);
                    let (last, subscription) = opened.await.map_err(|failure| failure.refusal())?;
                    self.cursor = Some(last);
                    subscription
                }
            };
            let seen = if self.live {
                subscription.next_or_live().await
            } else {
                subscription.next().await.map(Delivery::Events)
            };
            let seen = seen.map_err(|error| Box::<Failure>::from(error).refusal())?;
            self.subscription = Some(subscription);
            match seen {
                Delivery::Events(events) => self.ready.extend(events),
                Delivery::Live(live) => return shown(live),
            }
        }
    }

    fn cursor(&self) -> Option<EventSeq> {
        self.cursor
    }

    /// A runtime in this process is never away.
    fn connected(&self) -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }
}

impl AllEvents for LocalAllEvents {
    async fn next(&mut self) -> Result<AnyEvent, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.cursor = Some(LedgerSeq(event.at.0));
                return serde_json::from_str(&event.json).map_err(|error| odd(&error));
            }
            let mut subscription = match self.subscription.take() {
                Some(subscription) => subscription,
                None => {
                    let opened = subscribe_all(&self.app, self.cursor.map(placed), "after", false).await;
                    let subscription = opened.map_err(|failure| failure.refusal())?;
                    self.cursor = Some(LedgerSeq(subscription.cursor().0));
                    subscription
                }
            };
            let seen = subscription.next().await;
            self.ready.extend(seen.map_err(|error| Box::<Failure>::from(error).refusal())?);
            self.subscription = Some(subscription);
        }
    }

    fn cursor(&self) -> Option<LedgerSeq> {
        self.cursor
    }
}

impl Output for LocalOutput {
    async fn next(&mut self) -> Result<Written, ClientError> {
        loop {
            let mut follower = match self.follower.take() {
                Some(follower) => follower,
                None => {
                    let TaskPath { agent_id, task_id } = self.task.clone();
                    let opened = Follower::open(self.app.clone(), agent_id, task_id, self.offset);
                    opened.await.map_err(|failure| failure.refusal())?
                }
            };
            let moment = follower.next().await.map_err(|failure| failure.refusal())?;
            self.follower = Some(follower);
            match moment {
                Some(Moment::Piece(piece)) => {
                    self.offset = piece.next_offset;
                    return Ok(Written::Piece(piece));
                }
                Some(Moment::End(end)) => return Ok(Written::End(Box::new((*end).into()))),
                Some(Moment::Silence) => {}
                None => return Err(Box::<Failure>::from(Unavailable::Leaving).refusal()),
            }
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}

fn shown(live: Live) -> Result<Followed, ClientError> {
    let (kind, data) = match live {
        Live::Attempt { agent: agent_id, op } => {
            ("live_attempt", serde_json::to_value(LiveAttempt { agent_id, op }))
        }
        Live::Text { agent: agent_id, op, piece: text } => {
            ("live_text", serde_json::to_value(LiveText { agent_id, op, text }))
        }
        Live::Output { agent: agent_id, op, lines: text } => {
            ("live_output", serde_json::to_value(LiveOutput { agent_id, op, text }))
        }
    };
    Ok(Followed::Live { kind: kind.to_owned(), data: data.map_err(|error| odd(&error))? })
}

fn odd(error: &serde_json::Error) -> ClientError {
    ClientError::Odd { problem: error.to_string() }
}
