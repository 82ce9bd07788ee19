//! `holon config`: values with their origins, changes that keep what people wrote, and repairs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use end_to_end::provider::{Provider, calls, says};
use end_to_end::{Ended, Holon};
use serde_json::{Value, json};

const KEY: &str = "sk-canary-0123456789";

fn holon_with(config: &str) -> Holon {
    let holon = Holon::new();
    fs::create_dir(holon.home()).expect("a home");
    fs::write(holon.home().join("config.toml"), config).expect("a file can be written");
    holon
}

fn config(holon: &Holon) -> String {
    fs::read_to_string(holon.home().join("config.toml")).expect("a file")
}

fn fine(ended: Ended) -> Ended {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// One value of `config list --json`.
fn listed(holon: &Holon, key: &str) -> Value {
    let list = fine(holon.run(&["config", "list", "--json"])).json();
    let mut values = list["values"].as_array().expect("a list").iter();
    values.find(|value| value["key"] == key).unwrap_or_else(|| panic!("{key} is not in {list}")).clone()
}

#[test]
fn every_value_says_where_it_comes_from() {
    let holon = holon_with("[model]\ndefault = \"local/a\"\n\n[limits]\nrounds = 7\n");
    let holon = holon.with("HOLON_MODEL", "local/b");
    assert_eq!(listed(&holon, "model.default")["value"], "local/b");
    assert_eq!(
        listed(&holon, "model.default")["origin"],
        json!({ "kind": "environment", "variable": "HOLON_MODEL" })
    );
    assert_eq!(listed(&holon, "limits.rounds")["origin"]["line"], 5);
    assert_eq!(listed(&holon, "limits.agents")["origin"]["kind"], "default");
    let text = fine(holon.run(&["config", "list"])).stdout;
    assert!(text.contains("config.toml:5") && text.contains("environment variable HOLON_HOME"), "{text}");
    let elsewhere = holon.work().join("with a blank");
    let list = holon.run(&["config", "list", "--json", "--home", elsewhere.to_str().unwrap()]);
    assert_eq!(fine(list).json()["home"]["origin"], json!({ "kind": "flag", "flag": "--home" }));
    assert!(!elsewhere.exists(), "looking makes nothing");
}

#[test]
fn a_value_is_set_and_unset_and_comments_stay() {
    let text = "# mine\n[limits] # bounds\nrounds = 7 # enough\n";
    let holon = holon_with(text);
    let ended = fine(holon.run(&["config", "set", "limits.rounds", "9"]));
    assert!(ended.stdout.contains("limits.rounds = 9"), "{ended:?}");
    fine(holon.run(&["config", "set", "model.fallbacks", "local/a, local/b"]));
    fine(holon.run(&["config", "set", "runtime.hold_on_outage", "false"]));
    let expected = "# mine\n[limits] # bounds\nrounds = 9 # enough\n\n[model]\nfallbacks = [\"local/a\", \
                    \"local/b\"]\n\n[runtime]\nhold_on_outage = false\n";
    assert_eq!(config(&holon), expected);
    assert_eq!(fine(holon.run(&["config", "get", "model.fallbacks"])).stdout, "local/a,local/b\n");
    assert_eq!(fine(holon.run(&["config", "get", "limits.rounds", "--json"])).json()["value"], 9);
    let ended = fine(holon.run(&["config", "--json", "unset", "limits.rounds"]));
    assert_eq!(ended.json()["value"], 200, "what holds from now on");
    holon.run(&["config", "unset", "limits.rounds"]).refused(3, &["is not set in"]);
    let hidden = holon.with("HOLON_MODEL", "local/z").run(&["config", "set", "model.default", "local/y"]);
    assert!(fine(hidden).stderr.contains("HOLON_MODEL is set and wins"));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let holon = holon_with("[limits]\nrounds = 7\n");
    let before = config(&holon);
    let set = |key: &str, value: &str| holon.run(&["config", "set", key, value]);
    set("limits.round", "9").refused(3, &["no key limits.round", "did you mean limits.rounds?"]);
    set("limits.rounds", "many")
        .refused(2, &["expected a whole number, at least 1", "got \"many\"", "try: "]);
    set("limits.rounds", "-1").refused(2, &["at least 1"]);
    set("limits.queue_entries", "50").refused(2, &["limits.queue_reserved_entries (100) must be less"]);
    set("providers.a.base-url", "http://h").refused(3, &["did you mean providers.a.base_url?"]);
    set("providers.a.api_key_env", KEY).refused(2, &["config credentials set"]);
    assert!(!set("providers.a.api_key_env", KEY).stderr.contains("canary"));
    holon.run(&["config", "get", "nothing"]).refused(3, &["there is no key nothing", "config list"]);
    holon.run(&["config", "unset", "limits"]).refused(2, &["a group of keys"]);
    holon.run(&["config", "set", "limits.rounds"]).refused(2, &["<VALUE>"]);
    assert_eq!(config(&holon), before);
}

#[test]
fn a_broken_file_can_be_repaired() {
    let holon = holon_with("[limits]\nround = 1\nrounds = \"many\"\n");
    let run = ["run", "--model", "scripted/hello", "hello"];
    holon.run(&run).refused(
        2,
        &[
            "config.toml:2: limits.round: there is no such key",
            "one more problem",
            "try: holon config unset limits.round",
        ],
    );
    holon.run(&["config", "get", "limits.rounds"]).refused(2, &["config.toml:3", "got \"many\""]);
    assert_eq!(fine(holon.run(&["config", "get", "limits.agents"])).stdout, "100000\n");
    let doctor = holon.run(&["config", "doctor", "--json"]);
    assert_eq!((doctor.code, doctor.json()["problems"].as_u64()), (Some(1), Some(3)), "{doctor:?}");
    let ended = fine(holon.run(&["config", "set", "limits.rounds", "9"]));
    assert!(ended.stderr.contains("limits.round: there is no such key"), "{ended:?}");
    fine(holon.run(&["config", "unset", "limits.round"]));
    assert_eq!(config(&holon), "[limits]\nrounds = 9\n");
    fine(holon.run(&run));
}

#[test]
fn files_that_are_no_configuration() {
    let holon = holon_with("");
    let path = holon.home().join("config.toml");
    let list = || holon.run(&["config", "list"]);
    let bad = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        list()
    };
    bad(b"a = 1\n[limits\n").refused(2, &["config.toml:2:", "is not TOML", "config doctor"]);
    holon.run(&["config", "set", "limits.rounds", "9"]).refused(2, &["config.toml:2:"]);
    bad(b"a = \"\xff\"").refused(2, &["not UTF-8: byte 6"]);
    bad(&vec![b'#'; (1 << 20) + 1]).refused(2, &["larger than 1048576 bytes"]);
    fine(bad(b"\xef\xbb\xbf[limits]\nrounds = 9\n"));
    fine(bad(b""));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    list().refused(2, &["is a folder"]);
    let doctor = holon.run(&["config", "doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("is a folder, not a file"), "{doctor:?}");
}

#[test]
fn homes_that_are_none() {
    let holon = Holon::new();
    let file = holon.file("file", "");
    let list = |home: &str| holon.run(&["config", "list", "--home", home]);
    list(file.to_str().unwrap()).refused(2, &["is not a folder", "HOLON_HOME"]);
    list("").refused(2, &["--home"]);
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/tmp/\xff");
    let ended: Ended = holon.command(&["config", "list"]).env("HOLON_HOME", odd).output().unwrap().into();
    ended.refused(2, &["HOLON_HOME is not UTF-8"]);
    let ended: Ended =
        holon.command(&["config", "doctor"]).env("HOLON_HOME", "here").output().unwrap().into();
    assert!(ended.stdout.contains("every folder that holon is started in"), "{ended:?}");
}

#[test]
fn two_changes_at_once_are_both_kept() {
    let holon = Holon::new();
    let keys: Vec<String> = (0..12).map(|number| format!("providers.p{number}.stream")).collect();
    let running: Vec<_> = keys.iter().map(|key| holon.spawn(&["config", "set", key, "false"])).collect();
    for child in running {
        fine(child.wait_with_output().unwrap().into());
    }
    for key in &keys {
        assert_eq!(fine(holon.run(&["config", "get", key])).stdout, "false\n");
    }
    let files: Vec<_> = fs::read_dir(holon.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "nothing is left beside: {files:?}");
}

#[test]
fn a_provider_of_ones_own_is_asked_with_its_key() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": format!("echo {KEY}") }))]),
        says(&format!("The key is {KEY}.")),
    ]);
    let holon = Holon::new();
    let set = ["config", "providers", "set", "mine", "--base-url", &provider.url];
    holon.run(&set).refused(2, &["it has no transport"]);
    fine(
        holon.run(&[&set[..], &["--transport", "openai_chat_completions", "--credential", "team"]].concat()),
    );
    let run = ["run", "--json", "--model", "mine/x", "hello"];
    holon.run(&run).refused(2, &["mine/x needs a key", "holon config credentials set team"]);
    let ended = holon.run_with_input(&["config", "credentials", "set", "team", "-"], KEY.as_bytes());
    assert!(!format!("{:?}", fine(ended)).contains("canary"));
    let ended = fine(holon.run(&run));
    assert!(ended.stdout.contains("[redacted:team]") && !ended.stdout.contains("canary"), "{ended:?}");
    let requests = provider.requests();
    assert!(!requests[1].to_string().contains("canary"), "what a command printed is redacted");
    let list = fine(holon.run(&["config", "credentials", "list", "--json"])).json();
    assert_eq!(list["credentials"], json!([{ "name": "team", "set": true, "used_by": ["mine"] }]));
    let shown = fine(holon.run(&["config", "providers", "show", "mine"])).stdout;
    assert!(shown.contains("set (team)") && shown.contains("config.toml:"), "{shown}");
    fine(holon.run(&["config", "providers", "remove", "mine"]));
    holon.run(&["config", "providers", "show", "mine"]).refused(3, &["there is no provider mine"]);
    holon.run(&["config", "providers", "remove", "local"]).refused(3, &["built in"]);
}

#[test]
fn a_transport_that_is_not_spoken_fails_closed_when_it_is_chosen() {
    let holon = holon_with("[providers.codex]\ntransport = \"openai_realtime\"\nbase_url = \"http://h\"\n");
    fine(holon.run(&["run", "--model", "scripted/hello", "hello"]));
    let ended = holon.run(&["run", "--model", "codex/x", "hello"]);
    ended.refused(2, &["openai_realtime", "does not support", "openai_responses, openai_codex_responses"]);
    let doctor = fine(holon.with("HOLON_MODEL", "scripted/hello").run(&["config", "doctor"]));
    assert!(doctor.stdout.contains("warning  providers: codex can't be used"), "{doctor:?}");
}

#[test]
fn keys_come_in_and_never_go_out() {
    let holon = Holon::new();
    let set = |input: &str| {
        holon.run_with_input(&["config", "credentials", "set", "openai", "-"], input.as_bytes())
    };
    set("short").refused(2, &["at least 8 characters"]);
    set("sk-canary with blanks").refused(2, &["no blanks"]);
    let ended = holon.run(&["config", "credentials", "set", "openai", KEY]);
    ended.refused(2, &["never taken from the command line", "openai - < FILE"]);
    assert!(!ended.stderr.contains("canary"));
    holon.run(&["config", "credentials", "set", "openai"]).refused(2, &["no terminal to ask"]);
    holon.run(&["config", "credentials", "remove", "openai"]).refused(3, &["no credential openai"]);
    fine(set(&format!("{KEY}\n")));
    let path = holon.home().join("credentials.toml");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for command in [
        &["config", "list"][..],
        &["config", "doctor"],
        &["config", "credentials", "list"],
        &["config", "providers", "list", "--json"],
        &["config", "providers", "show", "openai", "--json"],
    ] {
        let ended = holon.run(command);
        assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let wide = ["may be read by others (mode 0640)", "chmod 600 "];
    holon.run(&["run", "--model", "scripted/hello", "hello"]).refused(2, &wide);
    holon.run(&["config", "credentials", "list"]).refused(2, &wide);
    set(KEY).refused(2, &wide);
    let doctor = holon.run(&["config", "doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("try: chmod 600 "), "{doctor:?}");
}

#[test]
fn a_key_is_asked_for_without_echo() {
    use std::io::{Read, Write};
    let holon = Holon::new();
    let terminal =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&terminal).unwrap();
    rustix::pty::unlockpt(&terminal).unwrap();
    let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let side = || fs::File::options().read(true).write(true).open(&name).unwrap();
    let mut command = holon.command(&["config", "credentials", "set", "openai"]);
    let mut child = command.stdin(side()).stderr(side()).spawn().unwrap();
    let mut terminal = fs::File::from(terminal);
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"openai: ") {
        terminal.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    terminal.write_all(format!("{KEY}x\x7f\r").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let kept = side();
    terminal.write_all(b"after\n").unwrap();
    while !seen.ends_with(b"after\r\n") {
        terminal.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    drop(kept);
    let seen = String::from_utf8_lossy(&seen).into_owned();
    assert!(!seen.contains("canary"), "{seen:?}: and the echo is back afterwards");
    let stored = fs::read_to_string(holon.home().join("credentials.toml")).unwrap();
    assert_eq!(stored, format!("[credentials.openai]\nkey = \"{KEY}\"\n"));
}

#[test]
fn the_schema_knows_every_key() {
    let holon = Holon::new();
    let schema = fine(holon.run(&["config", "schema"])).json();
    let list = fine(holon.run(&["config", "list", "--json"])).json();
    for value in list["values"].as_array().unwrap() {
        let parts = value["key"].as_str().unwrap().split('.');
        let about = parts.fold(&schema, |within, part| &within["properties"][part]);
        assert!(about["description"].is_string(), "{value} is not in the schema");
    }
}

#[test]
fn a_variable_that_is_wrong_is_told() {
    let wrong = Holon::new().with("HOLON_LOCAL_BASE_URL", "localhost").with("HOLON_MODEL", "scripted/hello");
    let doctor = fine(wrong.run(&["config", "doctor"]));
    assert!(doctor.stdout.contains("local: HOLON_LOCAL_BASE_URL is not an address"), "{doctor:?}");
    let holon = Holon::new().with("HOLON_MODLE", "local/x").with("HOLON_MODEL", "scripted/hello");
    let doctor = fine(holon.run(&["config", "doctor", "--json"])).json();
    let findings = doctor["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == "environment").unwrap();
    assert_eq!((&found["level"], &found["try"]), (&json!("warning"), &json!("unset HOLON_MODLE")));
    assert!(!holon.home().exists(), "looking makes nothing");
}

#[test]
fn passwords_inside_any_address_are_shown_and_stored_nowhere() {
    let holon = Holon::new();
    for (key, address) in [
        ("telemetry.otlp.endpoint", "http://me:canary^one@127.0.0.1:9"),
        ("store.url", "postgres://me:canary-two@127.0.0.1:9/x"),
    ] {
        let set = fine(holon.run(&["config", "set", key, address]));
        assert!(!format!("{set:?}").contains("canary"), "{set:?}");
    }
    let list = fine(holon.run(&["config", "list"]));
    assert!(list.stdout.contains("http://me:[redacted]@127.0.0.1:9"), "{list:?}");
    assert!(!format!("{list:?}").contains("canary"), "{list:?}");
    let prompt = "is it canary^one, canary%5Eone or canary-two?";
    let ended = fine(holon.run(&["run", "--json", "--model", "scripted/hello", prompt]));
    let ledger = fs::read(ended.json()["ledger"].as_str().expect("a path")).expect("a file");
    assert!(!ledger.windows(6).any(|bytes| bytes == b"canary"), "no form of a password is stored");
}
