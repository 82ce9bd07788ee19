//! `holon run` against a real server, with real commands in a real repository.

use std::process::Command;
use std::time::Duration;

use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{Holon, count, payloads};
use serde_json::json;

const PATCH: &str = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1 @@\n-echo Helo\n+echo Hello\n";

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn git(holon: &Holon, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(holon.work()).output().expect("git runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("git prints text")
}

#[test]
fn the_demo_repairs_its_project_and_proves_it() {
    let holon = Holon::new();
    let ended = holon.run(&["demo"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in ["exit status 1", "changed greet.sh", "completed: 5 rounds", "in order:", "the same:"] {
        assert!(ended.stdout.contains(text), "{text} is not in {ended:?}");
    }
    let lines: Vec<&str> = ended.stdout.lines().map(str::trim).collect();
    assert!(lines.len() <= 25, "it is a short story: {}", ended.stdout);
    for line in [
        "I look at the script first.",
        "-echo \"Helo, ${1:-World}\"",
        "+echo \"Hello, ${1:-World}\"",
        "ok: Hello, World",
    ] {
        assert!(lines.contains(&line), "{line} is not in {lines:#?}");
    }
    let verbose = holon.run(&["demo", "--verbose"]);
    assert_eq!(verbose.code, Some(0), "{verbose:?}");
    for event in ["turn_started", "operation_opened", "closure_decided"] {
        assert!(verbose.stdout.contains(event) && !ended.stdout.contains(event), "{event}");
    }
    holon.run(&["demo", "--verbose", "--json"]).refused(2, &["--verbose"]);
    assert!(!holon.home().exists(), "the demo leaves the home alone");
    let document = holon.run(&["demo", "--json"]).json();
    assert_eq!(
        (&document["report"]["verdict"], &document["report"]["rounds"]),
        (&json!("completed"), &json!(5))
    );
    assert_eq!(document["verified"]["records"], document["replayed"]["records"], "{document}");
}

#[test]
fn a_prompt_becomes_commands_a_patch_and_a_report() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "cat greet.sh && git status --short" }))]),
        calls(&[("ApplyPatch", json!({ "patch": PATCH })), ("ExecCommand", json!({ "cmd": "sh greet.sh" }))]),
        says("Repaired the greeting."),
    ]);
    let holon = with(&provider);
    holon.file("greet.sh", "echo Helo\n");
    holon.file("AGENTS.md", "Always greet politely.\n");
    git(&holon, &["init", "-q"]);
    git(&holon, &["add", "."]);
    git(&holon, &["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start"]);
    let ended = holon.run(&["run", "--json", "repair the greeting"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["verdict"], "completed");
    assert_eq!(report["final_text"], "Repaired the greeting.");
    assert_eq!(report["changed_files"], json!(["greet.sh"]));
    assert_eq!(report["rounds"], 3);
    assert_eq!(report["token_usage"]["total_tokens"], 360);
    assert_eq!(report["provider_attempt_timeline"]["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(git(&holon, &["diff", "--stat"]).lines().count(), 2);

    let requests = provider.requests();
    let system = requests[0]["messages"][0]["content"].to_string();
    assert!(system.contains("Always greet politely."), "{system}");
    let last = requests[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("Hello"), "the model sees what its command printed: {last}");
    holon.check_ledger(report["ledger"].as_str().unwrap().as_ref());
}

#[test]
fn each_call_has_its_result_whatever_is_wrong_with_it() {
    let provider = Provider::start([
        calls(&[
            ("Nonsense", json!({})),
            ("ExecCommand", json!({ "cmd": "true", "cwd": "/" })),
            ("ExecCommand", json!({ "cmd": "no-such-command-anywhere" })),
            ("ApplyPatch", json!({ "patch": PATCH })),
            ("ExecCommand", json!({ "cmd": "cat /etc/hostname", "workdir": "../.." })),
        ]),
        says("I see."),
    ]);
    let holon = with(&provider);
    holon.file("greet.sh", "echo something else\n");
    let report = holon.run(&["run", "--json", "try"]).json();
    assert_eq!(report["verdict"], "completed");
    let messages = provider.requests()[1]["messages"].as_array().unwrap().clone();
    let results: Vec<String> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    let expected = ["unknown_tool", "cwd", "127", "patch_rejected", "execution_root_violation"];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{expected} is not in {result}");
    }
    assert!(holon.work().join("greet.sh").metadata().unwrap().len() == 20, "nothing was half patched");
    let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
    assert_eq!(count(&records, "tool_execution_failed"), 4);
    assert_eq!(count(&records, "tool_executed"), 1);
}

#[test]
fn transient_failures_are_retried_and_told() {
    let limited = Reply::Status {
        code: 429,
        headers: vec![("retry-after", "1".to_owned())],
        body: "slow down".to_owned(),
    };
    let provider = Provider::start([fails(500, "oops"), limited, says("Done.")]);
    let report = with(&provider).run(&["run", "--json", "go"]).json();
    assert_eq!(report["verdict"], "completed");
    let attempts = &report["provider_attempt_timeline"]["attempts"];
    let outcomes: Vec<_> = attempts.as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["retrying", "retrying", "succeeded"]);
    assert_eq!(attempts[1]["failure_kind"], "rate_limited");
    assert_eq!(attempts[1]["backoff_ms"], 1_000);
}

#[test]
fn a_model_that_fails_for_good_hands_over_to_its_fallback() {
    let provider = Provider::start([fails(404, "no such model"), says("From the fallback.")]);
    let holon = with(&provider).with("HOLON_MODEL_FALLBACKS", "local/other");
    let report = holon.run(&["run", "--json", "go"]).json();
    assert_eq!(report["final_text"], "From the fallback.");
    assert_eq!(report["provider_attempt_timeline"]["winning_model_ref"], "local/other");
    assert_eq!(report["provider_attempt_timeline"]["attempts"][0]["advanced_to_fallback"], true);
}

#[test]
fn a_failed_run_says_why() {
    let provider = Provider::start([fails(401, "bad key"), says("never")]);
    let ended = with(&provider).run(&["run", "--json", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["verdict"], "failed");
    assert_eq!(report["failure_artifact"]["kind"], "auth");
    assert_eq!(report["failure_artifact"]["status"], 401);
    assert_eq!(report["failure_artifact"]["category"], "protocol");
}

#[test]
fn every_durable_event_is_a_line() {
    let provider = Provider::start([calls(&[("ExecCommand", json!({ "cmd": "true" }))]), says("Done.")]);
    let ended = with(&provider).run(&["run", "--output-format", "stream-json", "go"]);
    let lines: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, records) = lines.split_last().unwrap();
    assert_eq!(last["type"], "run_finished");
    assert_eq!(last["payload"]["verdict"], "completed");
    let sequence: Vec<u64> = records.iter().map(|record| record["event_seq"].as_u64().unwrap()).collect();
    assert_eq!(sequence, (1..=sequence.len() as u64).collect::<Vec<_>>());
    assert_eq!(count(records, "tool_executed"), 1);
}

#[test]
fn secrets_of_the_environment_reach_nobody() {
    let canary = "canary-4f1c77aa";
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": format!("echo {canary}; env") }))]),
        says(&format!("The key is {canary}.")),
    ]);
    let holon = with(&provider).with("OTHER_API_KEY", canary);
    let ended = holon.run(&["run", "--json", &format!("what is {canary}?")]);
    assert!(!ended.stdout.contains(canary) && !ended.stderr.contains(canary), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["final_text"], "The key is [redacted:OTHER_API_KEY].");
    let ledger = std::path::PathBuf::from(report["ledger"].as_str().unwrap());
    let bytes = std::fs::read(&ledger).unwrap();
    assert!(!bytes.windows(canary.len()).any(|window| window == canary.as_bytes()));
    assert!(!provider.requests()[1].to_string().contains(canary));
}

#[test]
fn an_interrupt_aborts_the_run_and_kills_its_command() {
    let provider = Provider::start([
        calls(&[(
            "ExecCommand",
            json!({ "cmd": "sleep 57 & echo $! > pid; wait", "yield_time_ms": 60_000 }),
        )]),
        says("never"),
    ]);
    let holon = with(&provider);
    let child = holon.spawn(&["run", "--json", "go"]);
    let pid_file = holon.work().join("pid");
    wait_for(|| std::fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let ended: end_to_end::Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.json()["verdict"], "aborted");
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    wait_for(|| !std::path::Path::new("/proc").join(pid.trim()).exists());
    let records = holon.records(ended.json()["ledger"].as_str().unwrap().as_ref());
    assert_eq!(payloads(&records, "tool_execution_failed")[0]["receipt"]["error"]["kind"], "interrupted");
}

#[test]
fn a_pipe_that_closes_early_is_no_panic() {
    let provider = Provider::start([says(&"word ".repeat(100_000))]);
    let holon = with(&provider);
    let mut child = holon.spawn(&["run", "go"]);
    drop(child.stdout.take());
    let ended: end_to_end::Ended = child.wait_with_output().unwrap().into();
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    assert_eq!(ended.code, Some(1));
}

#[test]
fn a_slow_model_is_waited_for() {
    let provider = Provider::start([says("At last.").late(Duration::from_millis(1_500))]);
    let report = with(&provider).run(&["run", "--json", "go"]).json();
    assert_eq!(report["final_text"], "At last.");
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    for _ in 0..600 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not happen within 12 s");
}

#[test]
fn a_candidate_that_can_not_be_asked_is_told_and_passed_over() {
    let provider = Provider::start([says("From the second."), says("From the first.")]);
    let holon = with(&provider);
    let chain = holon
        .command(&["run", "--json", "go"])
        .env("HOLON_MODEL", "anthropic/any")
        .env("HOLON_MODEL_FALLBACKS", "local/test")
        .output()
        .expect("the binary starts");
    let ended = end_to_end::Ended::from(chain);
    assert_eq!(ended.json()["final_text"], "From the second.", "{ended:?}");
    assert!(ended.stderr.contains("ANTHROPIC_API_KEY"), "{ended:?}");
    assert_eq!(ended.json()["provider_attempt_timeline"]["attempts"][0]["failure_kind"], "auth");
    // One that is asked for by name must be there.
    holon.run(&["run", "--model", "anthropic/any", "go"]).refused(2, &["ANTHROPIC_API_KEY"]);
    let lonely = Holon::new().with("HOLON_MODEL", "anthropic/any").with("HOLON_MODEL_FALLBACKS", "openai/x");
    lonely.run(&["run", "go"]).refused(2, &["ANTHROPIC_API_KEY"]);
}
