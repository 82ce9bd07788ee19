//! What the model is shown over a long turn, a restart and a wake: the same beginning, byte for byte, and never
//! more than fits.

use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{Holon, count, payloads};
use serde_json::{Value, json};

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

/// Replies in a fixed order leave no place for the request of a summary.
fn without_summaries(holon: &Holon) {
    std::fs::create_dir_all(holon.home()).expect("a home");
    std::fs::write(holon.home().join("config.toml"), "[context]\nsummary = \"facts\"\n")
        .expect("a configuration");
}

fn prints(number: usize, bytes: usize) -> Reply {
    let cmd = format!("echo number {number}; head -c {bytes} /dev/zero | tr '\\0' x");
    calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false }))])
}

fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().expect("a list of messages")
}

/// The system message: nothing in it changes from turn to turn.
fn lasting(request: &Value) -> &str {
    messages(request)[0]["content"].as_str().expect("a system message")
}

#[test]
fn the_beginning_of_a_prompt_stays_the_same_across_rounds_turns_restarts_and_crashes() {
    let provider = Provider::start([
        prints(1, 10),
        says("one"),
        prints(2, 10),
        Reply::Late(Duration::from_secs(60), Box::new(says("never seen"))),
        says("two"),
        says("three"),
    ]);
    let holon = with(&provider);
    holon.file("AGENTS.md", "Always greet politely.\n");
    let run = |prompt: &str| holon.run(&["run", "--json", "--agent", "main", "--create-agent", prompt]);
    assert_eq!(run("first").json()["final_text"], "one");
    let mut child = holon.spawn(&["run", "--json", "--agent", "main", "second"]);
    while provider.requests().len() < 4 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(run("third").json()["final_text"], "three");

    let requests = provider.requests();
    assert_eq!(requests.len(), 6);
    for request in &requests {
        assert_eq!(lasting(request), lasting(&requests[0]));
        assert_eq!(request["tools"], requests[0]["tools"]);
    }
    // The next request only adds to the one before, in the same turn and in the next one, and a crash changes nothing of
    // that.
    for pair in requests.windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        assert_eq!(before, &after[..before.len()]);
    }
    assert!(messages(&requests[4]).len() > messages(&requests[3]).len(), "the note about the interruption");
}

#[test]
fn a_turn_that_outgrows_the_window_goes_on_with_a_recap() {
    let rounds = 24;
    let provider = Provider::start((0..rounds).map(|number| prints(number, 6_000)).chain([says("Done.")]));
    let holon = with(&provider);
    std::fs::create_dir_all(holon.home()).unwrap();
    std::fs::write(
        holon.home().join("config.toml"),
        "[runtime]\ncontext_window_tokens = 16000\n[context]\nsummary = \"facts\"\n",
    )
    .unwrap();
    let ended = holon.run(&["run", "--json", "print a lot"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!((&report["verdict"], &report["rounds"]), (&json!("completed"), &json!(rounds + 1)));
    let requests = provider.requests();
    for request in &requests {
        // Four characters a token, and the names and braces around them.
        assert!(messages(request).iter().map(|message| message.to_string().len()).sum::<usize>() < 60_000);
        assert!(messages(request)[1]["content"].as_str().unwrap().ends_with("print a lot"));
    }
    let last = messages(requests.last().unwrap());
    let recap = last[2]["content"].as_str().unwrap();
    assert!(recap.starts_with("[recap by the runtime: the first "), "{recap}");
    assert!(recap.contains("number 3"), "{recap}");
    let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
    let compactions = payloads(&records, "episode_closed");
    assert!((2..=12).contains(&compactions.len()), "{compactions:?}");
    holon.check_ledger(report["ledger"].as_str().unwrap().as_ref());
}

#[test]
fn a_refusal_for_length_gets_one_recap_and_then_ends_the_turn() {
    let refused = r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 10"}}"#;
    let work = || (0..5).map(|number| prints(number, 3_000));
    let helped = Provider::start(work().chain([fails(400, refused), says("It fits.")]));
    let holon = with(&helped);
    without_summaries(&holon);
    let report = holon.run(&["run", "--json", "go"]).json();
    assert_eq!(report["final_text"], "It fits.");
    let requests = helped.requests();
    let size =
        |request: &Value| messages(request).iter().map(|message| message.to_string().len()).sum::<usize>();
    assert!(size(&requests[6]) * 3 < size(&requests[5]) * 2, "it is much shorter");

    let hopeless = Provider::start(work().chain([fails(400, refused), fails(400, refused), says("never")]));
    let holon = with(&hopeless);
    without_summaries(&holon);
    let ended = holon.run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["turn_kind"], "context_length_exceeded");
    assert_eq!(report["failure_artifact"]["kind"], "context_length_exceeded");
    assert_eq!(hopeless.requests().len(), 7);
    let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
    assert_eq!(count(&records, "episode_closed"), 1);
}

#[test]
fn each_provider_may_have_a_window_of_its_own() {
    let provider = Provider::start((0..8).map(|number| prints(number, 6_000)).chain([says("Done.")]));
    let holon = with(&provider);
    std::fs::create_dir_all(holon.home()).unwrap();
    std::fs::write(
        holon.home().join("config.toml"),
        "[providers.local]\ncontext_window_tokens = 12000\n[context]\nsummary = \"facts\"\n",
    )
    .unwrap();
    let report = holon.run(&["run", "--json", "print a lot"]).json();
    assert_eq!(report["verdict"], "completed");
    let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
    assert!(count(&records, "episode_closed") > 0);
}

#[test]
fn small_windows_are_enough_for_long_output() {
    for window in [8_192, 10_000] {
        let provider = Provider::start((0..6).map(|number| prints(number, 50_000)).chain([says("Done.")]));
        let holon = with(&provider);
        std::fs::create_dir_all(holon.home()).unwrap();
        let settings =
            format!("[runtime]\ncontext_window_tokens = {window}\n[context]\nsummary = \"facts\"\n");
        std::fs::write(holon.home().join("config.toml"), settings).unwrap();
        let ended = holon.run(&["run", "--json", "print a lot"]);
        assert_eq!(ended.code, Some(0), "{window}: {ended:?}");
    }
}

/// In a subfolder of a repository the agent works in the repository, and its commands start in the subfolder.
#[test]
fn a_run_in_a_subfolder_finds_the_instructions_of_its_repository() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "pwd; nohup sleep 600 & echo begun", "login": false }))]),
        says("done"),
    ]);
    let holon = with(&provider);
    holon.file("AGENTS.md", "Always greet politely.\n");
    let sub = holon.work().join("src/deep");
    std::fs::create_dir_all(&sub).expect("a folder");
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(holon.work()).status();
    assert!(git.expect("git runs").success());
    let output = holon.command(&["run", "--json", "go"]).current_dir(&sub).output().expect("it runs");
    let ended: end_to_end::Ended = output.into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.json().get("cost_micros").is_none(), "a model without a price costs nothing that is known");
    let requests = provider.requests();
    let system = lasting(&requests[0]);
    assert!(system.contains("Always greet politely."), "{system}");
    assert!(
        system.contains(&format!("Current folder: {}", sub.canonicalize().expect("it is there").display()))
    );
    let result = requests[1].to_string();
    assert!(result.contains("/src/deep") && result.contains("begun"), "{result}");
    assert!(result.contains("give it as a command of its own"), "{result}");
    // Whoever names a folder means that one.
    let sub = sub.display().to_string();
    let ended = holon.run(&["run", "--json", "--workspace-root", &sub, "--model", "scripted/hello", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn the_summary_names_the_instructions_of_the_last_turn() {
    let slow = says("three").late(Duration::from_secs(60));
    let provider = Provider::start([says("one"), says("two"), slow]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "first"]);
    let sources = || daemon.ok(&["status", "--json"]).json()["instruction_sources"].clone();
    let before = sources();
    assert!(before.as_array().is_none_or(|all| all.iter().all(|one| one["scope"] == "agent")), "{before}");
    let text = "Always greet politely.\n";
    let file = daemon.0.home().join("agents/main/AGENTS.md");
    std::fs::write(&file, text).expect("the agent's own instructions");
    assert_eq!(sources(), before, "they are those of the last turn");
    daemon.ok(&["prompt", "--wait=settled", "second"]);
    let told = sources()[0].clone();
    assert_eq!((&told["scope"], &told["bytes"]), (&json!("agent"), &json!(text.len())), "{told}");
    assert!(told["path"].as_str().is_some_and(|path| path.ends_with("agents/main/AGENTS.md")), "{told}");
    assert_eq!(told["content_id"].as_str().map(str::len), Some(64), "{told}");
    assert!(daemon.ok(&["status"]).stdout.contains("AGENTS.md (23 bytes)"));
    // A turn in progress is the newest one: it is told the same way, once.
    daemon.ok(&["prompt", "third"]);
    provider.wait_for_requests(3);
    assert_eq!(sources(), json!([told]));
    assert!(daemon.ok(&["status"]).stdout.contains("AGENTS.md (23 bytes)"));
}
