//! `openai_chat_completions`: `POST {base}/chat/completions` (contract: providers.md, Transports). Also every
//! compatible local server, so reading is lenient where servers differ, and what is sent is what all of them
//! know.

mod answer;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use holon_facts::usage::TokenUsage;
use holon_text::{TextError, Texts};
use serde_json::Value;

use crate::answer::Reply;
use crate::exchange::{Body, Lowering, Malformed, Protocol, transport};
use crate::provider::Transport;

pub(crate) const TRANSPORT: Transport = transport::<OpenaiChat>("openai_chat_completions");

pub(crate) struct OpenaiChat;

impl Protocol for OpenaiChat {
    const NAME: &'static str = "chat completions";
    const SETTINGS: &'static [&'static str] =
        &["reasoning_effort", "temperature", "verbosity", "parallel_tool_calls"];
    type Fold = stream::Chunks;

    fn path(_: &str) -> &'static str {
        "/chat/completions"
    }

    fn models(method: &str) -> String {
        format!("{}/models", method.trim_end_matches("/chat/completions"))
    }

    fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
        request::lower(lowering)
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }

    fn usage(reported: Option<&Value>) -> TokenUsage {
        answer::tokens(reported)
    }
}
