//! Agents inside of an editor, which is a script here that speaks the protocol over pipes.

use std::path::Path;
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::lines::Lines;
use end_to_end::pictures::{base64, png, shown};
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{signal, wait_for};
use serde_json::{Value, json};

struct Editor {
    lines: Lines,
    last: u64,
}

impl Editor {
    fn of(daemon: &Daemon) -> Self {
        let lines = Lines::start(daemon.0.command(&["acp", "--no-start"]));
        let mut editor = Self { lines, last: 0 };
        let about = json!({
            "protocolVersion": 1,
            "clientCapabilities": { "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true },
        });
        let agreed = editor.ask("initialize", &about)["result"].take();
        assert_eq!(
            (&agreed["protocolVersion"], &agreed["agentCapabilities"]["loadSession"]),
            (&json!(1), &json!(true))
        );
        editor
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        self.lines.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        self.last
    }

    fn answer(&mut self, id: u64) -> Value {
        self.lines.until("answer", |line| line["id"] == id)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn open(&mut self, folder: &Path) -> String {
        let told = self.ask("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        told["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    fn begin(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        self.send("session/prompt", &prompt)
    }

    fn prompt(&mut self, session: &str, text: &str) -> Value {
        let id = self.begin(session, text);
        self.answer(id)
    }

    fn cancel(&mut self, session: &str) {
        let params = json!({ "sessionId": session });
        self.lines.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    /// Updates of a kind so far.
    fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.lines.seen.iter().filter(|line| line["method"] == "session/update");
        updates
            .map(|line| line["params"]["update"].clone())
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// Waits until the agent has said this, in however many pieces.
    fn until_said(&mut self, text: &str) {
        wait_for(text, || {
            self.lines.rest(Duration::from_millis(50));
            self.said("agent_message_chunk").contains(text)
        });
    }

    /// The text of such updates.
    fn said(&self, kind: &str) -> String {
        self.updates(kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }
}

const PATCH: &str = "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1 @@\n-echo Helo\n+echo Hello\n";

#[test]
fn a_prompt_is_shown_as_it_happens_and_answered_at_its_end() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "cat greet.sh" }))]),
        calls(&[("ApplyPatch", json!({ "patch": PATCH }))]),
        says("Repaired the greeting, as you asked: it says Hello now."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.0.file("greet.sh", "echo Helo\n");
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let began = Instant::now();
    let id = editor.begin(&session, "repair the greeting");
    editor.lines.until("an update", |line| line["method"] == "session/update");
    println!("prompt to first update: {:?}", began.elapsed());
    let told = editor.answer(id);
    assert_eq!(told["result"]["stopReason"], "end_turn", "{told}");
    assert_eq!(editor.said("agent_message_chunk"), "Repaired the greeting, as you asked: it says Hello now.");
    assert_eq!(editor.said("user_message_chunk"), "", "an editor knows what it has sent");
    let calls = editor.updates("tool_call");
    let kinds: Vec<&Value> = calls.iter().map(|call| &call["kind"]).collect();
    assert_eq!(kinds, ["execute", "edit"], "{calls:#?}");
    assert_eq!(calls[0]["title"], "cat greet.sh");
    let diff = &calls[1]["content"][0];
    assert_eq!(
        (&diff["type"], &diff["oldText"], &diff["newText"]),
        (&json!("diff"), &json!("echo Helo\n"), &json!("echo Hello\n"))
    );
    let file = daemon.0.work().canonicalize().expect("a folder").join("greet.sh");
    assert_eq!(diff["path"], json!(file));
    for call in &calls {
        let updates = editor.updates("tool_call_update");
        let of_call: Vec<&Value> =
            updates.iter().filter(|update| update["toolCallId"] == call["toolCallId"]).collect();
        let statuses: Vec<&Value> = of_call.iter().map(|update| &update["status"]).collect();
        assert_eq!(statuses, ["in_progress", "completed"], "{of_call:#?}");
    }
    assert_eq!(std::fs::read_to_string(file).expect("a file"), "echo Hello\n");
    assert_eq!(editor.lines.end(), Some(0));
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_session_survives_its_editor_and_is_loaded_by_the_next_one() {
    let slow = Reply::Late(Duration::from_secs(2), Box::new(says("Finished while nobody looked.")));
    let provider = Provider::start([says("First answer."), slow, says("Third answer.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    assert_eq!(editor.prompt(&session, "first")["result"]["stopReason"], "end_turn");
    editor.begin(&session, "second");
    provider.wait_for_requests(2);
    editor.lines.child.kill().expect("it ends");
    drop(editor);
    wait_for("the end of the turn", || {
        daemon.ok(&["transcript", &session, "--json"]).stdout.contains("Finished while nobody looked.")
    });
    let mut next = Editor::of(&daemon);
    let listed =
        next.ask("session/list", &json!({ "cwd": daemon.0.work().canonicalize().expect("a folder") }));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], json!(session), "{listed}");
    let id =
        next.send("session/load", &json!({ "sessionId": session, "cwd": daemon.0.work(), "mcpServers": [] }));
    let loaded = next.answer(id);
    assert!(loaded["result"].is_object(), "{loaded}");
    assert_eq!(next.said("user_message_chunk"), "firstsecond");
    assert_eq!(next.said("agent_message_chunk"), "First answer.Finished while nobody looked.");
    assert_eq!(next.prompt(&session, "third")["result"]["stopReason"], "end_turn");
    assert!(next.said("agent_message_chunk").ends_with("looked.Third answer."), "nothing comes twice");
    // Resumed, it shows what is new alone.
    let mut third = Editor::of(&daemon);
    let resumed = third.ask("session/resume", &json!({ "sessionId": session, "cwd": daemon.0.work() }));
    assert!(resumed["result"].is_object() && third.said("agent_message_chunk").is_empty(), "{resumed}");
    assert_eq!(third.ask("session/close", &json!({ "sessionId": session }))["result"], json!({}));
    let closed = third.prompt(&session, "fourth");
    assert_eq!(closed["error"]["code"], -32_602, "{closed}");
}

#[test]
fn cancel_ends_the_prompts_of_the_session_at_any_time() {
    let provider = Provider::answering(|request| {
        let last = request["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string);
        if last.is_some_and(|last| last.contains("go on")) { says("Went on.") } else { Reply::Hang }
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    // Nothing is under way.
    editor.cancel(&session);
    assert_eq!(editor.prompt(&session, "go on")["result"]["stopReason"], "end_turn");
    // One runs, another waits.
    let (running, waiting) = (editor.begin(&session, "hang one"), editor.begin(&session, "hang two"));
    provider.wait_for_requests(2);
    editor.cancel(&session);
    editor.cancel(&session);
    for id in [running, waiting] {
        let told = editor.answer_of_any(id);
        assert_eq!(told["result"]["stopReason"], "cancelled", "{told}");
    }
    // At once, before anything was admitted; and the next prompt is not meant.
    let early = editor.begin(&session, "hang three");
    editor.cancel(&session);
    let next = editor.begin(&session, "go on");
    assert_eq!(editor.answer_of_any(early)["result"]["stopReason"], "cancelled");
    let went = editor.answer_of_any(next);
    assert_eq!(went["result"]["stopReason"], "end_turn", "{went}");
    // Also after the session was loaded.
    let mut other = Editor::of(&daemon);
    other.ask("session/load", &json!({ "sessionId": session, "cwd": daemon.0.work(), "mcpServers": [] }));
    let hanging = other.begin(&session, "hang four");
    let requests = provider.requests().len();
    wait_for("the request", || {
        provider.requests().len() >= requests
            && daemon.ok(&["status", &session, "--json"]).json()["status"] == "awake_running"
    });
    other.cancel(&session);
    assert_eq!(other.answer(hanging)["result"]["stopReason"], "cancelled");
    // The protocol has a close cancel what is under way.
    let closed = other.begin(&session, "hang five");
    assert_eq!(other.ask("session/close", &json!({ "sessionId": session }))["result"], json!({}));
    assert_eq!(other.answer_of_any(closed)["result"]["stopReason"], "cancelled");
}

/// As editors send them: without waiting for anything in between.
#[test]
fn prompts_of_a_session_have_their_turns_in_the_order_in_which_they_were_sent() {
    let provider = Provider::answering(|_| says("Done."));
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    for round in 0..20 {
        let session = editor.open(&daemon.0.work());
        let mut sent: Vec<u64> = (0..3).map(|number| editor.begin(&session, &format!("p{number}"))).collect();
        let interjected = json!({
            "sessionId": session,
            "prompt": [{ "type": "text", "text": "at once" }],
            "_meta": { "holon": { "delivery": "interject" } },
        });
        sent.push(editor.send("session/prompt", &interjected));
        let admitted: Vec<u64> = sent.into_iter().map(|id| message(&editor.answer_of_any(id))).collect();
        assert!(admitted.is_sorted(), "{round}: {admitted:?}");
    }
}

/// The number of the message that a prompt is.
fn message(told: &Value) -> u64 {
    let name = told["result"]["_meta"]["holon"]["message_id"].as_str();
    let number = name.and_then(|name| name.strip_prefix("msg_")?.parse().ok());
    number.unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn each_prompt_counts_whatever_the_id_of_its_request() {
    let daemon = Daemon::new(&Provider::answering(|_| says("Done.")));
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    let mut messages = std::collections::BTreeSet::new();
    let ids = [json!("70"), json!(70), json!("\"70\""), json!("ü"), json!("a\nb"), json!("x".repeat(2_000))];
    for id in &ids {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params });
        editor.lines.send(&request);
        messages.insert(message(&editor.lines.until("answer", |line| line["id"] == *id)));
    }
    assert_eq!(messages.len(), ids.len());
    assert_eq!(editor.said("user_message_chunk"), "", "an editor knows what it has sent");
}

#[test]
fn an_answer_that_is_under_way_is_shown_once_where_its_session_is_loaded() {
    const ANSWER: &str = "An answer that takes its time, since each of its words comes by itself and late.";
    let provider = Provider::start([says(ANSWER).dribble(Duration::from_millis(15))]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let id = editor.begin(&session, "go");
    editor.until_said("An");
    let mut other = Editor::of(&daemon);
    other.ask("session/load", &json!({ "sessionId": session, "cwd": daemon.0.work(), "mcpServers": [] }));
    editor.answer_of_any(id);
    other.until_said(ANSWER);
    assert_eq!(
        (other.said("agent_message_chunk"), editor.said("agent_message_chunk")),
        (ANSWER.into(), ANSWER.into())
    );
}

#[test]
fn a_session_that_has_no_place_leaves_no_agent_behind() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let folder = daemon.0.work().canonicalize().expect("a folder");
    let opened: Vec<String> = (0..64).map(|_| editor.open(&folder)).collect();
    let refused = editor.ask("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    let link = daemon.0.folder().join("link");
    std::os::unix::fs::symlink(&folder, &link).expect("a link");
    for named in [folder.display().to_string(), format!("{}/", folder.display()), link.display().to_string()]
    {
        assert_eq!(editor.sessions_in(&named), opened.len(), "{named}");
    }
    assert_eq!(editor.ask("session/close", &json!({ "sessionId": opened[0] }))["result"], json!({}));
    editor.open(&folder);
}

impl Editor {
    /// How many sessions with an agent of their own work in a folder.
    fn sessions_in(&mut self, folder: &str) -> usize {
        let (mut count, mut cursor) = (0, Value::Null);
        loop {
            let page = self.ask("session/list", &json!({ "cwd": folder, "cursor": cursor }))["result"].take();
            let ids =
                page["sessions"].as_array().expect("a list").iter().map(|one| one["sessionId"].as_str());
            count += ids.filter(|id| id.is_some_and(|id| id.starts_with("acp-"))).count();
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                return count;
            }
        }
    }

    /// Also one that came while another was waited for.
    fn answer_of_any(&mut self, id: u64) -> Value {
        match self.lines.seen.iter().find(|line| line["id"] == id) {
            Some(answer) => answer.clone(),
            None => self.answer(id),
        }
    }
}

/// Editors open what is open: what happens meanwhile is shown once, and before the response.
#[test]
fn a_session_that_is_opened_again_in_the_middle_of_a_turn_misses_nothing() {
    let provider = Provider::start((0..200).map(|number| says(&format!("answer {number}."))));
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(daemon.0.folder());
    for number in 0..40 {
        let again = json!({ "sessionId": session, "cwd": daemon.0.folder(), "mcpServers": [] });
        let id = editor.begin(&session, "go");
        for opened in ["session/load", "session/resume", "session/resume", "session/resume"] {
            std::thread::sleep(Duration::from_millis(number % 7 * 3));
            editor.send(opened, &again);
        }
        editor.answer(id);
        let said = editor.said("agent_message_chunk");
        assert!(said.contains(&format!("answer {number}.")), "{number}: {said}");
    }
}

#[test]
fn a_prompt_is_answered_once_although_the_runtime_is_killed() {
    let provider = Provider::start([Reply::Hang, says("Done in the second life.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let id = editor.begin(&session, "survive");
    provider.wait_for_requests(1);
    daemon.kill();
    daemon.start();
    let told = editor.answer(id);
    assert_eq!(told["result"]["stopReason"], "end_turn", "{told}");
    assert_eq!(editor.said("agent_message_chunk"), "Done in the second life.");
    assert!(editor.lines.rest(Duration::from_millis(300)).iter().all(|line| line["id"] != id));
    let transcript = daemon.ok(&["transcript", &session, "--json"]).stdout;
    assert_eq!(transcript.matches("\"incoming_message\"").count(), 1, "{transcript}");
}

#[test]
fn why_a_turn_stopped_is_said_in_the_words_of_the_protocol() {
    let provider = Provider::start([
        fails(400, "a broken request"),
        says("no").stopped(end_to_end::provider::Stop::Refused),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let failed = editor.prompt(&session, "fail");
    assert_eq!(failed["error"]["code"], -32_603, "{failed}");
    assert!(failed["error"]["message"].as_str().expect("a text").contains("a broken request"), "{failed}");
    let refused = editor.prompt(&session, "refuse");
    assert_eq!(refused["result"]["stopReason"], "refusal", "{refused}");
}

#[test]
fn a_prompt_that_is_held_is_shown_to_wait() {
    let provider = Provider::start([fails(401, "no such key"), says("Done.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let held = editor.prompt(&session, "go");
    assert_eq!(held["result"]["stopReason"], "end_turn", "{held}");
    let about = &held["result"]["_meta"]["holon"];
    assert!(about["waits"].as_str().is_some_and(|why| why.contains("held by credentials")), "{held}");
    let shown = editor.said("agent_message_chunk");
    assert!(shown.contains("The prompt waits: held by credentials"), "{shown}");
}

#[test]
fn a_prompt_has_images_and_a_session_a_model_and_an_end() {
    let provider = Provider::start([says("A picture."), says("The other model.")]);
    let holon = end_to_end::Holon::new()
        .with("HOLON_MODEL", "openai-chat/gpt-4o")
        .with("OPENAI_BASE_URL", &provider.url)
        .with("OPENAI_API_KEY", "canary-4f1c77aa")
        .with("HOLON_HTTP_ADDR", "127.0.0.1:0");
    let daemon = Daemon(holon);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let opened = editor.ask("session/new", &json!({ "cwd": daemon.0.work(), "mcpServers": [] }));
    let session = opened["result"]["sessionId"].as_str().expect("an id").to_owned();
    let option = &opened["result"]["configOptions"][0];
    assert_eq!(
        (&option["id"], &option["currentValue"], &option["options"][0]["value"]),
        (&json!("model"), &json!("openai-chat/gpt-4o"), &json!("openai-chat/gpt-4o"))
    );
    let picture = png(640, 480, &[7; 3_000]);
    let prompt = json!([
        { "type": "text", "text": "what is this?" },
        { "type": "image", "mimeType": "image/png", "data": base64(&picture), "uri": "file:///work/a.png" },
    ]);
    let told = editor.ask("session/prompt", &json!({ "sessionId": session, "prompt": prompt }));
    assert_eq!(told["result"]["stopReason"], "end_turn", "{told}");
    assert_eq!(shown(&provider.requests()[0], &picture), 1);
    let broken = json!([{ "type": "image", "mimeType": "image/png", "data": "bm8=" }]);
    let refused = editor.ask("session/prompt", &json!({ "sessionId": session, "prompt": broken }));
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");

    let chosen = json!({ "sessionId": session, "configId": "model", "value": "openai-chat/gpt-4o-mini" });
    let chosen = editor.ask("session/set_config_option", &chosen);
    assert_eq!(chosen["result"]["configOptions"][0]["currentValue"], "openai-chat/gpt-4o-mini", "{chosen}");
    editor.prompt(&session, "and now?");
    assert_eq!(provider.requests().last().expect("a request")["model"], "gpt-4o-mini");

    assert_eq!(editor.ask("session/delete", &json!({ "sessionId": session }))["result"], json!({}));
    let listed = editor.ask("session/list", &json!({}));
    assert!(!listed.to_string().contains(&session), "{listed}");
    assert_eq!(editor.prompt(&session, "still there?")["error"]["code"], -32_602);
}

/// `cargo nextest run --run-ignored all` shows how long it takes; the target is 200 ms in a release build.
#[test]
#[ignore = "a measurement"]
fn a_load_of_a_thousand_messages() {
    let provider = Provider::answering(|_| says("done"));
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    for number in 0..500 {
        editor.prompt(&session, &format!("number {number}"));
    }
    let began = Instant::now();
    let before = editor.lines.seen.len();
    let params = json!({ "sessionId": session, "cwd": daemon.0.work(), "mcpServers": [] });
    editor.ask("session/load", &params);
    let shown = editor.lines.seen.len() - before;
    println!("a load of {} messages: {:?}", shown - 1, began.elapsed());
    assert!(shown > 1_000, "{shown}");
}

#[test]
fn what_can_not_be_meant_is_refused_by_its_field() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut editor = Editor::of(&daemon);
    assert_eq!(editor.ask("authenticate", &json!({ "methodId": "none" }))["result"], json!({}));
    for (method, params, code, field) in [
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32_602, json!("cwd")),
        ("session/new", json!({ "cwd": "/no/such/folder", "mcpServers": [] }), -32_602, json!("cwd")),
        (
            "session/load",
            json!({ "sessionId": "nobody", "cwd": "/", "mcpServers": [] }),
            -32_602,
            json!("sessionId"),
        ),
        ("session/prompt", json!({ "sessionId": "nobody", "prompt": [] }), -32_602, json!("sessionId")),
        ("session/list", json!({ "cursor": "a b" }), -32_602, json!("cursor")),
        ("session/set_mode", json!({}), -32_601, Value::Null),
    ] {
        let told = editor.ask(method, &params);
        assert_eq!(
            (&told["error"]["code"], &told["error"]["data"]["field"]),
            (&json!(code), &field),
            "{method}: {told}"
        );
    }
    let session = editor.open(&daemon.0.work());
    let sound =
        json!({ "sessionId": session, "prompt": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] });
    assert_eq!(editor.ask("session/prompt", &sound)["error"]["data"]["field"], "prompt[0]");
    for (option, value, field) in [("mode", "ask", "configId"), ("model", "nonsense", "value")] {
        let chosen = json!({ "sessionId": session, "configId": option, "value": value });
        let told = editor.ask("session/set_config_option", &chosen);
        assert_eq!(
            (&told["error"]["code"], &told["error"]["data"]["field"]),
            (&json!(-32_602), &json!(field))
        );
    }
    editor.lines.raw("{");
    editor.lines.until("refusal", |line| line["error"]["code"] == -32_700);
    let noticed = editor.ask("session/new", &json!({ "cwd": daemon.0.work(), "mcpServers": [{ "name": "x", "command": "/x", "args": [], "env": [] }] }));
    assert!(noticed["result"]["_meta"]["holon"]["notice"].is_string(), "{noticed}");
    // The runtime goes away: requests say so, and the editor's process stays.
    daemon.ok(&["daemon", "stop"]);
    let gone = editor.ask("session/list", &json!({}));
    assert_eq!(
        (&gone["error"]["code"], &gone["error"]["data"]["code"]),
        (&json!(-32_603), &json!("runtime_unreachable")),
        "{gone}"
    );
    daemon.start();
    assert!(editor.ask("session/list", &json!({}))["result"]["sessions"].is_array());
    assert_eq!(editor.lines.end(), Some(0));
}

/// Where each call of an editor is at last.
fn results(editor: &Editor) -> std::collections::BTreeMap<String, (Value, String)> {
    let updates = editor.updates("tool_call_update");
    let last = |update: &Value| {
        let text = update["content"][0]["content"]["text"].as_str().unwrap_or_default().to_owned();
        (update["toolCallId"].as_str().expect("an id").to_owned(), (update["status"].clone(), text))
    };
    updates.iter().map(last).collect()
}

#[test]
fn results_are_those_of_their_calls_in_a_session_that_is_loaded_in_the_middle_of_a_round() {
    let provider = Provider::start([
        calls(&[
            ("ExecCommand", json!({ "cmd": "while ! test -e go; do sleep 0.05; done; echo one" })),
            ("ExecCommand", json!({ "cmd": "echo two" })),
        ]),
        says("Both ran."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    let prompt = editor.begin(&session, "run both");
    editor.lines.until("the first call", |line| line["params"]["update"]["status"] == "in_progress");
    let mut other = Editor::of(&daemon);
    other.ask("session/load", &json!({ "sessionId": session, "cwd": daemon.0.work(), "mcpServers": [] }));
    daemon.0.file("go", "");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    other.until_said("Both ran.");
    let shown = results(&other);
    assert_eq!(shown, results(&editor));
    let texts: Vec<&str> = shown.values().map(|(_, text)| text.as_str()).collect();
    assert!(texts.len() == 2 && texts[0].contains("one") && texts[1].contains("two"), "{shown:#?}");
    assert!(shown.values().all(|(status, _)| status == "completed"), "{shown:#?}");
}

#[test]
fn what_happened_before_a_runtime_was_killed_is_shown_by_the_next_one() {
    let provider =
        Provider::start([calls(&[("ExecCommand", json!({ "cmd": "echo one" }))]), says("It ran.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut editor = Editor::of(&daemon);
    let session = editor.open(&daemon.0.work());
    // It has the events, and reads what they are about once the runtime is gone.
    signal(&editor.lines.child, "STOP");
    daemon.ok(&["prompt", "--agent", &session, "--wait", "--quiet", "run it"]);
    daemon.kill();
    signal(&editor.lines.child, "CONT");
    editor.lines.rest(Duration::from_secs(1));
    daemon.start();
    editor.until_said("It ran.");
    let shown = results(&editor);
    assert!(shown.len() == 1 && shown.values().all(|(status, _)| status == "completed"), "{shown:#?}");
    assert_eq!(editor.updates("tool_call").len(), 1);
    assert_eq!(editor.said("user_message_chunk"), "run it");
}
