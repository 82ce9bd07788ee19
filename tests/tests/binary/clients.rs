//! Clients that common generators make of the description, in use with a real runtime. Where the generators are not
//! installed, `shell/src/http/tests/openapi/checks.rs` checks what they need.
//!
//! `HOLON_CLIENT_GENERATORS` names a folder in which `python3 -m venv .`, `bin/pip install openapi-python-client` and
//! `npm install openapi-typescript typescript @types/node` have run.

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::daemon::Daemon;
use end_to_end::http::get;

/// Runs a program that must succeed; gives its output.
fn run(command: &mut Command) -> String {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (output, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{command:?}: {output}{errors}");
    output.into_owned()
}

struct Scene {
    daemon: Daemon,
    tools: PathBuf,
    folder: tempfile::TempDir,
}

impl Scene {
    /// None where no generators are installed.
    fn new() -> Option<Self> {
        let tools = PathBuf::from(std::env::var_os("HOLON_CLIENT_GENERATORS")?);
        let (daemon, folder) = (Daemon::hello(), tempfile::tempdir().expect("a folder"));
        daemon.start();
        let description = get(&daemon.run_file("holon.sock"), "/openapi.json").expect("an answer").body;
        std::fs::write(folder.path().join("openapi.json"), description.to_string()).expect("written");
        Some(Self { daemon, tools, folder })
    }

    /// A file of `fixtures/http/clients` beside what is made.
    fn take(&self, name: &str) -> PathBuf {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/http/clients").join(name);
        let to = self.folder.path().join(name);
        std::fs::copy(from, &to).expect("a copy");
        to
    }

    fn url(&self) -> String {
        let metadata = self.daemon.metadata().expect("it is ready");
        format!("http://{}", metadata["http_addr"].as_str().expect("an address"))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.tools.join(program));
        command.current_dir(self.folder.path());
        command
    }
}

#[test]
fn a_python_client_is_made_and_used() {
    let Some(scene) = Scene::new() else { return };
    let made = ["generate", "--path", "openapi.json", "--output-path", "made", "--meta", "none"];
    let said = run(scene.command("bin/openapi-python-client").args(made));
    assert!(!said.contains("Endpoint will not be generated"), "{said}");
    let program = scene.take("use.py");
    let said = run(scene.command("bin/python").arg(program).arg(scene.url()));
    assert!(!said.trim().is_empty());
}

#[test]
fn typescript_types_are_made_and_used() {
    let Some(scene) = Scene::new() else { return };
    run(scene.command("node_modules/.bin/openapi-typescript").args(["openapi.json", "-o", "made.d.ts"]));
    let program = scene.take("use.ts");
    let roots = scene.tools.join("node_modules/@types");
    let strict = ["--strict", "--target", "es2022", "--module", "commonjs", "--types", "node", "--typeRoots"];
    run(scene.command("node_modules/.bin/tsc").args(strict).arg(roots).arg(program));
    let node = Command::new("node").arg(scene.folder.path().join("use.js")).arg(scene.url()).output();
    let ended = node.expect("node runs");
    assert!(ended.status.success(), "{ended:?}");
}
