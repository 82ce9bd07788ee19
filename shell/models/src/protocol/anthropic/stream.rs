//! Events of a streamed message, added up to the message.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::exchange::{Flow, Fold, Malformed, Shown};

#[derive(Default)]
pub(crate) struct Blocks {
    /// By their index.
    blocks: BTreeMap<u64, Block>,
    stop: Value,
    usage: Value,
    /// What was left out of the request.
    edits: Value,
    ended: bool,
}

/// What is known of a block.
enum Block {
    Text(String),
    /// The block as it was begun, and the JSON of its input so far.
    Call(Value, String),
    /// What the model thinks, and its signature so far. People are not shown it.
    Thinking(Value),
    /// The runtime has no use for it.
    Other,
}

impl Fold for Blocks {
    fn push(&mut self, name: &str, event: Value, shown: &mut Shown<'_>) -> Result<Flow, Malformed> {
        match event.get("type").and_then(Value::as_str).unwrap_or(name) {
            "message_start" => self.count(event.pointer("/message/usage")),
            "content_block_start" => self.begin(&event, shown)?,
            "content_block_delta" => self.delta(&event, shown)?,
            "message_delta" => {
                if let Some(reason) = event.pointer("/delta/stop_reason") {
                    self.stop = reason.clone();
                }
                self.count(event.get("usage"));
                if let Some(edits) = event.get("context_management") {
                    self.edits = edits.clone();
                }
            }
            "message_stop" => {
                self.ended = true;
                return Ok(Flow::Last);
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn usage(&self) -> &Value {
        &self.usage
    }

    fn finish(self) -> Option<Value> {
        let content: Vec<Value> = self
            .blocks
            .into_values()
            .filter_map(|block| match block {
                Block::Text(text) => Some(json!({"type": "text", "text": text})),
                Block::Call(mut block, input) => {
                    if !input.is_empty() {
                        block["input"] = input.into();
                    }
                    Some(block)
                }
                Block::Thinking(block) => Some(block),
                Block::Other => None,
            })
            .collect();
        let mut message = json!({"content": content, "stop_reason": self.stop, "usage": self.usage});
        if !self.edits.is_null() {
            message["context_management"] = self.edits;
        }
        self.ended.then_some(message)
    }
}

impl Blocks {
    fn begin(&mut self, event: &Value, shown: &mut Shown<'_>) -> Result<(), Malformed> {
        let Some(block) = event.get("content_block") else {
            return Err(Malformed::shape("one of its blocks begins without one"));
        };
        let begun = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
                shown.push(text);
                Block::Text(text.to_owned())
            }
            Some("tool_use") => Block::Call(block.clone(), String::new()),
            Some("thinking" | "redacted_thinking") => Block::Thinking(block.clone()),
            Some(_) | None => Block::Other,
        };
        self.blocks.insert(index(event)?, begun);
        Ok(())
    }

    fn delta(&mut self, event: &Value, shown: &mut Shown<'_>) -> Result<(), Malformed> {
        let Some(block) = self.blocks.get_mut(&index(event)?) else {
            return Err(Malformed::shape("one of its blocks continues before it begins"));
        };
        let piece = |key: &str| event.pointer(key).and_then(Value::as_str).unwrap_or_default();
        match block {
            Block::Text(text) => {
                shown.push(piece("/delta/text"));
                text.push_str(piece("/delta/text"));
            }
            Block::Call(_, input) => input.push_str(piece("/delta/partial_json")),
            Block::Thinking(block) => {
                for field in ["thinking", "signature"] {
                    let more = piece(&format!("/delta/{field}"));
                    if let (Some(Value::String(text)), false) = (block.get_mut(field), more.is_empty()) {
                        text.push_str(more);
                    } else if !more.is_empty() {
                        block[field] = more.into();
                    }
                }
            }
            Block::Other => {}
        }
        Ok(())
    }

    /// Numbers of tokens come at the beginning and at the end; the later ones count.
    fn count(&mut self, reported: Option<&Value>) {
        let Some(Value::Object(reported)) = reported else { return };
        if !self.usage.is_object() {
            self.usage = json!({});
        }
        for (name, count) in reported.iter().filter(|(_, count)| !count.is_null()) {
            self.usage[name.as_str()] = count.clone();
        }
    }
}

fn index(event: &Value) -> Result<u64, Malformed> {
    event
        .get("index")
        .and_then(Value::as_u64)
        .ok_or_else(|| Malformed::shape("one of its blocks has no index"))
}
