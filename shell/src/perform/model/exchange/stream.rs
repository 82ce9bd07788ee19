//! A streamed answer: server-sent events, each of them JSON.

use std::num::NonZeroUsize;

use holon_text::{Pieces, Texts};
use serde_json::Value;
use sse_core::{SseDecoder, SseEvent};

use super::super::http::{BODY_BYTES, Received};
use super::super::{Failure, Reply};
use super::failure::Place;
use super::{Flow, Fold, Malformed, Protocol, Said};
use crate::live::LiveText;

/// The text of a stream on its way to people, redacted across its pieces.
pub(in super::super) struct Shown {
    pieces: Pieces,
    live: LiveText,
}

impl Shown {
    pub(in super::super) fn new(texts: &Texts, live: LiveText) -> Self {
        Self { pieces: texts.pieces(), live }
    }

    pub(in super::super) fn push(&mut self, text: &str) {
        self.live.show(self.pieces.push(text));
    }

    fn finish(mut self) {
        self.live.show(self.pieces.finish());
    }
}

pub(super) async fn read<P: Protocol>(
    place: &Place<'_>,
    mut received: Received,
    head: &[u8],
    live: LiveText,
) -> Result<Reply, Failure> {
    let mut events = Events::<P::Fold>::new(Shown::new(place.texts, live));
    let wrong = |problem: Malformed, received: &Received| place.of_event(&problem, received);
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
        return Err(broken.unwrap_or_else(|| place.of_cut(&received)));
    };
    let reply = P::read(place.texts, &document).map_err(|problem| wrong(problem, &received))?;
    shown.finish();
    if flow == Flow::Last {
        received.end().await;
    }
    Ok(reply)
}

/// Bytes in, folded events out.
pub(super) struct Events<F> {
    decoder: SseDecoder,
    fold: F,
    shown: Shown,
}

impl<F: Fold> Events<F> {
    pub(super) fn new(shown: Shown) -> Self {
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
            let event: Value = serde_json::from_str(&message.data)
                .map_err(|_| Malformed::shape("one of its events is not JSON"))?;
            if let Some(said) = Said::reported(&event) {
                return Err(Malformed::Reported(said));
            }
            if self.fold.push(&message.event, event, &mut self.shown)? == Flow::Last {
                return Ok(Flow::Last);
            }
        }
        Ok(Flow::More)
    }

    #[cfg(test)]
    pub(super) fn finish(self) -> Option<Value> {
        self.fold.finish()
    }
}
