//! Server-sent events from a runtime that may go away: a connection that breaks is made anew.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use sse_core::{SseDecoder, SseEvent};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Client;
use super::request::{Prepared, body, odd, refused};
use crate::ClientError;

/// Most bytes of one event.
const EVENT: usize = 16 << 20;
/// Three heartbeats: a stream that is silent for longer is dead.
const SILENCE: Duration = Duration::from_secs(45);
/// A runtime that is restarted is waited for so long.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// What is followed. Its user keeps the cursor.
pub(super) struct Sse {
    client: Client,
    stream: Option<Stream>,
    ready: VecDeque<Message>,
    /// Since when the runtime does not answer.
    away: Option<Instant>,
    connected: watch::Sender<bool>,
}

/// One event.
pub(super) struct Message {
    pub(super) kind: String,
    pub(super) data: String,
}

struct Stream {
    incoming: Incoming,
    decoder: SseDecoder,
}

impl Sse {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            stream: None,
            ready: VecDeque::new(),
            away: None,
            connected: watch::Sender::new(false),
        }
    }

    pub(super) fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }

    /// Waits for the next event. `prepared` asks for the stream from behind the last one on. Giving the wait up loses
    /// nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    pub(super) async fn next(&mut self, prepared: &Prepared) -> Result<Message, ClientError> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Ok(next);
            }
            match self.read(prepared).await {
                Ok(()) => self.away = None,
                Err(error) => {
                    self.stream = None;
                    self.connected.send_replace(false);
                    let since = *self.away.get_or_insert_with(Instant::now);
                    if !error.may_pass() || since.elapsed() > AWAY {
                        return Err(error);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn read(&mut self, prepared: &Prepared) -> Result<(), ClientError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = open(&self.client, prepared).await?;
                self.connected.send_replace(true);
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
                    let (kind, data) = (message.event.to_string(), message.data.to_string());
                    self.ready.push_back(Message { kind, data });
                }
                Ok(SseEvent::Retry(_)) => {}
                Err(error) => return Err(odd(&error)),
            }
        }
        Ok(())
    }
}

async fn open(client: &Client, prepared: &Prepared) -> Result<Stream, ClientError> {
    let answer = client.send(prepared.request(client)?, Duration::ZERO).await?;
    let status = answer.status();
    if !status.is_success() {
        return Err(refused(status, &body(answer.into_body()).await?));
    }
    let limit = NonZeroUsize::new(EVENT).unwrap_or(NonZeroUsize::MAX);
    Ok(Stream { incoming: answer.into_body(), decoder: SseDecoder::with_limit(limit) })
}
