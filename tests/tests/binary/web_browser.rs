//! The web console in a real browser: every page and action, a runtime that is killed, accessibility, figures
//! (`tests/browser/run.mjs`). Modules of its page that need no browser are run in node alone (`tests/browser/modules.mjs`).
//!
//! `HOLON_BROWSER_PACKAGES` names a folder in which `npm install playwright-core axe-core` has run; `CHROMIUM` a browser
//! other than `/usr/bin/chromium`.

use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::daemon::Daemon;
use end_to_end::http::get;

/// Why the test can't run here.
fn missing(packages: Option<&Path>, chromium: &Path) -> Option<String> {
    let Some(packages) = packages else { return Some("HOLON_BROWSER_PACKAGES is not set".to_owned()) };
    let needed = ["playwright-core", "axe-core"].map(|name| packages.join("node_modules").join(name));
    let absent = needed.iter().map(PathBuf::as_path).chain([chromium]).find(|path| !path.exists());
    if let Some(path) = absent {
        return Some(format!("{} is not there", path.display()));
    }
    without_node()
}

fn without_node() -> Option<String> {
    let node = Command::new("node").arg("--version").output();
    node.is_err().then(|| "node is not there".to_owned())
}

/// One line that is seen although the test passes: what a test prints is kept from whoever runs it.
fn skipped(reason: &str) {
    let written = writeln!(stderr(), "skipped: the web console is not driven in a browser: {reason}");
    written.expect("there is a standard error");
}

#[test]
fn every_page_and_action_works_in_a_browser() {
    let packages = std::env::var_os("HOLON_BROWSER_PACKAGES").map(PathBuf::from);
    let chromium =
        std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    let daemon = Daemon::hello();
    if let Some(reason) = missing(packages.as_deref(), &chromium) {
        return skipped(&reason);
    }
    daemon.start();
    if get(&daemon.run_file("holon.sock"), "/console/session").is_ok_and(|reply| reply.status == 404) {
        return skipped("this build serves no console");
    }
    let metadata = daemon.metadata().expect("it is ready");
    let address = metadata["http_addr"].as_str().expect("an address").to_owned();
    let start = daemon.0.command(&["daemon", "start"]);
    let file = daemon.run_file("daemon.json");
    let pid = format!(r#"sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' '{}'"#, file.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/run.mjs");
    let mut node = Command::new("node");
    for (name, value) in start.get_envs() {
        if let Some(value) = value {
            node.env(name, value);
        }
    }
    let ended = node
        .arg(script)
        .env("PACKAGES", packages.unwrap_or_default())
        .env("CHROMIUM", chromium)
        .env("BASE", format!("http://{address}"))
        .env("LOGIN", daemon.ok(&["console", "--print"]).stdout.trim())
        .env("KILL", format!("kill -9 $({pid})"))
        .env("START", format!("'{}' daemon start --listen {address}", start.get_program().display()))
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&ended.stdout);
    println!("{said}");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn modules_of_the_page_take_hostile_texts_and_streams_that_end() {
    if let Some(reason) = without_node() {
        return skipped(&reason);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/modules.mjs");
    // What never ends takes memory without end.
    let ended = Command::new("node").arg("--max-old-space-size=256").arg(script).output().expect("node runs");
    let said = String::from_utf8_lossy(&ended.stdout);
    println!("{said}");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}
