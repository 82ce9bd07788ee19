//! Chunks of a streamed completion, added up to the completion that they are pieces of.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{content, tokens};
use crate::answer::arguments;
use crate::exchange::{Flow, Fold, Malformed, Shown};

/// The first choice so far. Further choices were not asked for.
#[derive(Default)]
pub(crate) struct Chunks {
    text: String,
    refusal: String,
    calls: Vec<Call>,
    /// Positions in `calls` of the indices that the server gives.
    indices: BTreeMap<u64, usize>,
    finish: Option<Value>,
    usage: Value,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Fold for Chunks {
    fn push(&mut self, _name: &str, mut event: Value, shown: &mut Shown<'_>) -> Result<Flow, Malformed> {
        let before = self.written();
        let mut counted = false;
        if let Some(usage) = event.get_mut("usage").filter(|usage| usage.is_object()) {
            self.usage = usage.take();
            counted = tokens(Some(&self.usage)).total_tokens > 0;
        }
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let choices = match event.get("choices") {
            None | Some(Value::Null) => &Vec::new(),
            Some(Value::Array(choices)) => choices,
            Some(_) => return Err(Malformed::shape("the choices of one of its events are not a list")),
        };
        for choice in choices.iter().filter(first) {
            // Servers that don't really stream send the whole message in one event.
            if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
                self.delta(delta, shown)?;
            }
            // Some servers write an empty one where there is none yet.
            let reason = choice.get("finish_reason").filter(|reason| !reason.is_null() && **reason != "");
            if let Some(reason) = reason {
                self.finish = Some(reason.clone());
            }
        }
        // Some servers count in each event, and some give a reason in each.
        let ends = counted && self.finish.is_some() && self.written() == before;
        Ok(if ends { Flow::Last } else { Flow::More })
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn usage(&self) -> &Value {
        &self.usage
    }

    /// What comes after the reason to finish is usage at most, so a stream may end there.
    fn finish(self) -> Option<Value> {
        let calls: Vec<Value> = self
            .calls
            .into_iter()
            .map(|Call { id, name, arguments }| {
                json!({"id": id, "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        let mut message = json!({"content": self.text, "refusal": self.refusal});
        message["tool_calls"] = calls.into();
        let choice = json!({"message": message, "finish_reason": self.finish?});
        Some(json!({"choices": [choice], "usage": self.usage}))
    }
}

impl Chunks {
    /// How much of the answer is there, in bytes.
    fn written(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
        self.text.len() + self.refusal.len() + calls.sum::<usize>()
    }

    fn delta(&mut self, delta: &Value, shown: &mut Shown<'_>) -> Result<(), Malformed> {
        let said = content(delta.get("content"))?;
        shown.push(&said.text);
        if said.refused {
            self.refusal.push_str(&said.text);
        } else {
            self.text.push_str(&said.text);
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            shown.push(refusal);
            self.refusal.push_str(refusal);
        }
        match delta.get("tool_calls") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(calls)) => calls.iter().try_for_each(|call| self.call(call)),
            Some(_) => Err(Malformed::shape("the tool_calls of one of its events are not a list")),
        }
    }

    /// A piece of a call: of the one with its index; of a new one where the id is another one, or where there
    /// is neither index nor id to go by and a name begins.
    fn call(&mut self, piece: &Value) -> Result<(), Malformed> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text(piece.get("id")), text(piece.pointer("/function/name")));
        let index = piece.get("index").and_then(Value::as_u64);
        let known = match index {
            Some(index) => self.indices.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let continues = known.and_then(|at| self.calls.get(at)).is_some_and(|call| {
            let same_id = id.is_empty() || call.id.is_empty() || call.id == id;
            same_id && (index.is_some() || !id.is_empty() || name.is_empty())
        });
        let at = match known {
            Some(at) if continues => at,
            Some(_) | None => {
                self.calls.push(Call::default());
                self.calls.len() - 1
            }
        };
        if let Some(index) = index {
            self.indices.insert(index, at);
        }
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        // Some servers repeat id and name with each piece.
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match piece.pointer("/function/arguments") {
            None | Some(Value::Null) => {}
            Some(given) => call.arguments.push_str(&arguments(Some(given))),
        }
        Ok(())
    }
}
