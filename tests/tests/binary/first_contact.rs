//! The first minute: a key is enough, words need no quotes, a prompt starts the runtime, and `holon` alone says what to do
//! next.

use std::net::TcpListener;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, says};
use end_to_end::{Holon, wait_for};
use serde_json::json;

#[test]
fn holon_alone_shows_how_things_stand_and_three_commands() {
    let holon = Holon::new();
    let alone = holon.run(&[]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    for text in ["none is configured", "does not run", "holon init", "holon demo", "holon config doctor"] {
        assert!(alone.stdout.contains(text), "{text}: {alone:?}");
    }
    assert!(!holon.home().exists(), "it only looks");
    let daemon = Daemon::hello();
    daemon.start();
    let alone = daemon.ok(&["--json"]).json();
    assert_eq!((&alone["model"], &alone["runtime"]["agents"]), (&json!("scripted/hello"), &json!(1)));
    assert_eq!(alone["next"].as_array().map(Vec::len), Some(3), "{alone}");
    daemon.0.run(&["--json", "agent", "list"]).refused(2, &["after the command"]);
}

#[test]
fn a_key_alone_chooses_a_model_and_says_so() {
    let holon = Holon::new().with("OPENAI_API_KEY", "sk-canary-123456");
    let listed = holon.run(&["config", "list"]).stdout;
    let model = listed.lines().find(|line| line.starts_with("model.default")).unwrap();
    assert!(model.contains("openai/gpt-5.1") && model.contains("default for OPENAI_API_KEY"), "{model}");
    assert!(holon.run(&["config", "doctor"]).stdout.contains("openai/gpt-5.1 can be used"));
    // Nobody listens at the proxy: the run fails after it has said what it asks.
    let away = holon.with("HTTPS_PROXY", "http://127.0.0.1:1").run_with_patience();
    assert!(away.stderr.contains("model openai/gpt-5.1, the default for OPENAI_API_KEY"), "{away:?}");
    // A server of one's own has models of its own.
    let own = Holon::new()
        .with("OPENAI_API_KEY", "sk-canary-123456")
        .with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    own.run(&["run", "hi"]).refused(2, &["no model is configured", "OPENAI_API_KEY", "holon init"]);
}

trait Patience {
    fn run_with_patience(&self) -> end_to_end::Ended;
}

impl Patience for Holon {
    /// A run that does not wait for providers that are away.
    fn run_with_patience(&self) -> end_to_end::Ended {
        assert_eq!(self.run(&["config", "set", "run.patience_ms", "0"]).code, Some(0));
        self.run(&["run", "hi"])
    }
}

#[test]
fn words_are_joined() {
    let provider = Provider::start(vec![says("Done."), says("Again.")]);
    let daemon = Daemon::new(&provider);
    let ended = daemon.0.run(&["run", "-q", "fix", "the", "test", "--", "--all"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Done.\n"), "{ended:?}");
    assert!(provider.requests()[0].to_string().contains("fix the test --all"));
    daemon.0.run(&["run"]).refused(2, &["TEXT"]);
    let ended = daemon.0.run(&["prompt", "-q", "--wait", "and", "again"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Again.\n"), "{ended:?}");
}

#[test]
fn a_prompt_starts_the_runtime_unless_it_is_not_to() {
    let daemon = Daemon::hello();
    daemon.0.run(&["prompt", "--no-start", "hi"]).refused(5, &["holon daemon start"]);
    daemon.ok(&["config", "set", "daemon.autostart", "false"]);
    daemon.0.run(&["prompt", "hi"]).refused(5, &["holon daemon start"]);
    daemon.ok(&["config", "unset", "daemon.autostart"]);
    let ended = daemon.ok(&["prompt", "--wait", "hi"]);
    assert!(ended.stdout.starts_with("Hello!") && ended.stderr.contains("started the runtime"), "{ended:?}");
    let again = daemon.ok(&["prompt", "--wait", "hi"]);
    assert!(!again.stderr.contains("started the runtime"), "{again:?}");
    // Commands of an agent start none behind its back.
    daemon.ok(&["daemon", "stop"]);
    let mut inside = daemon.0.command(&["prompt", "hi"]);
    let inside: end_to_end::Ended = inside.env("HOLON_RUNTIME", "1").output().unwrap().into();
    inside.refused(5, &["holon daemon start"]);
    let no_model = Daemon::hello_with(&[("HOLON_MODEL", "")]);
    no_model.0.run(&["prompt", "hi"]).refused(2, &["no model is configured", "holon init"]);
}

#[test]
fn prompts_at_once_start_one_runtime() {
    let daemon = Daemon::hello();
    let prompts: Vec<_> = (0..4).map(|_| daemon.0.spawn(&["prompt", "--wait", "hi"])).collect();
    let ended = prompts.into_iter().map(|child| end_to_end::Ended::from(child.wait_with_output().unwrap()));
    let ended: Vec<_> = ended.collect();
    assert!(ended.iter().all(|ended| ended.code == Some(0)), "{ended:?}");
    let started = ended.iter().filter(|ended| ended.stderr.contains("started the runtime")).count();
    assert_eq!(started, 1, "{ended:?}");
    assert_eq!(daemon.events_of("message_admitted"), 4);
}

#[test]
fn a_second_home_starts_beside_the_first() {
    // Where the default port is free, this test takes it, as another home's runtime would.
    let taken = TcpListener::bind("127.0.0.1:7878");
    let daemon = Daemon(Holon::new().with("HOLON_MODEL", "scripted/hello"));
    daemon.start();
    let address = daemon.metadata().unwrap()["http_addr"].as_str().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:") && !address.ends_with(":7878"), "{address}");
    drop(taken);
    let log = std::fs::read_to_string(daemon.run_file("daemon.log")).unwrap();
    assert!(log.contains("another process listens at 127.0.0.1:7878"), "{log}");
    daemon.ok(&["prompt", "--wait", "hi"]);
}

#[test]
fn an_address_that_leads_to_another_home_is_refused() {
    let (one, other) = (Daemon::hello(), Holon::new());
    one.start();
    let address = one.metadata().unwrap()["http_addr"].as_str().unwrap().to_owned();
    let home = one.0.home().display().to_string();
    let other = other.with("HOLON_HTTP_ADDR", &address).with("HOLON_MODEL", "scripted/hello");
    for command in [&["status"][..], &["prompt", "hi"], &["agent", "list"], &["tail"]] {
        other.run(command).refused(2, &["leads to the runtime at", &home, "unset HOLON_HTTP_ADDR"]);
    }
    let at_home = other.run(&["--home", &home, "status"]);
    assert_eq!(at_home.code, Some(0), "{at_home:?}");
    assert_eq!(one.events_of("message_admitted"), 0);
}

#[test]
fn agents_work_where_they_are_created_and_a_start_offers_the_repository() {
    let daemon = Daemon::hello();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.args(arguments).current_dir(daemon.0.work()).output().unwrap().status.success());
    };
    git(&["init", "-q", "."]);
    let started = daemon.0.run(&["daemon", "start"]);
    let work = daemon.0.work().canonicalize().unwrap().display().to_string();
    assert!(started.stderr.contains(&format!("holon workspace use {work}")), "{started:?}");
    let works_in = |name: &str| {
        let listed = daemon.ok(&["agent", "list", "--json"]).json();
        let agents = listed["agents"].as_array().unwrap().clone();
        let agent = agents.into_iter().find(|agent| agent["agent_id"] == name).unwrap();
        agent["execution"]["cwd"].as_str().unwrap().to_owned()
    };
    daemon.ok(&["agent", "create", "helper"]);
    assert_eq!(works_in("helper"), work);
    daemon.ok(&["agent", "create", "loner", "--own-home"]);
    assert!(works_in("loner").ends_with("agents/loner"));
    daemon.ok(&["workspace", "use", &work, "--agent", "loner"]);
    wait_for("the other folder", || {
        let listed = daemon.ok(&["agent", "list", "--json"]).json();
        let agents = listed["agents"].as_array();
        let loner = agents.and_then(|agents| agents.iter().find(|agent| agent["agent_id"] == "loner"));
        loner.is_some_and(|loner| loner["works_in"] == work.as_str())
    });
    daemon.0.run(&["agent", "create", "both", "--own-home", "--workspace", "."]).refused(2, &["own-home"]);
    daemon.0.run(&["status", "helpr"]).refused(3, &["did you mean helper?"]);
    daemon.0.run(&["task", "list", "--agent", "lonr"]).refused(3, &["did you mean loner?"]);
    wait_for("rest", || daemon.ok(&["agent", "list"]).stdout.contains("idle"));
}

#[test]
fn an_agent_is_created_with_a_model_and_instructions() {
    let provider = Provider::start(vec![says("Aye.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.0.file("guide.md", "Speak like a sailor.\n");
    let create =
        ["agent", "create", "tar", "--model", "local/other", "--instructions", "guide.md", "--own-home"];
    daemon.ok(&create);
    let asked = daemon.0.run(&["prompt", "--agent", "tar", "--wait", "-q", "hello"]);
    assert_eq!(asked.stdout, "Aye.\n", "{asked:?}");
    let body = &provider.requests()[0];
    assert_eq!(body["model"], "other");
    assert!(body.to_string().contains("Speak like a sailor."));
    let file = daemon.0.home().join("agents/tar/AGENTS.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Speak like a sailor.\n");
    // What is there already is somebody's work.
    std::fs::create_dir_all(daemon.0.home().join("agents/late")).unwrap();
    std::fs::write(daemon.0.home().join("agents/late/AGENTS.md"), "Mine.").unwrap();
    daemon.0.run(&["agent", "create", "late", "--instructions", "guide.md"]).refused(2, &["not overwritten"]);
    daemon.0.run(&["agent", "create", "x", "--instructions", "none.md"]).refused(2, &["none.md"]);
    daemon.0.run(&["agent", "create", "x", "--model", "nowhere/x"]).refused(2, &["nowhere"]);
    daemon.0.run(&["status", "x"]).refused(3, &["no agent x"]);
}

/// Texts of other commands are typed without quotes, as prompts are.
#[test]
fn words_of_a_text_are_joined() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["timer", "add", "1h", "look", "at", "the", "build"]);
    assert!(daemon.ok(&["timer", "list"]).stdout.contains("look at the build"));
    daemon.ok(&["work", "add", "fix", "the", "build", "--step", "find it"]);
    assert!(daemon.ok(&["work", "list"]).stdout.contains("fix the build"));
    daemon.ok(&["wake", "the", "build", "failed"]);
    daemon.0.run(&["wake"]).refused(2, &["<REASON>"]);
}
