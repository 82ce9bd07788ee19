//! The web console as a browser meets it: its files, the login with a link, and what its session may do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use serde_json::{Value, json};

const TOKEN: &str = "a-control-token-of-a-test";

/// A reply over TCP.
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{} {:?}", self.head, self.body))
    }

    #[track_caller]
    pub(super) fn fails(&self, status: u16, code: &str) {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{body}");
    }
}

fn address(daemon: &Daemon) -> String {
    daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("an address").to_owned()
}

/// Opens a connection and sends one request; `Host` is the address unless another one is given.
pub(super) fn connect(
    daemon: &Daemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> TcpStream {
    let address = address(daemon);
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let body = body.map(Value::to_string).unwrap_or_default();
    let own = if headers.iter().any(|(name, _)| *name == "Host") {
        String::new()
    } else {
        format!("Host: {address}\r\n")
    };
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{own}Connection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    stream
}

pub(super) fn send(
    daemon: &Daemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Reply {
    let mut answer = Vec::new();
    connect(daemon, method, path, headers, body).read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(answer[..end].to_vec()).expect("text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Reply { status, head, body: answer.split_off(end + 4) }
}

pub(super) fn get(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> Reply {
    send(daemon, "GET", path, headers, None)
}

/// A browser that is logged in.
pub(super) struct Browser {
    cookie: String,
    pub(super) csrf: String,
    session_id: String,
}

fn link(daemon: &Daemon) -> String {
    let link = daemon.ok(&["console", "--print"]).stdout.trim().to_owned();
    let begin = format!("http://{}/console/#login=", address(daemon));
    link.strip_prefix(&begin).unwrap_or_else(|| panic!("{link}")).to_owned()
}

fn login(daemon: &Daemon, token: &str, headers: &[(&str, &str)]) -> Reply {
    send(daemon, "POST", "/console/login", headers, Some(&json!({ "token": token })))
}

impl Browser {
    pub(super) fn log_in(daemon: &Daemon) -> Self {
        let origin = format!("http://{}", address(daemon));
        let headers = [("Origin", origin.as_str()), ("User-Agent", "Test\u{7}browser/1.0")];
        let reply = login(daemon, &link(daemon), &headers[..1]);
        assert_eq!(reply.status, 200, "{}", reply.head);
        let cookie = reply.header("set-cookie").expect("a cookie").to_owned();
        for part in ["holon_session_", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains("Secure"), "it would not be sent over plain HTTP");
        let pair = cookie.split(';').next().expect("a pair").to_owned();
        let body = reply.json();
        let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
        assert!(!body.to_string().contains(pair.split('=').nth(1).expect("a secret")), "{body}");
        Self { cookie: pair, csrf: text("csrf"), session_id: text("session_id") }
    }

    pub(super) fn get(&self, daemon: &Daemon, path: &str) -> Reply {
        get(daemon, path, &[("Cookie", &self.cookie), ("Sec-Fetch-Site", "same-origin")])
    }

    pub(super) fn post(&self, daemon: &Daemon, path: &str, more: &[(&str, &str)]) -> Reply {
        let mut headers = vec![("Cookie", self.cookie.as_str())];
        headers.extend(more);
        send(daemon, "POST", path, &headers, Some(&json!({})))
    }
}

/// A runtime where everybody on TCP needs the token.
fn asking_for_a_token() -> Daemon {
    let daemon = Daemon::hello_with(&[("HOLON_CONTROL_TOKEN", TOKEN)]);
    daemon.start();
    daemon
}

#[test]
fn the_page_and_its_files_are_served_to_everybody() {
    let daemon = asking_for_a_token();
    assert!(holon_web::ASSETS.len() > 2);
    for file in holon_web::ASSETS {
        let path = format!("/console/{}", file.path);
        let plain = get(&daemon, &path, &[]);
        assert_eq!(plain.status, 200, "{path}");
        assert_eq!(plain.body, file.unpacked().expect("it is whole").as_ref(), "{path}");
        assert_eq!(plain.header("content-type"), Some(file.content_type()), "{path}");
        let policy = plain.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-cache"),
            ("vary", "Accept-Encoding"),
        ] {
            assert_eq!(plain.header(name), Some(value), "{path}");
        }
        assert!(plain.header("set-cookie").is_none());

        let packed = get(&daemon, &path, &[("Accept-Encoding", "gzip, br")]);
        let encoding = file.is_packed.then_some("gzip");
        assert_eq!(
            (packed.header("content-encoding"), packed.body.as_slice()),
            (encoding, file.stored),
            "{path}"
        );
        let tag = packed.header("etag").expect("a tag").to_owned();
        assert_eq!(Some(tag.as_str()) == plain.header("etag"), !file.is_packed, "{path}");
        let known = get(&daemon, &path, &[("Accept-Encoding", "gzip, br"), ("If-None-Match", &tag)]);
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(tag.as_str())));
        assert!(known.header("content-security-policy").is_some());
        let head = send(&daemon, "HEAD", &path, &[], None);
        let length = head.header("content-length").and_then(|length| length.parse().ok());
        assert_eq!((head.status, head.body.len(), length), (200, 0, Some(file.bytes)), "{path}");
    }
    let index = holon_web::asset("index.html").expect("a page").unpacked().expect("it is whole");
    assert_eq!(get(&daemon, "/console/", &[]).body, index.as_ref());
    let moved = get(&daemon, "/console", &[]);
    assert_eq!((moved.status, moved.header("location")), (308, Some("/console/")));
    for path in [
        "/console/nothing.js",
        "/console/../Cargo.toml",
        "/console/%2e%2e/Cargo.toml",
        "/console//index.html",
    ] {
        get(&daemon, path, &[]).fails(404, "unknown_route");
    }
    send(&daemon, "POST", "/console/index.html", &[], None).fails(405, "method_not_allowed");
    get(&daemon, "/console/", &[("Host", "rebound.example")]).fails(403, "forbidden_origin");
}

#[test]
fn a_link_logs_in_once_and_its_token_is_in_no_log() {
    let daemon = asking_for_a_token();
    get(&daemon, "/console/session", &[]).fails(401, "missing_token");
    for wrong in ["no", "", TOKEN] {
        login(&daemon, wrong, &[]).fails(401, "wrong_token");
    }
    let token = link(&daemon);
    login(&daemon, &token, &[("Host", "rebound.example")]).fails(403, "forbidden_origin");
    login(&daemon, &token, &[("Origin", "http://localhost:3000")]).fails(403, "forbidden_origin");
    let unread = send(&daemon, "POST", "/console/login", &[], Some(&json!({ "token": token, "more": 1 })));
    unread.fails(400, "invalid_body");
    assert_eq!(login(&daemon, &token, &[]).status, 200);
    login(&daemon, &token, &[]).fails(401, "wrong_token");

    let browser = Browser::log_in(&daemon);
    let session = browser.get(&daemon, "/console/session").json();
    assert_eq!(
        (&session["session_id"], &session["csrf"]),
        (&json!(browser.session_id), &json!(browser.csrf))
    );
    assert_eq!(session["home_dir"], json!(daemon.0.home()));
    daemon.ok(&["daemon", "stop"]);
    let secret = browser.cookie.split('=').nth(1).expect("a secret");
    for file in ["run/daemon.log", "run/console.json", "ledger.sqlite3", "ledger.sqlite3-wal"] {
        let kept = std::fs::read(daemon.0.home().join(file)).unwrap_or_default();
        for hidden in [token.as_str(), secret, &browser.csrf] {
            let found = kept.windows(hidden.len()).any(|bytes| bytes == hidden.as_bytes());
            assert!(!found, "{file} has a secret");
        }
    }
}

#[test]
fn a_session_does_what_the_token_does_from_its_own_page_alone() {
    let daemon = asking_for_a_token();
    let browser = Browser::log_in(&daemon);
    assert_eq!(browser.get(&daemon, "/agents/list").status, 200);
    let stop = "/control/runtime/shutdown";
    browser.post(&daemon, stop, &[]).fails(403, "wrong_csrf");
    browser.post(&daemon, stop, &[("x-holon-csrf", &browser.csrf[1..])]).fails(403, "wrong_csrf");
    let other = Browser::log_in(&daemon);
    browser.post(&daemon, stop, &[("x-holon-csrf", &other.csrf)]).fails(403, "wrong_csrf");
    let made = "/control/agents/helper/create";
    let csrf = ("x-holon-csrf", browser.csrf.as_str());
    for strange in [
        ("Origin", "http://localhost:3000"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Host", "rebound.example"),
    ] {
        browser.post(&daemon, made, &[csrf, strange]).fails(403, "forbidden_origin");
        let read = get(&daemon, "/agents/list", &[("Cookie", &browser.cookie), strange]);
        read.fails(403, "forbidden_origin");
    }
    let origin = format!("http://{}", address(&daemon));
    let reply = browser.post(&daemon, made, &[csrf, ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")]);
    assert_eq!(reply.status, 201, "{}", reply.json());
    // A token that comes along is what counts, also a wrong one.
    let both = [("Cookie", browser.cookie.as_str()), ("Authorization", "Bearer no")];
    get(&daemon, "/agents/list", &both).fails(401, "wrong_token");
    daemon.ok(&["prompt", "--wait", "--quiet", "hi"]);
    let (_, read) = follow(&daemon, &browser, "event: turn_terminal");
    assert!(read.contains("event: turn_terminal"), "{read}");
}

/// Reads the stream of all events with a session until a text comes, or to its end.
fn follow(daemon: &Daemon, browser: &Browser, until: &str) -> (TcpStream, String) {
    let mut stream = connect(daemon, "GET", "/events/stream?after=0", &[("Cookie", &browser.cookie)], None);
    let (mut read, mut chunk) = (String::new(), [0; 4_096]);
    while !read.contains(until) {
        let count = stream.read(&mut chunk).expect("events");
        if count == 0 {
            break;
        }
        read.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    (stream, read)
}

#[test]
fn a_session_is_listed_and_revoked_and_its_stream_ends() {
    let daemon = asking_for_a_token();
    let none = daemon.ok(&["console", "sessions"]).stdout;
    assert!(none.contains("no browser is logged in"), "{none}");
    let (first, second) = (Browser::log_in(&daemon), Browser::log_in(&daemon));
    let listed = first.get(&daemon, "/console/sessions").json();
    let sessions = listed["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 2, "{listed}");
    let current: Vec<_> = sessions.iter().filter(|session| session["current"] == true).collect();
    assert_eq!(current[0]["session_id"], json!(first.session_id), "{listed}");
    let shown = daemon.ok(&["console", "sessions"]).stdout;
    assert!(shown.contains(&first.session_id) && shown.contains(&second.session_id), "{shown}");
    assert!(!shown.contains("curl"), "{shown}");

    let (mut stream, read) = follow(&daemon, &first, "retry: 1000");
    assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    let revoked = daemon.ok(&["console", "revoke", &first.session_id]).stdout;
    assert!(revoked.contains("is logged out"), "{revoked}");
    stream.read_to_end(&mut Vec::new()).expect("the stream ends");
    first.get(&daemon, "/agents/list").fails(401, "session_ended");
    first.get(&daemon, "/console/session").fails(401, "session_ended");
    let again = daemon.0.run(&["console", "revoke", &first.session_id]);
    again.refused(3, &[&first.session_id, "holon console sessions"]);
    // A page that is loaded anew begins without the cookie.
    let page = get(&daemon, "/console/", &[("Cookie", &first.cookie)]);
    let removed = page.header("set-cookie").expect("a cookie that ends");
    assert!(removed.contains("Max-Age=0"), "{removed}");
    assert!(get(&daemon, "/console/", &[("Cookie", &second.cookie)]).header("set-cookie").is_none());

    let path = format!("/console/sessions/{}", first.session_id);
    let csrf = [("Cookie", second.cookie.as_str()), ("x-holon-csrf", second.csrf.as_str())];
    send(&daemon, "DELETE", &path, &csrf[..1], None).fails(403, "wrong_csrf");
    send(&daemon, "DELETE", &path, &csrf, None).fails(404, "unknown_session");
    let left = second.post(&daemon, "/console/logout", &csrf[1..]);
    assert_eq!((left.status, &left.json()["session_id"]), (200, &json!(second.session_id)));
    assert!(left.header("set-cookie").expect("a cookie that ends").contains("Max-Age=0"));
    second.get(&daemon, "/agents/list").fails(401, "session_ended");
}

/// Whatever goes on for a session ends with it: what its tokens have opened, and subscriptions.
#[test]
fn a_stream_that_a_session_has_opened_by_another_way_ends_with_it() {
    let daemon = asking_for_a_token();
    let browser = Browser::log_in(&daemon);
    let csrf = ("x-holon-csrf", browser.csrf.as_str());
    let token = || browser.post(&daemon, "/control/stream-token", &[csrf]).json()["token"].clone();
    let (used, unused) = (token(), token());
    let events = |token: &Value| format!("/events/stream?after=0&token={}", token.as_str().expect("a token"));
    let listen = json!({
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "notifications": { "resourceSubscriptions": ["holon://agents/main"] },
        },
    });
    let accepts = ("Accept", "application/json, text/event-stream");
    let cookie = ("Cookie", browser.cookie.as_str());
    let mut streams = [
        connect(&daemon, "GET", &events(&used), &[], None),
        connect(&daemon, "POST", "/mcp", &[cookie, csrf, accepts], Some(&listen)),
    ];
    for stream in &mut streams {
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("a reply");
        assert_eq!(&head, b"HTTP/1.1 200");
    }
    daemon.ok(&["console", "revoke", &browser.session_id]);
    for mut stream in streams {
        stream.read_to_end(&mut Vec::new()).expect("the stream ends");
    }
    for token in [used, unused] {
        get(&daemon, &events(&token), &[]).fails(401, "wrong_token");
    }
}

#[test]
fn what_a_page_asks_by_itself_is_no_use_of_its_session() {
    let daemon = asking_for_a_token();
    let browser = Browser::log_in(&daemon);
    // That a session is used is noted once a minute: this one was used last an hour ago.
    daemon.ok(&["daemon", "stop"]);
    let path = daemon.run_file("console.json");
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    let before = format!("{:.6}", jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1));
    for name in ["created_at", "last_seen_at"] {
        stored["sessions"][0][name] = json!(before);
    }
    std::fs::write(&path, stored.to_string()).expect("it is written");
    daemon.start();
    let used_at = || {
        let listed = daemon.ok(&["console", "sessions", "--json"]).json();
        listed["sessions"][0]["last_seen_at"].as_str().expect("a time").to_owned()
    };
    let cookie = ("Cookie", browser.cookie.as_str());
    let by_itself = get(&daemon, "/agents/list", &[cookie, ("x-holon-background", "1")]);
    assert_eq!((by_itself.status, used_at()), (200, before.clone()));
    assert_eq!(browser.get(&daemon, "/agents/list").status, 200);
    assert_ne!(used_at(), before);
}

#[test]
fn a_session_survives_a_runtime_that_is_killed_and_an_end_does_too() {
    let daemon = asking_for_a_token();
    let (stays, ends) = (Browser::log_in(&daemon), Browser::log_in(&daemon));
    daemon.ok(&["console", "revoke", &ends.session_id]);
    daemon.kill();
    daemon.start();
    assert_eq!(stays.get(&daemon, "/agents/list").status, 200);
    ends.get(&daemon, "/agents/list").fails(401, "session_ended");
    let file = daemon.run_file("console.json");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Whoever can read it has no session, and without it nobody has one.
    daemon.kill();
    std::fs::write(&file, "no sessions").expect("it is written");
    daemon.start();
    let other = stays.get(&daemon, "/agents/list");
    other.fails(401, "missing_token");
}

#[test]
fn the_owner_of_a_home_needs_no_session() {
    let daemon = Daemon::hello();
    daemon.start();
    let session = get(&daemon, "/console/session", &[]).json();
    assert_eq!((&session["session_id"], &session["csrf"]), (&Value::Null, &Value::Null), "{session}");
    let browser = Browser::log_in(&daemon);
    browser.post(&daemon, "/control/agents/helper/create", &[]).fails(403, "wrong_csrf");
    daemon.ok(&["console", "revoke", &browser.session_id]);
    browser.get(&daemon, "/agents/list").fails(401, "session_ended");
    assert_eq!(get(&daemon, "/agents/list", &[]).status, 200);
}

#[test]
fn a_console_that_is_off_is_nowhere() {
    let daemon = Daemon::hello();
    daemon.ok(&["config", "set", "web.console", "false"]);
    daemon.start();
    for path in ["/console/", "/console/app.js", "/console/session"] {
        let reply = get(&daemon, path, &[]);
        reply.fails(404, "no_console");
        assert!(reply.json()["error"].as_str().is_some_and(|text| text.contains("switched off")));
    }
    login(&daemon, "any", &[]).fails(404, "no_console");
    daemon.0.run(&["console"]).refused(3, &["switched off", "config set web.console true"]);
}

#[test]
fn without_a_runtime_there_is_no_link() {
    let daemon = Daemon::hello();
    daemon.0.run(&["console"]).refused(5, &["holon daemon start"]);
    daemon.start();
    let link = daemon.ok(&["console", "--json"]).json();
    assert!(link["url"].as_str().is_some_and(|url| url.contains("/console/#login=")), "{link}");
    assert!(link["expires_at"].is_string(), "{link}");
}

/// The demo begins when a browser has logged in, and its runtime ends with it.
#[test]
fn the_demo_is_watched_in_a_browser() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(end_to_end::binary());
    command.args(["demo", "--web"]).env("TMPDIR", folder.path()).env("HOLON_MODEL", "none/none");
    let mut demo = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(demo.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let link = lines.find(|line| line.contains("/console/#login=")).expect("a link");
    let (page, token) = link.split_once("#login=").expect("a token");
    let address = page.trim_start_matches("http://").trim_end_matches("/console/");
    let body = json!({ "token": token }).to_string();
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(
        stream,
        "POST /console/login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    lines.find(|line| line.contains("Ctrl-C ends the demo")).expect("it begins");

    let made = std::fs::read_dir(folder.path()).expect("a folder").next().expect("one").expect("one").path();
    let repaired = || std::fs::read_to_string(made.join("project/greet.sh")).unwrap_or_default();
    end_to_end::wait_for("the repair", || repaired().contains("Hello, ${1:-World}"));
    let signal = ["-INT".to_owned(), demo.id().to_string()];
    assert!(Command::new("kill").args(signal).status().expect("kill runs").success());
    assert_eq!(demo.wait().expect("it ends").code(), Some(0));
    assert!(TcpStream::connect(address).is_err(), "its runtime has ended");
}
