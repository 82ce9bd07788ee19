//! A whole run over each protocol: a command, a patch, and an answer; streamed and not; and what the provider
//! was asked.

use std::time::Duration;

use end_to_end::provider::{Fault, Place, Provider, Reply, calls, fails, says};
use end_to_end::{Holon, count, payloads};
use serde_json::{Value, json};

const PATCH: &str = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1 @@\n-echo Helo\n+echo Hello\n";
const KEY: &str = "canary-4f1c77aa";

fn with(provider: &Provider, model: &str) -> Holon {
    Holon::new()
        .with("HOLON_MODEL", model)
        .with("HOLON_LOCAL_BASE_URL", &provider.url)
        .with("OPENAI_BASE_URL", &provider.url)
        .with("ANTHROPIC_BASE_URL", provider.url.trim_end_matches("/v1"))
        .with("OPENAI_API_KEY", KEY)
        .with("ANTHROPIC_API_KEY", KEY)
}

/// A run that repairs a file; what the provider was asked.
fn repaired(model: &str) -> Provider {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "cat greet.sh" }))]).saying("I look."),
        calls(&[("ApplyPatch", json!({ "patch": PATCH })), ("ExecCommand", json!({ "cmd": "sh greet.sh" }))]),
        says("Repaired the greeting."),
    ]);
    let holon = with(&provider, model);
    holon.file("greet.sh", "echo Helo\n");
    let ended = holon.run(&["run", "--json", "repair the greeting"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!format!("{ended:?}").contains(KEY));
    let report = ended.json();
    assert_eq!(report["final_text"], "Repaired the greeting.");
    assert_eq!(report["changed_files"], json!(["greet.sh"]));
    assert_eq!(report["token_usage"]["total_tokens"], 360);
    let ledger = report["ledger"].as_str().expect("a ledger");
    holon.check_ledger(ledger.as_ref());
    let records = holon.records(ledger.as_ref());
    assert_eq!(count(&records, "tool_executed"), 3);
    assert_eq!(provider.connections(), 1, "a connection is used again");
    provider
}

#[test]
fn a_run_over_chat_completions() {
    let asked = repaired("local/test").asked();
    assert!(asked.iter().all(|asked| asked.path == "/v1/chat/completions"));
    assert_eq!(asked[0].header("authorization"), None);
    assert_eq!(asked[0].body["stream_options"], json!({ "include_usage": true }));
    let last = asked[2].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("Hello"), "{last}");
}

#[test]
fn a_run_over_responses() {
    let asked = repaired("openai/test").asked();
    assert!(asked.iter().all(|asked| asked.path == "/v1/responses"));
    assert_eq!(asked[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!((&asked[0].body["store"], &asked[0].body["stream"]), (&json!(false), &json!(true)));
    let kinds: Vec<&Value> =
        asked[2].body["input"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    let [message, call, output] = ["message", "function_call", "function_call_output"];
    assert_eq!(kinds, [message, message, call, output, call, call, output, output]);
    assert!(asked.iter().all(|asked| asked.body.get("prompt_cache_key").is_none()), "not the public address");
}

#[test]
fn a_run_over_messages() {
    let asked = repaired("anthropic/test").asked();
    assert!(asked.iter().all(|asked| asked.path == "/v1/messages"));
    assert_eq!(asked[0].header("x-api-key"), Some(KEY));
    assert_eq!(asked[0].header("anthropic-version"), Some("2023-06-01"));
    let last = &asked[2].body;
    let roles: Vec<&Value> =
        last["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(last.to_string().matches("cache_control").count(), 4);
    // What the provider keeps is what was sent before: the markers aside, each request begins as the last one.
    for pair in asked.windows(2) {
        let beginning = |asked: &Value| asked["system"].to_string();
        assert_eq!(beginning(&pair[0].body), beginning(&pair[1].body));
    }
}

#[test]
fn what_a_stream_was_cut_in_is_asked_for_again_and_never_kept() {
    for model in ["local/test", "openai/test", "anthropic/test"] {
        let call = calls(&[("ExecCommand", json!({ "cmd": "touch never-by-half" }))]);
        let provider = Provider::start([
            says("Half of this and never the rest").cut_in_text(),
            call.cut_in_call(),
            says("Whole."),
        ]);
        let holon = with(&provider, model);
        let report = holon.run(&["run", "--json", "go"]).json();
        assert_eq!(report["final_text"], "Whole.", "{report}");
        let attempts = report["provider_attempt_timeline"]["attempts"].as_array().unwrap().clone();
        let kinds: Vec<&Value> = attempts.iter().map(|attempt| &attempt["failure_kind"]).collect();
        assert_eq!(kinds, [&json!("stream_cut"), &json!("stream_cut"), &Value::Null]);
        assert!(!holon.work().join("never-by-half").exists());
        let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
        assert_eq!(payloads(&records, "assistant_round_recorded").len(), 1);
        assert!(!json!(records).to_string().contains("Half of"), "nothing partial is durable");
    }
}

#[test]
fn slow_streams_are_waited_for_and_errors_in_them_are_told() {
    for model in ["local/test", "openai/test", "anthropic/test"] {
        let provider = Provider::start([
            says("x").faulty(Fault::Error(Place::InText, "overloaded_error", "Too much to do")),
            says("Slow and whole.").dribble(Duration::from_millis(2)),
        ]);
        let report = with(&provider, model).run(&["run", "--json", "go"]).json();
        assert_eq!(report["final_text"], "Slow and whole.");
        let first = &report["provider_attempt_timeline"]["attempts"][0];
        assert_eq!(first["failure_kind"], "server", "{first}");
        assert!(first["message"].to_string().contains("Too much to do"), "{first}");
    }
}

#[test]
fn each_misbehaviour_has_its_kind() {
    let raw = Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec());
    for (reply, kind) in [
        (Reply::Close, "stream_cut"),
        (Reply::CloseAtAccept, "stream_cut"),
        (raw, "stream_cut"),
        (Reply::html(502), "server"),
        (Reply::html(200), "invalid_response"),
        (Reply::empty(), "invalid_response"),
        (Reply::invalid_utf8(), "invalid_response"),
        (Reply::long_line(10 << 20), "stream_cut"),
        (Reply::long_line(40 << 20), "invalid_response"),
        (fails(429, "slow").header("retry-after", "0"), "rate_limited"),
        (says("x").faulty(Fault::End(Place::BeforeEnd)), "stream_cut"),
    ] {
        let provider = Provider::start([reply, says("Done.")]);
        let report = with(&provider, "anthropic/test").run(&["run", "--json", "go"]).json();
        let first = &report["provider_attempt_timeline"]["attempts"][0];
        assert_eq!(first["failure_kind"], kind, "{first}");
    }
}

#[test]
fn an_interrupt_hangs_up_on_the_provider() {
    for reply in [Reply::Hang, says("Half of this").stall_in_text()] {
        let provider = Provider::start([reply]);
        let holon = with(&provider, "openai/test");
        let child = holon.spawn(&["run", "--json", "go"]);
        provider.wait_for_requests(1);
        let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()));
        provider.wait_for_hang_ups(1);
        let ended: end_to_end::Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, Some(130), "{ended:?}");
    }
}

#[test]
fn proxies_of_the_environment_are_used_but_not_for_this_machine() {
    let provider = Provider::start([says("Through the proxy.")]);
    let proxy = provider.url.trim_end_matches("/v1");
    let away = || with(&provider, "local/test").with("HOLON_LOCAL_BASE_URL", "http://model.invalid/v1");
    let ended = away().with("HTTP_PROXY", proxy).run(&["run", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(provider.asked()[0].header("host"), Some("model.invalid"));
    let without = away().with("HTTP_PROXY", proxy).with("NO_PROXY", "model.invalid");
    assert_eq!(without.run(&["config", "set", "run.patience_ms", "0"]).code, Some(0));
    without.run(&["run", "go"]).refused(1, &["connect", "model.invalid"]);
    let near = Provider::start([says("Directly.")]);
    let ended = with(&near, "local/test").with("HTTP_PROXY", "http://127.0.0.1:9").run(&["run", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
