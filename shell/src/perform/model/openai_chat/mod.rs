//! `openai_chat_completions`: `POST {base}/chat/completions` (contract: providers.md, Transports). Also every
//! compatible local server, so reading is lenient where servers differ, and what is sent is what all of them
//! know.

mod answer;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use holon_text::{TextError, Texts};
use serde_json::Value;

use super::Reply;
use super::exchange::{Lowering, Malformed, Protocol};

pub(super) struct OpenaiChat;

impl Protocol for OpenaiChat {
    const NAME: &'static str = "chat completions";
    type Fold = stream::Chunks;

    fn lower(lowering: &Lowering<'_>) -> Result<Value, TextError> {
        request::lower(lowering)
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }
}
