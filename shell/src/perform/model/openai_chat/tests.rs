use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use holon_core::model::{
    AnswerBlock, AttemptFailure, Block, CallResult, Item, ModelAnswer, ModelRef, StopReason,
};
use holon_core::prompt::{Part, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_core::tool::{Receipt, Tool, ToolError, ToolErrorKind, ToolFacts};
use holon_core::{AgentId, Millis, Outcome, Text};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::perform::model::{ProviderEnvironment, Providers};
use crate::perform::tool::CommandEnvironment;
use crate::perform::{Performers, Settings};
use crate::spawn;
use crate::text::Secrets;

const KEY: &str = "sk-canary-123456";

/// What a server was asked: its headers and body.
type Asked = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server that always answers the same.
async fn serve(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: String,
) -> (String, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let answer = move |sent: HeaderMap, bytes: Bytes| async move {
        seen.lock().unwrap().push((sent, serde_json::from_slice(&bytes).unwrap()));
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(Body::from(body)).unwrap()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/chat/completions", post(answer));
    drop(spawn::task(async move { axum::serve(listener, app).await }));
    (base, asked)
}

/// A server that sends these bytes and then closes, or waits when there are none.
async fn serve_bytes(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(spawn::task(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 65_536];
        let _ = stream.read(&mut buffer).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        if bytes.is_empty() {
            drop(stream.read(&mut buffer).await);
        }
    }));
    base
}

fn texts() -> Texts {
    let secrets = Secrets::new([("OPENAI_API_KEY".to_owned(), KEY.to_owned())]);
    Texts::new(secrets, Box::new(|_| Ok(None)))
}

fn request(texts: &Texts) -> ModelRequest {
    let agent = AgentId::new("main").unwrap();
    let block = |label: &str, parts: Vec<Part>| PromptBlock {
        label: label.into(),
        parts,
        stability: Stability::Stable,
        cache_breakpoint: false,
    };
    let call = |id: &str, arguments: &str| Block::ToolCall {
        call_id: id.into(),
        tool_name: "ExecCommand".into(),
        arguments: texts.take(arguments),
    };
    let result = |id: &str, receipt: Receipt| CallResult { call_id: id.into(), receipt: Arc::new(receipt) };
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, "cmd is empty");
    ModelRequest {
        agent: agent.clone(),
        model: ModelRef::new("openai-chat/some/model").unwrap(),
        frame: Arc::new(PromptFrame {
            system_prompt: "policy".into(),
            system_blocks: vec![block(
                "b",
                vec![Part::Rendered("heading\n".into()), Part::Given(Text::short("given"))],
            )],
            context_blocks: vec![block("c", vec![Part::Rendered("context".into())])],
            cache: PromptCache {
                agent_id: agent,
                prompt_cache_key: "key".into(),
                context_fingerprint: String::new(),
                working_memory_revision: 0,
                compression_epoch: 0,
            },
        }),
        conversation: vec![
            Item::User {
                parts: vec![
                    Part::Rendered("[message]\n".into()),
                    Part::Given(texts.take(&"long ".repeat(100))),
                ],
            },
            Item::User { parts: vec![Part::Rendered("second".into())] },
            Item::Assistant { blocks: vec![call("c1", r#"{"cmd":"ls"}"#), call("c2", "oops")].into() },
            Item::ToolResults {
                results: vec![
                    result("c1", Receipt::success(Text::short("{}"), ToolFacts::default())),
                    result("c2", Receipt::failure(error)),
                ],
            },
            Item::Assistant { blocks: vec![Block::Text { text: Text::short("so") }].into() },
        ],
        tools: Tool::ALL.to_vec(),
        max_output_tokens: 77,
        timeout: Millis(400),
    }
}

async fn ask(base: &str) -> Outcome {
    let texts = texts();
    let environment = ProviderEnvironment {
        openai_base_url: Some(base.to_owned()),
        openai_api_key: Some(KEY.to_owned()),
        local_base_url: None,
    };
    let settings = Settings::new("/nowhere".into(), CommandEnvironment::new([]));
    let performers = Performers::new(texts.clone(), Providers::new(environment), settings);
    performers.call_model(request(&texts)).await
}

async fn answer(body: Value) -> ModelAnswer {
    let (base, _) = serve(200, &[], body.to_string()).await;
    let outcome = ask(&base).await;
    let Outcome::Answer { answer } = outcome else { panic!("{outcome:?}") };
    answer
}

async fn failure(base: &str) -> AttemptFailure {
    let outcome = ask(base).await;
    let Outcome::AttemptFailed { failure } = outcome else { panic!("{outcome:?}") };
    let written = serde_json::to_string(&failure).unwrap();
    assert!(!written.contains("canary"), "{written}");
    assert!(failure.diagnostics.is_some());
    failure
}

async fn refused(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &str,
) -> AttemptFailure {
    failure(&serve(status, headers, body.to_owned()).await.0).await
}

fn choice(message: &Value, finish: &Value) -> Value {
    json!({"choices": [{"message": message, "finish_reason": finish}]})
}

#[tokio::test]
async fn the_request_is_what_every_server_knows() {
    let (base, asked) = serve(200, &[], choice(&json!({"content": "hi"}), &json!("stop")).to_string()).await;
    let Outcome::Answer { answer } = ask(&base).await else { panic!() };
    assert_eq!(answer.blocks, [AnswerBlock::Text { text: Text::short("hi") }]);
    assert_eq!((answer.stop, answer.usage.total_tokens), (StopReason::EndTurn, 0));
    let (headers, body) = asked.lock().unwrap()[0].clone();
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(body["model"], "some/model");
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(77), &json!(false)));
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0], json!({"role": "system", "content": "policy\n\nheading\ngiven\n\ncontext"}));
    assert_eq!(messages[1]["content"], json!(format!("[message]\n{}", "long ".repeat(100))));
    assert_eq!(messages[2], json!({"role": "user", "content": "second"}));
    assert_eq!(messages[3]["content"], Value::Null);
    assert_eq!(messages[3]["tool_calls"][0]["function"]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(messages[3]["tool_calls"][1]["function"]["arguments"], r#"{"invalid_arguments":"oops"}"#);
    assert_eq!(messages[4], json!({"role": "tool", "tool_call_id": "c1", "content": "{}"}));
    let error = messages[5]["content"].as_str().unwrap();
    assert!(error.contains(r#""tool_name":"ExecCommand","kind":"invalid_tool_input""#), "{error}");
    assert_eq!(messages[6], json!({"role": "assistant", "content": "so"}));
    assert_eq!(body["tools"][2]["function"]["name"], "ApplyPatch");
    assert_eq!(body["tools"][0]["function"]["strict"], json!(false));
    assert_eq!(body["tools"][0]["function"]["parameters"]["additionalProperties"], json!(false));
}

#[tokio::test]
async fn tool_calls_and_usage_are_read_leniently() {
    let long = format!(r#"{{"cmd":"{}"}}"#, "x".repeat(1_000));
    let message = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "tool_calls": [
        {"id": "t1", "type": "function", "function": {"name": "ExecCommand", "arguments": long}},
        {"function": {"name": "ApplyPatch", "arguments": {"patch": "p"}}},
        {"id": null, "function": {"name": "Other"}},
    ]});
    let mut body = choice(&message, &json!("stop"));
    body["usage"] = json!({"prompt_tokens": -5, "completion_tokens": 1e300});
    let answer = answer(body).await;
    assert_eq!(answer.stop, StopReason::ToolUse);
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (0, u64::MAX));
    let [
        AnswerBlock::Text { text },
        AnswerBlock::ToolCall(first),
        AnswerBlock::ToolCall(second),
        AnswerBlock::ToolCall(third),
    ] = &answer.blocks[..]
    else {
        panic!("{answer:?}")
    };
    assert_eq!(text, &Text::short("ab"));
    assert_eq!((first.call_id.as_str(), first.json()), ("t1", Some(long.as_str())));
    assert!(first.arguments.content().is_some());
    assert_eq!((second.call_id.as_str(), second.json()), ("", Some(r#"{"patch":"p"}"#)));
    assert_eq!(third.json(), Some("{}"));
}

#[tokio::test]
async fn stop_reasons_are_those_of_the_runtime() {
    let text = json!({"content": "x"});
    for (finish, expected) in [
        (json!("length"), StopReason::MaxOutput),
        (json!("content_filter"), StopReason::ContentFilter),
        (json!("stop"), StopReason::EndTurn),
        (json!(null), StopReason::Other),
    ] {
        assert_eq!(answer(choice(&text, &finish)).await.stop, expected);
    }
    assert!(answer(choice(&json!({"content": null}), &json!("stop"))).await.blocks.is_empty());
}

#[tokio::test]
async fn refusals_are_classified() {
    let limited =
        refused(429, &[("retry-after", "7")], r#"{"error":{"message":"slow down, sk-canary-123456"}}"#).await;
    assert_eq!((limited.kind, limited.retry_after_ms), (FailureKind::RateLimited, Some(Millis(7_000))));
    assert!(limited.message.preview().contains("429 Too Many Requests: slow down, [redacted:"));
    let quota = refused(429, &[], r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#).await;
    assert_eq!(quota.kind, FailureKind::Quota);
    let auth = refused(401, &[], r#"{"error":{"message":"Incorrect API key"}}"#).await;
    assert_eq!(auth.kind, FailureKind::Auth);
    assert_eq!(auth.diagnostics.unwrap().status, Some(401));
    assert_eq!(refused(500, &[], "oops").await.kind, FailureKind::Server);
    assert_eq!(refused(501, &[], "").await.kind, FailureKind::Client);
    let long = refused(400, &[], r#"{"error":{"message":"This model's maximum context length is 8"}}"#).await;
    assert_eq!(long.kind, FailureKind::ContextLength);
    let moved = refused(307, &[("location", "http://user:secret@elsewhere/v1?x=1")], "").await;
    assert_eq!(moved.kind, FailureKind::Client);
    assert!(moved.message.preview().contains("to http://elsewhere/v1; redirects are not followed"));
}

#[tokio::test]
async fn unusable_answers_are_invalid() {
    for (body, expected) in [
        ("<html><body>Bad gateway</body></html>", "it is not JSON: <html>"),
        (r#"{"object":"list"}"#, "it has no choices"),
        (r#"{"choices":[]}"#, "it has no choices"),
        (r#"{"choices":[{"message":"x"}]}"#, "no message"),
        (r#"{"choices":[{"message":{"content":5}}]}"#, "neither text nor a list"),
        (r#"{"choices":[{"message":{"tool_calls":[{"function":{}}]}}]}"#, "no name"),
        (r#"{"error":{"message":"model not loaded"}}"#, "it reports an error: model not loaded"),
    ] {
        let failure = refused(200, &[], body).await;
        assert_eq!(failure.kind, FailureKind::InvalidResponse, "{body}");
        assert!(failure.message.preview().contains(expected), "{body}: {}", failure.message.preview());
    }
    let wrapped = refused(200, &[], r#"{"error":{"code":429,"message":"busy"}}"#).await;
    assert_eq!(wrapped.kind, FailureKind::RateLimited);
}

#[tokio::test]
async fn broken_connections_are_told_apart() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":";
    let cut = failure(&serve_bytes(head).await).await;
    assert_eq!((cut.kind, cut.diagnostics.unwrap().stage.as_str()), (FailureKind::StreamCut, "body"));
    let closed = failure(&serve_bytes(b"HTTP/1.1 200").await).await;
    assert_eq!(closed.kind, FailureKind::StreamCut);
    let silent = failure(&serve_bytes(b"").await).await;
    assert_eq!(silent.kind, FailureKind::Timeout);
    assert!(silent.message.preview().contains("within 400 ms"));
    assert!(silent.timing.duration_ms.0 >= 390);
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = failure(&format!("http://user:{KEY}@{unused}/v1?key={KEY}")).await;
    assert_eq!(nobody.kind, FailureKind::Connect);
    let found = nobody.diagnostics.unwrap();
    assert_eq!(found.url, Some(format!("http://{unused}/v1/chat/completions")));
    assert!((1..=8).contains(&found.source_chain.len()), "{:?}", found.source_chain);
}

#[tokio::test]
async fn dropping_the_attempt_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let asking = spawn::task(async move { ask(&base).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 65_536];
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    asking.abort();
    let rest = async { while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {} };
    tokio::time::timeout(std::time::Duration::from_secs(5), rest).await.unwrap();
}
