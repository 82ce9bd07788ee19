//! `openai_responses`: `POST {base}/responses`, stateless (contract: providers.md, Transports). The whole
//! conversation is sent each time; nothing is stored at the provider.

mod answer;
mod freeform;
mod request;
mod stream;

use holon_text::{TextError, Texts};
use serde_json::Value;

use super::Reply;
use super::exchange::{Lowering, Malformed, Protocol};

pub(super) struct OpenaiResponses;

impl Protocol for OpenaiResponses {
    const NAME: &'static str = "the responses protocol";
    type Fold = stream::Items;

    fn lower(lowering: &Lowering<'_>) -> Result<Value, TextError> {
        request::lower(lowering)
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }
}
