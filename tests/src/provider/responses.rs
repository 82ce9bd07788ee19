//! `POST /v1/responses`.

use serde_json::{Value, json};

use super::Asked;
use super::reply::{Answer, Place, Stop};
use super::serve::{Piece, parts};

/// Whether this tool was offered as a freeform one.
fn is_custom(request: &Value, name: &str) -> bool {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().any(|tool| tool["type"] == "custom" && tool["name"] == name)
}

fn items(answer: &Answer, request: &Value) -> Vec<Value> {
    let mut items = vec![json!({ "type": "reasoning", "id": "rs_1", "summary": [] })];
    if request["include"] == json!(["reasoning.encrypted_content"]) {
        items[0]["encrypted_content"] = super::THOUGHT.into();
    }
    if !answer.text.is_empty() {
        let content = match answer.stop {
            Stop::Refused => json!([{ "type": "refusal", "refusal": answer.text }]),
            Stop::Done | Stop::CutShort | Stop::Filtered | Stop::Paused | Stop::NoCall | Stop::Other => {
                json!([{ "type": "output_text", "text": answer.text, "annotations": [] }])
            }
        };
        items.push(json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content }));
    }
    for (at, call) in answer.calls.iter().enumerate() {
        let (id, name, arguments) = (call.id_or("call", at), &call.name, &call.arguments);
        items.push(if is_custom(request, name) {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            let input = arguments["patch"].as_str().unwrap_or_default();
            json!({ "type": "custom_tool_call", "id": id, "call_id": id, "name": name, "input": input })
        } else {
            json!({ "type": "function_call", "id": id, "call_id": id, "name": name, "arguments": arguments })
        });
    }
    items
}

/// Why it is not complete.
fn incomplete(answer: &Answer) -> Option<&'static str> {
    match answer.stop {
        Stop::CutShort => Some("max_output_tokens"),
        Stop::Filtered => Some("content_filter"),
        Stop::Other => Some("something_new"),
        Stop::Done | Stop::Refused | Stop::Paused | Stop::NoCall => None,
    }
}

fn response(answer: &Answer, (asked, output): (&Asked, Vec<Value>)) -> Value {
    let mut response = json!({
        "id": id(asked), "object": "response", "model": "test", "status": "completed", "error": null,
        "output": output,
        "usage": {
            "input_tokens": answer.input_tokens(), "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": answer.output_tokens(),
        },
    });
    if answer.tokens.is_none() {
        response["usage"]["total_tokens"] = 120.into();
    }
    if let Some(reason) = incomplete(answer) {
        response["status"] = "incomplete".into();
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response
}

fn id(asked: &Asked) -> String {
    format!("resp_{}", asked.number)
}

pub(super) fn document(answer: &Answer, asked: &Asked) -> Value {
    response(answer, (asked, items(answer, &asked.body)))
}

pub(super) fn stream(answer: &Answer, asked: &Asked) -> Vec<Piece> {
    let event = |place, event: Value| Piece::event(place, event["type"].as_str(), &event);
    let items = items(answer, &asked.body);
    let begun = json!({ "id": id(asked), "status": "in_progress", "output": [] });
    let mut pieces = vec![event(Place::Start, json!({ "type": "response.created", "response": begun }))];
    for (at, item) in items.iter().enumerate() {
        let (place, kind, text) = match item["type"].as_str() {
            Some("message") => (Place::InText, "response.output_text.delta", answer.text.clone()),
            Some("function_call") => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                (Place::InCall, "response.function_call_arguments.delta", arguments.to_owned())
            }
            Some("custom_tool_call") => {
                let input = item["input"].as_str().unwrap_or_default();
                (Place::InCall, "response.custom_tool_call_input.delta", input.to_owned())
            }
            _ => (Place::Start, "", String::new()),
        };
        let added = json!({ "type": "response.output_item.added", "output_index": at, "item": item });
        pieces.push(event(place, added));
        for part in parts(&text) {
            pieces.push(event(place, json!({ "type": kind, "output_index": at, "delta": part })));
        }
        let done = json!({ "type": "response.output_item.done", "output_index": at, "item": item });
        pieces.push(event(place, done));
    }
    let last = if incomplete(answer).is_some() { "response.incomplete" } else { "response.completed" };
    let last = json!({ "type": last, "response": response(answer, (asked, items)) });
    pieces.push(event(Place::BeforeEnd, last));
    pieces
}

pub(super) fn error(kind: &str, message: &str) -> Piece {
    let error = json!({ "type": "error", "code": kind, "message": message });
    Piece::event(Place::BeforeEnd, Some("error"), &error)
}
