//! Texts of turns as attributes, only where somebody asked for them: without secrets, and cut.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holon_facts::Text;
use holon_facts::content::clip;
use holon_facts::ids::MessageId;
use holon_facts::message::Message;
use holon_facts::model::{Block, StopReason};
use holon_ledger::read::{Reader, text_reader};
use holon_text::{Secrets, Texts};
use serde_json::{Value, json};

/// Bytes of one text.
const BYTES: usize = 8 << 10;
/// Messages whose texts are kept until they are processed.
const WAITING: usize = 1_024;

/// Reads texts, without secrets; nothing where nobody asked for them.
#[derive(Clone, Default)]
pub struct Contents {
    texts: Option<Arc<Texts>>,
    messages: BTreeMap<MessageId, Text>,
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("wanted", &self.texts.is_some()).finish_non_exhaustive()
    }
}

/// Texts of a ledger, without these secrets.
pub fn of_ledger(reader: &Arc<Reader>, secrets: Secrets) -> Texts {
    Texts::new(secrets, text_reader(reader.clone()))
}

impl Contents {
    pub fn of(texts: Texts) -> Self {
        Self { texts: Some(Arc::new(texts)), messages: BTreeMap::new() }
    }

    /// The beginning of a text; one that can't be read is left out.
    pub(super) fn text(&self, text: &Text) -> Option<String> {
        let texts = self.texts.as_ref()?;
        let whole = texts.resolve(text).ok()?;
        Some(clip(&texts.redact(&whole), BYTES))
    }

    pub(super) fn admitted(&mut self, message: &Message) {
        if self.texts.is_some() && self.messages.len() < WAITING {
            self.messages.insert(message.id, message.body.text.clone());
        }
    }

    pub(super) fn processed(&mut self, message: MessageId) {
        self.messages.remove(&message);
    }

    /// What a turn is about, as the conventions write it.
    pub(super) fn message(&self, message: MessageId) -> Option<String> {
        let said = self.text(self.messages.get(&message)?)?;
        Some(json!([{ "role": "user", "parts": [{ "type": "text", "content": said }] }]).to_string())
    }

    /// What a model has answered.
    pub(super) fn answer(&self, blocks: &[Block], stop: StopReason) -> Option<String> {
        self.texts.as_ref()?;
        let parts: Vec<Value> = blocks.iter().filter_map(|block| self.part(block)).collect();
        let answer = json!([{ "role": "assistant", "parts": parts, "finish_reason": stop.name() }]);
        Some(answer.to_string())
    }

    fn part(&self, block: &Block) -> Option<Value> {
        match block {
            Block::Text { text } => Some(json!({ "type": "text", "content": self.text(text)? })),
            Block::ToolCall { call_id, tool_name, arguments } => {
                let arguments = self.text(arguments)?;
                Some(json!({ "type": "tool_call", "id": call_id, "name": tool_name, "arguments": arguments }))
            }
            Block::Reasoning { .. } => None,
        }
    }
}
