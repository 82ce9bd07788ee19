//! The golden ledgers of `sim/corpus/ledgers/`: real runs of the real binary, exported with their flight
//! recorder. Here the runs happen again, so that their stories stay true; with `TMPDIR=/srv HOLON_RECORD_LEDGERS=1` what they
//! export becomes the corpus. `sim/tests/worlds/ledgers.rs` replays it.

use std::path::{Path, PathBuf};

use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::trial::Trial;
use end_to_end::{Ended, Holon, signal, wait_for};
use serde_json::{Value, json};

/// Set to anything: the corpus is written anew.
const RECORD: &str = "HOLON_RECORD_LEDGERS";
/// Where runs are recorded whose paths name no machine.
const NEUTRAL: &str = "/srv/";
/// Bytes of an export, which stands in a repository.
const LARGEST: usize = 100_000;
const PATCH: &str = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1 @@\n-echo Helo\n+echo Hello\n";

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/corpus/ledgers").join(format!("{name}.jsonl"))
}

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn ledger_of(ended: &Ended) -> PathBuf {
    ended.json()["ledger"].as_str().expect("a ledger").into()
}

/// Exports a run, compares what it is about with the golden one, or makes it that.
fn tell(name: &str, holon: &Holon, ledger: &Path, about: &[&str]) {
    holon.check_ledger(ledger);
    let ended = holon.run(&["ledger", "export", "--recorder", &ledger.display().to_string()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let folder = holon.folder().display().to_string();
    let text = anonymous(&ended.stdout, &folder);
    let file = corpus(name);
    if std::env::var_os(RECORD).is_some() {
        assert!(
            folder.starts_with(NEUTRAL),
            "requests have fingerprints of paths: record with TMPDIR={NEUTRAL}"
        );
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder for the corpus");
        std::fs::write(&file, &text).expect("the corpus can be written");
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for (whose, text) in [("this run", &text), ("the golden one", &golden)] {
        assert!(text.len() <= LARGEST, "{name}, {whose}: {} bytes", text.len());
        for kind in about {
            assert!(text.contains(&format!(r#""type":"{kind}""#)), "{name}, {whose}: no {kind}");
        }
        for private in ["/tmp", "/root", "\"/home/", "/Users/", "canary"] {
            assert!(!text.contains(private), "{name}, {whose}, tells of {private}");
        }
    }
}

/// Names of this machine become others of the same length.
fn anonymous(export: &str, folder: &str) -> String {
    let elsewhere: String = NEUTRAL.chars().chain("holon-demo-".chars().cycle()).take(folder.len()).collect();
    let mut text =
        if folder.starts_with(NEUTRAL) { export.to_owned() } else { export.replace(folder, &elsewhere) };
    if let Ok(boot) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        let none: String = boot.trim().chars().map(|c| if c == '-' { '-' } else { '0' }).collect();
        text = text.replace(boot.trim(), &none);
    }
    // A commit of ours would be another one each time.
    if let Some((_, build)) = text.split_once(r#""build":"holon "#) {
        let build = build.split('"').next().unwrap_or_default().to_owned();
        let version = build.split(' ').next().unwrap_or_default();
        text = text.replace(&format!("holon {build}"), &format!("holon {version}"));
    }
    text
}

#[test]
fn tools_and_a_patch() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "cat greet.sh", "login": false }))]),
        calls(&[
            ("Nonsense", json!({})),
            ("ApplyPatch", json!({ "patch": PATCH })),
            ("ApplyPatch", json!({ "patch": PATCH })),
            ("ExecCommand", json!({ "cmd": "sh greet.sh; exit 3", "login": false })),
        ]),
        says("Repaired the greeting."),
        says("You are welcome."),
    ]);
    let holon = with(&provider);
    holon.file("greet.sh", "echo Helo\n");
    let run = |prompt: &str| holon.run(&["run", "--json", "--agent", "main", "--create-agent", prompt]);
    assert_eq!(run("repair the greeting").json()["changed_files"], json!(["greet.sh"]));
    let ended = run("thank you");
    assert_eq!(ended.json()["final_text"], "You are welcome.");
    let about = ["tool_executed", "tool_execution_failed", "operation_opened", "call", "turn_terminal"];
    tell("tools_and_a_patch", &holon, &ledger_of(&ended), &about);
}

#[test]
fn killed_and_continued() {
    let step = |name: &str| {
        calls(&[("ExecCommand", json!({ "cmd": format!("echo {name} >> log; sleep 0.3"), "login": false }))])
    };
    // A command that is found alive is a task, and its result may have a turn of its own.
    let (done, more) = (says("Both are done."), says("Indeed."));
    let provider = Provider::start([step("one"), step("two"), done, more.clone(), more]);
    let holon = with(&provider);
    let log = holon.work().join("log");
    let mut child = holon.spawn(&["run", "--json", "--agent", "main", "--create-agent", "work"]);
    wait_for("second command", || std::fs::read_to_string(&log).is_ok_and(|log| log.lines().count() == 2));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let ended = holon.run(&["run", "--json", "--agent", "main", "once more"]);
    assert_eq!(ended.json()["final_text"], "Indeed.", "{ended:?}");
    let about = ["runtime_recovered", "message_requeued", "message_processed", "tool_executed"];
    tell("killed_and_continued", &holon, &ledger_of(&ended), &about);
}

#[test]
fn failures_retries_and_a_fallback() {
    let trial = Trial::new("local/a").fallbacks(&["openai/b", "anthropic/c"]);
    let away = || fails(503, "x");
    let answer = calls(&[("ExecCommand", json!({ "cmd": "echo one", "login": false }))]);
    let provider = Provider::start([
        away(),
        fails(429, "later").header("retry-after", "0.01"),
        Reply::Close,
        fails(401, "no key"),
        answer,
        away(),
        says("Done."),
        fails(400, "what?"),
        fails(401, "no key"),
        fails(404, "no such model"),
    ]);
    let holon = trial.clone().lasting().home(&provider.url);
    let told = trial.clone().lasting().run(&holon, "go");
    assert_eq!(told.report["final_text"], "Done.");
    let told = trial.lasting().run(&holon, "again");
    assert_eq!(told.report["verdict"], "failed");
    let about = ["provider_attempt_recorded", "provider_round_completed", "runtime_error", "brief_created"];
    tell("failures_retries_and_a_fallback", &holon, &ledger_of(&told.ended), &about);
}

#[test]
fn aborted() {
    let provider = Provider::start([calls(&[(
        "ExecCommand",
        json!({ "cmd": "touch started; sleep 57", "login": false, "yield_time_ms": 60_000 }),
    )])]);
    let holon = with(&provider);
    let child = holon.spawn(&["run", "--json", "--agent", "main", "--create-agent", "wait"]);
    wait_for("command", || holon.work().join("started").exists());
    signal(&child, "INT");
    let ended = Ended::from(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.json()["verdict"], "aborted", "{ended:?}");
    let about = ["current_run_aborted", "message_aborted", "control_applied", "operation_settled"];
    tell("aborted", &holon, &ledger_of(&ended), &about);
}

#[test]
fn a_recap() {
    let prints = |bytes: u64| {
        let cmd = format!("head -c {bytes} /dev/zero | tr '\\0' x");
        calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false }))])
    };
    let refused = r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 10"}}"#;
    let replies = (3_001..3_006)
        .map(prints)
        .chain([fails(400, refused)])
        .chain((9_001..9_005).map(prints))
        .chain([says("Done.")]);
    let provider = Provider::start(replies);
    let holon = with(&provider);
    std::fs::create_dir_all(holon.home()).expect("a home");
    let settings = "[runtime]\ncontext_window_tokens = 20000\n[context]\nsummary = \"facts\"\n";
    std::fs::write(holon.home().join("config.toml"), settings).expect("a configuration");
    let ended = holon.run(&["run", "--json", "--agent", "main", "--create-agent", "print a lot"]);
    assert_eq!(ended.json()["final_text"], "Done.", "{ended:?}");
    let ledger = ledger_of(&ended);
    let records = holon.records(&ledger);
    let causes: Vec<&Value> =
        end_to_end::payloads(&records, "episode_closed").iter().map(|fact| &fact["boundary"]).collect();
    assert!(causes.contains(&&json!("refused")) && causes.len() >= 2, "{causes:?}");
    tell("a_recap", &holon, &ledger, &["episode_closed", "tool_executed"]);
}

#[test]
fn what_a_ledger_is_asked_for_wrongly_is_refused() {
    let holon = Holon::new();
    holon.run(&["ledger", "export", "--recorder", "--agent", "main"]).refused(2, &["--recorder", "--agent"]);
}
