//! Images in requests: whole, once, where the protocol has a place for them; a line where the model reads none.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use holon_facts::Text;
use holon_facts::frame::{Part, PromptFrame, Shown};
use holon_facts::model::{Block, CallResult, Item, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_text::Texts;
use serde_json::{Value, json};

use super::options::ProviderOptions;
use super::registry::Providers;
use super::testing::{Asking, Send, Server, answer, image, request, spec, texts};
use super::tools::Tools;

const BYTES: &[u8] = b"\x89PNG the first image";
const OTHERS: &[u8] = b"\x89PNG another image";

/// The sample, and a round behind it that looked at images.
fn seeing(texts: &Texts, model: &str, named_only: bool) -> ModelRequest {
    let mut request = request(texts, model, 1_000);
    let call = |id: &str| Block::ToolCall {
        call_id: id.into(),
        tool_name: "ViewImage".into(),
        arguments: Text::short(r#"{"path":"a.png"}"#),
    };
    let result = |id: &str, name: &str, bytes: &[u8]| {
        let receipt = Receipt::success(Text::short("seen"), ToolFacts::default());
        let receipt = receipt.showing(vec![image(texts, name, bytes)]);
        CallResult { named_only, ..CallResult::new(id, Arc::new(receipt)) }
    };
    request.conversation.push(Item::Assistant { blocks: [call("v1"), call("v2")].into() });
    let results = vec![result("v1", "a.png", BYTES), result("v2", "b\n.png", OTHERS)];
    request.conversation.push(Item::ToolResults { results });
    request.conversation.push(Item::User { parts: Vec::new() });
    request
}

fn lowered(id: &str, model: &str, named_only: bool) -> Value {
    let (texts, tools) = (texts(), Tools::new(holon_core::tool::catalogue()));
    let providers = Providers::new(vec![spec(id, "http://server/v1", ProviderOptions::default())], tools);
    let request = seeing(&texts, &format!("{id}/{model}"), named_only);
    let (_, body) = providers.lower(&texts, &request).unwrap();
    assert_eq!(body, providers.lower(&texts, &request).unwrap().1, "the same bytes each time");
    body.unwrap()
}

fn last(list: &Value, count: usize) -> Vec<Value> {
    let list = list.as_array().unwrap();
    list[list.len() - count..].to_vec()
}

#[test]
fn responses_and_messages_have_images_in_the_result() {
    let url = |bytes: &[u8]| format!("data:image/png;base64,{}", STANDARD.encode(bytes));
    let output = |id: &str, bytes: &[u8]| {
        json!({"type": "function_call_output", "call_id": id, "output": [
            {"type": "input_text", "text": "seen"},
            {"type": "input_image", "image_url": url(bytes), "detail": "auto"},
        ]})
    };
    for id in ["openai", "openai-codex"] {
        let body = lowered(id, "gpt-5.1", false);
        assert_eq!(last(&body["input"], 3)[..2], [output("v1", BYTES), output("v2", OTHERS)], "{id}");
    }
    let source =
        |bytes: &[u8]| json!({"type": "base64", "media_type": "image/png", "data": STANDARD.encode(bytes)});
    let result = |id: &str, bytes: &[u8]| {
        json!({"type": "tool_result", "tool_use_id": id, "content": [
            {"type": "text", "text": "seen"}, {"type": "image", "source": source(bytes)},
        ]})
    };
    let body = lowered("anthropic", "claude-sonnet-4-5", false);
    let mut found = last(&body["messages"], 1)[0]["content"].clone();
    found[1].as_object_mut().unwrap().remove("cache_control");
    assert_eq!(found, json!([result("v1", BYTES), result("v2", OTHERS)]));
}

#[test]
fn chat_completions_have_images_behind_the_results_with_their_calls() {
    let url = |bytes: &[u8]| format!("data:image/png;base64,{}", STANDARD.encode(bytes));
    let seen = |bytes: &[u8]| json!({"type": "image_url", "image_url": {"url": url(bytes)}});
    let body = lowered("openai-chat", "gpt-4o", false);
    let [first, second, shown, _] = &last(&body["messages"], 4)[..] else { panic!("{body}") };
    for (result, id) in [(first, "v1"), (second, "v2")] {
        assert_eq!(*result, json!({"role": "tool", "tool_call_id": id, "content": "seen"}));
    }
    let content = shown["content"].as_array().unwrap();
    assert_eq!((&shown["role"], content.len()), (&json!("user"), 4));
    assert_eq!((&content[1], &content[3]), (&seen(BYTES), &seen(OTHERS)));
    let label = content[2]["text"].as_str().unwrap();
    assert!(
        label.starts_with(r#"[result of ViewImage (v2): the image "b\n.png" (png, 640 x 480"#),
        "{label}"
    );
}

#[test]
fn a_prompt_has_its_images_in_their_places() {
    let texts = texts();
    let part = |name: &str, bytes| Part::Image(Arc::new(Shown::from(&image(&texts, name, bytes))));
    let mut named = Shown::from(&image(&texts, "c.png", b"the third"));
    named.named_only = true;
    let parts = vec![
        Part::Rendered("compare".into()),
        part("a.png", BYTES),
        part("b.png", OTHERS),
        Part::Image(Arc::new(named)),
        Part::Rendered("\nand say".into()),
    ];
    for (id, model, list, text_type, image_type) in [
        ("openai", "gpt-5.1", "input", "input_text", "input_image"),
        ("openai-chat", "gpt-4o", "messages", "text", "image_url"),
        ("anthropic", "claude-sonnet-4-5", "messages", "text", "image"),
    ] {
        let specs = vec![spec(id, "http://server/v1", ProviderOptions::default())];
        let providers = Providers::new(specs, Tools::default());
        let mut request = request(&texts, &format!("{id}/{model}"), 1_000);
        request.frame = Arc::new(PromptFrame { context_blocks: Vec::new(), ..(*request.frame).clone() });
        request.conversation = vec![Item::User { parts: parts.clone() }].into();
        let body = providers.lower(&texts, &request).unwrap().1.unwrap();
        let content = last(&body[list], 1)[0]["content"].clone();
        let types: Vec<&str> =
            content.as_array().unwrap().iter().filter_map(|it| it["type"].as_str()).collect();
        assert_eq!(types, [text_type, image_type, text_type, image_type, text_type], "{id}");
        let said = |at: usize| content[at]["text"].as_str().unwrap().to_owned();
        assert!(said(0).starts_with("compare\n[image \"a.png\" (png, "), "{}", said(0));
        assert!(said(2).starts_with("\n[image \"b.png\""), "{}", said(2));
        assert!(
            said(4).contains("\"c.png\"")
                && said(4).ends_with("as it may have; it can be viewed again later]\nand say")
        );
        for (at, bytes) in [(1, BYTES), (3, OTHERS)] {
            assert!(content[at].to_string().contains(&STANDARD.encode(bytes)), "{id}");
        }
        // A model that reads none has one text.
        request.model = ModelRef::new(&format!("{id}/blind")).unwrap();
        let body = providers.lower(&texts, &request).unwrap().1.unwrap().to_string();
        assert_eq!(body.matches("blind reads no images").count(), 3, "{id}: {body}");
        assert!(!body.contains("base64") && !body.contains("data:image"), "{id}");
    }
}

#[test]
fn a_model_that_reads_none_is_told_which_there_were() {
    for (id, model, named_only, why) in [
        ("openai", "some/model", false, "openai/some/model reads no images"),
        ("openai-chat", "some/model", false, "openai-chat/some/model reads no images"),
        ("anthropic", "some-model", false, "anthropic/some-model reads no images"),
        ("openai", "gpt-5.1", true, "the request has as many images as it may have"),
        ("openai-chat", "gpt-4o", true, "the request has as many images as it may have"),
        ("anthropic", "claude-sonnet-4-5", true, "the request has as many images as it may have"),
    ] {
        let body = lowered(id, model, named_only).to_string();
        let line =
            format!(r#"seen\n[the image \"a.png\" (png, 640 x 480 pixels, 20 bytes) is not shown: {why}"#);
        assert!(body.contains(&line), "{id}: {body}");
        assert!(!body.contains(&STANDARD.encode(BYTES)) && !body.contains("base64"), "{id}");
    }
}

#[test]
fn what_anthropic_would_refuse_is_named() {
    let (texts, tools) = (texts(), Tools::default());
    let spec = spec("anthropic", "http://server/v1", ProviderOptions::default());
    let providers = Providers::new(vec![spec], tools);
    for (bytes, shown) in [(3_932_160, 1), (3_932_161, 0)] {
        let mut request = seeing(&texts, "anthropic/claude-sonnet-4-5", false);
        let receipt = Receipt::success(Text::short("seen"), ToolFacts::default());
        let receipt = receipt.showing(vec![image(&texts, "a.png", &vec![7; bytes])]);
        let results = vec![CallResult::new("v1", Arc::new(receipt))];
        request.conversation.truncate(1);
        request.conversation.push(Item::ToolResults { results });
        let body = providers.lower(&texts, &request).unwrap().1.unwrap().to_string();
        assert_eq!(body.matches("base64").count(), shown, "{bytes}");
        assert_eq!(body.contains("takes images of at most 3932160 bytes"), shown == 0, "{bytes}");
    }
}

#[tokio::test]
async fn refused_images_are_left_out_once() {
    let refusal = json!({"error": {"message": "Could not process image", "type": "invalid_request_error"}});
    for (id, model) in [("openai", "gpt-5.1"), ("openai-chat", "gpt-4o"), ("anthropic", "claude-sonnet-4-5")]
    {
        let refused = || vec![Send::Bytes(answer(400, &[], refusal.to_string().as_bytes()))];
        let server = Server::start([refused(), refused()]).await;
        let asking = Asking::new(id, &server.base, ProviderOptions::default());
        let mut request = seeing(asking.texts(), &format!("{id}/{model}"), false);
        request.timeout = asking.request().timeout;
        asking.ask_for(&request).await.unwrap_err();
        let asked: Vec<String> =
            server.asked.lock().unwrap().iter().map(|(_, body)| body.to_string()).collect();
        let [first, second] = &asked[..] else { panic!("{id}: {}", asked.len()) };
        assert!(first.contains(&STANDARD.encode(BYTES)) && !second.contains(&STANDARD.encode(BYTES)), "{id}");
        assert!(second.contains("the provider refused it"), "{id}: {second}");
    }
}

/// A request that is refused without its images too was not refused for them.
#[tokio::test]
async fn images_that_nobody_judged_are_sent_again() {
    let says = |status, text: &str| {
        let body = json!({"error": {"message": text}}).to_string();
        vec![Send::Bytes(answer(status, &[], body.as_bytes()))]
    };
    let done = || {
        let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}).to_string();
        vec![Send::Bytes(answer(200, &[], body.as_bytes()))]
    };
    let down = || says(404, "no vision backend is up");
    let missing = || says(404, "model 'llama3.2-vision' not found");
    for (refusals, sent) in [
        (vec![down(), down()], vec![true, false, true]),
        (vec![missing()], vec![true, true]),
        (vec![down(), says(429, "busy")], vec![true, false, true]),
        // The repeated request is cut off.
        (vec![down(), Vec::new()], vec![true, false, true]),
    ] {
        // A missing model has its neighbours looked up, which this server does not answer.
        let listed = sent.len() == 2;
        let lists = if listed { vec![says(404, "no list")] } else { Vec::new() };
        let server = Server::start([refusals, lists, vec![done()]].concat()).await;
        let asking = Asking::new("openai-chat", &server.base, ProviderOptions::default());
        let mut request = seeing(asking.texts(), "openai-chat/gpt-4o", false);
        request.timeout = asking.request().timeout;
        let failure = asking.ask_for(&request).await.unwrap_err();
        assert!(failure.delivery.is_none_or(|delivery| !delivery.images_refused));
        let said = asking.ask_for(&request).await.unwrap();
        assert!(said.delivery.is_none_or(|delivery| !delivery.images_refused));
        let asked = server.asked.lock().unwrap().clone();
        let posted = asked.iter().filter(|(head, _)| head.starts_with("post"));
        let shown: Vec<bool> =
            posted.map(|(_, body)| body.to_string().contains(&STANDARD.encode(BYTES))).collect();
        assert_eq!(shown, sent);
    }
}
