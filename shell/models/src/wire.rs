//! The samples in `fixtures/wire`: what each protocol's request is, to the byte, and what its answers mean.
//!
//! A difference is written beside the sample as `….new`; where it is wanted, it is moved over the old one.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::tool::catalogue;
use holon_facts::model::{AttemptFailure, ModelAnswer};
use serde_json::{Value, json};

use super::exchange::{Lowering, Protocol};
use super::options::ProviderOptions;
use super::protocol::anthropic::AnthropicMessages;
use super::protocol::openai_chat::OpenaiChat;
use super::protocol::openai_responses::OpenaiResponses;
use super::testing::{Asking, KEY, Send, Server, answer, events, request, spec, texts};
use super::tools::Tools;

fn folder(transport: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wire").join(transport)
}

/// Collects what is not as before.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, path: &Path, found: &Value) {
        let found = serde_json::to_string_pretty(found).unwrap() + "\n";
        if found != fs::read_to_string(path).unwrap_or_default() {
            let new = format!("{}.new", path.display());
            fs::write(&new, &found).unwrap();
            self.0.push(new);
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "not as before; see\n{}", self.0.join("\n"));
    }
}

fn requests<P: Protocol>(differences: &mut Differences, id: &str, transport: &str) {
    let relaxed = ProviderOptions::default();
    let strict = ProviderOptions { strict_tools: true, stream: false, ..relaxed.clone() };
    let freeform = ProviderOptions { freeform_tools: true, ..relaxed.clone() };
    for (mode, options) in [("relaxed", relaxed), ("strict", strict), ("freeform", freeform)] {
        let (texts, tools) = (texts(), Tools::new(catalogue()));
        let request = request(&texts, &format!("{id}/some/model"), 1_000);
        let spec = spec(id, "http://server/v1", options);
        let lowering = Lowering::new(&texts, &request, &spec, &tools);
        let lowered = P::lower(&lowering).unwrap();
        assert_eq!(lowered.bytes(), P::lower(&lowering).unwrap().bytes(), "equal requests are equal bytes");
        differences.compare(&folder(transport).join(format!("request_{mode}.json")), &lowered.document());
    }
}

#[test]
fn requests_are_these() {
    let mut differences = Differences::default();
    requests::<OpenaiResponses>(&mut differences, "openai", "openai_responses");
    requests::<OpenaiChat>(&mut differences, "openai-chat", "openai_chat_completions");
    requests::<AnthropicMessages>(&mut differences, "anthropic", "anthropic_messages");
    differences.none();
}

/// What a sample came to, without what differs from run to run.
fn meaning(attempt: Result<ModelAnswer, AttemptFailure>, shown: &str, base: &str) -> Value {
    match attempt {
        Ok(answer) => {
            json!({"blocks": answer.blocks, "stop": answer.stop, "usage": answer.usage, "shown": shown})
        }
        Err(failure) => {
            let host = base.trim_end_matches("/v1");
            let message = failure.message.preview().replace(host, "http://server");
            let stage = failure.diagnostics.map(|found| found.stage);
            let mut found = json!({"kind": failure.kind, "message": message, "stage": stage, "shown": shown});
            if let Some(usage) = failure.usage {
                found["usage"] = json!(usage);
            }
            found
        }
    }
}

async fn answers(differences: &mut Differences, id: &str, transport: &str) {
    let mut seen = 0;
    for entry in fs::read_dir(folder(transport)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let sample = name.starts_with("answer_") && !name.ends_with(".outcome.json");
        let bytes = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") if sample => answer(200, &[], &fs::read(&path).unwrap()),
            Some("sse") if sample => events(&fs::read_to_string(&path).unwrap()),
            Some(_) | None => continue,
        };
        let server = Server::start([vec![Send::Bytes(bytes)]]).await;
        let asking = Asking::new(id, &server.base, ProviderOptions::default());
        let attempt = asking.ask().await;
        let found = meaning(attempt, &asking.shown(), &server.base);
        differences.compare(&path.with_file_name(format!("{name}.outcome.json")), &found);
        seen += 1;
    }
    assert!(seen >= 9, "{transport}: {seen} samples");
}

#[tokio::test]
async fn answers_mean_this() {
    let mut differences = Differences::default();
    answers(&mut differences, "openai", "openai_responses").await;
    answers(&mut differences, "openai-chat", "openai_chat_completions").await;
    answers(&mut differences, "anthropic", "anthropic_messages").await;
    differences.none();
}

/// How each protocol carries the key.
#[tokio::test]
async fn keys_are_where_their_protocol_wants_them() {
    for (id, path, header) in [
        ("openai", "/v1/responses", format!("authorization: bearer {KEY}")),
        ("openai-chat", "/v1/chat/completions", format!("authorization: bearer {KEY}")),
        ("anthropic", "/v1/messages", format!("x-api-key: {KEY}")),
    ] {
        let server = Server::start([vec![Send::Bytes(answer(400, &[], b""))]]).await;
        Asking::new(id, &server.base, ProviderOptions::default()).failure().await;
        let (head, body) = server.asked.lock().unwrap()[0].clone();
        assert!(head.starts_with(&format!("post {path} http/1.1")), "{head}");
        assert!(head.contains(&header), "{head}");
        assert_eq!(head.contains("anthropic-version: 2023-06-01"), id == "anthropic");
        assert_eq!(body["model"], "some/model");
    }
}
