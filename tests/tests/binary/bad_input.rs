//! Each bad input gets an error that says what was wrong, where, and what to do next.

use end_to_end::provider::{Provider, fails, says};
use end_to_end::{Holon, count};
use serde_json::json;

#[test]
fn no_model_unknown_provider_unknown_scenario() {
    Holon::new().run(&["run", "hello"]).refused(2, &["no model is configured", "HOLON_MODEL", "holon demo"]);
    let unknown = Holon::new().run(&["run", "--model", "opena/gpt", "hello"]);
    unknown.refused(
        2,
        &["there is no provider \"opena\"", "anthropic, local, openai, openai-chat, openai-codex, scripted"],
    );
    Holon::new().run(&["run", "--model", "gpt", "hello"]).refused(2, &["provider/model", "gpt"]);
    Holon::new().run(&["run", "--model", "scripted/nothing", "hello"]).refused(2, &["nothing", "demo"]);
    let keyless = Holon::new().run(&["run", "--model", "openai-chat/gpt", "hello"]);
    keyless.refused(2, &["OPENAI_API_KEY"]);
}

/// What came over standard input would be missing from the prompt.
#[test]
fn standard_input_and_other_words() {
    let holon = Holon::new().with("HOLON_MODEL", "scripted/hello");
    let says = ["`-` reads the prompt from standard input", "alone", "| holon run -"];
    for command in [&["run"][..], &["prompt"], &["answer", "main"]] {
        for words in [["-", "Review this"], ["Review this", "-"]] {
            holon.run_with_input(&[command, &words].concat(), b"a diff").refused(2, &says);
        }
    }
    // A word of a prompt that is one argument is no name of standard input.
    let ended = holon.run_with_input(&["run", "-q", "a - b"], b"");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_model_that_the_server_does_not_know() {
    let provider = Provider::start([fails(404, r#"{"error":{"message":"model 'x' not found"}}"#)]);
    let holon = Holon::new().with("HOLON_LOCAL_BASE_URL", &provider.url);
    holon.run(&["run", "--model", "local/x", "hello"]).refused(1, &["model 'x' not found", "failed"]);
}

#[test]
fn a_host_that_can_t_be_reached() {
    let holon = Holon::new().with("HOLON_LOCAL_BASE_URL", "http://127.0.0.1:9/v1");
    // Nobody will be there.
    assert_eq!(holon.run(&["config", "set", "run.patience_ms", "0"]).code, Some(0));
    let ended = holon.run(&["run", "--model", "local/x", "hello"]);
    ended.refused(1, &["connect", "127.0.0.1:9", "failed"]);
}

#[test]
fn a_home_that_can_t_be_written() {
    let holon = Holon::new();
    std::fs::write(holon.home(), "a file where the home should be").unwrap();
    let ended = holon.run(&["run", "--model", "scripted/hello", "hello"]);
    let home = holon.home();
    ended.refused(2, &[home.to_str().unwrap(), "not a folder", "--home"]);
    let below = home.join("below");
    let run = ["run", "--model", "scripted/hello", "--home", below.to_str().unwrap(), "hello"];
    holon.run(&run).refused(2, &[below.to_str().unwrap()]);
    for arguments in [&["config", "list"][..], &["config", "set", "run.keep", "3"], &["ledger", "verify"]] {
        holon.run(arguments).refused(2, &[home.to_str().unwrap(), "not a folder"]);
        holon.run(&[&["--home", "/dev/null"], arguments].concat()).refused(2, &["/dev/null", "not a folder"]);
    }
}

#[test]
fn what_a_home_keeps_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let holon = Holon::new();
    let model = holon.scenario(&json!([
        { "calls": [{ "tool": "ExecCommand", "arguments": { "cmd": "seq 100000", "max_output_tokens": 100 } }] },
        { "text": "Done." }
    ]));
    let run = ["run", "--model", &model, "--agent", "main", "--create-agent", "hello"];
    assert_eq!(holon.run(&run).code, Some(0));
    let mode = |path: &str| holon.home().join(path).metadata().unwrap().permissions().mode() & 0o777;
    let kept = ["", "run", "agents/main", "agents/main/task-output", "run/lock"].map(mode);
    assert_eq!(kept, [0o700, 0o700, 0o700, 0o700, 0o600]);
}

#[test]
fn an_unknown_key_and_a_wrong_value() {
    let holon = Holon::new();
    std::fs::create_dir(holon.home()).unwrap();
    let config = holon.home().join("config.toml");
    std::fs::write(&config, "[limits]\nround = 3\n").unwrap();
    let ended = holon.run(&["run", "--model", "scripted/hello", "hello"]);
    ended.refused(2, &["config.toml", "limits.round", "did you mean limits.rounds?"]);
    std::fs::write(&config, "[limits]\nrounds = 0\n").unwrap();
    holon.run(&["run", "--model", "scripted/hello", "hello"]).refused(2, &["limits.rounds", "at least 1"]);
    std::fs::write(&config, "[limits\n").unwrap();
    holon.run(&["run", "--model", "scripted/hello", "hello"]).refused(2, &["config.toml", "not TOML"]);
}

#[test]
fn prompts_that_are_empty_too_large_or_not_text() {
    let holon = Holon::new();
    let run = ["run", "--model", "scripted/hello", "-"];
    holon.run_with_input(&run, b" \n").refused(2, &["empty"]);
    holon.run_with_input(&run, &[0xff, 0xfe]).refused(2, &["not UTF-8"]);
    holon
        .run_with_input(&run, &vec![b'x'; 5 << 20])
        .refused(2, &["5242880 bytes", "the limit is 1048576", "name the file"]);
    assert_eq!(holon.run_with_input(&run, b"hello").code, Some(0));
}

#[test]
fn an_agent_that_does_not_exist_or_has_a_bad_name() {
    let holon = Holon::new();
    let run = |name: &str| holon.run(&["run", "--model", "scripted/hello", "--agent", name, "hello"]);
    run("nobody").refused(3, &["there is no agent nobody", "--create-agent"]);
    run("../etc").refused(2, &["an agent id is"]);
    run("-x").refused(2, &[]);
}

#[test]
fn a_ledger_that_is_missing_or_is_not_one() {
    let holon = Holon::new();
    holon.run(&["ledger", "verify"]).refused(3, &["there is no ledger at"]);
    let file = holon.file("notes.txt", "not a database, just some text that is long enough to be one\n");
    let ended = holon.run(&["ledger", "verify", file.to_str().unwrap()]);
    ended.refused(1, &["notes.txt", "name another file"]);
    assert!(!ended.stderr.contains("move it away"), "it may well be where it belongs: {ended:?}");
    let folder = holon.work();
    let ended = holon.run(&["ledger", "export", folder.to_str().unwrap()]);
    ended.refused(2, &["is a folder", "ledger.sqlite3"]);
}

#[test]
fn a_corrupt_record_is_named_with_its_position() {
    let provider = Provider::start([says("A rather recognisable answer.")]);
    let holon = Holon::new().with("HOLON_LOCAL_BASE_URL", &provider.url);
    let report = holon.run(&["run", "--json", "--model", "local/x", "hello"]).json();
    let ledger = std::path::PathBuf::from(report["ledger"].as_str().unwrap());
    holon.check_ledger(&ledger);
    let mut bytes = std::fs::read(&ledger).unwrap();
    let word = b"recognisable";
    let places: Vec<usize> =
        (0..bytes.len() - word.len()).filter(|&at| &bytes[at..at + word.len()] == word).collect();
    assert!(places.len() > 1, "in the record, and in the call that brought it");
    places.iter().for_each(|&at| bytes[at] = b'R');
    std::fs::write(&ledger, bytes).unwrap();
    let ended = holon.run(&["ledger", "verify", ledger.to_str().unwrap()]);
    ended.refused(1, &["damaged at", "batch ", "nothing was skipped"]);
    assert!(!ended.stderr.contains("ledger verify"), "that is what was done: {ended:?}");
    holon.run(&["ledger", "export", ledger.to_str().unwrap()]).refused(1, &["event "]);
}

#[test]
fn a_second_runtime_on_one_home() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([
        { "calls": [{ "tool": "ExecCommand", "arguments": { "cmd": "touch started; sleep 3" } }] },
        { "text": "Done." }
    ]));
    let run = ["run", "--json", "--model", &model, "--agent", "main", "--create-agent", "hello"];
    let first = holon.spawn(&run);
    while !holon.work().join("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = holon.run(&run);
    second.refused(5, &["another runtime", &first.id().to_string(), "--home"]);
    let first: end_to_end::Ended = first.wait_with_output().unwrap().into();
    assert_eq!(first.code, Some(0), "{first:?}");
    let records = holon.records(&holon.home().join("ledger.sqlite3"));
    assert_eq!(count(&records, "message_admitted"), 1, "the refused prompt left nothing");
}

#[test]
fn wrong_usage() {
    Holon::new().run(&["run"]).refused(2, &["Usage"]);
    Holon::new().run(&["rum", "x"]).refused(2, &["run"]);
    let outside = Holon::new();
    let ended = outside.run(&["run", "--model", "scripted/hello", "--cwd", "/", "hello"]);
    ended.refused(2, &["outside of --workspace-root"]);
}

#[test]
fn an_agent_keeps_its_folder() {
    let holon = Holon::new();
    let other = tempfile::tempdir().unwrap();
    let other = other.path().to_str().unwrap();
    let run = ["run", "--model", "scripted/hello", "--agent", "a", "--create-agent"];
    let with = |more: &[&str]| holon.run(&[&run[..], more, &["hello"]].concat());
    assert_eq!(with(&[]).code, Some(0));
    with(&["--workspace-root", other]).refused(2, &["the agent a works in", other, "holon workspace use"]);
    let file = holon.file("notes.txt", "text");
    with(&["--workspace-root", file.to_str().unwrap()]).refused(2, &["is a file"]);
}

#[test]
fn an_export_of_nobody() {
    let holon = Holon::new();
    assert_eq!(
        holon.run(&["run", "--model", "scripted/hello", "--agent", "a", "--create-agent", "hello"]).code,
        Some(0)
    );
    holon.run(&["ledger", "export", "--agent", "nobody"]).refused(3, &["nobody"]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_at_once() {
    let holon = Holon::new();
    let pipe = holon.work().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let refused = |code, arguments: &[&str]| {
        holon.run(arguments).refused(code, &["pipe", "it is a pipe, a socket or a device, not a file"]);
    };
    refused(2, &["agent", "create", "x", "--instructions", "pipe"]);
    refused(2, &["run", "--model", "scripted/hello", "--output-schema", "pipe", "hello"]);
    refused(2, &["debug", "prompt", "--turn", "1", "--from", "pipe"]);
    refused(2, &["ledger", "verify", "pipe"]);
    refused(2, &["ledger", "replay", "pipe"]);
    refused(3, &["ledger", "restore", "pipe"]);
    refused(3, &["bundle", "verify", "pipe"]);
}
