//! A shell offers the names of the living runtime, in a real bash.

use std::process::Command;

use end_to_end::daemon::Daemon;

/// What bash offers for the last of these words.
fn offered(daemon: &Daemon, words: &str) -> Vec<String> {
    let binary = end_to_end::binary();
    let script = r#"
        source <(holon completions bash)
        COMP_WORDS=(holon $WORDS); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9
        _clap_complete_holon holon "${COMP_WORDS[COMP_CWORD]}" ""
        printf '%s\n' "${COMPREPLY[@]}""#;
    let folder = daemon.0.folder().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join("holon");
    if !link.exists() {
        std::os::unix::fs::symlink(binary, &link).expect("a link");
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script]).env("PATH", path).env("WORDS", words);
    bash.env("HOLON_HOME", daemon.0.home()).env("HOME", daemon.0.folder());
    let ended = bash.output().expect("bash starts");
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn names_of_the_runtime_and_of_the_settings_are_offered() {
    let daemon = Daemon::hello();
    assert_eq!(offered(&daemon, "status he"), [""], "nobody answers");
    daemon.start();
    daemon.ok(&["agent", "create", "helper", "--own-home"]);
    daemon.ok(&["task", "run", "true"]);
    assert_eq!(offered(&daemon, "status he"), ["helper"]);
    assert_eq!(offered(&daemon, "prompt --agent ma"), ["main"]);
    assert_eq!(offered(&daemon, "task output task_"), ["task_1"]);
    assert_eq!(offered(&daemon, "task output --agent main task_"), ["task_1"]);
    assert_eq!(offered(&daemon, "task output --agent helper task_"), [""], "it has none");
    let other = daemon.0.folder().join("other");
    assert_eq!(offered(&daemon, &format!("--home {} status he", other.display())), [""], "nobody is there");
    assert_eq!(offered(&daemon, &format!("--home={} status he", other.display())), [""], "nobody is there");
    assert_eq!(offered(&daemon, "config get daemon."), ["daemon.autostart"]);
    assert_eq!(offered(&daemon, "config set daemon.autostart t"), ["true"]);
    assert_eq!(offered(&daemon, "config set model.default scripted/h"), ["scripted/hello"]);
    assert!(offered(&daemon, "run --model openai/gpt-5").contains(&"openai/gpt-5.1".to_owned()));
    assert_eq!(offered(&daemon, "run --model scr"), ["scripted/demo", "scripted/hello"]);
    assert!(offered(&daemon, "daem").contains(&"daemon".to_owned()));
}
