//! A model that does what it is told, word by word, and the folders in which it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::provider::{Reply, calls, says};

/// What a message tells the model to call: `do:` and the calls.
pub fn told(calls: &[(&str, Value)]) -> String {
    format!("do:{}", json!(calls))
}

/// The messages of the turn in progress: those before it are of turns that are over.
pub fn turn(request: &Value) -> &[Value] {
    let messages = request["messages"].as_array().expect("messages");
    let begins = |message: &Value| {
        let text = message["content"].as_str().unwrap_or_default();
        message["role"] == "user" && text.contains("[message msg_") && text.contains(" | received ")
    };
    let first = messages.iter().rposition(begins).expect("an input");
    &messages[first..]
}

/// What the turn is for: what was said before stands above it.
pub fn input(request: &Value) -> &str {
    let text = turn(request)[0]["content"].as_str().expect("a text");
    text.rsplit("[message msg_").next().unwrap_or_default()
}

/// How often the model has spoken in the turn.
pub fn round(request: &Value) -> usize {
    turn(request).iter().filter(|message| message["role"] == "assistant").count()
}

/// A model that calls what it is told, and says what came of it.
pub fn obedient(request: &Value) -> Reply {
    let of = |role: &'static str| turn(request).iter().filter(move |message| message["role"] == role);
    if of("assistant").next().is_some() {
        let results: Vec<String> = of("tool").map(|result| result["content"].to_string()).collect();
        return says(&results.join("\n"));
    }
    let asked = input(request);
    // A result names what it is the result of.
    let told = asked.split_once("do:").filter(|(heading, _)| !heading.contains("kind task_result"));
    let told = told.map(|(_, told)| serde_json::Deserializer::from_str(told));
    let told = told.and_then(|told| told.into_iter::<Vec<(String, Value)>>().next());
    let Some(Ok(told)) = told else { return says("nothing is asked for") };
    let told: Vec<(&str, Value)> =
        told.iter().map(|(tool, arguments)| (tool.as_str(), arguments.clone())).collect();
    calls(&told)
}

/// What came of these calls. Their tasks may go on.
pub fn asks(daemon: &Daemon, agent: &str, calls: &[(&str, Value)]) -> String {
    let ended = daemon.0.run(&["prompt", "--wait", "--agent", agent, &told(calls)]);
    assert!(matches!(ended.code, Some(0 | 7)), "{ended:?}");
    ended.stdout
}

/// The real path of a new folder.
pub fn folder(place: &Path, name: &str) -> PathBuf {
    let folder = place.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder.canonicalize().expect("a folder")
}

/// A repository with one commit.
pub fn repository(place: &Path, name: &str) -> PathBuf {
    let top = folder(place, name);
    git(&top, &["init", "-q", "-b", "main"]);
    fs::write(top.join("README"), "first\n").expect("a file");
    git(&top, &["add", "."]);
    git(&top, &["commit", "-q", "-m", "first"]);
    top
}

/// What git prints.
pub fn git(at: &Path, arguments: &[&str]) -> String {
    let own = ["-c", "user.name=x", "-c", "user.email=x@x"];
    let done = Command::new("git").arg("-C").arg(at).args(own).args(arguments).output().expect("git");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).expect("text")
}
