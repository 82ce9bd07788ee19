//! `holon run --input-format stream-json`: a program that keeps an agent going, line by line.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use end_to_end::daemon::Daemon;
use end_to_end::lines::Lines;
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{Holon, binary, signal};
use serde_json::{Value, json};

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The schema of the docs.
struct Schema {
    schemas: Schemas,
    input: SchemaIndex,
    output: SchemaIndex,
}

impl Schema {
    fn of_docs() -> Self {
        let document: Value = serde_json::from_str(&docs("run-stream.schema.json")).expect("a schema");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.set_default_draft(Draft::V2020_12);
        compiler.add_resource("lines.json", document).expect("a resource");
        let mut part = |name: &str| {
            compiler.compile(&format!("lines.json#/$defs/{name}"), &mut schemas).expect("it compiles")
        };
        let (input, output) = (part("InputLine"), part("OutputOrEvent"));
        Self { schemas, input, output }
    }

    fn written(&self, line: &Value) {
        if let Err(problem) = self.schemas.validate(line, self.output) {
            panic!("{line:#}: {problem}");
        }
    }

    fn takes(&self, line: &Value) -> bool {
        self.schemas.validate(line, self.input).is_ok()
    }
}

/// Checks all that was written, and how often each type was.
fn checked(lines: &Lines, counts: &[(&str, usize)]) {
    let schema = Schema::of_docs();
    lines.seen.iter().for_each(|line| schema.written(line));
    for (kind, count) in counts {
        let of_kind = lines.seen.iter().filter(|line| line["type"] == *kind).count();
        assert_eq!(of_kind, *count, "{kind}: {:#?}", lines.seen);
    }
    assert_eq!(lines.seen.last().expect("a line")["type"], "run_finished");
}

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

const STREAM: [&str; 3] = ["run", "--input-format", "stream-json"];

#[test]
fn one_agent_is_kept_going_until_the_end_of_the_input() {
    let provider = Provider::start([says("One."), says("Two."), says("Three.")]);
    let holon = with(&provider);
    let mut lines = Lines::start(holon.command(&[&STREAM[..], &["first"]].concat()));
    let first = lines.payload("prompt_finished");
    assert_eq!((&first["final_text"], &first["verdict"]), (&json!("One."), &json!("completed")), "{first}");
    assert!(first.get("line").is_none() && first.get("id").is_none(), "{first}");
    lines.send(&json!({ "type": "prompt", "text": "second", "id": "job-2" }));
    let admitted = lines.payload("input_admitted");
    assert_eq!((&admitted["line"], &admitted["id"]), (&json!(1), &json!("job-2")), "{admitted}");
    let second = lines.payload("prompt_finished");
    assert_eq!(second["message_id"], admitted["message_id"]);
    assert_eq!((&second["id"], &second["final_text"]), (&json!("job-2"), &json!("Two.")), "{second}");
    lines.raw("");
    lines.send(&json!({ "type": "prompt", "text": "third" }));
    lines.close();
    let third = lines.payload("prompt_finished");
    assert_eq!((&third["line"], &third["final_text"]), (&json!(3), &json!("Three.")), "{third}");
    assert_eq!(lines.end(), Some(0));
    let report = &lines.seen.last().expect("a line")["payload"];
    assert_eq!((&report["final_text"], &report["turns"]), (&json!("Three."), &json!(3)), "{report}");
    checked(&lines, &[("input_admitted", 3), ("prompt_finished", 3), ("turn_started", 3)]);
    let named = lines.seen.iter().find(|line| line["payload"]["message"]["correlation_id"] == "job-2");
    assert_eq!(named.expect("it is on record")["type"], "message_admitted");
    assert!(provider.requests()[2].to_string().contains("second"), "the conversation goes on");
    holon.check_ledger(report["ledger"].as_str().expect("a ledger").as_ref());
}

#[test]
fn an_interjection_reaches_the_turn_in_progress() {
    let slow = Reply::Late(
        Duration::from_secs(2),
        Box::new(calls(&[("ExecCommand", json!({ "cmd": "echo looked" }))])),
    );
    let provider = Provider::start([slow, says("Done as you said.")]);
    let holon = with(&provider);
    let mut lines = Lines::start(holon.command(&STREAM));
    lines.send(&json!({ "type": "prompt", "text": "repair it" }));
    provider.wait_for_requests(1);
    lines.send(&json!({ "type": "interjection", "text": "leave the tests alone", "id": "note" }));
    let (one, other) = (lines.payload("prompt_finished"), lines.payload("prompt_finished"));
    assert_eq!((&one["line"], &other["id"]), (&json!(1), &json!("note")), "{one} {other}");
    assert_eq!(other["final_text"], "Done as you said.", "it is answered by the turn that it reached");
    assert_eq!(lines.end(), Some(0));
    checked(&lines, &[("turn_started", 1), ("operator_interjection_admitted", 1), ("prompt_finished", 2)]);
    assert!(provider.requests()[1].to_string().contains("leave the tests alone"));
}

/// The same lines to an agent of its own, and to one of the runtime.
fn asked_and_answered(holon: &Holon, arguments: &[&str]) {
    let mut lines = Lines::start(holon.command(&[&STREAM[..], arguments].concat()));
    lines.send(&json!({ "type": "answer", "text": "yes", "id": "early" }));
    let refused = lines.payload("input_refused");
    assert_eq!((&refused["code"], &refused["id"]), (&json!("no_open_ask"), &json!("early")), "{refused}");
    lines.send(&json!({ "type": "prompt", "text": "clean up" }));
    let asked = lines.payload("prompt_finished");
    assert_eq!((&asked["verdict"], &asked["exit_code"]), (&json!("waiting_for_operator"), &json!(6)));
    let question =
        |line: &&Value| line["type"] == "brief_created" && line["payload"]["visibility"] == "action_required";
    let brief = lines.seen.iter().find(question).expect("a question")["payload"]["id"].clone();
    lines.send(&json!({ "type": "answer", "text": "yes", "brief_id": "brief_99" }));
    assert_eq!(lines.payload("input_refused")["code"], "unknown_ask");
    lines.send(&json!({ "type": "answer", "text": "yes, do it", "brief_id": brief }));
    let done = lines.payload("prompt_finished");
    assert_eq!((&done["final_text"], &done["verdict"]), (&json!("Deleted."), &json!("completed")), "{done}");
    assert_eq!(lines.end(), Some(0));
    checked(&lines, &[("input_admitted", 2), ("input_refused", 2), ("prompt_finished", 2)]);
}

fn question() -> Provider {
    let wait = json!({ "reason": "May I delete the old branch?", "wake": "operator_input" });
    Provider::start([calls(&[("WaitFor", wait)]), says("Deleted.")])
}

#[test]
fn a_question_is_answered_on_a_line() {
    asked_and_answered(&with(&question()), &[]);
}

#[test]
fn an_agent_of_the_runtime_is_kept_going_in_the_same_way() {
    let daemon = Daemon::new(&question());
    daemon.start();
    asked_and_answered(&daemon.0, &["--agent", "main"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn the_runtime_may_be_killed_under_an_open_input() {
    let provider = Provider::start([says("One."), says("Two.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut lines = Lines::start(daemon.0.command(&[&STREAM[..], &["--agent", "main"]].concat()));
    lines.send(&json!({ "type": "prompt", "text": "first" }));
    assert_eq!(lines.payload("prompt_finished")["final_text"], "One.");
    daemon.kill();
    daemon.start();
    lines.send(&json!({ "type": "prompt", "text": "second" }));
    assert_eq!(lines.payload("prompt_finished")["final_text"], "Two.");
    assert_eq!(lines.end(), Some(0));
    checked(&lines, &[("prompt_finished", 2)]);
    let ids: Vec<&Value> = lines.seen.iter().filter_map(|line| line.get("event_seq")).collect();
    assert!(ids.windows(2).all(|pair| pair[0].as_u64() < pair[1].as_u64()), "no event comes twice");
}

#[test]
fn a_line_that_comes_while_the_runtime_is_away_waits_for_it() {
    let provider = Provider::start([says("One."), says("Two.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut lines = Lines::start(daemon.0.command(&[&STREAM[..], &["--agent", "main"]].concat()));
    lines.send(&json!({ "type": "prompt", "text": "first" }));
    assert_eq!(lines.payload("prompt_finished")["final_text"], "One.");
    daemon.ok(&["daemon", "stop"]);
    lines.send(&json!({ "type": "prompt", "text": "second" }));
    std::thread::sleep(Duration::from_secs(2));
    daemon.start();
    assert_eq!(lines.payload("prompt_finished")["final_text"], "Two.");
    assert_eq!(lines.end(), Some(0));
    checked(&lines, &[("input_admitted", 2), ("prompt_finished", 2)]);
}

#[test]
fn bad_lines_are_refused_one_by_one_and_the_run_goes_on() {
    let provider = Provider::start([says("Still here.")]);
    let holon = with(&provider);
    let mut lines = Lines::start(holon.command(&STREAM));
    let schema = Schema::of_docs();
    let bad = [
        ("nonsense", "invalid_line", "expected"),
        (r#"{"type":"promt","text":"go"}"#, "invalid_line", "unknown variant `promt`"),
        (r#"{"type":"prompt","txt":"go"}"#, "invalid_line", "unknown field `txt`"),
        (r#"{"type":"prompt","text":""}"#, "invalid_line", "text: it is empty"),
        (r#"{"type":"prompt","text":"go","skills":["no-such"]}"#, "skill_not_found", "no-such"),
        (
            r#"{"type":"prompt","text":"go","images":[{"data":"aGVsbG8="}]}"#,
            "invalid_line",
            "images[0] (\"image 1\"): it is no image",
        ),
    ];
    for (at, (line, code, says)) in bad.iter().enumerate() {
        lines.raw(line);
        let refused = lines.payload("input_refused");
        assert_eq!((&refused["line"], &refused["code"]), (&json!(at + 1), &json!(code)), "{refused}");
        assert!(refused["error"].as_str().expect("a text").contains(says), "{refused}");
        assert!(refused["hint"].is_string(), "{refused}");
    }
    assert!(bad[1..4].iter().all(|(line, ..)| !schema.takes(&serde_json::from_str(line).expect("JSON"))));
    lines.raw(&format!(r#"{{"type":"prompt","text":"{}"}}"#, "x".repeat(1 << 21)));
    let large = lines.payload("input_refused");
    assert_eq!((&large["line"], &large["code"]), (&json!(7), &json!("too_large")), "{large}");
    lines.raw(&"x".repeat(30 << 20));
    assert_eq!(lines.payload("input_refused")["code"], "line_too_long");
    let good = json!({ "type": "prompt", "text": "are you there?" });
    assert!(schema.takes(&good));
    lines.send(&good);
    assert_eq!(lines.payload("prompt_finished")["line"], 9);
    assert_eq!(lines.end(), Some(0));
    checked(&lines, &[("input_refused", 8), ("input_admitted", 1)]);
}

#[test]
fn what_can_not_be_meant_is_refused_before_anything_runs() {
    let holon = Holon::new().with("HOLON_MODEL", "scripted/hello");
    for (more, says) in [
        (&["--output-format", "json"][..], "prints stream-json"),
        (&["--output-format", "text"], "prints stream-json"),
        (&["--json"], "--json"),
        (&["--check", "true"], "--check"),
        (&["-"], "TEXT is `-`"),
        (&["--image", "x.png"], "x.png"),
        (&["--skill", "pdf"], "comes with a prompt"),
    ] {
        holon.run(&[&STREAM[..], more].concat()).refused(2, &[says]);
    }
    holon.run(&STREAM).refused(2, &["without a line that the agent took in", r#""type":"prompt""#]);
    holon.run_with_input(&STREAM, b"hello\n").refused(2, &["without a line"]);
    holon.run(&["run", "--input-format", "text"]).refused(2, &["the prompt is empty"]);
}

#[test]
fn ctrl_c_ends_a_run_whose_input_is_open() {
    let provider = Provider::start([says("One."), Reply::Hang]);
    let holon = with(&provider);
    let mut lines = Lines::start(holon.command(&STREAM));
    lines.send(&json!({ "type": "prompt", "text": "first" }));
    lines.payload("prompt_finished");
    lines.send(&json!({ "type": "prompt", "text": "second" }));
    provider.wait_for_requests(2);
    signal(&lines.child, "INT");
    assert_eq!(lines.payload("prompt_finished")["verdict"], "aborted");
    assert_eq!(lines.payload("run_finished")["verdict"], "aborted");
    assert_eq!(lines.code(), Some(130));
    // Nothing was asked yet.
    let mut idle = Lines::start(holon.command(&STREAM));
    idle.until("its beginning", |line| line["type"] == "agent_created");
    signal(&idle.child, "TERM");
    assert_eq!(idle.code(), Some(130));
}

#[test]
fn a_killed_run_is_resumed_with_lines() {
    let replies = [Reply::Hang, says("Done after all."), says("More."), fails(400, "a broken request")];
    let provider = Provider::start(replies);
    let holon = with(&provider);
    let mut lines = Lines::start(holon.command(&STREAM));
    lines.send(&json!({ "type": "prompt", "text": "begin" }));
    provider.wait_for_requests(1);
    let run = lines.until("a line", |line| line["agent_id"].is_string())["agent_id"].clone();
    signal(&lines.child, "KILL");
    lines.end();
    let run = run.as_str().expect("a name");
    let mut lines = Lines::start(holon.command(&[&STREAM[..], &["--resume", run]].concat()));
    lines.until("the end of its turn", |line| line["type"] == "turn_terminal");
    lines.send(&json!({ "type": "prompt", "text": "and more" }));
    assert_eq!(lines.payload("prompt_finished")["final_text"], "More.");
    assert_eq!(lines.end(), Some(0));
    let mut lines = Lines::start(holon.command(&[&STREAM[..], &["--continue"]].concat()));
    lines.send(&json!({ "type": "prompt", "text": "fails" }));
    assert_eq!(lines.payload("prompt_finished")["exit_code"], 1);
    assert_eq!(lines.end(), Some(1));
}

/// The fenced block of a language.
fn example(language: &str) -> String {
    let page = docs("run-stream.md");
    let block = page.split(&format!("```{language}\n")).nth(1).expect("an example");
    block.split("```").next().expect("its end").to_owned()
}

fn runs(program: &str, options: &[&str], name: &str, text: &str) {
    assert!(text.lines().count() <= 32, "a client has 30 lines");
    let provider = Provider::start([says("Four."), says("Eight.")]);
    let holon = with(&provider);
    let file = holon.file(name, text);
    let path = format!("{}:{}", binary().parent().expect("a folder").display(), env!("PATH"));
    let ended = Command::new(program)
        .args(options)
        .arg(file)
        .current_dir(holon.work())
        .env("PATH", path)
        .env("HOLON_HOME", holon.home())
        .env("HOLON_MODEL", "local/test")
        .env("HOLON_LOCAL_BASE_URL", &provider.url)
        .output()
        .expect("it starts");
    assert!(ended.status.success(), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.contains("Four.") && said.contains("Eight.") && said.contains("completed"), "{said}");
}

#[test]
fn the_python_client_of_the_docs_works() {
    runs("python3", &[], "client.py", &example("python"));
}

#[test]
fn the_typescript_client_of_the_docs_works() {
    let node = Command::new("node").args(["-p", "process.features.typescript ?? false"]).output();
    let strips = node.is_ok_and(|node| String::from_utf8_lossy(&node.stdout).contains("strip"));
    if !strips {
        eprintln!("skipped: there is no node that takes types (22.18 or newer)");
        return;
    }
    runs("node", &[], "client.ts", &example("typescript"));
}
