//! `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::reply::{Answer, Call, Place, Stop};
use super::serve::Piece;

pub fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "test",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": usage(&Answer::default()),
    })
}

fn usage(answer: &Answer) -> Value {
    let mut usage = json!({
        "prompt_tokens": answer.input_tokens(), "completion_tokens": answer.output_tokens(),
    });
    if answer.tokens.is_none() {
        usage["total_tokens"] = 120.into();
    }
    usage
}

fn finish(answer: &Answer) -> &'static str {
    match answer.stop {
        Stop::CutShort => "length",
        Stop::Filtered => "content_filter",
        Stop::Paused => "pause_turn",
        Stop::NoCall => "tool_calls",
        Stop::Other => "something_new",
        Stop::Done | Stop::Refused if answer.calls.is_empty() => "stop",
        Stop::Done | Stop::Refused => "tool_calls",
    }
}

/// Where the text stands: a refusal has a field of its own.
fn field(answer: &Answer) -> &'static str {
    if answer.stop == Stop::Refused { "refusal" } else { "content" }
}

pub(super) fn document(answer: &Answer) -> Value {
    let content = if answer.text.is_empty() { Value::Null } else { answer.text.clone().into() };
    let mut message = json!({ "role": "assistant", "content": null });
    message[field(answer)] = content;
    if !answer.calls.is_empty() {
        let call = |(at, call): (usize, &Call)| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id_or("call", at), "type": "function", "function": function })
        };
        message["tool_calls"] = answer.calls.iter().enumerate().map(call).collect();
    }
    let mut document = completion(&message, finish(answer));
    document["usage"] = usage(answer);
    document
}

pub(super) fn stream(answer: &Answer) -> Vec<Piece> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let mut pieces = vec![Piece::event(Place::Start, None, &chunk(json!({ "role": "assistant" }), None))];
    for part in super::serve::parts(&answer.text) {
        pieces.push(Piece::event(Place::InText, None, &chunk(json!({ field(answer): part }), None)));
    }
    for (at, call) in answer.calls.iter().enumerate() {
        let (id, arguments) = (call.id_or("call", at), &call.arguments);
        let function = json!({ "name": call.name, "arguments": "" });
        let call = json!({ "index": at, "id": id, "type": "function", "function": function });
        pieces.push(Piece::event(Place::InCall, None, &chunk(json!({ "tool_calls": [call] }), None)));
        for part in super::serve::parts(arguments) {
            let call = json!({ "index": at, "function": { "arguments": part } });
            pieces.push(Piece::event(Place::InCall, None, &chunk(json!({ "tool_calls": [call] }), None)));
        }
    }
    let last = json!({ "id": "chatcmpl-1", "choices": [], "usage": usage(answer) });
    pieces.push(Piece::event(Place::BeforeEnd, None, &chunk(json!({}), Some(finish(answer)))));
    pieces.push(Piece::event(Place::BeforeEnd, None, &last));
    pieces.push(Piece::raw(Place::BeforeEnd, "data: [DONE]\n\n"));
    pieces
}

pub(super) fn error(kind: &str, message: &str) -> Piece {
    Piece::event(
        Place::BeforeEnd,
        None,
        &json!({ "error": { "type": kind, "code": kind, "message": message } }),
    )
}
