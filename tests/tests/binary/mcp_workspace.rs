//! Servers that a workspace proposes: none of them starts before an operator has approved exactly its definition.

use std::collections::BTreeMap;
use std::fs;

use end_to_end::obedient::{obedient, told};
use end_to_end::provider::Provider;
use end_to_end::terminal::OnTerminal;
use end_to_end::tool_server::{Marks, lives, program};
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

const STEPS: u32 = 14;

/// A folder whose `.mcp.json` proposes one server, in variants that note their starts apart.
struct Workspace {
    holon: Holon,
    provider: Provider,
}

impl Workspace {
    fn new() -> Self {
        let provider = Provider::answering(obedient);
        let holon =
            Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
        Self { holon, provider }
    }

    fn marks(&self, variant: u64) -> Marks {
        Marks::of(&self.holon, &format!("variant-{variant}"))
    }

    fn propose(&self, variant: u64) {
        let (program, marks) = (program(), self.marks(variant));
        let args = json!([program, "--marks", marks.path()]);
        let servers = json!({ "test": { "command": "python3", "args": args } });
        self.holon.file(".mcp.json", &json!({ "mcpServers": servers }).to_string());
    }

    fn approve(&self) -> Option<i32> {
        self.holon.run(&["mcp", "approve", ".", "test"]).code
    }

    fn revoke(&self) -> Option<i32> {
        self.holon.run(&["mcp", "revoke", ".", "test"]).code
    }

    fn standing(&self) -> Value {
        let listed = self.holon.run(&["mcp", "list", "--json"]).json();
        listed["servers"][0]["standing"].clone()
    }

    /// A run that calls the server, and what it said.
    fn run(&self) -> String {
        let ended = self.holon.run(&["run", &told(&[("test__echo", json!({"text": "hi there"}))])]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    }

    fn offered(&self) -> usize {
        let requests = self.provider.requests();
        let tools = requests.last().expect("a request")["tools"].as_array().expect("tools").len();
        let names = &requests.last().expect("a request")["tools"];
        (0..tools).filter(|at| names[at]["function"]["name"].to_string().contains("test__")).count()
    }

    /// Starts of each variant so far.
    fn starts(&self) -> BTreeMap<u64, usize> {
        (0..3).map(|variant| (variant, self.marks(variant).count("start "))).collect()
    }
}

#[test]
fn what_a_workspace_proposes_is_used_once_it_is_approved_and_until_it_changes() {
    let at = Workspace::new();
    at.propose(0);
    assert_eq!(at.standing(), "proposed");
    let said = at.run();
    assert!(said.contains("unknown_tool") && at.offered() == 0, "{said}");
    let id = at.holon.run(&["mcp", "list", "--json"]).json()["servers"][0]["name"].clone();
    let id = id.as_str().expect("a name");
    at.holon.run(&["mcp", "check", id]).refused(4, &["nobody has approved it", "holon mcp approve"]);
    assert_eq!(at.starts()[&0], 0);

    let approved = at.holon.run(&["mcp", "approve", ".", "test"]);
    assert!(approved.code == Some(0) && approved.stdout.contains("starts python3"), "{approved:?}");
    assert_eq!(at.standing(), "approved");
    let said = at.run();
    assert!(said.contains("hi there") && at.offered() == 16, "{said}");
    assert_eq!(at.holon.run(&["mcp", "check", id]).code, Some(0));

    at.propose(1);
    assert_eq!(at.standing(), "changed");
    let said = at.run();
    assert!(said.contains("unknown_tool") && at.offered() == 0, "{said}");
    assert_eq!(at.starts()[&1], 0, "what has changed is not started");
    assert_eq!((at.approve(), at.run().contains("hi there")), (Some(0), true));

    assert_eq!((at.revoke(), at.standing()), (Some(0), json!("proposed")));
    assert!(at.run().contains("unknown_tool"));
    assert_eq!(at.revoke(), Some(3));
    // What an agent executes has the variables of a runtime.
    let agent = at.holon.run(&["mcp", "list"]);
    assert_eq!(agent.code, Some(0));
    let mut command = at.holon.command(&["mcp", "approve", ".", "test"]);
    let refused = command.env("HOLON_RUNTIME", "1").output().expect("it ends");
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    at.holon.file(".mcp.json", "{");
    assert!(at.run().contains("unknown_tool"));
    at.holon.run(&["mcp", "approve", ".", "test"]).refused(1, &[".mcp.json"]);
}

/// A file may have anything in it: what an operator sees is the whole of it, and nothing else.
#[test]
fn what_is_proposed_is_shown_before_it_is_approved_and_acts_on_no_terminal() {
    let at = Workspace::new();
    let script = "true\u{1b}[1A\u{1b}[2Kharmless\n  starts harmless";
    at.holon.file(
        ".mcp.json",
        &json!({ "mcpServers": {
            "test": { "command": "sh", "args": ["-c", script], "env": { "PATH": "/tmp/evil" } },
            "~\u{1b}[2K\n": { "command": "sh" },
        }})
        .to_string(),
    );
    let listed = at.holon.run(&["mcp", "list"]);
    assert!(listed.stdout.lines().count() == 3 && !listed.stdout.contains('\u{1b}'), "{listed:?}");
    let (_, _, written) = OnTerminal::start(&at.holon.command(&["mcp", "list"]), None).end();
    assert!(!written.contains("\u{1b}[2K"), "{written:?}");
    let approve = |answer: &[u8]| {
        let mut terminal = OnTerminal::start(&at.holon.command(&["mcp", "approve", ".", "test"]), None);
        wait_for("a question", || terminal.written().contains("[y/N]: "));
        let shown = terminal.written();
        assert!(shown.contains("  starts sh -c 'true") && !shown.contains("\u{1b}[2K"), "{shown:?}");
        assert!(!shown.contains("\n  starts harmless"), "{shown:?}");
        assert!(shown.contains("  with the variable PATH=/tmp/evil"), "{shown:?}");
        terminal.press(answer);
        terminal.end().0.success()
    };
    for answer in [&b"n\r"[..], b"\r"] {
        assert_eq!((approve(answer), at.standing()), (false, json!("proposed")));
    }
    assert_eq!((approve(b"y\r"), at.standing()), (true, json!("approved")));
    // Nobody is asked where nobody is there.
    assert_eq!(at.revoke(), Some(0));
    let approved = at.holon.run(&["mcp", "approve", ".", "test"]);
    let lines: Vec<&str> = approved.stdout.lines().collect();
    assert!(approved.code == Some(0) && lines.len() == 5, "{approved:?}");
    assert!(lines[3].contains("PATH=/tmp/evil") && lines[4].starts_with("approved test@"), "{approved:?}");
}

#[test]
fn a_server_of_a_runtime_ends_with_its_approval() {
    let at = Workspace::new();
    at.propose(0);
    assert_eq!(at.approve(), Some(0));
    let holon = &at.holon;
    assert_eq!(holon.run(&["daemon", "start"]).code, Some(0));
    let ask = |text: &str| {
        let prompt = told(&[("test__echo", json!({ "text": text }))]);
        let ended = holon.run(&["prompt", "--wait", "--agent", "worker", &prompt]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    };
    let root = holon.work();
    let made = holon.run(&["agent", "create", "worker", "--workspace-root", root.to_str().expect("a path")]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(ask("hi there").contains("hi there"));
    let runs = || at.marks(0).processes().into_iter().any(lives);
    assert!(runs());
    assert_eq!(at.revoke(), Some(0));
    ask("nothing");
    assert!(!runs(), "what nobody approves any more has ended");
    assert_eq!(holon.run(&["daemon", "stop"]).code, Some(0));
}

/// Law CX34 of the real program: whatever a file comes to have and an operator approves, what starts is what was approved.
#[test]
fn nothing_starts_that_nobody_approved() {
    let at = Workspace::new();
    let mut state = 7_u64;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    at.propose(0);
    let (mut file, mut approved, mut used) = (0, None, 0);
    for step in 0..STEPS {
        match draw(5) {
            0 => {
                file = draw(3);
                at.propose(file);
            }
            1 | 2 => {
                assert_eq!(at.approve(), Some(0));
                approved = Some(file);
            }
            3 => {
                assert_eq!(at.revoke(), Some(if approved.take().is_some() { 0 } else { 3 }));
            }
            _ => {}
        }
        let before = at.starts();
        let said = at.run();
        let began: Vec<u64> =
            at.starts().into_iter().filter(|(one, count)| before[one] < *count).map(|(one, _)| one).collect();
        let allowed = approved == Some(file);
        assert_eq!(began, if allowed { vec![file] } else { Vec::new() }, "step {step}: {said}");
        assert_eq!(said.contains("hi there"), allowed, "step {step}: {said}");
        used += u32::from(allowed);
    }
    assert!(used > 2 && used < STEPS, "{used}");
    assert!(fs::read_dir(at.holon.home().join("mcp/approved")).is_ok());
}
