//! Servers that want a login: in a browser, kept for one address, renewed, and asked for again when it is over.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use end_to_end::tool_server::{Marks, program};
use end_to_end::{Ended, Holon, wait_for};
use serde_json::json;

/// A server with its own authorization server, in a process that ends with the test.
struct Server {
    process: Child,
    marks: Marks,
    url: String,
}

impl Server {
    fn start(holon: &Holon, words: &[&str]) -> Self {
        let (marks, port) = (Marks::of(holon, "http"), holon.folder().join("port"));
        let mut command = Command::new("python3");
        command.arg(program()).arg("--marks").arg(marks.path()).arg("--http").arg(&port).args(words);
        let process = command.spawn().expect("python3 is there");
        wait_for("the server", || port.exists());
        let url = format!("http://127.0.0.1:{}/mcp", fs::read_to_string(&port).expect("a port"));
        let added = holon.run(&["mcp", "add", "test", "--url", &url]);
        assert_eq!(added.code, Some(0), "{added:?}");
        Self { process, marks, url }
    }

    /// Its operator takes tokens back.
    fn revokes(&self, which: &str) {
        let to = self.url.replace("/mcp", "/revoke");
        let code = "import sys, urllib.request as u; u.urlopen(sys.argv[1], sys.argv[2].encode()).read()";
        let done = Command::new("python3").args(["-c", code, &to, which]).status().expect("python3 is there");
        assert!(done.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().expect("it has ended");
    }
}

/// Logs in with a browser that agrees to everything.
fn log_in(holon: &Holon, words: &[&str]) -> Ended {
    let mut child = holon.spawn(&[&["mcp", "login", "test"], words].concat());
    let mut page = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut page).expect("an address");
    if page.starts_with("http") {
        let code = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())";
        let shown =
            Command::new("python3").args(["-c", code, page.trim()]).output().expect("python3 is there");
        assert!(String::from_utf8_lossy(&shown.stdout).contains("close this page"), "{shown:?}");
    }
    child.stdout = Some(output.into_inner());
    child.wait_with_output().expect("it ends").into()
}

fn echo(holon: &Holon) -> Ended {
    holon.run(&["mcp", "call", "test", "echo", r#"{"text":"hi"}"#, "--json"])
}

fn answers(holon: &Holon) {
    let echoed = echo(holon);
    assert_eq!(echoed.json()["parts"], json!([{ "part": "text", "text": "hi" }]), "{echoed:?}");
}

#[test]
fn a_login_is_kept_renewed_and_asked_for_again() {
    let holon = Holon::new();
    let server = Server::start(&holon, &["--login", "3600"]);
    echo(&holon).refused(5, &["wants a login", "holon mcp login"]);
    let logged_in = log_in(&holon, &[]);
    assert!(logged_in.code == Some(0) && logged_in.stdout.contains("logged in at test"), "{logged_in:?}");
    let marks = &server.marks;
    assert_eq!((marks.count("authorize tools"), marks.count("token authorization_code")), (1, 1));
    answers(&holon);
    let kept = holon.home().join("mcp/logins/test.json");
    assert_eq!(fs::metadata(&kept).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&kept).expect("a file").contains("canary-"));
    let listed = holon.run(&["mcp", "list"]);
    assert!(!format!("{listed:?}{logged_in:?}").contains("canary-"), "{listed:?}");

    // What it was given is taken back: it is renewed, once for all.
    server.revokes("tokens");
    answers(&holon);
    assert_eq!((marks.count("token refresh_token"), marks.count("wrong")), (1, 0));
    server.revokes("all");
    echo(&holon).refused(5, &["wants a login"]);
    log_in(&holon, &[]);
    answers(&holon);

    // It is for this address alone.
    let elsewhere = server.url.replace("127.0.0.1", "localhost");
    assert_eq!(holon.run(&["mcp", "add", "test", "--url", &elsewhere]).code, Some(0));
    echo(&holon).refused(5, &["wants a login"]);
    assert_eq!(holon.run(&["mcp", "add", "test", "--url", &server.url]).code, Some(0));
    answers(&holon);
    let out = holon.run(&["mcp", "logout", "test"]);
    assert!(out.stdout.contains("logged out of test") && !kept.exists(), "{out:?}");
    echo(&holon).refused(5, &["wants a login"]);
    assert!(holon.run(&["mcp", "logout", "test"]).stdout.contains("nobody was logged in"));
}

#[test]
fn a_token_that_ends_is_renewed_by_whoever_needs_it_first() {
    let holon = Holon::new();
    let server = Server::start(&holon, &["--login", "1"]);
    assert_eq!(log_in(&holon, &[]).code, Some(0));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| answers(&holon));
        }
    });
    assert!(server.marks.count("token refresh_token") > 0);
    assert_eq!(server.marks.count("wrong"), 0, "nobody used what another one had used up");
}

/// The browser is on another machine: what it ends at is pasted.
#[test]
fn the_address_at_which_a_browser_ends_is_pasted() {
    let holon = Holon::new();
    let _server = Server::start(&holon, &["--login", "3600"]);
    let mut command = holon.command(&["mcp", "login", "test", "--print", "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary starts");
    let mut page = String::new();
    let mut notes = BufReader::new(child.stderr.take().expect("its notes"));
    notes.read_line(&mut page).expect("an address");
    let code = "import sys, urllib.request as u
class Stay(u.HTTPRedirectHandler):
    def http_error_302(self, request, answer, code, message, headers):
        print(headers['location'])
        return answer
u.build_opener(Stay).open(sys.argv[1])";
    let ends = Command::new("python3").args(["-c", code, page.trim()]).output().expect("python3 is there");
    let mut stdin = child.stdin.take().expect("a pipe");
    let others = b"what is this?\nhttp://127.0.0.1:1/callback?error=access_denied&state=of-another\n";
    stdin.write_all(others).and_then(|()| stdin.write_all(&ends.stdout)).expect("it is read");
    child.stderr = Some(notes.into_inner());
    let ended: Ended = child.wait_with_output().expect("it ends").into();
    assert_eq!(ended.json(), json!({ "server": "test", "logged_in": true }), "{ended:?}");
    assert!(ended.stderr.contains("an address of another login was passed over"), "{ended:?}");
    answers(&holon);
}

#[test]
fn whoever_can_not_be_let_in_is_shown_why() {
    let holon = Holon::new();
    let server = Server::start(&holon, &["--login", "60", "--declines"]);
    let declined = log_in(&holon, &[]);
    declined.refused(1, &["nobody is logged in at test: not today (access_denied)"]);
    assert!(!holon.home().join("mcp/logins/test.json").exists());
    let another = Holon::new();
    let open = Server::start(&another, &[]);
    assert_eq!(holon.run(&["mcp", "add", "open", "--url", &open.url]).code, Some(0));
    holon.run(&["mcp", "login", "open"]).refused(1, &["the server wants no login"]);
    let added = holon.run(&["mcp", "add", "files", "--", "true"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    holon.run(&["mcp", "login", "files"]).refused(2, &["files is a program"]);
    drop(server);
    holon.run(&["mcp", "login", "test"]).refused(1, &["nobody is logged in at test"]);
}
