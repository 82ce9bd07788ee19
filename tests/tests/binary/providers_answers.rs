//! Answers that are none, and right answers in odd forms (fault catalogue: PV6, PV13; bad input).

use end_to_end::provider::{Fault, Provider, Reply, calls, command, fails, says};
use end_to_end::trial::{MODELS, Trial, both};
use serde_json::{Value, json};

/// A reply; the kind of its failure, the stage, the status that is told, and what the message says.
type Row = (Reply, &'static str, &'static str, Option<u16>, &'static str);

fn refusals() -> Vec<Row> {
    let expired = r#"{"error":{"message":"The key has expired","code":"invalid_api_key"}}"#;
    let empty_pocket = r#"{"error":{"type":"insufficient_quota","message":"Nothing left"}}"#;
    let moved = fails(307, "").header("location", "http://user:pass@new.example/v1?key=x");
    let row = |code, body, kind, says| (fails(code, body), kind, "response", Some(code), says);
    vec![
        row(400, r#"{"error":{"message":"no such field"}}"#, "client", "400 Bad Request: no such field"),
        row(401, expired, "auth", ": The key has expired"),
        row(403, "", "auth", "403 Forbidden"),
        row(404, r#"{"error":"model \"x\" not found"}"#, "client", "not found"),
        row(405, "", "client", "405"),
        row(409, "", "client", "409"),
        row(422, r#"{"detail":[{"msg":"field required"}]}"#, "client", "field required"),
        row(402, "", "quota", "402"),
        row(429, empty_pocket, "quota", "Nothing left"),
        row(501, "", "client", "501 Not Implemented"),
        row(304, "", "client", "answered 304 Not Modified"),
        (moved, "client", "response", Some(307), "to http://new.example/v1; redirects are not followed"),
    ]
}

/// What comes with a status of success and is no answer.
fn no_answers() -> Vec<Row> {
    let json =
        |value: Value| (Reply::Json(value), "invalid_response", "response", Some(200), "is not one of");
    let body = |content_type, bytes: &[u8], says| {
        let reply = Reply::Body { content_type, bytes: bytes.to_vec() };
        (reply, "invalid_response", "response", Some(200), says)
    };
    let encoded = fails(200, "neither here nor there").header("content-encoding", "br");
    vec![
        (Reply::html(200), "invalid_response", "response", Some(200), "it is not JSON: <!doctype html>"),
        (Reply::empty(), "invalid_response", "response", Some(200), "it is empty"),
        (fails(204, ""), "invalid_response", "response", Some(204), "it is empty"),
        (Reply::invalid_utf8(), "invalid_response", "response", Some(200), "it is not JSON"),
        (encoded, "invalid_response", "response", Some(200), "it is not JSON"),
        json(Value::Null),
        json(json!([])),
        json(json!("done")),
        json(json!({ "choices": 5, "content": 5, "output": 5 })),
        json(json!({ "choices": [{ "message": "x" }], "content": "x", "output": {} })),
        (
            Reply::Json(json!({ "error": "model not loaded" })),
            "invalid_response",
            "response",
            Some(200),
            "reports an error: model not loaded",
        ),
        body("application/octet-stream", b"\x00\x01\x02\xff", "it is not JSON"),
        body("text/event-stream", b"data: {\"choices\": [\n\n", "one of its events is not JSON"),
        body("text/event-stream", b"data: \xff\xfe\n\n", "one of its events is not JSON"),
    ]
}

#[test]
fn what_waiting_can_t_help_is_asked_once_and_told() {
    let rows: Vec<Row> = refusals().into_iter().chain(no_answers()).collect();
    for trial in both() {
        let chain: Vec<String> = (0..rows.len()).map(|at| format!("{}-{at}", trial.model)).collect();
        let replies = rows.iter().map(|row| row.0.clone()).chain([says("Done.")]);
        let (told, _) = trial.fallbacks(&chain).against(replies);
        assert_eq!(told.report["final_text"], "Done.");
        for (attempt, (reply, kind, stage, status, says)) in told.attempts().iter().zip(&rows) {
            assert_eq!(attempt["failure_kind"], *kind, "{reply:?}: {attempt}");
            assert_eq!(attempt["outcome"], "fail_fast_aborted", "{attempt}");
            assert_eq!(attempt["advanced_to_fallback"], true, "{attempt}");
            let found = &attempt["transport_diagnostics"];
            assert_eq!((&found["stage"], &found["status"]), (&json!(stage), &json!(status)), "{attempt}");
            let message = attempt["message"].as_str().unwrap();
            assert!(message.contains(says), "{says:?} is not in {message:?}");
            assert!(!message.contains("pass@"), "{message}");
            assert_eq!(message.contains("redirect"), *status == Some(307), "{message}");
        }
    }
}

#[test]
fn a_run_ends_failed_at_once_where_there_is_no_fallback() {
    for (at, trial) in both().enumerate() {
        let (reply, kind, _, status, says) = refusals().swap_remove(at);
        let (told, _) = trial.against([reply]);
        let artifact = &told.report["failure_artifact"];
        assert_eq!(artifact["kind"], kind);
        assert_eq!(artifact["status"], json!(status));
        assert_eq!(artifact["category"], if kind == "quota" { "transport" } else { "protocol" });
        let brief = told.facts("brief_created")[0]["text"].to_string();
        assert!(brief.contains("The turn failed"), "{brief}");
        assert!(artifact["summary"].as_str().unwrap().contains(says), "{artifact}");
        assert_eq!(told.facts("closure_decided").last().unwrap()["outcome"], "failed");
    }
}

#[test]
fn connections_that_break_in_any_way_are_worth_another_attempt() {
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let endless = format!("HTTP/1.1 200 OK\r\nx-name: {}\r\n\r\n", "x".repeat(1 << 20));
    let garbled = fails(200, "neither here nor there").header("content-encoding", "gzip");
    let rows = [
        (raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"choices\":"), "body"),
        (raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}"), "body"),
        (raw("HTTP/1.1 200 OK\r\ncontent-type: te"), "response"),
        (raw("HTTP/1.1 2000 OK\r\n\r\n"), "response"),
        (raw("HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n{}"), "response"),
        (raw(&endless), "response"),
        (raw("<html>"), "response"),
        (garbled, "body"),
        (Reply::Body { content_type: "text/event-stream", bytes: vec![] }, "stream"),
        (Reply::Body { content_type: "text/event-stream", bytes: b": ping\n\n".to_vec() }, "stream"),
        (Reply::Body { content_type: "text/event-stream", bytes: b"data: [DONE]\n\n".to_vec() }, "stream"),
    ];
    for trial in both() {
        let replies = rows.iter().map(|row| row.0.clone()).chain([says("Done.")]);
        let (told, _) =
            trial.set("runtime.retries", "20").set("runtime.retry_backoff_ms", "1").against(replies);
        for (attempt, (reply, stage)) in told.attempts().iter().zip(&rows) {
            assert_eq!(attempt["failure_kind"], "stream_cut", "{reply:?}: {attempt}");
            let found = &attempt["transport_diagnostics"];
            assert_eq!(found["stage"], *stage, "{reply:?}: {attempt}");
            // What it was at the bottom stands in the message: of a garbled encoding, too.
            let reason = found["source_chain"].as_array().and_then(|chain| chain.last()?.as_str());
            let message = attempt["message"].as_str().unwrap();
            assert!(message.ends_with(reason.unwrap_or_default()), "{attempt}");
            assert_eq!(reason.is_some(), *stage != "stream", "{attempt}");
        }
        assert_eq!(told.report["final_text"], "Done.");
    }
}

#[test]
fn right_answers_in_odd_forms_are_taken() {
    let forms = [
        Fault::Gzip,
        Fault::Old,
        Fault::Typed("text/plain"),
        Fault::Typed("application/json; charset=latin-1"),
        Fault::Typed("text/event-stream; charset=utf-8"),
        Fault::Typed(""),
    ];
    for trial in both() {
        let call = |at: usize| calls(&[command(&format!("echo {at} >> log"))]).saying("Grüße 😀");
        let replies = forms.iter().enumerate().map(|(at, form)| call(at).faulty(form.clone()));
        let (told, _) = trial.against(replies.chain([says("Fine.")]));
        assert_eq!(told.report["final_text"], "Fine.", "{:#?}", told.story());
        assert_eq!(told.results().len(), forms.len());
        assert!(told.facts("assistant_round_recorded").iter().all(|round| {
            let text = &round["blocks"][0]["text"];
            *text == "Grüße 😀" || *text == "Fine."
        }));
    }
}

/// The second answer is nobody's: it is never taken for the one to the next request (PV11 on the wire).
#[test]
fn an_answer_that_comes_twice_counts_once() {
    for trial in both() {
        let provider = Provider::start([
            calls(&[command("echo one >> log")]).faulty(Fault::Twice),
            calls(&[command("echo two >> log")]).faulty(Fault::Twice),
            says("Done."),
        ]);
        let holon = trial.home(&provider.url);
        let told = trial.run(&holon, "go");
        assert_eq!(told.report["final_text"], "Done.", "{:#?}", told.story());
        assert_eq!(std::fs::read_to_string(holon.work().join("log")).unwrap(), "one\ntwo\n");
        assert_eq!((told.attempts().len(), provider.asked().len()), (3, 3), "{:#?}", told.story());
    }
    for model in MODELS {
        let answer = calls(&[command("echo one >> log")]).saying("Once.");
        let (told, _) = Trial::new(model).against([answer.faulty(Fault::Echo), says("Done.")]);
        let round = told.facts("assistant_round_recorded")[0];
        assert_eq!(round["blocks"][0]["text"], "Once.");
        assert_eq!(told.results().len(), 1, "{round}");
    }
}

#[test]
fn answers_that_never_end_are_bounded() {
    let body = |content_type| Reply::Body { content_type, bytes: vec![b'"'; 33 << 20] };
    for (reply, kind) in [
        (Reply::long_line(10 << 20), "stream_cut"),
        (Reply::long_line(33 << 20), "invalid_response"),
        (body("application/json"), "invalid_response"),
    ] {
        let (told, _) = Trial::new("local/test")
            .fallbacks(&["local/b"])
            .set("runtime.retries", "0")
            .against([reply, says("Done.")]);
        let first = &told.attempts()[0];
        assert_eq!(first["failure_kind"], kind, "{first}");
        assert!(first["message"].as_str().unwrap().len() < 1_000);
        assert_eq!(told.report["final_text"], "Done.");
    }
}

#[test]
fn a_long_answer_in_one_line_is_kept_whole() {
    let text = "0123456789abcdeß".repeat(4 << 16);
    let (told, _) = Trial::new("anthropic/test").against([says(&text)]);
    assert!(told.report["final_text"] == text);
}

#[test]
fn half_a_character_and_an_empty_event_take_nothing_from_an_answer() {
    let told = r#"{"choices":[{"index":0,"delta":{"content":"cut \ud83d here"}}]}"#;
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let events = format!("data:\n\ndata: \n\ndata: {told}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"cut \ud83d here"},"finish_reason":"stop"}]}"#;
    for (content_type, body) in [("text/event-stream", events.as_str()), ("application/json", whole)] {
        let provider = Provider::start([Reply::Body { content_type, bytes: body.into() }]);
        let ended = Trial::new("local/test").home(&provider.url).run(&["run", "go"]);
        assert_eq!((ended.code, ended.stdout.trim()), (Some(0), "cut \u{FFFD} here"), "{ended:?}");
    }
}

#[test]
fn an_error_object_in_a_stream_is_the_error_that_it_names() {
    let event =
        r#"{"object":"error","message":"The key has expired.","type":"invalid_request_error","code":401}"#;
    let bytes = format!("data: {event}\n\ndata: [DONE]\n\n").into_bytes();
    let provider = Provider::start([Reply::Body { content_type: "text/event-stream", bytes }]);
    let ended = Trial::new("local/test").home(&provider.url).run(&["run", "go"]);
    assert_eq!((ended.code, provider.requests().len()), (Some(1), 1), "{ended:?}");
    assert!(ended.stderr.contains("The key has expired."), "{ended:?}");
}
