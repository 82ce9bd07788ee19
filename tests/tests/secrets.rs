//! Canaries everywhere: a key that is planted in every place that it could leak from is found in no place that
//! it could leak to (contract: agent.md, Secrets).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::life::Life;
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{Ended, Holon, durable, http, wait_for};
use serde_json::json;

/// Shaped like a key, with what JSON, shells and URLs write in another way.
const KEY: &str = "sk-canary/7f3e+9a==\"x\\y";
/// What every written form of it has in common.
const CANARY: &str = "sk-canary";

fn with(provider: &Provider) -> Holon {
    Holon::new()
        .with("HOLON_MODEL", "openai-chat/test")
        .with("OPENAI_BASE_URL", &provider.url)
        .with("OPENAI_API_KEY", KEY)
        .with("SOME_OTHER_TOKEN", "canary-of-another-service")
}

/// Every file below a folder that contains the canary, as bytes. The raw output of commands is for its owner
/// alone, and redacted when it is read.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.parent().is_some_and(|parent| parent.ends_with("task-output")) {
                let mode = entry.metadata().expect("a file has a mode").permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            } else if std::fs::read(&path).is_ok_and(|bytes| contains(&bytes)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn contains(bytes: &[u8]) -> bool {
    // The library's search is fast in any build; a ledger is tens of megabytes.
    let text = String::from_utf8_lossy(bytes);
    text.contains(CANARY) || text.contains("canary-of-another")
}

fn clean(ended: &Ended, provider: &Provider, holon: &Holon) {
    for (what, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        assert!(!contains(text.as_bytes()), "{what}: {text}");
    }
    for request in provider.requests() {
        assert!(!contains(request.to_string().as_bytes()), "{request}");
    }
    assert_eq!(leaks(&holon.home()), Vec::<String>::new());
}

/// A model that repeats the key wherever it can, and commands that print it.
fn talkative() -> [Reply; 5] {
    let print = format!("printf '%s' '{KEY}'; cat secret.txt; env; cat /proc/$PPID/environ | tr '\\0' '\\n'");
    let patch = format!("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+{KEY}\n");
    [
        calls(&[
            ("ExecCommand", json!({ "cmd": print, "login": false })),
            ("ExecCommand", json!({ "cmd": format!("exit 3 # {KEY}"), "workdir": KEY })),
            ("ExecCommand", json!({ KEY: KEY })),
            (KEY, json!({})),
            ("ApplyPatch", json!({ "patch": format!("--- a/{KEY}\n") })),
        ]),
        calls(&[
            ("ApplyPatch", json!({ "patch": patch })),
            ("ExecCommand", json!({ "cmd": format!("seq 20000; cat secret.txt; seq 20000 # {KEY}") })),
        ]),
        calls(&[(
            "ExecCommand",
            json!({ "cmd": format!("cat secret.txt; sleep 1 # {KEY}"), "yield_time_ms": 300 }),
        )]),
        says(&format!("Your key is {KEY}.")),
        // The end of the command, which goes on as a task.
        says(&format!("Your key is still {KEY}.")),
    ]
}

#[test]
fn no_surface_shows_a_key_that_everything_repeats() {
    for format in ["text", "json", "stream-json"] {
        let provider = Provider::start(talkative());
        let holon = with(&provider);
        holon.file("secret.txt", &format!("{KEY}\ncanary-of-another-service\n"));
        holon.file("AGENTS.md", &format!("The key is {KEY}.\n"));
        let prompt = format!("my key is {KEY}, and {}", KEY.repeat(50));
        let ended =
            holon.run(&["run", "--output-format", format, "--agent", "main", "--create-agent", &prompt]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("[redacted:OPENAI_API_KEY]"), "{ended:?}");
        assert_eq!(provider.requests().len(), 5);
        clean(&ended, &provider, &holon);
        let ledger = holon.home().join("ledger.sqlite3").display().to_string();
        for look in [["ledger", "export"], ["ledger", "verify"], ["ledger", "replay"]] {
            let ended = holon.run(&[look[0], look[1], &ledger]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            clean(&ended, &provider, &holon);
        }
    }
}

#[test]
fn errors_of_providers_and_of_the_command_line_show_no_key() {
    let message = format!("Incorrect API key provided: {KEY}");
    let body = json!({ "error": { "message": message, "code": KEY } }).to_string();
    let redirect = Reply::Status {
        code: 307,
        headers: vec![("location", "http://elsewhere/?key=sk-canary".to_owned())],
        body: String::new(),
    };
    for reply in [fails(401, &body), fails(500, KEY), fails(400, KEY), redirect] {
        let provider = Provider::start([reply, fails(401, KEY), fails(401, KEY)]);
        let holon = with(&provider);
        let ended = holon.run(&["run", "--json", "go"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        clean(&ended, &provider, &holon);
    }
    let holon = Holon::new().with("OPENAI_API_KEY", KEY).with("OPENAI_BASE_URL", "not a url");
    let ended = holon.run(&["run", "--model", "openai-chat/test", "go"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!contains(ended.stderr.as_bytes()), "{ended:?}");
    let password = format!("http://user:{CANARY}-password@127.0.0.1:9/v1");
    let holon = Holon::new().with("OPENAI_API_KEY", "k").with("OPENAI_BASE_URL", &password);
    let ended = holon.run(&["run", "--json", "--model", "openai-chat/test", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!contains(ended.stderr.as_bytes()) && !contains(ended.stdout.as_bytes()), "{ended:?}");
    assert_eq!(leaks(&holon.home()), Vec::<String>::new());
}

/// A key that a header and an address can carry.
const PLAIN_KEY: &str = "sk-canary-of-names-0123";

/// Names, references and keys come with a message and stand in each record of it.
#[test]
fn what_a_message_is_called_shows_no_key() {
    let provider = Provider::start([says("Noted."), says("Noted."), says("Noted.")]);
    let daemon = Daemon::asking(Holon::new().with("OPENAI_API_KEY", PLAIN_KEY), &provider);
    let mut life = Life::begin(&daemon, &[]);
    assert_eq!(life.ready(&daemon), None);
    let socket = daemon.run_file("holon.sock");
    let called = format!("it is {PLAIN_KEY}");
    let prompt =
        json!({ "text": "go", "actor_id": called, "correlation_id": called, "causation_id": called });
    let event = json!({
        "body": { "type": "text", "text": "go" }, "source": called, "sender": called,
        "source_refs": { called.clone(): called }, "correlation_id": called, "causation_id": called,
    });
    let webhook =
        format!("/webhooks/generic/main?source={PLAIN_KEY}&event_type={PLAIN_KEY}&delivery_id={PLAIN_KEY}");
    let asked = [
        ("/control/agents/main/prompt", Some(called.clone()), prompt),
        ("/agents/main/enqueue", Some(format!("another, {called}")), event),
        (webhook.as_str(), None, json!({})),
    ];
    for (path, key, body) in asked {
        let key: Vec<_> = key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let answer = http::ask(&socket, "POST", path, &key, Some(&body)).expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    provider.wait_for_requests(3);
    wait_for("end of the turns", || durable::quiet(&daemon, &["main"]));
    let ended = daemon.ok(&["tail", "--json"]);
    assert!(ended.stdout.contains("[redacted:OPENAI_API_KEY]"), "{ended:?}");
    clean(&ended, &provider, &daemon.0);
    assert!(life.leave().success());
    clean(&daemon.ok(&["ledger", "export", "--recorder"]), &provider, &daemon.0);
}
