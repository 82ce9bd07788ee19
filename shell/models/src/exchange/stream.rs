//! A streamed answer: server-sent events, each of them JSON.

use std::num::NonZeroUsize;
use std::time::Duration;

use bytes::Bytes;
use holon_facts::Now;
use holon_platform::clock;
use holon_text::{Pieces, Texts};
use sse_core::{SseDecoder, SseEvent};

use super::super::http::{BODY_BYTES, Received};
use super::super::provider::Show;
use super::failure::AttemptContext;
use super::{Flow, Fold, Malformed, Protocol, ReportedError, json};
use crate::answer::{Failure, Reply};

/// How long an answer that is complete waits for an event with its usage, and for the end of its stream.
const USAGE: Duration = Duration::from_secs(3);

/// The text of a stream on its way to people, redacted across its pieces.
pub(crate) struct Shown<'a> {
    pieces: Pieces,
    show: Show<'a>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(texts: &Texts, show: Show<'a>) -> Self {
        Self { pieces: texts.pieces(), show }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let piece = self.pieces.push(text);
        self.pass(piece);
    }

    fn finish(mut self) {
        let piece = self.pieces.finish();
        self.pass(piece);
    }

    fn pass(&self, piece: String) {
        if !piece.is_empty() {
            (self.show)(piece);
        }
    }
}

pub(super) async fn read<P: Protocol>(
    context: &AttemptContext<'_>,
    mut received: Received,
    head: &[u8],
    show: Show<'_>,
) -> Result<Reply, Failure> {
    let mut events = Events::<P::Fold>::new(Shown::new(context.texts, show));
    let outcome = events.drain(head, &mut received).await;
    let Events { fold, shown, .. } = events;
    // What a broken stream has taken until then counts.
    let counted = P::usage(Some(fold.usage()));
    let wrong = |problem, received: &Received| context.of_event(&problem, received).after(counted);
    let (flow, broken) = outcome.map_err(|problem| wrong(problem, &received))?;
    // What broke after the answer was complete takes nothing from it.
    let Some(document) = fold.finish() else {
        return Err(broken.unwrap_or_else(|| context.of_cut(&received)).after(counted));
    };
    let reply = P::read(context.texts, &document).map_err(|problem| wrong(problem, &received))?;
    shown.finish();
    if flow == Flow::Last {
        received.end().await;
    }
    Ok(reply)
}

/// Bytes in, folded events out.
pub(super) struct Events<'a, F> {
    decoder: SseDecoder,
    fold: F,
    shown: Shown<'a>,
    /// Since when the answer is complete, and no event has come.
    complete: Option<Now>,
}

impl<'a, F: Fold> Events<'a, F> {
    pub(super) fn new(shown: Shown<'a>) -> Self {
        let limit = NonZeroUsize::new(BODY_BYTES).unwrap_or(NonZeroUsize::MAX);
        Self { decoder: SseDecoder::with_limit(limit), fold: F::default(), shown, complete: None }
    }

    /// Takes in the beginning of a stream, and its chunks until the last event, its end, or where it breaks.
    async fn drain(
        &mut self,
        head: &[u8],
        received: &mut Received,
    ) -> Result<(Flow, Option<Failure>), Malformed> {
        let mut flow = self.take(head)?;
        while flow == Flow::More {
            match self.next(received).await {
                Ok(Some(chunk)) => flow = self.take(&chunk)?,
                Ok(None) => {
                    // Some servers leave out the empty line after the last event. A part of an event is no JSON.
                    match self.take(b"\n\n") {
                        Ok(last) => flow = last,
                        Err(problem @ (Malformed::Reported(_) | Malformed::TooLong(_))) => {
                            return Err(problem);
                        }
                        Err(Malformed::Shape(_)) => {}
                    }
                    break;
                }
                Err(failure) => return Ok((flow, Some(failure))),
            }
        }
        Ok((flow, None))
    }

    /// The next chunk; none at the end, which a complete answer doesn't wait long for.
    async fn next(&mut self, received: &mut Received) -> Result<Option<Bytes>, Failure> {
        if !self.fold.is_complete() {
            return received.chunk().await;
        }
        let since = *self.complete.get_or_insert_with(clock::now);
        let left = USAGE.saturating_sub(Duration::from_millis(clock::since(since).0));
        tokio::time::timeout(left, received.chunk()).await.unwrap_or(Ok(None))
    }

    /// Takes in what `bytes` complete; what follows the last event is not looked at.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<Flow, Malformed> {
        while let Some(next) = self.decoder.next(&mut bytes) {
            let message = match next {
                Ok(SseEvent::Message(message)) => message,
                Ok(SseEvent::Retry(_)) => continue,
                Err(_) => return Err(Malformed::shape("one of its events is too long")),
            };
            if message.data.trim() == "[DONE]" {
                return Ok(Flow::Last);
            }
            if message.data.trim().is_empty() {
                continue;
            }
            let event = json::parse(message.data.as_bytes())
                .map_err(|_| Malformed::shape("one of its events is not JSON"))?;
            if let Some(said) = ReportedError::reported(&event) {
                return Err(Malformed::Reported(said));
            }
            self.complete = None;
            if self.fold.push(&message.event, event, &mut self.shown)? == Flow::Last {
                return Ok(Flow::Last);
            }
        }
        Ok(Flow::More)
    }

    #[cfg(test)]
    pub(super) fn finish(self) -> Option<serde_json::Value> {
        self.fold.finish()
    }
}
