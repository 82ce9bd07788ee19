//! The events of an agent as they become durable, each once and in order: a connection that breaks is made anew,
//! after the last event that was seen.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use holon_core::{AgentId, EventSeq};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use sse_core::{SseDecoder, SseEvent};
use tokio::time::{Instant, timeout};

use super::request::{Ask, body, odd, refused};
use super::{Client, ClientError};

/// Most bytes of one event.
const EVENT: usize = 16 << 20;
/// Three heartbeats: a stream that is silent for longer is dead.
const SILENCE: Duration = Duration::from_secs(45);
/// A runtime that is restarted is waited for so long.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// What is followed.
pub struct Follow {
    client: Client,
    agent: AgentId,
    live: bool,
    /// The last event that was handed over; none begins with what is new.
    cursor: Option<EventSeq>,
    stream: Option<Stream>,
    ready: VecDeque<Followed>,
    /// Since when the runtime does not answer.
    away: Option<Instant>,
}

/// What comes along.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// A durable event, in its envelope.
    Event(Value),
    /// A piece of what the model says, while it does; pieces may be missed.
    Live { kind: String, data: Value },
}

struct Stream {
    incoming: Incoming,
    decoder: SseDecoder,
}

impl Follow {
    /// Begins after an event; 0 is before the first one.
    pub fn after(client: Client, agent: AgentId, cursor: Option<EventSeq>) -> Self {
        Self { client, agent, live: false, cursor, stream: None, ready: VecDeque::new(), away: None }
    }

    /// With pieces of what the model says.
    #[must_use]
    pub fn with_live(mut self) -> Self {
        self.live = true;
        self
    }

    /// The last event that was handed over.
    pub fn cursor(&self) -> Option<EventSeq> {
        self.cursor
    }

    /// Waits for what comes next. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    pub async fn next(&mut self) -> Result<Followed, ClientError> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                self.pass(&next);
                return Ok(next);
            }
            match self.read().await {
                Ok(()) => self.away = None,
                Err(error) => {
                    self.stream = None;
                    let since = *self.away.get_or_insert_with(Instant::now);
                    if !error.may_pass() || since.elapsed() > AWAY {
                        return Err(error);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn pass(&mut self, next: &Followed) {
        if let Followed::Event(envelope) = next
            && let Some(seq) = envelope.get("event_seq").and_then(Value::as_u64)
        {
            self.cursor = Some(EventSeq(seq));
        }
    }

    async fn read(&mut self) -> Result<(), ClientError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = self.open().await?;
                self.stream.insert(stream)
            }
        };
        let frame = timeout(SILENCE, stream.incoming.frame()).await;
        let frame = frame.map_err(|_| ClientError::TimedOut { seconds: SILENCE.as_secs() })?;
        let bytes = match frame {
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => return Err(ClientError::Broken { problem: error.to_string() }),
            None => return Err(ClientError::Broken { problem: "the stream ended".to_owned() }),
        };
        let mut bytes = &bytes[..];
        while let Some(next) = stream.decoder.next(&mut bytes) {
            match next {
                Ok(SseEvent::Message(message)) => {
                    let data: Value = serde_json::from_str(&message.data).map_err(|error| odd(&error))?;
                    let durable = data.get("event_seq").is_some();
                    let kind = message.event.to_string();
                    let followed =
                        if durable { Followed::Event(data) } else { Followed::Live { kind, data } };
                    self.ready.push_back(followed);
                }
                Ok(SseEvent::Retry(_)) => {}
                Err(error) => return Err(odd(&error)),
            }
        }
        Ok(())
    }

    async fn open(&self) -> Result<Stream, ClientError> {
        let path = format!("/agents/{}/events/stream", self.agent);
        let after = self.cursor.map(|seq| seq.to_string());
        let ask = Ask::get(&path, &[("after_seq", after), ("live", self.live.then(|| "true".to_owned()))]);
        let answer = self.client.send(ask.request(&self.client, "text/event-stream")?).await?;
        let status = answer.status();
        if !status.is_success() {
            return Err(refused(status, &body(answer.into_body()).await?));
        }
        let limit = NonZeroUsize::new(EVENT).unwrap_or(NonZeroUsize::MAX);
        Ok(Stream { incoming: answer.into_body(), decoder: SseDecoder::with_limit(limit) })
    }
}
