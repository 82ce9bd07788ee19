//! What the official clients of the protocols let through: each object of a request has the fields that its kind is
//! documented with, all that it needs and no other. Compared with the types of `openai` 3.57 and `anthropic` 2.14 (Python).

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_facts::Text;
use holon_facts::frame::{Part, Shown};
use holon_facts::model::{Block, CallResult, Item, ModelRequest};
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_text::Texts;
use serde_json::{Value, json};

use super::exchange::{Lowering, Protocol};
use super::model_options::{ModelOptions, Temperature};
use super::options::ProviderOptions;
use super::protocol::anthropic::AnthropicMessages;
use super::protocol::openai_chat::OpenaiChat;
use super::protocol::openai_responses::OpenaiResponses;
use super::testing::{image, request, spec, texts};
use super::tools::Tools;

/// What an object has: fields that it needs, then those that it may have.
type Shape = (&'static str, &'static [&'static str], &'static [&'static str]);

const RESPONSES: &[Shape] = &[
    ("message user", &["type", "role", "content"], &[]),
    ("message assistant", &["type", "id", "role", "status", "content"], &[]),
    ("input_text", &["type", "text"], &[]),
    ("output_text", &["type", "text", "annotations"], &[]),
    ("input_image", &["type", "image_url", "detail"], &[]),
    ("function_call", &["type", "call_id", "name", "arguments"], &[]),
    ("function_call_output", &["type", "call_id", "output"], &[]),
    ("custom_tool_call", &["type", "call_id", "name", "input"], &[]),
    ("custom_tool_call_output", &["type", "call_id", "output"], &[]),
    ("reasoning", &["type", "id", "summary", "encrypted_content"], &["content"]),
    ("summary_text", &["type", "text"], &[]),
];
const RESPONSES_BODY: Shape = (
    "body",
    &["model", "instructions", "input", "max_output_tokens", "store", "stream", "tools"],
    &["prompt_cache_key", "include", "reasoning", "text", "temperature", "parallel_tool_calls"],
);
const CHAT: &[Shape] = &[
    ("system", &["role", "content"], &[]),
    ("user", &["role", "content"], &[]),
    ("assistant", &["role", "content"], &["tool_calls"]),
    ("tool", &["role", "content", "tool_call_id"], &[]),
    ("function", &["id", "type", "function"], &[]),
    ("text", &["type", "text"], &[]),
    ("image_url", &["type", "image_url"], &[]),
    ("url", &["url"], &[]),
];
const CHAT_BODY: Shape = (
    "body",
    &["model", "messages", "stream", "tools"],
    &[
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "prompt_cache_key",
        "reasoning_effort",
        "verbosity",
        "temperature",
        "parallel_tool_calls",
    ],
);
const MESSAGES: &[Shape] = &[
    ("user", &["role", "content"], &[]),
    ("assistant", &["role", "content"], &[]),
    ("text", &["type", "text"], &["cache_control"]),
    ("image", &["type", "source"], &["cache_control"]),
    ("base64", &["type", "media_type", "data"], &[]),
    ("tool_use", &["type", "id", "name", "input"], &["cache_control"]),
    ("tool_result", &["type", "tool_use_id", "content"], &["is_error", "cache_control"]),
    ("thinking", &["type", "thinking", "signature"], &[]),
    ("redacted_thinking", &["type", "data"], &[]),
];
const MESSAGES_BODY: Shape = (
    "body",
    &["model", "max_tokens", "system", "messages", "stream", "tools"],
    &["thinking", "output_config", "temperature", "tool_choice"],
);

fn fits(value: &Value, (name, needed, allowed): &Shape) {
    let object = value.as_object().unwrap_or_else(|| panic!("{name}: {value}"));
    for field in *needed {
        assert!(object.contains_key(*field), "{name} has no {field}: {value}");
    }
    for field in object.keys().map(String::as_str) {
        assert!(needed.contains(&field) || allowed.contains(&field), "{name} has {field}: {value}");
    }
}

/// The objects of a list, and of the lists in their content.
fn all_fit(list: &Value, shapes: &[Shape]) {
    for value in list.as_array().unwrap() {
        let (kind, role) = (value["type"].as_str(), value["role"].as_str());
        let name = match (kind, role) {
            (Some(kind), Some(role)) => format!("{kind} {role}"),
            (Some(name), None) | (None, Some(name)) => name.to_owned(),
            (None, None) => panic!("{value}"),
        };
        let shape = shapes.iter().find(|(known, ..)| *known == name);
        fits(value, shape.unwrap_or_else(|| panic!("{name} is not documented: {value}")));
        let source = &value["source"];
        if source.is_object() {
            all_fit(&json!([source]), shapes);
        }
        for inner in ["content", "summary", "tool_calls", "output"] {
            if value[inner].is_array() {
                all_fit(&value[inner], shapes);
            }
        }
    }
}

/// The sample, and a round behind it that was thought about.
fn thought(texts: &Texts, id: &str, thoughts: &[Value]) -> ModelRequest {
    let mut request = request(texts, &format!("{id}/some/model"), 1_000);
    let mut blocks: Vec<Block> = thoughts
        .iter()
        .map(|thought| Block::Reasoning {
            model: request.model.clone(),
            content: texts.take_opaque(&thought.to_string()).unwrap(),
        })
        .collect();
    blocks.push(Block::ToolCall {
        call_id: "t9".into(),
        tool_name: "ExecCommand".into(),
        arguments: texts.take(r#"{"cmd":"ls"}"#),
    });
    request.conversation.push(Item::Assistant { blocks: blocks.into() });
    let prompted = Shown::from(&image(texts, "b.png", b"bytes of another image"));
    request.conversation.insert(0, Item::User { parts: vec![Part::Image(Arc::new(prompted))] });
    let receipt = Receipt::success(Text::short("a.txt"), ToolFacts::default());
    let receipt = Arc::new(receipt.showing(vec![image(texts, "a.png", b"bytes of an image")]));
    request.conversation.push(Item::ToolResults { results: vec![CallResult::new("t9", receipt)] });
    request
}

fn each<P: Protocol>(id: &str, own: &ModelOptions, thoughts: &[Value], check: impl Fn(&Value)) {
    let (texts, tools) = (texts(), Tools::new(holon_core::tool::catalogue()));
    let request = thought(&texts, id, thoughts);
    for (strict_tools, freeform_tools) in [(false, false), (true, false), (false, true)] {
        for own in [ModelOptions::default(), own.clone()] {
            let options = ProviderOptions { strict_tools, freeform_tools, ..ProviderOptions::default() };
            let mut spec = spec(id, "http://server/v1", options);
            spec.models = BTreeMap::from([("some/model".to_owned(), own)]);
            let lowering = Lowering::new(&texts, &request, &spec, &tools);
            check(&P::lower(&lowering).unwrap().document());
        }
    }
}

fn settings() -> ModelOptions {
    ModelOptions {
        reasoning_effort: Some("low".into()),
        temperature: Temperature::new(0.5),
        verbosity: Some("low".into()),
        parallel_tool_calls: Some(true),
        images: Some(true),
        ..ModelOptions::default()
    }
}

#[test]
fn requests_for_responses_are_as_documented() {
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "x"}],
        "encrypted_content": "Z0FB"});
    each::<OpenaiResponses>("openai", &settings(), &[thought], |body| {
        fits(body, &RESPONSES_BODY);
        all_fit(&body["input"], RESPONSES);
        for tool in body["tools"].as_array().unwrap() {
            match tool["type"].as_str() {
                Some("custom") => fits(tool, &("custom", &["type", "name", "description", "format"], &[])),
                _ => fits(tool, &("tool", &["type", "name", "description", "parameters", "strict"], &[])),
            }
        }
    });
}

#[test]
fn requests_for_chat_completions_are_as_documented() {
    each::<OpenaiChat>("openai-chat", &settings(), &[json!({"type": "reasoning"})], |body| {
        fits(body, &CHAT_BODY);
        all_fit(&body["messages"], CHAT);
        assert!(body.get("max_tokens").is_some() != body.get("max_completion_tokens").is_some());
        for tool in body["tools"].as_array().unwrap() {
            fits(tool, &("tool", &["type", "function"], &[]));
            fits(&tool["function"], &("function", &["name", "description", "parameters", "strict"], &[]));
        }
    });
}

#[test]
fn requests_for_messages_are_as_documented() {
    let thoughts = [
        json!({"type": "thinking", "thinking": "x", "signature": "c2ln"}),
        json!({"type": "redacted_thinking", "data": "b3Bh"}),
    ];
    let thinks = ModelOptions { thinking_budget_tokens: Some(2_000), temperature: None, ..settings() };
    for own in [settings(), thinks] {
        each::<AnthropicMessages>("anthropic", &own, &thoughts, |body| {
            fits(body, &MESSAGES_BODY);
            all_fit(&body["system"], MESSAGES);
            all_fit(&body["messages"], MESSAGES);
            assert!(body.to_string().matches("cache_control").count() <= 4);
            for tool in body["tools"].as_array().unwrap() {
                fits(tool, &("tool", &["name", "description", "input_schema"], &["strict", "cache_control"]));
            }
        });
    }
}
