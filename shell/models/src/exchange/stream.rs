//! A streamed answer: server-sent events, each of them JSON.

use std::num::NonZeroUsize;

use holon_text::{Pieces, Texts};
use sse_core::{SseDecoder, SseEvent};

use super::super::http::{BODY_BYTES, Received};
use super::super::provider::Show;
use super::failure::AttemptContext;
use super::{Flow, Fold, Malformed, Protocol, ReportedError, json};
use crate::answer::{Failure, Reply};

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
    let wrong = |problem: Malformed, received: &Received| context.of_event(&problem, received);
    let mut flow = events.take(head).map_err(|problem| wrong(problem, &received))?;
    let mut broken = None;
    while flow == Flow::More {
        match received.chunk().await {
            Ok(Some(chunk)) => flow = events.take(&chunk).map_err(|problem| wrong(problem, &received))?,
            Ok(None) => {
                // Some servers leave out the empty line after the last event. A part of an event is no JSON.
                match events.take(b"\n\n") {
                    Ok(last) => flow = last,
                    Err(problem @ (Malformed::Reported(_) | Malformed::TooLong(_))) => {
                        return Err(wrong(problem, &received));
                    }
                    Err(Malformed::Shape(_)) => {}
                }
                break;
            }
            Err(failure) => {
                broken = Some(failure);
                break;
            }
        }
    }
    let Events { fold, shown, .. } = events;
    // What broke after the answer was complete takes nothing from it.
    let Some(document) = fold.finish() else {
        return Err(broken.unwrap_or_else(|| context.of_cut(&received)));
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
}

impl<'a, F: Fold> Events<'a, F> {
    pub(super) fn new(shown: Shown<'a>) -> Self {
        let limit = NonZeroUsize::new(BODY_BYTES).unwrap_or(NonZeroUsize::MAX);
        Self { decoder: SseDecoder::with_limit(limit), fold: F::default(), shown }
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
