//! `openai_responses`: `POST {base}/responses` (contract: providers.md, Transports). The whole conversation is sent each time
//! and nothing is stored at the provider, unless somebody has chosen incremental responses.

mod answer;
mod freeform;
mod incremental;
mod request;
mod stream;

use holon_facts::usage::TokenUsage;
use holon_text::{TextError, Texts};
use serde_json::Value;

use crate::answer::Reply;
use crate::exchange::{Body, Lowered, Lowering, Malformed, Protocol, transport};
use crate::provider::Transport;

pub(crate) const TRANSPORT: Transport = transport::<OpenaiResponses>("openai_responses");

pub(crate) struct OpenaiResponses;

impl Protocol for OpenaiResponses {
    const NAME: &'static str = "the responses protocol";
    const SETTINGS: &'static [&'static str] =
        &["reasoning_effort", "temperature", "verbosity", "parallel_tool_calls"];
    const OPTIONS: &'static [&'static str] = &["incremental_responses"];
    type Fold = stream::Items;

    fn path(_: &str) -> &'static str {
        "/responses"
    }

    fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
        request::lower(lowering)
    }

    fn shortened(lowering: &Lowering<'_>, body: Body) -> Result<Lowered, TextError> {
        incremental::shortened(lowering, body)
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }

    fn usage(reported: Option<&Value>) -> TokenUsage {
        answer::tokens(reported)
    }
}
