//! Providers that are away, busy or slow: how often they are asked, how long is waited, who is asked next, and
//! what the operator is shown (fault catalogue: PV1, PV2, PV4, PV5).

use std::net::SocketAddr;

use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, ask};
use end_to_end::provider::{Fault, Place, Provider, Reply, calls, command, fails, says};
use end_to_end::trial::{MODELS, Trial, both, streamed};
use serde_json::{Value, json};

const TOO_SOON: &str = r#"{"error":{"message":"come back later"}}"#;

fn backoffs(attempts: &[Value]) -> Vec<u64> {
    attempts.iter().filter_map(|attempt| attempt["backoff_ms"].as_u64()).collect()
}

#[test]
fn a_provider_that_stays_away_is_asked_three_times() {
    for trial in both() {
        let (told, _) = trial.against([fails(503, "x"), fails(500, "x"), fails(529, "so much to do")]);
        let line = |number: u8, outcome: &str| format!("{} {number}/3 server {outcome}", trial.model);
        assert_eq!(told.story(), [line(1, "retrying"), line(2, "retrying"), line(3, "retries_exhausted")]);
        let waits = backoffs(told.attempts());
        assert!((4..=5).contains(&waits[0]) && (8..=10).contains(&waits[1]), "{waits:?}");
        let artifact = &told.report["failure_artifact"];
        assert_eq!((&artifact["category"], &artifact["status"]), (&json!("transport"), &json!(529)));
        assert!(artifact["summary"].as_str().unwrap().contains("answered 529: so much to do"), "{artifact}");
        assert_eq!(told.report["turn_reason"], "provider_failure");
        assert_eq!(told.report["provider_attempt_timeline"]["winning_model_ref"], Value::Null);
    }
}

#[test]
fn whatever_may_pass_is_worth_another_attempt() {
    let limited = fails(429, TOO_SOON).header("x-ratelimit-reset-requests", "1s");
    let passing = [
        (fails(500, "x"), "server"),
        (Reply::html(502), "server"),
        (fails(503, ""), "server"),
        (fails(504, ""), "server"),
        (fails(529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#), "server"),
        (limited, "rate_limited"),
        (fails(408, "x"), "timeout"),
        (Reply::Close, "stream_cut"),
        (Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()), "stream_cut"),
        (Reply::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()), "stream_cut"),
        (Reply::Json(json!({ "error": { "message": "x", "code": 503 } })), "server"),
        (Reply::Json(json!({ "error": { "message": "rate limit reached" } })), "rate_limited"),
    ];
    for trial in both() {
        let trial = trial.set("runtime.retries", "20").set("runtime.retry_backoff_ms", "1");
        let replies = passing.iter().map(|(reply, _)| reply.clone()).chain([says("Done.")]);
        let (told, _) = trial.against(replies);
        assert_eq!(told.report["final_text"], "Done.");
        for (attempt, (reply, kind)) in told.attempts().iter().zip(&passing) {
            assert_eq!(attempt["failure_kind"], *kind, "{reply:?}: {attempt}");
            assert_eq!(attempt["outcome"], "retrying", "{attempt}");
        }
    }
}

#[test]
fn a_server_is_obeyed_that_says_when_it_may_be_asked_again() {
    let after = |value: &str| fails(429, TOO_SOON).header("retry-after", value);
    let asked = [
        (fails(429, TOO_SOON), 0),
        (after("0"), 0),
        (after("-5"), 0),
        (after("NaN"), 0),
        (after("soon"), 0),
        (after("0.01"), 10),
        (after("Wed, 21 Oct 2015 07:28:00 GMT"), 0),
        (fails(429, TOO_SOON).header("retry-after-ms", "15"), 15),
        (fails(503, "x").header("retry-after", "0.03"), 30),
    ];
    for trial in streamed() {
        let trial = trial.set("runtime.retries", "20").set("runtime.retry_backoff_ms", "0");
        let replies = asked.iter().map(|(reply, _)| reply.clone()).chain([says("Done.")]);
        let (told, _) = trial.set("runtime.retry_after_max_ms", "30").against(replies);
        let expected: Vec<u64> = asked.iter().map(|(_, wait)| *wait).collect();
        assert_eq!(backoffs(told.attempts()), expected);
    }
}

/// Asked before that, it would only refuse again.
#[test]
fn a_server_that_wants_to_be_asked_much_later_is_not_waited_for_in_its_round() {
    for wait in ["61", "3600", "1e300", "99999999999999999999999999", "Wed, 21 Oct 2415 07:28:00 GMT"] {
        let trial = Trial::new("local/a").fallbacks(&["openai/b"]);
        let busy = fails(429, TOO_SOON).header("retry-after", wait);
        let (told, _) = trial.against([busy, says("Done.")]);
        let story = ["local/a 1/3 rate_limited retries_exhausted", "openai/b 1/3 - succeeded"];
        assert_eq!(told.story(), story, "{wait}");
    }
    let provider = Provider::start([fails(503, "maintenance").header("retry-after", "3600")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "go"]);
    end_to_end::wait_for("hold", || daemon.events_of("hold_set") == 1);
    let why = daemon.ok(&["why", "--json"]).json();
    let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    let hold = time(&why["hold"]["until"]) - time(&why["hold"]["since"]);
    assert!((3_590..=3_600).contains(&hold), "{why}");
    assert_eq!((&why["hold"]["cause"], provider.asked().len()), (&json!("outage"), 1));
}

#[test]
fn the_chain_is_gone_through_in_order_and_rounds_begin_with_whoever_answered() {
    let trial = Trial::new("local/a").fallbacks(&["openai/b", "anthropic/c"]);
    let away = || fails(503, "x");
    let answer = calls(&[command("echo one >> log")]);
    let other = calls(&[command("echo two >> log")]);
    let replies = [away(), away(), away(), fails(401, "x"), answer, fails(401, "x"), other, says("Done.")];
    let (told, provider) = trial.against(replies);
    assert_eq!(
        told.story(),
        [
            "local/a 1/3 server retrying",
            "local/a 2/3 server retrying",
            "local/a 3/3 server retries_exhausted",
            "openai/b 1/3 auth fail_fast_aborted",
            "anthropic/c 1/3 - succeeded",
            // The one that failed is not asked first again in this turn, and is still there when others fail.
            "anthropic/c 1/3 auth fail_fast_aborted",
            "local/a 1/3 - succeeded",
            "local/a 1/3 - succeeded",
        ]
    );
    let advanced: Vec<bool> =
        told.attempts().iter().map(|attempt| attempt["advanced_to_fallback"] == true).collect();
    assert_eq!(advanced, [false, false, true, true, false, true, false, false]);
    let asked = provider.asked();
    let models: Vec<&str> = asked.iter().map(|asked| asked.body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["a", "a", "a", "b", "c", "c", "a", "a"]);
    let paths = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];
    assert_eq!([2, 3, 4].map(|at| asked[at].path.as_str()), paths);
    let rounds = told.facts("provider_round_completed");
    assert_eq!((&rounds[0]["attempts"], &rounds[1]["attempts"]), (&json!(5), &json!(2)));
    assert_eq!(rounds[0]["winning_model_ref"], "anthropic/c");
    assert_eq!(rounds[0]["requested_model_ref"], "local/a");
    assert_eq!(told.report["provider_attempt_timeline"]["requested_model_ref"], "local/a");
}

#[test]
fn when_all_fail_the_last_one_is_named() {
    let trial = Trial::new("local/a").fallbacks(&["openai/b", "anthropic/c"]).set("runtime.retries", "0");
    let (told, _) = trial.against([fails(401, "no key"), fails(503, "x"), fails(404, "no such model")]);
    let outcomes: Vec<&Value> = told.attempts().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["fail_fast_aborted", "retries_exhausted", "fail_fast_aborted"]);
    assert_eq!(told.attempts()[2]["advanced_to_fallback"], false);
    let artifact = &told.report["failure_artifact"];
    assert_eq!((&artifact["model_ref"], &artifact["category"]), (&json!("anthropic/c"), &json!("protocol")));
    assert_eq!((&artifact["status"], &artifact["metadata"]["attempts"]), (&json!(404), &json!("3")));
}

#[test]
fn nobody_at_the_address() {
    // A server that closes what speaks TLS to it.
    let closing = Provider::start([const { Reply::CloseAtAccept }; 9]);
    let secure = closing.url.replace("http:", "https:");
    for model in MODELS {
        for (url, says) in [
            ("http://127.0.0.1:9/v1", "Connection refused"),
            ("http://nowhere.invalid/v1", "nowhere.invalid"),
            (&*secure, "no connection"),
        ] {
            let trial = Trial::new(model);
            let told = trial.run(&trial.home(url), "go");
            assert_eq!(told.attempts().len(), 3, "{:#?}", told.story());
            for attempt in told.attempts() {
                assert_eq!(attempt["failure_kind"], "connect", "{attempt}");
                let found = &attempt["transport_diagnostics"];
                assert_eq!((&found["stage"], &found["status"]), (&json!("connect"), &Value::Null));
                assert!(found["url"].as_str().unwrap().starts_with(url.trim_end_matches("/v1")), "{found}");
                assert!(!found["source_chain"].as_array().unwrap().is_empty(), "{found}");
                assert!(attempt["message"].to_string().contains(says), "{attempt}");
            }
            assert_eq!(told.report["failure_artifact"]["category"], "transport");
            assert!(told.report["failure_artifact"]["source_chain"].is_array());
        }
    }
    assert_eq!(closing.connections(), 9);
}

/// An address that takes no connection, nor refuses it: whoever is already in its queue fills it.
fn full() -> (SocketAddr, Vec<std::net::TcpStream>, tokio::net::TcpListener, tokio::runtime::Runtime) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        socket.listen(0).expect("a queue")
    });
    let address = listener.local_addr().expect("an address");
    let patience = std::time::Duration::from_millis(200);
    let waiting = (0..3).filter_map(|_| std::net::TcpStream::connect_timeout(&address, patience).ok());
    (address, waiting.collect(), listener, runtime)
}

#[test]
fn a_connection_that_takes_too_long() {
    let (address, ..) = &full();
    let trial = Trial::new("local/test").option("connect_timeout_ms", "60").set("runtime.retries", "1");
    let told = trial.run(&trial.home(&format!("http://{address}/v1")), "go");
    for attempt in told.attempts() {
        assert_eq!(attempt["failure_kind"], "timeout", "{attempt}");
        assert_eq!(attempt["transport_diagnostics"]["stage"], "connect");
        assert!(attempt["message"].to_string().contains("no connection within 60 ms to"), "{attempt}");
        assert!(attempt["duration_ms"].as_u64() >= Some(59), "{attempt}");
    }
    assert_eq!(told.attempts().len(), 2);
}

#[test]
fn each_way_to_be_slow_has_its_message() {
    let long = || says(&"word ".repeat(2_000));
    let pause = std::time::Duration::from_millis(20);
    let late = says("Too late.").late(std::time::Duration::from_secs(20));
    for (setting, reply, stage, says) in [
        ("first_byte_timeout_ms", Reply::Hang, "first_byte", "nothing came from "),
        ("first_byte_timeout_ms", late, "first_byte", "nothing came from "),
        ("first_byte_timeout_ms", long().faulty(Fault::Stall(Place::Start)), "first_byte", "nothing came"),
        ("idle_timeout_ms", long().stall_in_text(), "idle", "stopped: nothing for 60 ms"),
        ("model_timeout_ms", long().dribble(pause), "whole", "no complete answer from "),
        ("model_timeout_ms", Reply::Hang, "whole", "no complete answer from "),
    ] {
        for trial in streamed() {
            let trial = trial.set("runtime.retries", "0");
            let trial = match setting {
                "model_timeout_ms" => trial.set("runtime.model_timeout_ms", "60"),
                _ => trial.option(setting, "60"),
            };
            let (told, _) = trial.against([reply.clone()]);
            let attempt = &told.attempts()[0];
            assert_eq!(attempt["failure_kind"], "timeout", "{attempt}");
            assert_eq!(attempt["transport_diagnostics"]["stage"], stage, "{attempt}");
            assert!(attempt["message"].to_string().contains(says), "{attempt}");
            assert!(attempt["duration_ms"].as_u64() >= Some(59), "{attempt}");
            assert_eq!(told.report["failure_artifact"]["kind"], "timeout");
        }
    }
}

/// The wait of the second pass is over when the provider is back.
#[test]
fn a_run_goes_through_the_chain_again_and_says_so() {
    let trial = Trial::new("local/a").fallbacks(&["openai/b"]).set("run.patience_ms", "20000");
    let away = || fails(503, "x");
    let first = [away(), away(), away(), fails(401, "no key")];
    let provider = Provider::start(first.into_iter().chain([away(), says("Here again.")]));
    let holon = trial.home(&provider.url);
    let ended = holon.run(&["run", "--agent", "main", "--create-agent", "go"]);
    assert_eq!((ended.code, ended.stdout.trim()), (Some(0), "Here again."), "{ended:?}");
    assert!(ended.stderr.contains("no model answers: waiting 1"), "{}", ended.stderr);
    assert!(ended.stderr.contains("s at most, for local/a; Ctrl-C ends the run"), "{}", ended.stderr);
    let asked = provider.asked();
    let models: Vec<&str> = asked.iter().map(|asked| asked.body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["a", "a", "a", "b", "a", "a"], "whom waiting can't help is not asked again");
}

#[test]
fn patience_is_bounded_and_key_errors_have_none() {
    let trial = Trial::new("local/test").set("run.patience_ms", "1500").set("runtime.retries", "0");
    let (told, _) =
        trial.against([fails(529, "overloaded"), fails(529, "overloaded"), fails(529, "overloaded")]);
    let waits: Vec<u64> =
        told.facts("providers_awaited").iter().map(|fact| fact["pause_ms"].as_u64().unwrap()).collect();
    assert!((1_000..1_250).contains(&waits[0]) && waits[1] < 500 && waits.len() == 2, "{waits:?}");
    assert_eq!((told.ended.code, &told.report["turn_reason"]), (Some(1), &json!("provider_failure")));
    let (told, _) = Trial::new("local/test").set("run.patience_ms", "60000").against([fails(401, "no key")]);
    assert_eq!((told.ended.code, &told.report["failure_artifact"]["kind"]), (Some(1), &json!("auth")));
}

#[test]
fn a_server_is_obeyed_that_says_it_in_words() {
    let body = r#"{"error":{"message":"Rate limit reached. Please try again in 0.35s.","code":"rate_limit_exceeded"}}"#;
    let event = format!("event: error\ndata: {body}\n\n");
    let stream = Reply::Body { content_type: "text/event-stream", bytes: event.into_bytes() };
    for trial in streamed() {
        let (told, _) = trial.against([fails(429, body), stream.clone(), says("Done.")]);
        assert_eq!(backoffs(told.attempts()), [350, 350]);
    }
}

/// In a daemon, a prompt outlives its wrong key.
#[test]
fn a_prompt_waits_for_the_right_key() {
    let refused =
        fails(401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#);
    let provider = Provider::start([refused.clone(), refused, says("Done.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let ended = daemon.0.run(&["prompt", "--wait", "go"]);
    assert_eq!(ended.code, Some(6), "it waits for its operator: {ended:?}");
    assert!(ended.stderr.contains("No model accepts its key"), "{ended:?}");
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(
        (&why["verdict"], &why["hold"]["cause"]),
        (&json!("waiting_for_operator"), &json!("credentials"))
    );
    let activity = || daemon.ok(&["daemon", "status", "--json"]).json()["activity"].clone();
    let waits = activity();
    assert_eq!((&waits["state"], &waits["waiting_agent_count"]), (&json!("waiting"), &json!(1)), "{waits}");
    // A start reads the keys anew: still the wrong one, then the right one.
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    end_to_end::wait_for("second refusal", || provider.asked().len() == 2);
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    end_to_end::wait_for("answer", || daemon.events_of("hold_ended") >= 1 && provider.asked().len() == 3);
    end_to_end::wait_for("brief", || daemon.ok(&["why", "--json"]).json()["verdict"] == "completed");
    assert!(daemon.ok(&["tail", "--events", "512", "--json"]).stdout.contains("Done."));
    assert_eq!(activity()["state"], "idle");
}

/// Whoever waits for it over HTTP is not given the hold for the end of its turn.
#[test]
fn a_prompt_that_is_held_has_not_ended() {
    let refused =
        fails(401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#);
    let provider = Provider::start([refused, says("Done.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let waited = |daemon: &Daemon| {
        let (path, key) = ("/control/agents/main/prompt?wait=turn", [("Idempotency-Key", "once")]);
        let body = json!({ "text": "go" });
        ask(&daemon.run_file("holon.sock"), "POST", path, &key, Some(&body)).expect("an answer")
    };
    let Answered { status, body: held } = waited(&daemon);
    assert_eq!((status, &held["ended"], &held["final_text"]), (202, &json!(false), &Value::Null), "{held}");
    assert_eq!((&held["verdict"], &held["exit_code"]), (&json!("waiting_for_operator"), &json!(6)), "{held}");
    let because = held["problem"].as_str().expect("a problem");
    assert!(because.contains("held by credentials"), "{held}");
    assert!(held["hint"].as_str().is_some_and(|hint| hint.contains("Idempotency-Key")), "{held}");
    // The next start tries the key again.
    daemon.ok(&["daemon", "restart"]);
    let Answered { status, body: ended } = waited(&daemon);
    assert_eq!(
        (status, &ended["ended"], &ended["final_text"]),
        (200, &json!(true), &json!("Done.")),
        "{ended}"
    );
    assert_eq!(ended["message_id"], held["message_id"]);
}
