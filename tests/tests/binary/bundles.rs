//! What an agent did, in one file: made of a home in use, equal byte for byte, looked at and replayed where that home is not, and
//! without what was said.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{Holon, signal, wait_for};
use serde_json::{Value, json};

/// Nobody else writes these.
const CANARIES: [&str; 11] = [
    "canary-of-a-prompt",
    "canary-of-an-answer",
    "canary-of-a-command",
    "canary-of-an-output",
    "canary-of-an-instruction",
    "canary-of-a-goal",
    "canary-of-a-plan",
    "canary-of-a-step",
    "canary-of-a-note",
    "canary-of-another-agent",
    "canary of the queue",
];
/// The same in places that a strict bundle has nothing of.
const PLACES: [&str; 1] = ["canary-of-a-path"];
/// In no bundle.
const SECRET: &str = "sk-canary0123456789abcdefghijklmnopqrstuvwx";

fn at(path: &Path) -> String {
    path.display().to_string()
}

/// A home in which an agent has done something of everything, in two runtimes.
fn home(provider: &Provider) -> Daemon {
    let holon = Holon::new().with("MY_API_KEY", SECRET);
    let daemon = Daemon::asking(holon, provider);
    daemon.start();
    let agent = daemon.0.home().join("agents/main");
    std::fs::write(agent.join("AGENTS.md"), "canary-of-an-instruction ".repeat(30)).expect("a file");
    std::fs::create_dir(daemon.0.work().join("canary-of-a-path")).expect("a folder");
    daemon.ok(&["workspace", "use", &at(&daemon.0.work().join("canary-of-a-path")), "--agent", "main"]);
    daemon.ok(&["prompt", "--wait=settled", &format!("canary-of-a-prompt {}", "long ".repeat(100))]);
    daemon.ok(&["prompt", "--wait=settled", "canary of the queue"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    daemon.ok(&["agent", "create", "other", "--own-home"]);
    daemon.ok(&["prompt", "--wait=settled", "--agent", "other", "canary-of-another-agent"]);
    // Last: a bundle ends where its agent does.
    daemon.ok(&["prompt", "--wait=settled", "--agent", "main", "once more, canary-of-a-prompt"]);
    wait_for("end of all work", || quiet(&daemon, &["main", "other"]));
    daemon
}

fn provider() -> Provider {
    let asked = AtomicUsize::new(0);
    Provider::answering(move |_| {
        let command = "echo canary-of-an-output; echo canary-of-a-command >/dev/null";
        let execute = || ("ExecCommand", json!({ "cmd": command, "login": false }));
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => calls(&[
                execute(),
                (
                    "CreateWorkItem",
                    json!({
                        "objective": "canary-of-a-goal", "plan": "canary-of-a-plan", "plan_status": "ready",
                        "todo_list": [{ "text": "canary-of-a-step", "state": "pending" }],
                    }),
                ),
            ]),
            1 => calls(&[
                execute(),
                execute(),
                ("NotifyOperator", json!({ "message": "canary-of-a-note" })),
                ("CompleteWorkItem", json!({ "work_item_id": "work_1" })),
            ]),
            number => says(&format!("canary-of-an-answer {number}.")),
        }
    })
}

/// Everything that is in a bundle.
fn content(bundle: &Path) -> String {
    let mut text = Vec::new();
    let file = std::fs::File::open(bundle).expect("a bundle");
    zstd::Decoder::new(file).expect("zstd").read_to_end(&mut text).expect("all of it");
    String::from_utf8_lossy(&text).into_owned()
}

fn bundle(daemon: &Daemon, level: &str, name: &str, more: &[&str]) -> (std::path::PathBuf, Value) {
    let file = daemon.0.folder().join(name);
    let path = at(&file);
    let arguments = [&["agent", "bundle", "main", "--redact", level, "-o", &path, "--json"], more].concat();
    let made = daemon.ok(&arguments).json();
    (file, made)
}

#[test]
fn a_bundle_replays_elsewhere_and_has_no_more_than_its_level_allows() {
    let provider = provider();
    let daemon = home(&provider);
    for level in ["none", "texts", "strict"] {
        let (file, made) = bundle(&daemon, level, level, &[]);
        assert_eq!(made["recorder"]["differs"], Value::Null, "{level}: {made}");
        assert_eq!(made["recorder"]["folded_calls"], 0, "{level}: {made}");
        let (again, _) = bundle(&daemon, level, &format!("{level}-again"), &[]);
        assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(again).unwrap(), "{level}");

        let text = content(&file);
        assert!(!text.contains(SECRET), "{level}");
        for canary in CANARIES {
            assert_eq!(text.contains(canary), level == "none", "{level}: {canary}");
        }
        for canary in PLACES {
            assert_eq!(text.contains(canary), level != "strict", "{level}: {canary}");
        }

        // Another machine has the file alone.
        let elsewhere = Holon::new();
        let path = at(&file);
        let inspected = elsewhere.run(&["bundle", "inspect", &path, "--json"]).json();
        assert_eq!((&inspected["agent_id"], &inspected["redact"]), (&json!("main"), &json!(level)));
        let verified = elsewhere.run(&["bundle", "verify", &path, "--json"]).json();
        assert_eq!(verified["records"], made["to"], "{verified}");
        assert_eq!(verified["texts"].as_u64() > Some(0), level == "none", "{verified}");
        let replayed = elsewhere.run(&["bundle", "replay", &path, "--json"]).json();
        assert_eq!(
            (&replayed["segments"], &replayed["skipped_segments"]),
            (&json!(2), &json!(0)),
            "{replayed}"
        );
        assert_eq!(replayed["calls"], made["recorder"]["calls"], "{replayed}");
        let shown = elsewhere.run(&["bundle", "inspect", &path]).stdout;
        assert!(shown.contains("recorder.jsonl") && shown.contains("events 1 to"), "{shown}");
    }
}

#[test]
fn a_part_of_what_happened_is_bundled_and_the_rest_is_folded() {
    let provider = provider();
    let daemon = home(&provider);
    let events = daemon.ok(&["ledger", "export", "--agent", "main"]).stdout;
    let lines: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.len();
    let later = lines.iter().rposition(|line| line["type"] == "turn_started").unwrap() + 1;
    let (file, made) = bundle(&daemon, "texts", "part", &["--from", &later.to_string()]);
    assert_eq!((&made["from"], &made["to"]), (&json!(later), &json!(last)));
    assert!(made["recorder"]["folded_calls"].as_u64() > Some(0), "{made}");
    let replayed = daemon.ok(&["bundle", "replay", &at(&file), "--json"]).json();
    assert_eq!((&replayed["segments"], &replayed["skipped_segments"]), (&json!(2), &json!(1)), "{replayed}");
    let verified = daemon.ok(&["bundle", "verify", &at(&file), "--json"]).json();
    assert_eq!(verified["records"], json!(last - later + 1));
    let (file, made) = bundle(&daemon, "strict", "first", &["--to", "12"]);
    assert_eq!(made["to"], 12);
    assert_eq!(daemon.ok(&["bundle", "replay", &at(&file), "--json"]).json()["segments"], 1);
    assert!(!content(&file).contains("canary-of-an-answer"));
}

#[test]
fn what_can_not_be_bundled_and_what_is_none_is_refused() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    let (file, _) = bundle(&daemon, "strict", "good", &[]);
    let (path, folder) = (at(&file), daemon.0.folder());
    let refused = |arguments: &[&str]| daemon.0.run(arguments);
    refused(&["agent", "bundle", "main", "-o", &path]).refused(4, &["exists already"]);
    refused(&["agent", "bundle", "nobody", "-o", &at(&folder.join("x"))]).refused(3, &["nobody"]);
    refused(&["agent", "bundle", "main", "--from", "9999", "-o", &at(&folder.join("x"))])
        .refused(3, &["its log goes from 1 to"]);
    refused(&["agent", "bundle", "main", "--from", "5", "--to", "4", "-o", &at(&folder.join("x"))])
        .refused(2, &["no events 5 to 4"]);
    refused(&["agent", "bundle", "main", "--redact", "some", "-o", "x"])
        .refused(2, &["strict", "texts", "none"]);
    refused(&["bundle", "verify", &at(&folder.join("missing"))]).refused(3, &["missing"]);
    refused(&["bundle", "inspect", &at(&daemon.ledger())]).refused(2, &["no bundle of Holon"]);
    let backup = at(&folder.join("backup"));
    daemon.ok(&["ledger", "backup", &backup]);
    refused(&["bundle", "replay", &backup]).refused(2, &["no bundle of Holon"]);
    let whole = std::fs::read(&file).unwrap();
    let cut = folder.join("cut");
    std::fs::write(&cut, &whole[..whole.len() - 10]).unwrap();
    for look in ["inspect", "verify", "replay"] {
        let refused = refused(&["bundle", look, &at(&cut)]);
        assert!(matches!(refused.code, Some(1 | 2)), "{refused:?}");
    }
    assert!(!folder.join("x").exists());
    // A runtime is not needed.
    daemon.ok(&["daemon", "stop"]);
    let (again, _) = bundle(&daemon, "none", "stopped", &[]);
    daemon.ok(&["bundle", "replay", &at(&again)]);
}

/// What a decision rests on may be in a text: of such a runtime there are records alone.
#[test]
fn decisions_that_rest_on_a_text_are_folded_and_named() {
    let asked = AtomicUsize::new(0);
    let provider = Provider::answering(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        // Blank, which nothing that stands for a text is.
        0 => calls(&[("ApplyPatch", json!({ "patch": " " })), ("Sleep", json!({ "canary-of-a-key": "x" }))]),
        _ => says("canary-of-an-answer"),
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "canary-of-a-prompt"]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "canary-of-a-prompt"]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    for level in ["texts", "strict"] {
        let (file, made) = bundle(&daemon, level, level, &[]);
        let differs = made["recorder"]["differs"].as_str().unwrap_or_default();
        assert!(differs.contains("is recorded differently"), "{made}");
        assert!(!content(&file).contains("canary-of"), "{level}");
        daemon.ok(&["bundle", "verify", &at(&file)]);
        let replayed = daemon.ok(&["bundle", "replay", &at(&file), "--json"]).json();
        assert_eq!(
            (&replayed["segments"], &replayed["skipped_segments"]),
            (&json!(2), &json!(1)),
            "{replayed}"
        );
    }
}

/// A request over TCP with these lines in its head; the status and the body of the reply.
fn http(address: &str, request: &str, head: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{head}\r\n{body}",
        body.len()
    )
    .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_owned(), body.to_owned())
}

/// Whoever gets a bundle looks at it in the console as if it were a home, and can change nothing.
#[test]
fn a_bundle_is_shown_in_the_console_without_a_runtime() {
    let provider = provider();
    let daemon = home(&provider);
    for (level, told) in [("none", true), ("strict", false)] {
        let (file, made) = bundle(&daemon, level, &format!("{level}-shown"), &[]);
        // Another user's machine: no home, no configuration.
        let elsewhere = Holon::new();
        let mut command = elsewhere.command(&["console", "--print", "--bundle", &at(&file)]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let link = lines.next().expect("a link").expect("a line");
        let (page, token) = link.split_once("#login=").expect("a token");
        let address = page.trim_start_matches("http://").trim_end_matches("/console/");
        let (status, _, page) = http(address, "GET /console/", "", "");
        assert!(status == 200 && page.contains("<html"), "{status} {page}");
        let body = json!({ "token": token }).to_string();
        let (status, head, _) = http(address, "POST /console/login", "", &body);
        assert_eq!(status, 200, "{head}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a session");
        let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("its value"));
        let get = |path: &str| http(address, &format!("GET {path}"), &cookie, "");
        let (status, _, events) = get("/agents/main/events?limit=100&present=true");
        assert!(status == 200 && events.contains("message_admitted"), "{status} {events}");
        let (status, _, last) = get("/agents/main/status");
        let last: Value =
            serde_json::from_str(&last).unwrap_or_else(|error| panic!("{status} {error}: {last}"));
        assert_eq!(last["agent_id"], "main", "{last}");
        let to = made["to"].as_u64().expect("a number");
        let (_, _, end) = get(&format!("/agents/main/events?after_seq={}", to - 1));
        assert!(end.contains(&format!("\"event_seq\":{to}")), "{end}");
        let (status, _, said) = get("/agents/main/transcript");
        assert_eq!((status, said.contains("canary-of-an-answer")), (200, told), "{level}: {said}");
        assert_eq!(said.contains("[not in this bundle]"), !told, "{level}: {said}");
        for path in ["/agents/list", "/events", "/agents/main/why", "/inbox"] {
            let (status, _, body) = get(path);
            assert_eq!(status, 200, "{path}: {body}");
        }
        let prompt = json!({ "text": "do something" }).to_string();
        let (status, _, refused) = http(address, "POST /control/agents/main/prompt", "", &prompt);
        assert!(status == 503 && refused.contains("draining"), "{status} {refused}");
        signal(&child, "INT");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
        assert!(!elsewhere.home().join("ledger.sqlite3").exists(), "no home is made");
    }
    let refused = Holon::new().run(&["console", "--bundle", "missing"]);
    refused.refused(3, &["missing"]);
}

/// Texts that look like something else: a document of this program, an id, a number of a card, a time, a path.
const LOOKALIKES: [&str; 6] = [
    r#"{"fire_bob_smith_on_monday":4711123581321,"deep":{"hire_alice":true}}"#,
    r#"{"provider":"acme-bank.example","tools":["bob@corp.example"],"path":"/srv/bob-smith","text":"hunter_2024"}"#,
    "hunter_2024",
    "4111111111111111",
    "2031-02-03T04:05:06Z",
    "/srv/bob-smith",
];
/// What none of them may leave behind.
const FRAGMENTS: [&str; 9] = [
    "bob_smith",
    "4711123581321",
    "hire_alice",
    "acme-bank",
    "bob@corp",
    "bob-smith",
    "hunter_2024",
    "4111111111111111",
    "2031-02-03",
];

/// The texts in every place where somebody can put one.
fn home_of_lookalikes(provider: &Provider) -> Daemon {
    let daemon = Daemon::asking(Holon::new(), provider);
    daemon.start();
    for text in LOOKALIKES {
        daemon.ok(&["prompt", "--wait", text]);
        daemon.ok(&["work", "add", text, "--step", text]);
        daemon.ok(&["wake", text, "--source", text, "--resource", text, "--body", text]);
    }
    let shown = daemon.ok(&["trigger", "show", "--json"]).json();
    let address = shown["triggers"][0]["trigger_url"].as_str().expect("an address");
    let (host, path) =
        address.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
    for text in LOOKALIKES {
        let body = if text.starts_with('{') { text.to_owned() } else { json!(text).to_string() };
        let (status, _, answer) = http(host, &format!("POST /{path}"), "", &body);
        assert_eq!(status, 200, "{answer}");
    }
    // The items stay open: it would come back to them again and again. What it has not taken yet stays in its queue.
    daemon.ok(&["agent", "stop", "main"]);
    wait_for("end of the run", || daemon.ok(&["why", "--json"]).json()["run"].is_null());
    daemon
}

#[test]
fn a_text_that_looks_like_something_else_is_left_out() {
    let turns = AtomicUsize::new(0);
    let provider = Provider::answering(move |asked| {
        let is_called =
            asked["messages"].as_array().and_then(|all| all.last()).expect("a message")["role"] == "tool";
        let number = if is_called { usize::MAX } else { turns.fetch_add(1, Ordering::Relaxed) };
        let Some(text) = LOOKALIKES.get(number) else { return says(LOOKALIKES[0]) };
        let odd = json!({ "fire_bob_smith": 4_711_123_581_321_u64, "provider": "acme-bank.example",
            "tools": ["bob@corp.example"], "path": "/srv/bob-smith" });
        let item =
            json!({ "objective": text, "plan": text, "todo_list": [{ "text": text, "state": "pending" }] });
        calls(&[
            ("ExecCommand", json!({ "cmd": format!("printf '%s' '{text}'"), "login": false })),
            ("Sleep", odd.clone()),
            ("Nothing", odd),
            ("CreateWorkItem", item),
            ("NotifyOperator", json!({ "message": text })),
        ])
    });
    let daemon = home_of_lookalikes(&provider);
    for level in ["none", "texts", "strict"] {
        let (file, made) = bundle(&daemon, level, level, &[]);
        assert_eq!(made["recorder"]["differs"], Value::Null, "{level}: {made}");
        let text = content(&file);
        for fragment in FRAGMENTS {
            assert_eq!(text.contains(fragment), level == "none", "{level}: {fragment}");
        }
        let path = at(&file);
        let elsewhere = Holon::new();
        assert_eq!(elsewhere.run(&["bundle", "verify", &path]).code, Some(0), "{level}");
        let replayed = elsewhere.run(&["bundle", "replay", &path, "--json"]).json();
        assert_eq!(replayed["calls"], made["recorder"]["calls"], "{level}: {replayed}");
    }
}

/// Typed into a prompt before it was set as a credential: the ledger has it, and nothing that is given away does.
#[test]
fn a_secret_that_became_known_later_is_in_no_bundle_and_no_export() {
    let late = "zebra-late-4711-quux";
    let answers = move |number| says(&format!("You wrote {late}, {} {number}.", "word ".repeat(100)));
    let asked = AtomicUsize::new(0);
    let provider = Provider::answering(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => calls(&[
            ("ExecCommand", json!({ "cmd": format!("echo {late}"), "login": false })),
            ("CreateWorkItem", json!({ "objective": format!("use {late}"), "plan": "a plan" })),
        ]),
        1 => calls(&[("CompleteWorkItem", json!({ "work_item_id": "work_1" }))]),
        number => answers(number),
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", &format!("{late} is short")]);
    daemon.ok(&["prompt", "--wait=settled", &format!("{late} {}", "long ".repeat(100))]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    daemon.ok(&["config", "set", "telemetry.include_content", "true"]);
    let (file, _) = bundle(&daemon, "none", "before", &[]);
    assert!(content(&file).contains(late), "nobody knows it as a secret yet");
    assert!(daemon.ok(&["telemetry", "export"]).stdout.contains(late));
    let set = daemon.0.run_with_input(&["config", "credentials", "set", "team", "-"], late.as_bytes());
    assert_eq!(set.code, Some(0), "{set:?}");
    for level in ["none", "texts", "strict"] {
        let (file, made) = bundle(&daemon, level, level, &[]);
        assert!(!content(&file).contains(late), "{level}");
        assert_eq!(content(&file).contains("[redacted:team]"), level == "none", "{level}");
        assert_eq!(made["recorder"]["differs"], Value::Null, "{level}: {made}");
        let verified = daemon.ok(&["bundle", "verify", &at(&file), "--json"]).json();
        assert_eq!(verified["records"], made["to"], "{level}: {verified}");
        let replayed = daemon.ok(&["bundle", "replay", &at(&file), "--json"]).json();
        assert_eq!(replayed["calls"], made["recorder"]["calls"], "{level}: {replayed}");
    }
    let exported = daemon.ok(&["telemetry", "export"]).stdout;
    assert!(!exported.contains(late) && exported.contains("[redacted:team]"), "{exported}");
}
