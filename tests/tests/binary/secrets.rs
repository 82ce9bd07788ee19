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
        .with("AWS_SECRET_ACCESS_KEY", "canary-of-another-cloud")
        .with("NPM_CONFIG__AUTH", "canary-of-another-Registry1")
        .with("PASSWORD", "canary-of-another-person")
}

/// Every file below a folder that contains the canary, as bytes. The output of commands is for its owner alone.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.parent().is_some_and(|parent| parent.ends_with("task-output")) {
                let mode = entry.metadata().expect("a file has a mode").permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            }
            if std::fs::read(&path).is_ok_and(|bytes| contains(&bytes)) {
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
    // The supervisor's environment, and that of the runtime above it.
    let print = format!(
        "printf '%s' '{KEY}'; cat secret.txt; env; read -r pid name state above rest < /proc/$PPID/stat; \
         cat /proc/$PPID/environ /proc/$above/environ | tr '\\0' '\\n'; grep -c canary /proc/$above/environ"
    );
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
        let others =
            ["service", "cloud", "Registry1", "person"].map(|whose| format!("canary-of-another-{whose}\n"));
        holon.file("secret.txt", &format!("{KEY}\n{}", others.concat()));
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
    assert_eq!(holon.run(&["config", "set", "run.patience_ms", "0"]).code, Some(0));
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

/// Put together here, so that no file of this project holds what a scanner would report.
fn tokens() -> [(&'static str, String); 6] {
    let mixed = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF3gJ5";
    let line = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7VJTUt9Us8cKj";
    let label = "RSA PRIVATE KEY";
    [
        ("anthropic-key", format!("sk-ant-api03-{mixed}-{mixed}AA")),
        ("github-token", format!("ghp_{mixed}")),
        ("aws-access-key", format!("AKIA{}", "2345ABCDEFGH67IJ")),
        ("slack-token", format!("xoxb-123456789012-1234567890123-{}", &mixed[..24])),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{mixed}")),
        ("private-key", format!("-----BEGIN {label}-----\n{line}\n{line}\n-----END {label}-----")),
    ]
}

/// Nobody has said that these are secret: their shape does.
#[test]
fn tokens_in_files_that_commands_print_are_marked_before_anybody_reads_them() {
    let halves = "for at in 1 3 5; do head -c $((at * 40)) tokens.txt | tail -c 40; sleep 0.1; done";
    let digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let slowly = "while read -r -n 7 -d '' part || [ -n \"$part\" ]; do printf '%s' \"$part\"; done < one.txt; sleep 1";
    let provider = Provider::start([
        calls(&[
            (
                "ExecCommand",
                json!({ "cmd": format!("cat tokens.txt; echo {digest}; {halves}"), "login": false }),
            ),
            ("ExecCommand", json!({ "cmd": "cat tokens.txt", "tty": true })),
            ("ExecCommand", json!({ "cmd": "seq 20000; cat tokens.txt; seq 20000" })),
            ("ExecCommand", json!({ "cmd": slowly, "yield_time_ms": 300 })),
        ]),
        says("Done."),
        says("Done, too."),
    ]);
    let holon = with(&provider);
    let all: String = tokens().iter().map(|(_, token)| format!("a {token} b\n")).collect();
    holon.file("tokens.txt", &all);
    holon.file("one.txt", &tokens()[1].1);
    let ended = holon.run(&["run", "--json", "--agent", "main", "--create-agent", "print them"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests: String = provider.requests().iter().map(ToString::to_string).collect();
    let ledger = holon.home().join("ledger.sqlite3").display().to_string();
    let exported = holon.run(&["ledger", "export", &ledger]);
    let outputs = outputs(&holon.home());
    assert!(outputs.contains("[redacted:github-token]"), "{outputs}");
    for (name, token) in tokens() {
        let marked = format!("[redacted:{name}]");
        assert!(requests.contains(&marked) && exported.stdout.contains(&marked), "{name}");
        // Its last part, which is in no other.
        let end = &token[token.len() - 20..];
        for (what, text) in [("requests", &requests), ("ledger", &exported.stdout), ("logs", &outputs)] {
            assert!(
                !text.contains(&token) && !text.contains(&token.replace('\n', "\\n")),
                "{name} in {what}"
            );
            assert!(
                name == "private-key" || name == "aws-access-key" || !text.contains(end),
                "{name} in {what}"
            );
        }
    }
    assert!(requests.contains(digest), "a digest is none");
}

/// What commands have printed, as the files have it.
fn outputs(home: &Path) -> String {
    let folder = home.join("agents/main/task-output");
    let files = std::fs::read_dir(folder).expect("there was output").flatten();
    files.map(|file| std::fs::read_to_string(file.path()).expect("a log is text")).collect()
}

#[test]
fn shapes_can_be_left_alone() {
    let token = &tokens()[1].1;
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "cat token.txt", "login": false }))]),
        says("Done."),
    ]);
    let holon = with(&provider);
    holon.file("token.txt", token);
    let set = holon.run(&["config", "set", "runtime.redact_token_shapes", "false"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let ended = holon.run(&["run", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(provider.requests()[1].to_string().contains(token.as_str()));
}

/// A model that makes a token up, for a test, has it written as it says.
#[test]
fn what_a_model_writes_itself_stays_whole() {
    let token = &tokens()[4].1;
    let patch = format!("--- /dev/null\n+++ b/example.txt\n@@ -0,0 +1 @@\n+{token}\n");
    let provider = Provider::start([calls(&[("ApplyPatch", json!({ "patch": patch }))]), says("Done.")]);
    let holon = with(&provider);
    let ended = holon.run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let written = std::fs::read_to_string(holon.work().join("example.txt")).expect("the patch wrote it");
    assert_eq!(written.trim_end(), token);
}

#[test]
fn commands_get_the_variables_that_were_chosen_and_everybody_reads_their_names_alone() {
    let provider = Provider::start([
        calls(&[(
            "ExecCommand",
            json!({ "cmd": "echo \"<$SSH_AUTH_SOCK $DOCKER_HOST $CI $GITHUB_TOKEN>\"", "login": false }),
        )]),
        says("Done."),
    ]);
    let holon = with(&provider)
        .with("SSH_AUTH_SOCK", "/run/of-the-agent.sock")
        .with("DOCKER_HOST", "unix:///run/d.sock")
        .with("DOCKER_AUTH_CONFIG", "canary-of-another-Docker1");
    for (key, value) in [
        ("execution.environment.pass", "SSH_AUTH_SOCK,DOCKER_*,NOT_SET_HERE"),
        ("execution.environment.set", "{ CI = 'yes', GITHUB_TOKEN = 'canary-of-another-forge1' }"),
    ] {
        let set = holon.run(&["config", "set", key, value]);
        assert_eq!(set.code, Some(0), "{set:?}");
    }
    let listed = holon.run(&["config", "list"]);
    let doctor = holon.run(&["config", "doctor"]);
    let chosen = "CI, DOCKER_HOST, GITHUB_TOKEN, SSH_AUTH_SOCK";
    assert!(doctor.stdout.contains(chosen) && doctor.stdout.contains("NOT_SET_HERE"), "{doctor:?}");
    assert!(
        !contains(doctor.stdout.as_bytes()) && !contains(listed.stdout.as_bytes()),
        "{doctor:?} {listed:?}"
    );
    let ended = holon.run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let asked = provider.requests();
    let system = asked[0].to_string();
    assert!(system.contains(&format!("by their operator's choice: {chosen}")), "{system}");
    assert!(!system.contains("of-the-agent.sock"), "{system}");
    let result = asked[1].to_string();
    let printed = "</run/of-the-agent.sock unix:///run/d.sock yes [redacted:GITHUB_TOKEN]>";
    assert!(result.contains(printed), "{result}");
    let wrong = holon.run(&["config", "set", "execution.environment.set", "{ HOLON_HOME = '/x' }"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("runtime's own"), "{wrong:?}");
}
