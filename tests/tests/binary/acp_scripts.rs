//! Editors that do what comes to their mind: prompts, cancels and loads in any order. Whatever they do, each prompt has one
//! response, a load is over with its response, and nothing of a run follows the response that it was cancelled.
//!
//! The laws CX38, CX39 and CX40. `HOLON_ACP_SCRIPTS=10000` plays more scripts than the few of the default suite.

use std::collections::BTreeMap;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::editor_laws::{cx38, cx39, cx40};
use end_to_end::lines::Lines;
use end_to_end::provider::{Provider, Reply, says};
use serde_json::{Value, json};

const STEPS: u32 = 14;

/// Numbers that look drawn, the same for each seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Answers by what the last prompt asks for.
fn model(request: &Value) -> Reply {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let prompts = messages.iter().rev().map(Value::to_string);
    let last = prompts.filter_map(|text| text.split("do p").nth(1).map(ToOwned::to_owned)).next();
    let name: String = last.unwrap_or_default().chars().take_while(char::is_ascii_alphanumeric).collect();
    let answer = says(&format!("answer to p{name}."));
    match name.chars().last() {
        Some('f') => answer,
        Some('s') => Reply::Late(Duration::from_millis(150), Box::new(answer)),
        _ => Reply::Hang,
    }
}

struct Script {
    lines: Lines,
    session: String,
    last: u64,
    /// The names of prompts, by the ids of their requests.
    prompts: BTreeMap<u64, String>,
    loads: Vec<u64>,
}

impl Script {
    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        self.lines.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        self.last
    }

    fn cancel(&mut self) {
        let params = json!({ "sessionId": self.session });
        self.lines.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    fn step(&mut self, dice: &mut Dice, folder: &str) {
        match dice.below(10) {
            0..=4 => {
                let speed = ["f", "s", "h"][usize::try_from(dice.below(3)).expect("small")];
                let name = format!("{}{speed}", self.last);
                let text = format!("do p{name}");
                let prompt =
                    json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
                let id = self.send("session/prompt", &prompt);
                self.prompts.insert(id, name);
            }
            5 | 6 => self.cancel(),
            7 => {
                let id = self.send(
                    "session/load",
                    &json!({ "sessionId": self.session, "cwd": folder, "mcpServers": [] }),
                );
                self.loads.push(id);
            }
            8 => {
                self.send("session/resume", &json!({ "sessionId": self.session, "cwd": folder }));
            }
            _ => std::thread::sleep(Duration::from_millis(dice.below(120))),
        }
    }

    /// Waits for every response; then checks what came in which order, and what a load shows of all that.
    fn check(&mut self, seed: u64, folder: &str) {
        let waited: Vec<u64> = self.prompts.keys().chain(&self.loads).copied().collect();
        for id in waited {
            if !self.lines.seen.iter().any(|line| line["id"] == id) {
                self.lines.until(&format!("response to {id} (seed {seed})"), |line| line["id"] == id);
            }
        }
        self.lines.rest(Duration::from_millis(150));
        let texts = self.prompts.iter().map(|(id, name)| (*id, format!("answer to p{name}.")));
        let prompts: Vec<(u64, String)> = texts.collect();
        let seen = &self.lines.seen;
        cx38(seen, &prompts).and_then(|()| cx40(seen, &prompts, &self.loads)).unwrap_or_else(|problem| {
            panic!("seed {seed}: {problem}: {seen:#?}");
        });
        let ended = |(id, _): &&(u64, String)| {
            seen.iter().any(|line| line["id"] == *id && line["result"]["stopReason"] == "end_turn")
        };
        let answered: Vec<(u64, String)> = prompts.iter().filter(ended).cloned().collect();
        let before = seen.len();
        let params = json!({ "sessionId": self.session, "cwd": folder, "mcpServers": [] });
        let load = self.send("session/load", &params);
        self.lines.until("a load", |line| line["id"] == load);
        self.lines.rest(Duration::from_millis(50));
        let shown = &self.lines.seen[before..];
        cx39(shown, load, &answered).unwrap_or_else(|problem| panic!("seed {seed}: {problem}: {shown:#?}"));
    }
}

/// Plays the scripts of some seeds, one after the other.
fn play(daemon: &Daemon, seeds: impl Iterator<Item = u64>) {
    let folder = daemon.0.work().display().to_string();
    for seed in seeds {
        let lines = Lines::start(daemon.0.command(&["acp", "--no-start"]));
        let mut script =
            Script { lines, session: String::new(), last: 0, prompts: BTreeMap::new(), loads: Vec::new() };
        let id = script.send("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        let opened = script.lines.until("a session", |line| line["id"] == id);
        script.session = opened["result"]["sessionId"].as_str().expect("an id").to_owned();
        let mut dice = Dice(seed);
        for _ in 0..STEPS {
            script.step(&mut dice, &folder);
        }
        script.cancel();
        script.check(seed, &folder);
        assert_eq!(script.lines.end(), Some(0), "seed {seed}");
        daemon.ok(&["agent", "stop", &script.session]);
    }
}

#[test]
fn whatever_an_editor_does_each_prompt_has_one_response() {
    let scripts: u64 =
        std::env::var("HOLON_ACP_SCRIPTS").ok().and_then(|count| count.parse().ok()).unwrap_or(6);
    let daemon = Daemon::new(&Provider::answering(model));
    daemon.start();
    // Editors wait most of the time.
    let editors = scripts.div_ceil(50).min(8);
    std::thread::scope(|scope| {
        for first in 1..=editors {
            let (daemon, step) = (&daemon, usize::try_from(editors).expect("few"));
            scope.spawn(move || play(daemon, (first..=scripts).step_by(step)));
        }
    });
    daemon.0.check_ledger(&daemon.ledger());
}
