//! Events of a streamed response. Its last event carries the response; the items that are done are kept for
//! servers that leave them out of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::exchange::{Flow, Fold, Malformed, ReportedError, Shown};

#[derive(Default)]
pub(crate) struct Items {
    /// Done, by their position in the output.
    done: BTreeMap<u64, Value>,
    response: Option<Value>,
    /// What a response that failed has taken.
    usage: Value,
}

impl Fold for Items {
    fn push(&mut self, name: &str, mut event: Value, shown: &mut Shown<'_>) -> Result<Flow, Malformed> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or(name);
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                shown.push(event.get("delta").and_then(Value::as_str).unwrap_or_default());
                Ok(Flow::More)
            }
            "response.output_item.done" => {
                let next = self.done.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
                let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(next);
                if let Some(item) = event.get_mut("item") {
                    self.done.insert(at, item.take());
                }
                Ok(Flow::More)
            }
            "response.failed" => {
                if let Some(usage) = event.pointer("/response/usage") {
                    self.usage = usage.clone();
                }
                let error = event.pointer("/response/error").filter(|error| !error.is_null());
                Err(Malformed::Reported(ReportedError::of(error.unwrap_or(&json!({"code": "server_error"})))))
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                let incomplete = kind == "response.incomplete";
                let mut response = event.get_mut("response").map(Value::take).unwrap_or_default();
                if !response.is_object() {
                    return Err(Malformed::shape("its last event has no response"));
                }
                if incomplete {
                    response["status"] = "incomplete".into();
                }
                self.response = Some(response);
                Ok(Flow::Last)
            }
            _ => Ok(Flow::More),
        }
    }

    fn usage(&self) -> &Value {
        &self.usage
    }

    fn finish(self) -> Option<Value> {
        let mut response = self.response?;
        let output = response.get("output").and_then(Value::as_array);
        if output.is_none_or(Vec::is_empty) {
            response["output"] = self.done.into_values().collect();
        }
        Some(response)
    }
}
