use std::time::Duration;

use holon_facts::model::{AnswerBlock, FailureKind};
use holon_facts::{Millis, Text};
use serde_json::json;
use tokio::net::TcpListener;

use crate::options::ProviderOptions;
use crate::testing::{Asking, KEY, Send, Server, answer, choice, events, local, refused};

fn says(text: &str) -> String {
    choice(&json!({"content": text}), &json!("stop")).to_string()
}

fn chunk(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test]
async fn refusals_are_classified() {
    let limited =
        refused(429, &[("retry-after", "7")], r#"{"error":{"message":"slow down, sk-canary-123456"}}"#).await;
    assert_eq!((limited.kind, limited.retry_after_ms), (FailureKind::RateLimited, Some(Millis(7_000))));
    assert!(limited.message.preview().contains("429 Too Many Requests: slow down, [redacted:"));
    let reset = [("x-ratelimit-reset-tokens", "1767322800")];
    let quota = refused(429, &reset, r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#).await;
    assert_eq!(quota.kind, FailureKind::Quota);
    assert_eq!(quota.resets_at, Some(holon_facts::Wall(1_767_322_800_000_000)));
    assert_eq!(refused(429, &reset, "").await.resets_at, None, "only a quota has a moment");
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

/// Headers count first, then the error's own fields and words.
#[tokio::test]
async fn a_quota_ends_when_its_wait_does() {
    let quota = |text: &str| json!({"error": {"message": text, "code": "insufficient_quota"}}).to_string();
    let google = json!({"error": {"message": "exceeded your current quota", "code": 429,
        "details": [{"@type": "x"}, {"retryDelay": "2461s"}]}});
    for (headers, body, seconds) in [
        (&[("retry-after", "2461")][..], quota("pay"), 2_461),
        (&[("retry-after-ms", "2461000")], quota("pay"), 2_461),
        (&[("retry-after", "2461")], quota("please retry in 5s"), 2_461),
        (&[], quota("Please retry in 41m1s."), 2_461),
        (&[], google.to_string(), 2_461),
    ] {
        let before = holon_platform::clock::now().wall;
        let failure = refused(429, headers, &body).await;
        assert_eq!(failure.kind, FailureKind::Quota, "{headers:?} {body}");
        let resets = failure.resets_at.unwrap_or_else(|| panic!("{headers:?} {body}"));
        let wait = resets.0 - before.0 - seconds * 1_000_000;
        assert!((0..60_000_000).contains(&wait), "{headers:?} {body}: {wait}");
    }
    let both = [("retry-after", "2461"), ("x-ratelimit-reset-tokens", "1767322800")];
    let named = refused(429, &both, &quota("pay")).await.resets_at;
    assert_eq!(named, Some(holon_facts::Wall(1_767_322_800_000_000)), "a reset is named");
    let soon = json!({"error": {"type": "usage_limit_reached", "resets_in_seconds": 90}}).to_string();
    for (headers, body, ms) in [
        (&[("retry-after", "30")][..], quota("pay"), 30_000),
        (&[("retry-after-ms", "900")], quota("pay"), 900),
        (&[("retry-after", "30")], quota("Please retry in 41m1s."), 30_000),
        (&[], soon, 90_000),
    ] {
        let failure = refused(429, headers, &body).await;
        let found = (failure.kind, failure.retry_after_ms, failure.resets_at);
        assert_eq!(found, (FailureKind::RateLimited, Some(Millis(ms)), None), "{headers:?} {body}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_invalid() {
    for (body, expected) in [
        (&b"<html><body>Bad gateway</body></html>"[..], "it is not JSON: <html>"),
        (b"", "it is empty"),
        (b"null", "it has no choices"),
        (b"\xff\xfe\xfd", "it is not JSON"),
        (b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}", "it is not JSON"),
        (b"{\"choices\":", "it is not JSON"),
        (br#"{"error":{"message":"model not loaded"}}"#, " reports an error: model not loaded"),
        (br#"{"error":"model not loaded"}"#, " reports an error: model not loaded"),
    ] {
        let asking = local(answer(200, &[], body)).await;
        let failure = asking.failure().await;
        assert_eq!(failure.kind, FailureKind::InvalidResponse, "{failure:?}");
        assert!(asking.message(&failure).contains(expected), "{failure:?}");
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(refused(200, &[], &deep).await.kind, FailureKind::InvalidResponse);
    let wrapped = refused(200, &[], r#"{"error":{"code":429,"message":"busy"}}"#).await;
    assert_eq!(wrapped.kind, FailureKind::RateLimited);
    let long = "x".repeat(100_000);
    assert!(refused(200, &[], &format!("<{long}{KEY}{long}>")).await.message.bytes() < 1_000);
}

#[tokio::test]
async fn the_form_of_an_answer_is_seen_not_believed() {
    let streamed = format!("{}{FINISH}data: [DONE]\n\n", chunk("hi"));
    let head = |kind: &str, body: &str| answer(200, &[("content-type", kind)], body.as_bytes());
    for bytes in [
        head("application/json", &says("hi")),
        head("text/event-stream", &says("hi")),
        head("text/event-stream; charset=utf-8", &format!("\u{feff}: ping\r\n\r\n{streamed}")),
        head("application/json", &streamed),
        answer(200, &[], format!("\n\n{}", says("hi")).as_bytes()),
    ] {
        for stream in [true, false] {
            let server = Server::start([vec![Send::Bytes(bytes.clone())]]).await;
            let options = ProviderOptions { stream, ..ProviderOptions::default() };
            let said = Asking::new("local", &server.base, options).answer().await;
            assert_eq!(said.blocks, [AnswerBlock::Text { text: Text::short("hi") }]);
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_cut() {
    for body in ["", &chunk("half"), &format!("{}data: [DONE]\n\n", chunk("half")), ": ping\n\n"] {
        let failure = local(events(body)).await.failure().await;
        assert_eq!(failure.kind, FailureKind::StreamCut, "{body}");
    }
    let whole = local(events(&format!("{}{FINISH}", chunk("hi")))).await.answer().await;
    assert_eq!(whole.blocks.len(), 1, "a reason to finish is an end");
    let unended = format!("{}{}", chunk("hi"), FINISH.trim_end());
    assert_eq!(local(events(&unended)).await.answer().await.blocks.len(), 1);
    let half = local(events(&unended[..unended.len() - 3])).await.failure().await;
    assert_eq!(half.kind, FailureKind::StreamCut);
    let complete =
        [Send::Bytes(events(&format!("{}{FINISH}", chunk("hi")))), Send::Wait(Duration::from_millis(50))];
    let server = Server::start([[&complete[..], &[Send::Reset]].concat()]).await;
    Asking::new("local", &server.base, ProviderOptions::default()).answer().await;
    let reset = [Send::Bytes(events(&chunk("half"))), Send::Wait(Duration::from_millis(50)), Send::Reset];
    let server = Server::start([reset.to_vec()]).await;
    let asking = Asking::new("local", &server.base, ProviderOptions::default());
    assert_eq!(asking.failure().await.kind, FailureKind::StreamCut);
    assert_eq!(asking.shown(), "half", "shown, but not an answer");
}

#[tokio::test]
async fn errors_inside_a_stream_are_classified() {
    for (event, expected) in [
        (json!({"error": {"message": "overloaded", "code": 503}}), FailureKind::Server),
        (json!({"error": {"message": "slow down", "type": "rate_limit_error"}}), FailureKind::RateLimited),
        (json!({"error": {"message": "something else"}}), FailureKind::Server),
        (json!({"error": {"code": "context_length_exceeded", "message": "x"}}), FailureKind::ContextLength),
        (json!({"choices": 5}), FailureKind::InvalidResponse),
        (json!({"choices": [{"delta": {"content": 5}}]}), FailureKind::InvalidResponse),
    ] {
        let body = format!("{}data: {event}\n\n{FINISH}", chunk("half"));
        assert_eq!(local(events(&body)).await.failure().await.kind, expected, "{event}");
    }
    let nonsense = local(events("data: {\"choices\": [\n\n")).await.failure().await;
    assert_eq!(nonsense.kind, FailureKind::InvalidResponse);
}

/// Some servers end a stream with neither a mark nor a close.
#[tokio::test]
async fn a_complete_answer_waits_little_for_the_end_of_its_stream() {
    let usage = r#""usage":{"prompt_tokens":3,"completion_tokens":4}"#;
    let with_reason = FINISH.replace("}]}", &format!("}}],{usage}}}"));
    let behind = format!("{FINISH}data: {{\"choices\":[],{usage}}}\n\n");
    for (end, counted, most) in [(with_reason, 7, 2_000), (behind, 7, 2_000), (FINISH.to_owned(), 0, 8_000)] {
        let body = events(&format!("{}{end}", chunk("hi")));
        let server = Server::start([vec![Send::Bytes(body), Send::Hold]]).await;
        let asking = Asking::new("local", &server.base, ProviderOptions::default()).within(30_000);
        let began = holon_platform::clock::now();
        let said = asking.answer().await;
        let took = holon_platform::clock::since(began).0;
        assert_eq!((said.blocks.len(), said.usage.total_tokens), (1, counted), "{end}");
        assert!(took < most, "{end}: {took} ms");
    }
    // Where each event has a reason and counts, the text goes on.
    let every = |text: &str| {
        let chunk = chunk(text).replace("}}]}", &format!("}},\"finish_reason\":\"stop\"}}],{usage}}}"));
        Send::Bytes(chunk.into_bytes())
    };
    let pause = || Send::Wait(Duration::from_millis(1_200));
    let steps =
        [Send::Bytes(events("")), every("a"), pause(), every("b"), pause(), every("c"), pause(), every("d")];
    let server = Server::start([steps.to_vec()]).await;
    let asking = Asking::new("local", &server.base, ProviderOptions::default());
    asking.answer().await;
    assert_eq!(asking.shown(), "abcd");
}

#[tokio::test]
async fn each_kind_of_waiting_has_its_own_end() {
    let hold = |steps: Vec<Send>| async move { Server::start([[steps, vec![Send::Hold]].concat()]).await };
    let fast = ProviderOptions {
        first_byte_timeout: Millis(150),
        idle_timeout: Millis(100),
        ..ProviderOptions::default()
    };
    for (sent, stage, said) in [
        (vec![], "first_byte", "nothing came from"),
        (vec![Send::Bytes(events(""))], "first_byte", "within 150 ms"),
        (vec![Send::Bytes(events(&chunk("half")))], "idle", "nothing for 100 ms"),
        (vec![Send::Bytes(answer(200, &[("x", "y")], b"{")[..40].to_vec())], "first_byte", "nothing came"),
    ] {
        let mut server = hold(sent).await;
        let asking = Asking::new("local", &server.base, fast.clone());
        let failure = asking.failure().await;
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!(failure.diagnostics.as_ref().unwrap().stage, stage, "{}", asking.message(&failure));
        assert!(asking.message(&failure).contains(said), "{}", asking.message(&failure));
        server.closed.wait_for(|closed| *closed == 1).await.unwrap();
    }
    let dribble =
        (0..40).flat_map(|_| [Send::Bytes(b": \n".to_vec()), Send::Wait(Duration::from_millis(30))]);
    let server = hold([vec![Send::Bytes(events(""))], dribble.collect()].concat()).await;
    let asking = Asking::new("local", &server.base, fast).within(400);
    let failure = asking.failure().await;
    assert_eq!((failure.kind, failure.diagnostics.unwrap().stage.as_str()), (FailureKind::Timeout, "whole"));
    assert!(failure.message.preview().contains("within 400 ms"));
    assert!(failure.timing.duration_ms.0 >= 390);
}

#[tokio::test]
async fn broken_connections_are_told_apart() {
    let cut = answer(200, &[], &[b'['; 500]);
    let cut = local(cut[..200].to_vec()).await.failure().await;
    assert_eq!((cut.kind, cut.diagnostics.unwrap().stage.as_str()), (FailureKind::StreamCut, "body"));
    let closed = local(b"HTTP/1.1 200".to_vec()).await.failure().await;
    assert_eq!(closed.kind, FailureKind::StreamCut);
    let nothing = local(vec![]).await.failure().await;
    assert_eq!(nothing.kind, FailureKind::StreamCut);
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let base = format!("http://user:{KEY}@{unused}/v1?key={KEY}");
    let nobody = Asking::new("local", &base, ProviderOptions::default()).failure().await;
    assert_eq!(nobody.kind, FailureKind::Connect);
    let found = nobody.diagnostics.unwrap();
    assert_eq!(found.url, Some(format!("http://{unused}/v1/chat/completions")));
    assert!((1..=8).contains(&found.source_chain.len()), "{:?}", found.source_chain);
}

#[tokio::test]
async fn dropping_an_attempt_closes_its_connection() {
    for sent in [vec![], events(&chunk("half"))] {
        let mut server = Server::start([vec![Send::Bytes(sent), Send::Hold]]).await;
        let asking = Asking::new("local", &server.base, ProviderOptions::default());
        let attempt = holon_platform::spawn::task(async move { asking.ask().await });
        while server.asked.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        attempt.abort();
        let closed = server.closed.wait_for(|closed| *closed == 1);
        drop(tokio::time::timeout(Duration::from_secs(5), closed).await.unwrap().unwrap());
    }
}

#[tokio::test]
async fn a_long_line_is_read_and_a_longer_one_is_refused() {
    let text = "ä".repeat(1 << 20);
    let body = events(&format!("{}{FINISH}", chunk(&text)));
    let said = local(body).await.answer().await;
    let AnswerBlock::Text { text: found } = &said.blocks[0] else { panic!() };
    assert_eq!(found.bytes(), 2 << 20);
    for body in
        [events(&format!("data: {}", "x".repeat(33 << 20))), events(&chunk(&"x".repeat(50_000)).repeat(700))]
    {
        let asking = local(body).await;
        let failure = asking.failure().await;
        assert_eq!(failure.kind, FailureKind::InvalidResponse);
        assert!(asking.message(&failure).contains("longer than 33554432 bytes"));
    }
}

#[tokio::test]
async fn people_see_the_text_as_it_comes_and_never_a_secret() {
    let mut body: String = ["Hello, ", "sk-can", "ary-1234", "56", " is it. sk-ca"].map(chunk).concat();
    body.push_str(FINISH);
    let asking = local(events(&body)).await;
    let said = asking.answer().await;
    assert_eq!(asking.shown(), "Hello, [redacted:THE_KEY] is it. sk-ca");
    assert_eq!(said.blocks, [AnswerBlock::Text { text: Text::short(asking.shown()) }]);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let body =
        [&b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"[..]];
    let event = format!("{}{FINISH}data: [DONE]\n\n", chunk("hi"));
    let first = [body.concat(), format!("{:x}\r\n{event}\r\n0\r\n\r\n", event.len()).into_bytes()].concat();
    let second = answer(200, &[], says("again").as_bytes());
    let steps = vec![Send::Bytes(first), Send::Request, Send::Bytes(second)];
    let server = Server::start([steps]).await;
    let asking = Asking::new("local", &server.base, ProviderOptions::default());
    asking.answer().await;
    let again = asking.answer().await;
    assert_eq!(again.blocks, [AnswerBlock::Text { text: Text::short("again") }]);
    assert_eq!(server.asked.lock().unwrap().len(), 2);
}
