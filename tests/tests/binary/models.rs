//! Settings of a model, and what a model thinks between the rounds of a turn.

use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, THOUGHT, calls, command, fails, says};
use end_to_end::{Ended, Holon, count, payloads, wait_for};
use serde_json::{Value, json};

fn with(provider: &Provider, model: &str, settings: &str) -> Holon {
    let holon = Holon::new()
        .with("HOLON_MODEL", model)
        .with("OPENAI_BASE_URL", &provider.url)
        .with("ANTHROPIC_BASE_URL", provider.url.trim_end_matches("/v1"))
        .with("OPENAI_API_KEY", "canary-4f1c77aa")
        .with("ANTHROPIC_API_KEY", "canary-4f1c77aa");
    configure(&holon, settings);
    holon
}

fn configure(holon: &Holon, settings: &str) {
    let settings = format!("[runtime]\nretries = 0\n[run]\npatience_ms = 0\n{settings}");
    std::fs::create_dir_all(holon.home()).expect("a home");
    std::fs::write(holon.home().join("config.toml"), settings).expect("settings");
}

fn thoughts(request: &Value) -> usize {
    request.to_string().matches(THOUGHT).count()
}

/// A run whose output and transcript show no thought, and whose ledger is sound.
fn completed(holon: &Holon, ended: &Ended) -> Vec<Value> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["final_text"], "Done.");
    assert!(!format!("{ended:?}").contains(THOUGHT), "{ended:?}");
    let ledger = report["ledger"].as_str().expect("a ledger").to_owned();
    holon.check_ledger(ledger.as_ref());
    let records = holon.records(ledger.as_ref());
    assert!(!Value::from(records.clone()).to_string().contains(THOUGHT), "a record names it by its hash");
    records
}

const THINKS: [(&str, &str); 4] = [
    ("openai/gpt-5.1", ""),
    ("openai/gpt-5.1", "[providers.openai]\nstream = false\n"),
    (
        "anthropic/claude-sonnet-4-5",
        "[models.\"anthropic/claude-sonnet-4-5\"]\nthinking_budget_tokens = 2000\n",
    ),
    (
        "anthropic/claude-sonnet-4-5",
        "[providers.anthropic]\nstream = false\n[models.\"anthropic/claude-sonnet-4-5\"]\nthinking = \"adaptive\"\n",
    ),
];

/// What is on record of each attempt's delivery under that name.
fn attempts(records: &[Value], name: &str) -> Vec<Value> {
    let attempts = payloads(records, "provider_attempt_recorded").into_iter();
    attempts.map(|fact| fact["attempt"]["delivery"][name].clone()).collect()
}

#[test]
fn a_model_gets_back_what_it_thought_in_each_round() {
    for (model, settings) in THINKS {
        let provider =
            Provider::start([calls(&[command("echo 1")]), calls(&[command("echo 2")]), says("Done.")]);
        let holon = with(&provider, model, settings);
        let records = completed(&holon, &holon.run(&["run", "--json", "go"]));
        let requests = provider.requests();
        let found: Vec<usize> = requests.iter().map(thoughts).collect();
        assert_eq!(found, [0, 1, 2], "{model}");
        let rounds = payloads(&records, "assistant_round_recorded");
        assert!(rounds.iter().all(|round| round["blocks"][0]["model"] == model), "{rounds:?}");
    }
}

#[test]
fn thoughts_that_a_provider_refuses_are_left_out_in_the_same_attempt() {
    let refused =
        r#"{"error":{"type":"invalid_request_error","message":"Invalid `signature` in `thinking` block"}}"#;
    let (model, settings) = THINKS[2];
    let provider = Provider::start([calls(&[command("echo 1")]), fails(400, refused), says("Done.")]);
    let holon = with(&provider, model, settings);
    let records = completed(&holon, &holon.run(&["run", "--json", "go"]));
    let requests = provider.requests();
    assert_eq!(requests.iter().map(thoughts).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(count(&records, "provider_attempt_recorded"), 2, "one attempt for each round");
    assert_eq!(attempts(&records, "thoughts_left_out"), [Value::Null, json!(1)]);
    assert!(
        requests[2].get("thinking").is_none(),
        "the turn began without a thought, as the provider sees it"
    );
}

/// A turn begins with signed thoughts, its model goes away, and another one goes on.
#[test]
fn another_model_in_the_middle_of_a_turn_gets_no_thoughts() {
    let (model, settings) = THINKS[2];
    let provider = Provider::start([
        calls(&[command("echo 1")]),
        fails(401, r#"{"error":{"type":"authentication_error","message":"no"}}"#),
        calls(&[command("echo 2")]),
        says("Done."),
    ]);
    let holon = with(&provider, model, settings).with("HOLON_MODEL_FALLBACKS", "openai/gpt-5.1");
    let records = completed(&holon, &holon.run(&["run", "--json", "go"]));
    let left_out: Vec<u64> =
        attempts(&records, "thoughts_left_out").iter().filter_map(Value::as_u64).collect();
    assert_eq!(left_out, [1, 1], "of both requests to the other model");
    let asked = provider.asked();
    let paths: Vec<&str> = asked.iter().map(|asked| &*asked.path).collect();
    assert_eq!(paths, ["/v1/messages", "/v1/messages", "/v1/responses", "/v1/responses"]);
    let found: Vec<usize> = asked.iter().map(|asked| thoughts(&asked.body)).collect();
    assert_eq!(found, [0, 1, 0, 1], "the last one is the other model's own");
}

#[test]
fn settings_of_a_model_are_sent_to_it() {
    let settings = "[models.\"openai/gpt-5.1\"]\nreasoning_effort = \"high\"\nverbosity = \"low\"\n";
    let provider = Provider::start([says("Done.")]);
    let holon = with(&provider, "openai/gpt-5.1", settings);
    completed(&holon, &holon.run(&["run", "--json", "go"]));
    let request = &provider.requests()[0];
    assert_eq!(request["reasoning"], json!({ "effort": "high" }));
    assert_eq!(request["text"], json!({ "verbosity": "low" }));
    assert_eq!(request["include"], json!(["reasoning.encrypted_content"]));
    let shown = holon.run(&["config", "models"]);
    assert!(
        shown.stdout.contains("openai/gpt-5.1") && shown.stdout.contains("verbosity=\"low\""),
        "{shown:?}"
    );
}

/// A setting that a provider has no place for is refused before anything is asked, and by `config` when it is set.
#[test]
fn a_setting_that_can_t_be_sent_is_refused_with_its_key() {
    let provider = Provider::start([says("never")]);
    let holon = with(&provider, "anthropic/x", "[models.\"anthropic/x\"]\nverbosity = \"low\"\n");
    let ended = holon.run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains("models.") && told.contains("has no verbosity; it has reasoning_effort"), "{told}");
    assert!(provider.requests().is_empty());
    configure(&holon, "");
    let ended = holon.run(&["config", "set", "models.openai/x.thinking", "adaptive"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = holon.run(&["config", "set", "models.openai/x.temperature", "0.7"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(holon.run(&["config", "get", "models.openai/x.temperature"]).stdout.trim(), "0.7");
    assert_eq!(holon.run(&["config", "unset", "models.openai/x.temperature"]).code, Some(0));
    assert_eq!(holon.run(&["config", "get", "models.openai/x.temperature"]).stdout.trim(), "none");
}

/// Nonsense that a provider reports of tokens ends nothing.
#[test]
fn a_usage_that_can_t_be_is_borne() {
    for [input, output] in [[json!(0), json!(0)], [json!(-5), json!(-1)], [json!(u64::MAX), json!(1e300)]] {
        for model in ["openai/gpt-5.1", "anthropic/claude-sonnet-4-5", "openai-chat/gpt-5.1"] {
            let first = calls(&[command("echo 1")]).counting(input.clone(), output.clone());
            let provider = Provider::start([first, says("Done.")]);
            let holon = with(&provider, model, "");
            completed(&holon, &holon.run(&["run", "--json", "go"]));
        }
    }
}

/// An address with a path, a query and headers of its own, as Azure has them; no secret is shown.
#[test]
fn an_endpoint_is_what_its_settings_say() {
    let provider = Provider::start([says("Done.")]);
    let settings = format!(
        "[providers.azure]\ntransport = \"openai_chat_completions\"\nbase_url = \"{}\"\npath = \"/chat/completions\"\n\
         query = {{ api-version = \"2024-10-21\" }}\nkey_header = \"api-key\"\n\
         headers = {{ x-team = \"mine\", x-gateway = {{ credential = \"gateway\" }} }}\n",
        provider.url
    );
    let holon = with(&provider, "azure/my-deployment", &settings);
    let missing = holon.run(&["run", "--json", "go"]);
    assert_ne!(missing.code, Some(0));
    let told = format!("{}{}", missing.stdout, missing.stderr);
    assert!(
        told.contains("needs the credential gateway") && told.contains("credentials set gateway"),
        "{told}"
    );
    for (name, key) in [("azure", "canary-key-azure"), ("gateway", "canary-key-gateway")] {
        let file = holon.file(&format!("{name}.txt"), key);
        let mut set = holon.command(&["config", "credentials", "set", name, "-"]);
        let set = set.stdin(std::fs::File::open(file).expect("a file")).output().expect("it runs");
        assert!(set.status.success(), "{set:?}");
    }
    let ended = holon.run(&["run", "--json", "go"]);
    completed(&holon, &ended);
    let asked = &provider.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions?api-version=2024-10-21");
    assert_eq!((asked.header("api-key"), asked.header("authorization")), (Some("canary-key-azure"), None));
    assert_eq!(
        (asked.header("x-team"), asked.header("x-gateway")),
        (Some("mine"), Some("canary-key-gateway"))
    );
    let shown = holon.run(&["config", "providers", "show", "azure"]);
    assert!(
        shown.stdout.contains("x-team") && !format!("{shown:?}{ended:?}").contains("canary-key"),
        "{shown:?}"
    );
    let refused =
        holon.run(&["config", "providers", "set", "azure", "--headers", "{ api-key = \"canary-key\" }"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(!format!("{refused:?}").contains("canary-key"), "{refused:?}");
}

#[test]
fn the_beginning_of_a_prompt_is_kept_for_an_hour_where_that_is_set() {
    let provider = Provider::start([says("Done.")]);
    let holon = with(&provider, "anthropic/claude-sonnet-4-5", "[cache]\nttl = \"1h\"\n");
    completed(&holon, &holon.run(&["run", "--json", "go"]));
    let request = &provider.requests()[0];
    assert_eq!(request["tools"].as_array().unwrap().last().unwrap()["cache_control"]["ttl"], "1h");
    assert_eq!(request.to_string().matches(r#""ttl":"1h""#).count(), 4);
}

/// The login of another program, whose token ends so many seconds from now.
fn login(seconds: i64, name: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    let ends = i64::try_from(now.as_secs()).expect("this century") + seconds;
    let claims = json!({ "exp": ends, "https://api.openai.com/auth": { "chatgpt_account_id": "acc-1" } });
    let payload = base64(claims.to_string().as_bytes());
    json!({ "tokens": { "access_token": format!("{name}.{payload}.x"), "refresh_token": "canary-refresh" } })
        .to_string()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let all =
            chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            text.push(char::from(LETTERS[(all >> (18 - 6 * at)) as usize & 63]));
        }
    }
    text
}

fn codex(provider: &Provider, settings: &str) -> Holon {
    let holon = with(provider, "openai-codex/gpt-5.1-codex", settings);
    let home = holon.work().display().to_string();
    holon.with("HOLON_CODEX_BASE_URL", &provider.url).with("CODEX_HOME", &home)
}

const ACCEPTED: &str = "[providers.openai-codex]\naccept_unofficial = true\n";

#[test]
fn a_chatgpt_login_is_used_and_never_changed() {
    let provider = Provider::start([calls(&[command("cp next.json auth.json")]), says("Done.")]);
    let holon = codex(&provider, ACCEPTED);
    holon.file("auth.json", &login(3_600, "canary-first"));
    let next = login(7_200, "canary-second");
    holon.file("next.json", &next);
    let ended = holon.run(&["run", "--json", "go"]);
    completed(&holon, &ended);
    let asked = provider.asked();
    let tokens: Vec<&str> = asked.iter().filter_map(|asked| asked.header("authorization")).collect();
    assert!(tokens[0].starts_with("Bearer canary-first.") && tokens[1].starts_with("Bearer canary-second."));
    assert_eq!(asked[0].header("chatgpt-account-id"), Some("acc-1"));
    assert_eq!(asked[0].header("originator"), Some("holon"));
    assert!(asked[0].body.get("max_output_tokens").is_none() && asked[0].body["stream"] == true);
    assert_eq!(thoughts(&asked[1].body), 1);
    assert_eq!(std::fs::read_to_string(holon.work().join("auth.json")).expect("a file"), next);
    assert!(!format!("{ended:?}").contains("canary-"), "{ended:?}");
}

#[test]
fn what_a_login_has_used_of_its_quotas_is_on_record() {
    let busy = fails(503, "busy")
        .header("x-codex-primary-used-percent", "41.5")
        .header("x-codex-primary-window-minutes", "300")
        .header("x-codex-primary-reset-at", "1800000000");
    let provider = Provider::start([busy]);
    let holon = codex(&provider, ACCEPTED);
    holon.file("auth.json", &login(3_600, "canary-first"));
    let ended = holon.run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let records = holon.records(ended.json()["ledger"].as_str().expect("a ledger").as_ref());
    let used = json!({
        "window": "primary", "used_percent": 42, "window_minutes": 300, "resets_at": "2027-01-15T08:00:00.000000Z"
    });
    assert_eq!(attempts(&records, "quotas"), [json!([used])]);
}

#[test]
fn a_login_that_ends_while_a_turn_runs_names_what_mends_it() {
    let refused = r#"{"error":{"code":"token_expired","message":"expired"}}"#;
    for second in [None, Some(fails(401, refused))] {
        let ends = second.is_none();
        let provider = Provider::start(
            [Some(calls(&[command("cp next.json auth.json")])), second].into_iter().flatten(),
        );
        let holon = codex(&provider, ACCEPTED);
        holon.file("auth.json", &login(3_600, "canary-first"));
        holon.file("next.json", &login(if ends { -5 } else { 3_600 }, "canary-second"));
        let ended = holon.run(&["run", "--json", "go"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let failure = ended.json()["failure_artifact"].to_string();
        assert!(failure.contains("run `codex login`") && failure.contains("auth"), "{failure}");
        assert_eq!(provider.requests().len(), if ends { 1 } else { 2 });
        assert!(!format!("{ended:?}").contains("canary-"), "{ended:?}");
    }
}

#[test]
fn a_login_that_is_no_login_is_refused_before_anything_is_asked() {
    let provider = Provider::start([says("never")]);
    for (settings, file, says) in [
        ("", Some(login(3_600, "canary")), "providers.openai-codex.accept_unofficial true"),
        (ACCEPTED, None, "auth.json is not there; run `codex login`"),
        (ACCEPTED, Some("{canary".to_owned()), "is not JSON; run `codex login`"),
        (ACCEPTED, Some(login(-1, "canary")), "has expired; run `codex login`"),
        ("[models.\"openai-codex/gpt-5.1-codex\"]\ntemperature = 1\n", None, "has no temperature"),
    ] {
        let holon = codex(&provider, settings);
        if let Some(text) = file {
            holon.file("auth.json", &text);
        }
        let ended = holon.run(&["run", "--json", "go"]);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(told.contains(says) && !told.contains("canary"), "{told}");
    }
    assert!(provider.requests().is_empty());
}

/// A prompt whose login is refused waits, and goes on by itself once somebody has logged in anew.
#[test]
fn a_prompt_waits_for_another_login() {
    let refused = fails(401, r#"{"error":{"code":"token_expired","message":"expired"}}"#);
    let provider = Provider::start([refused.clone(), refused, says("Done.")]);
    let holon = codex(&provider, ACCEPTED).with("HOLON_HTTP_ADDR", "127.0.0.1:0");
    let daemon = Daemon(holon);
    let (expired, first) = (login(-1, "canary-expired"), login(3_600, "canary-first"));
    daemon.0.file("auth.json", &first);
    daemon.start();
    let ended = daemon.0.run(&["prompt", "--wait", "go"]);
    assert_eq!(ended.code, Some(6), "it waits for its operator: {ended:?}");
    let why = daemon.ok(&["why", "--json"]).json();
    let hold = &why["hold"];
    assert_eq!((&hold["cause"], &hold["refused_by"]), (&json!("credentials"), &json!(["openai-codex"])));
    // Another time of the file, one that has expired, none at all: nothing that could be shown is new.
    for unfit in [&first, &expired, &String::from("{")] {
        daemon.0.file("auth.json", unfit);
        std::thread::sleep(Duration::from_millis(2_500));
        assert_eq!(provider.asked().len(), 1);
    }
    daemon.0.file("auth.json", &login(3_600, "canary-second"));
    wait_for("another refusal", || daemon.events_of("hold_set") == 2);
    assert_eq!(daemon.events_of("hold_ended"), 1);
    daemon.0.file("auth.json", &login(3_600, "canary-third"));
    wait_for("answer", || daemon.ok(&["why", "--json"]).json()["verdict"] == "completed");
    let records = daemon.0.records(&daemon.ledger());
    let ends = payloads(&records, "hold_ended");
    let reasons: Vec<&Value> = ends.iter().map(|end| &end["reason"]).collect();
    assert_eq!(reasons, ["login_changed", "login_changed"]);
    let asked = provider.asked();
    let tokens: Vec<_> = asked.iter().filter_map(|asked| asked.header("authorization")).collect();
    assert_eq!(tokens.len(), 3);
    assert!(tokens[2].starts_with("Bearer canary-third."), "{tokens:?}");
    daemon.0.check_ledger(&daemon.ledger());
}
