//! `POST /v1/messages`.

use serde_json::{Value, json};

use super::reply::{Answer, Call, Place, Stop};
use super::serve::{Piece, parts};

fn stop(answer: &Answer) -> &'static str {
    match answer.stop {
        Stop::CutShort => "max_tokens",
        Stop::Filtered | Stop::Refused => "refusal",
        Stop::Paused => "pause_turn",
        Stop::NoCall => "tool_use",
        Stop::Other => "something_new",
        Stop::Done if answer.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
    }
}

fn usage(answer: &Answer, output: Value) -> Value {
    if answer.tokens.is_some() {
        return json!({ "input_tokens": answer.input_tokens(), "output_tokens": output });
    }
    json!({
        "input_tokens": 60, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 30,
        "output_tokens": output,
    })
}

fn message(content: Vec<Value>, stop: Option<&str>, usage: Value) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test",
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage,
    })
}

fn tool_use(at: usize, call: &Call, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": call.id_or("toolu", at), "name": call.name, "input": input })
}

/// The input as a document has it: an object, and as text what is no JSON.
fn input(call: &Call) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| call.arguments.clone().into())
}

/// Whether the model is asked to think.
fn thinks(request: &Value) -> bool {
    matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive"))
}

pub(super) fn document(answer: &Answer, request: &Value) -> Value {
    let mut content = Vec::new();
    if thinks(request) {
        content.push(json!({ "type": "thinking", "thinking": "Hm.", "signature": super::THOUGHT }));
    }
    if !answer.text.is_empty() {
        content.push(json!({ "type": "text", "text": answer.text }));
    }
    content.extend(answer.calls.iter().enumerate().map(|(at, call)| tool_use(at, call, &input(call))));
    let mut message = message(content, Some(stop(answer)), usage(answer, answer.output_tokens()));
    if let Some(edits) = &answer.edits {
        message["context_management"] = json!({ "applied_edits": edits });
    }
    message
}

pub(super) fn stream(answer: &Answer, request: &Value) -> Vec<Piece> {
    let event = |place, event: Value| Piece::event(place, event["type"].as_str(), &event);
    let start = json!({ "type": "message_start", "message": message(vec![], None, usage(answer, 1.into())) });
    let mut pieces = vec![event(Place::Start, start), event(Place::Start, json!({ "type": "ping" }))];
    let mut block = |index: usize, place, begun: Value, deltas: Vec<Value>| {
        let start = json!({ "type": "content_block_start", "index": index, "content_block": begun });
        pieces.push(event(place, start));
        for delta in deltas {
            let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            pieces.push(event(place, delta));
        }
        pieces.push(event(place, json!({ "type": "content_block_stop", "index": index })));
    };
    let mut index = 0;
    if thinks(request) {
        let deltas = vec![
            json!({ "type": "thinking_delta", "thinking": "Hm." }),
            json!({ "type": "signature_delta", "signature": super::THOUGHT }),
        ];
        block(index, Place::Start, json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas);
        index += 1;
    }
    if !answer.text.is_empty() {
        let deltas =
            parts(&answer.text).into_iter().map(|part| json!({ "type": "text_delta", "text": part }));
        block(index, Place::InText, json!({ "type": "text", "text": "" }), deltas.collect());
        index += 1;
    }
    for (at, call) in answer.calls.iter().enumerate() {
        let delta = |part: String| json!({ "type": "input_json_delta", "partial_json": part });
        let deltas = parts(&call.arguments).into_iter().map(delta);
        block(index, Place::InCall, tool_use(at, call, &json!({})), deltas.collect());
        index += 1;
    }
    let delta = json!({ "stop_reason": stop(answer), "stop_sequence": null });
    let mut last = json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": answer.output_tokens() } });
    if let Some(edits) = &answer.edits {
        last["context_management"] = json!({ "applied_edits": edits });
    }
    pieces.push(event(Place::BeforeEnd, last));
    pieces.push(event(Place::BeforeEnd, json!({ "type": "message_stop" })));
    pieces
}

pub(super) fn error(kind: &str, message: &str) -> Piece {
    let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
    Piece::event(Place::BeforeEnd, Some("error"), &error)
}
