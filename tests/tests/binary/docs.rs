//! What the documentation shows is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, says};
use end_to_end::{Holon, binary};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fenced blocks of one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_commands_of_the_readme_work() {
    let readme = page("README.md");
    let shell = blocks(&readme, "sh");
    let with_holon: Vec<_> = shell.iter().filter(|block| block.contains("holon run")).collect();
    assert_eq!(with_holon.len(), 2, "a block was added: run it here");
    for block in with_holon {
        let provider = Provider::start([says("The test is right, the code is not.")]);
        let holon = Holon::new();
        for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "start"]] {
            let git = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(arguments)
                .current_dir(holon.work())
                .status()
                .unwrap();
            assert!(git.success());
        }
        let script = block.replace("http://127.0.0.1:11434/v1", &provider.url);
        let script = format!("set -e\nexport OPENAI_BASE_URL={}\n{script}", provider.url);
        let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(holon.work())
            .env("PATH", path)
            .env("HOLON_HOME", holon.home())
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}\n{output:?}");
        let report = fs::read_to_string(holon.work().join("report.json")).unwrap_or_default();
        let said = format!("{}{report}", String::from_utf8_lossy(&output.stdout));
        assert!(said.contains("The test is right"), "{said}");
    }
}

#[test]
fn the_configuration_of_the_docs_is_accepted() {
    let docs = page("docs/configuration.md");
    for example in blocks(&docs, "toml") {
        let holon = Holon::new().with("OPENAI_API_KEY", "a-key-that-is-not-used");
        fs::create_dir(holon.home()).unwrap();
        fs::write(holon.home().join("config.toml"), example).unwrap();
        let ended = holon.run(&["run", "--model", "scripted/hello", "hello"]);
        assert_eq!(ended.code, Some(0), "{example}\n{ended:?}");
    }
}

#[test]
fn the_budgets_of_the_docs_are_accepted() {
    for example in blocks(&page("docs/budgets.md"), "toml") {
        let holon = Holon::new();
        fs::create_dir(holon.home()).unwrap();
        fs::write(holon.home().join("config.toml"), example).unwrap();
        let listed = holon.run(&["config", "list", "--json"]).json();
        assert_eq!(listed["problems"], serde_json::json!([]), "{listed}");
    }
}

#[test]
fn the_ledger_commands_of_the_docs_work() {
    let docs = page("docs/ledger.md");
    let holon = Holon::new();
    let run = ["run", "--model", "scripted/hello", "--agent", "main", "--create-agent", "hello"];
    assert_eq!(holon.run(&run).code, Some(0));
    let examples = blocks(&docs, "sh");
    assert_eq!(examples.len(), 1, "a block was added: run it here");
    let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
    let output = Command::new("sh")
        .args(["-c", &format!("set -e\n{}", examples[0])])
        .current_dir(holon.work())
        .env("PATH", path)
        .env("HOLON_HOME", holon.home())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = |name: &str| fs::read_to_string(holon.work().join(name)).unwrap().lines().count();
    assert!(0 < lines("records.jsonl") && lines("records.jsonl") < lines("ledger.jsonl"));
    for command in ["export", "verify", "replay"] {
        let help = holon.run(&["ledger", command, "--help"]).stdout;
        for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let shown =
                !option.starts_with("--") || option.len() < 3 || ["--help", "--home"].contains(&option);
            assert!(shown || docs.contains(option), "docs/ledger.md does not name {option}");
        }
    }
}

#[test]
fn the_backup_of_the_docs_is_made_and_restored() {
    let docs = page("docs/backup.md");
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    fs::create_dir(daemon.0.work().join("backups")).unwrap();
    let examples = blocks(&docs, "sh");
    assert_eq!(examples.len(), 1, "a block was added: run it here");
    let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
    let script = format!("set -e\n{}\nholon --home restored daemon stop", examples[0]);
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(daemon.0.work())
        .env("PATH", path)
        .env("HOLON_HOME", daemon.0.home())
        .env("HOLON_MODEL", "scripted/hello")
        .env("HOLON_HTTP_ADDR", "127.0.0.1:0")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    daemon.0.check_ledger(&daemon.0.work().join("restored/ledger.sqlite3"));
    for command in ["backup", "restore"] {
        let help = Holon::new().run(&["ledger", command, "--help"]).stdout;
        for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let common = ["--help", "--home", "--json"].contains(&option);
            let shown = !option.starts_with("--") || option.len() < 3 || common;
            assert!(shown || docs.contains(option), "docs/backup.md does not name {option}");
        }
    }
}

#[test]
fn the_bundle_of_the_docs_is_made_and_replayed() {
    let docs = page("docs/bundles.md");
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    let examples = blocks(&docs, "sh");
    assert_eq!(examples.len(), 1, "a block was added: run it here");
    let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
    let output = Command::new("sh")
        .args(["-c", &format!("set -e\n{}", examples[0])])
        .current_dir(daemon.0.work())
        .env("PATH", path)
        .env("HOLON_HOME", daemon.0.home())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for command in
        [&["agent", "bundle"][..], &["bundle", "inspect"], &["bundle", "verify"], &["bundle", "replay"]]
    {
        let help = Holon::new().run(&[command, &["--help"]].concat()).stdout;
        for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let common = ["--help", "--home", "--output"].contains(&option);
            let shown = !option.starts_with("--") || option.len() < 3 || common;
            assert!(shown || docs.contains(option), "docs/bundles.md does not name {option}");
        }
    }
}

#[test]
fn the_traces_of_the_docs_are_exported() {
    let docs = page("docs/operations/traces.md");
    let holon = Holon::new();
    let run = ["run", "--model", "scripted/hello", "--agent", "main", "--create-agent", "hello"];
    assert_eq!(holon.run(&run).code, Some(0));
    let examples = blocks(&docs, "sh");
    assert_eq!(examples.len(), 1, "a block was added: run it here");
    let path = format!("{}:{}", binary().parent().unwrap().display(), env!("PATH"));
    let output = Command::new("sh")
        .args(["-c", &format!("set -e\n{}", examples[0])])
        .current_dir(holon.work())
        .env("PATH", path)
        .env("HOLON_HOME", holon.home())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let traces = fs::read_to_string(holon.work().join("traces.jsonl")).unwrap();
    assert_eq!(traces.lines().filter(|line| line.contains("invoke_agent")).count(), 1, "{traces}");
}

#[test]
fn the_scenario_of_the_docs_plays() {
    let docs = page("docs/scenarios.md");
    for example in blocks(&docs, "json") {
        let holon = Holon::new();
        let file = holon.file("scenario.json", example);
        let ended =
            holon.run(&["run", "--json", "--model", &format!("scripted/{}", file.display()), "look around"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let report = ended.json();
        assert_eq!(report["final_text"], "There is a README.");
        assert_eq!(report["provider_attempt_timeline"]["attempts"][0]["outcome"], "retrying");
    }
}

#[test]
fn the_docs_name_what_the_help_names() {
    let help = Holon::new().run(&["run", "--help"]).stdout;
    let run = page("docs/run.md");
    let known = ["--help", "--agent", "--json"];
    for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
        let option = Some(option).filter(|option| option.starts_with("--") && option.len() > 2);
        assert!(option.is_none_or(|option| known.contains(&option) || run.contains(option)), "{option:?}");
    }
    let readme = page("README.md");
    let help = ["run", "prompt", "tail", "demo"]
        .map(|command| Holon::new().run(&[command, "--help"]).stdout)
        .concat();
    let words = readme.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    for word in words.filter(|word| word.starts_with("--") && word.ends_with(char::is_alphabetic)) {
        let known = help.contains(word) || ["--release", "--workspace", "--stat", "--path"].contains(&word);
        assert!(known, "README names {word}, which these commands do not have");
    }
}

/// What the blocks of commands of a page print, one after the other, in the home of a daemon.
fn said(name: &str, daemon: &Daemon) -> String {
    let docs = page(name);
    let blocks = blocks(&docs, "sh");
    let path = format!("{}:{}", binary().parent().expect("a folder").display(), env!("PATH"));
    let output = Command::new("sh")
        .args(["-c", &format!("set -e\n{}", blocks.concat())])
        .current_dir(daemon.0.work())
        .env("PATH", path)
        .env("HOLON_HOME", daemon.0.home())
        .env("HOLON_MODEL", "scripted/hello")
        .env("HOLON_HTTP_ADDR", "127.0.0.1:0")
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn has(said: &str, texts: &[&str]) {
    for text in texts {
        assert!(said.contains(text), "{text} is not in {said}");
    }
}

#[test]
fn the_commands_of_the_daemon_page_work() {
    let said = said("docs/daemon.md", &Daemon::hello());
    has(&said, &["started: process", "Hello! I am a scripted model", "created helper", "result: Hello!"]);
    has(&said, &["stopped: process", "helper is called reviewer", "reviewer is archived", "archived"]);
}

#[test]
fn the_commands_of_the_debug_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    let said = said("docs/debug.md", &daemon);
    has(&said, &["the next one; nothing was sent", "op_2 of turn 1, round 1", "── current_input"]);
    has(&said, &["TURN  BEGAN", "completed", "1 (run_1 for msg_1)", "round 1", "scripted/hello: "]);
    has(&said, &["./14-main-", "./decided/14-main-"]);
}

#[test]
fn the_commands_of_the_tasks_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/tasks.md", &daemon);
    has(&said, &["task_1\n", "it ended with 1\none\ntwo\n", "4 bytes were written to task_2", "1 under way"]);
    has(&said, &["task_2 is cancelling", "Hello Ada\nit ended with 130\n", "cancelled since"]);
}

#[test]
fn the_commands_of_the_work_items_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/work-items.md", &daemon);
    has(&said, &["work_1\n", "0/2", "rotate the keys", "pending: list them", "work_1 is completed\n"]);
}

#[test]
fn the_commands_of_the_timers_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/timers.md", &daemon);
    has(&said, &["timer_1 fires at", "timer_2 fires at", "look at the build", "timer_2 is cancelled\n"]);
}

#[test]
fn the_commands_of_the_waits_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/waits.md", &daemon);
    has(&said, &["the hint for main is triggered\n", "posture"]);
}

#[test]
fn the_commands_of_the_triggers_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/triggers.md", &daemon);
    has(
        &said,
        &["generation 1", "generation 2", "revoked since", "generation 3", "/callbacks/wake/main.3.hwt_"],
    );
}

#[test]
fn the_commands_of_the_budgets_page_work() {
    let daemon = Daemon::hello();
    let said = said("docs/budgets.md", &daemon);
    has(&said, &["openai/gpt-5", "$1.25", "listed 20"]);
}

#[test]
fn the_commands_of_the_templates_page_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let said = said("docs/templates.md", &daemon);
    has(&said, &["# Reviewer", "created reviewer", "triage can be used", "built_in"]);
}

#[test]
fn the_commands_of_the_confinement_page_work() {
    let daemon = Daemon::hello();
    let said = said("docs/confinement.md", &daemon);
    has(&said, &["execution.profile", "/home/me/.cargo/registry", "execution: confined", "network enforced"]);
}

#[test]
fn the_pages_of_what_agents_have_name_what_the_help_names() {
    let holon = Holon::new();
    let known = ["--help", "--home"];
    let tasks: &[&str] = &["list", "run", "status", "output", "input", "stop"];
    for (name, group, commands) in [
        ("docs/tasks.md", "task", tasks),
        ("docs/timers.md", "timer", &["list", "add", "cancel"]),
        ("docs/triggers.md", "trigger", &["show", "rotate", "revoke"]),
        ("docs/work-items.md", "work", &["list", "add", "show", "complete"]),
        ("docs/templates.md", "template", &["list", "show", "check"]),
    ] {
        let docs = page(name);
        for command in commands {
            let help = holon.run(&[group, command, "--help"]).stdout;
            for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
                let shown = !option.starts_with("--") || option.len() < 3 || known.contains(&option);
                assert!(shown || docs.contains(option), "{name} does not name {option} of {command}");
            }
        }
    }
}

#[test]
fn the_daemon_page_names_what_the_help_names() {
    let docs = page("docs/daemon.md");
    let holon = Holon::new();
    let known = ["--help", "--home", "--version"];
    for command in [&["serve"][..], &["daemon", "start"], &["daemon", "stop"], &["prompt"], &["tail"]] {
        let help = holon.run(&[command, &["--help"]].concat()).stdout;
        for option in help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let option = Some(option).filter(|option| option.starts_with("--") && option.len() > 2);
            let named = |option: &str| docs.contains(option) || known.contains(&option);
            assert!(option.is_none_or(named), "{command:?} {option:?}");
        }
    }
}

/// Links between pages lead somewhere.
#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = Vec::new();
    for folder in [".", "docs", "docs/guides"] {
        for entry in fs::read_dir(root.join(folder)).expect("the pages") {
            let name = entry.expect("a page").file_name().into_string().expect("text");
            if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    assert!(names.len() > 30, "{names:?}");
    for name in &names {
        let text = page(name);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") || link.starts_with('#') {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = root.join(name);
            let target = target.parent().unwrap().join(file);
            assert!(target.exists(), "{name} links to {link}, which does not exist");
            let headings = || anchors(&fs::read_to_string(&target).unwrap());
            assert!(
                heading.is_empty() || headings().contains(heading),
                "{name} links to {link}: no such heading"
            );
        }
    }
}

/// The names under which the headings of a page are linked.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    let names = headings.map(|heading| heading.trim_start_matches('#').trim().to_lowercase());
    names.map(|name| name.chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}
