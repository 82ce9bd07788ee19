//! Commands beside a runtime: they name the home that was named, need no configuration of their own, and wait as
//! long as they were told to.

use std::process::Command;

use end_to_end::binary;
use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, fails, says};

/// Another home, whose runtime ends with its test.
struct Another<'a> {
    daemon: &'a Daemon,
    home: String,
}

impl Drop for Another<'_> {
    fn drop(&mut self) {
        self.daemon.0.run(&["--home", &self.home, "daemon", "stop", "--wait", "20"]);
    }
}

/// What is suggested after the error, as it stands there.
fn hint(stderr: &str) -> &str {
    let hint = stderr.lines().find_map(|line| line.trim().strip_prefix("try: "));
    hint.unwrap_or_else(|| panic!("no hint in {stderr}"))
}

#[test]
fn a_hint_names_the_home_that_a_flag_named_and_works_as_it_stands() {
    let daemon = Daemon::hello();
    let home = daemon.0.folder().join("another home").display().to_string();
    let another = Another { daemon: &daemon, home };
    let home = another.home.as_str();
    let ended = daemon.0.run(&["--home", home, "agent", "stop", "main"]);
    ended.refused(5, &[]);
    let start = hint(&ended.stderr).to_owned();
    assert_eq!(start, format!("holon --home '{home}' daemon start"));
    let shell = |command: &str| {
        let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
        let ended = Command::new("sh")
            .args(["-c", command])
            .current_dir(daemon.0.folder())
            .env_clear()
            .env("HOME", daemon.0.folder())
            .env("PATH", path)
            .env("HOLON_HOME", daemon.0.home())
            .env("HOLON_MODEL", "scripted/hello")
            .env("HOLON_HTTP_ADDR", "127.0.0.1:0")
            .output();
        end_to_end::Ended::from(ended.unwrap())
    };
    let started = shell(&start);
    assert_eq!(started.code, Some(0), "{started:?}");
    let nobody = daemon.0.run(&["--home", home, "status", "helper"]);
    nobody.refused(3, &[]);
    let create = hint(&nobody.stderr).trim_start_matches("create it: ");
    assert_eq!(create, format!("holon --home '{home}' agent create helper"));
    let created = shell(create);
    let relative = daemon.0.command(&["--home", "../another home", "status", "nobody"]);
    let relative = end_to_end::Ended::from({ relative }.output().unwrap());
    let stopped = daemon.0.run(&["--home", home, "daemon", "stop"]);
    assert_eq!((created.code, stopped.code), (Some(0), Some(0)), "{created:?} {stopped:?}");
    assert!(hint(&relative.stderr).contains("holon --home '/"), "{relative:?}");
    let unnamed = daemon.0.run(&["agent", "stop", "main"]);
    assert_eq!(hint(&unnamed.stderr), "holon daemon start");
}

#[test]
fn a_run_beside_a_runtime_needs_no_configuration_of_its_own() {
    let provider = Provider::start([says("First."), says("Second."), says("Third."), says("Fourth.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["run", "--agent", "worker", "--create-agent", "one"]);
    for (broken, answer, told) in [
        ("model.default = 'none'", "Second.\n", None),
        ("no table [", "Third.\n", Some("config.toml")),
        ("[run]\nidle_limit_ms = \"soon\"", "Fourth.\n", Some("run.idle_limit_ms")),
    ] {
        std::fs::write(daemon.0.home().join("config.toml"), broken).unwrap();
        let ended = daemon.ok(&["run", "--agent", "worker", "go on"]);
        assert_eq!(ended.stdout, answer);
        let problem = ended.stderr.lines().find(|line| line.contains("config.toml"));
        assert_eq!(problem.is_some(), told.is_some(), "{ended:?}");
        assert!(told.is_none_or(|told| problem.is_some_and(|line| line.contains(told))), "{ended:?}");
    }
    daemon.0.run(&["run", "one shot"]).refused(2, &["config.toml"]);
}

/// The hold after an outage is 30 s, which is less than what is waited for unless something else is configured.
#[test]
fn a_wait_beside_a_runtime_ends_as_configured() {
    for command in
        [&["prompt", "--wait=settled", "--json", "go"][..], &["run", "--json", "--agent", "main", "go"]]
    {
        let away = || fails(503, "away");
        let provider = Provider::start([away(), away(), away(), says("After the hold.")]);
        let daemon = Daemon::new(&provider);
        daemon.ok(&["config", "set", "run.idle_limit_ms", "1000"]);
        daemon.start();
        let ended = daemon.0.run(command);
        assert_eq!(ended.json()["verdict"], "waiting_for_timer", "{ended:?}");
    }
}
