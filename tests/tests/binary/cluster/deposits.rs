//! Requests from outside while nobody owns their agent: they are kept, and the next owner judges each once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use end_to_end::durable::wait_until_quiet;
use end_to_end::http::{Answered, ask};
use end_to_end::provider::Provider;
use end_to_end::wait_for;
use serde_json::{Value, json};

use super::pair::{PROMPT, Pair};
use super::{not_tried, replies, rounds};

const ENQUEUE: &str = "/agents/main/enqueue";

fn text(text: &str) -> Value {
    json!({ "body": { "type": "text", "text": text } })
}

fn post(pair: &Pair, at: usize, path: &str, headers: &[(&str, &str)], body: &Value) -> Answered {
    ask(&pair.nodes[at].run_file("holon.sock"), "POST", path, headers, Some(body)).expect("an answer")
}

fn deposits(pair: &Pair) -> Vec<Value> {
    let listed = pair.nodes[0].ok(&["cluster", "deposits", "--json", "--limit", "1000"]).json();
    let mut deposits = listed["deposits"].as_array().cloned().expect("a list");
    deposits.reverse();
    deposits
}

/// The path of the address that wakes the agent.
fn address(pair: &Pair) -> String {
    let shown = pair.nodes[0].ok(&["trigger", "show", "--json"]).json();
    let url = shown["triggers"][0]["trigger_url"].as_str().expect("an address").to_owned();
    url[url.find("/callbacks/").expect("an address")..].to_owned()
}

/// Both nodes live, and give up what they own.
fn nobody_owns(pair: &Pair) {
    for node in pair.status()["nodes"].as_array().cloned().expect("nodes") {
        pair.nodes[0].ok(&["cluster", "drain", &node["node"].to_string()]);
    }
    wait_for("nobody to own it", || pair.status()["cells"][0]["node"].is_null());
}

#[test]
fn what_comes_while_nobody_owns_an_agent_is_judged_by_its_next_owner() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
    assert!(deposits(&pair).is_empty());
    let address = address(&pair);
    nobody_owns(&pair);

    let kept = |answered: Answered| {
        assert_eq!(answered.status, 202, "{answered:?}");
        assert_eq!(answered.body["disposition"], "will_be_judged", "{answered:?}");
        answered.body["deposit"].as_str().expect("an id").to_owned()
    };
    let key = [("idempotency-key", "of mine")];
    let made = [
        kept(post(&pair, 0, ENQUEUE, &[], &text("kept by the first"))),
        kept(post(&pair, 1, ENQUEUE, &key, &text("kept by the second"))),
        kept(post(&pair, 1, ENQUEUE, &key, &text("kept by the second"))),
        kept(post(&pair, 0, "/webhooks/generic/main", &[], &json!({ "build": "red" }))),
        kept(post(&pair, 1, &address, &[], &json!({ "ready": true }))),
        kept(post(&pair, 1, "/agents/nobody/enqueue", &[], &text("for nobody"))),
    ];
    assert_eq!(post(&pair, 0, PROMPT, &[], &json!({ "text": "not kept" })).status, 503);
    let forged = format!("{}x", &address[..address.len() - 1]);
    assert_eq!(post(&pair, 0, &forged, &[], &json!({})).status, 503, "nobody has that address");
    let shown = pair.nodes[1].ok(&["cluster", "deposits"]).stdout;
    assert!(shown.contains("deposit_1") && shown.contains("waits for an owner"), "{shown}");
    assert_eq!(pair.status()["cells"][0]["deposits"], 6);

    for node in &pair.nodes {
        node.ok(&["daemon", "restart"]);
    }
    wait_for("verdicts", || deposits(&pair).iter().all(|deposit| !deposit["status"].is_null()));
    let judged = deposits(&pair);
    assert_eq!(judged.iter().map(|one| one["deposit"].as_str().expect("an id")).collect::<Vec<_>>(), made);
    let statuses: Vec<_> = judged.iter().map(|one| one["status"].as_u64().expect("a status")).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 404], "{judged:#?}");
    let taken: Vec<_> = judged.iter().map(|one| one["batch"].is_u64()).collect();
    assert_eq!(taken, [true, true, false, true, true, false], "{judged:#?}");
    assert!(judged[2]["answer"].as_str().is_some_and(|answer| answer.contains("\"duplicate\":true")));
    wait_until_quiet(&pair.nodes[0], &["main"]);
    let exported = pair.nodes[0].ok(&["ledger", "export"]).stdout;
    for (at, taken) in taken.into_iter().enumerate() {
        let named = format!("\"deposit\":\"{}\"", made[at]);
        assert_eq!(exported.matches(&named).count(), usize::from(taken), "{named}");
    }
    assert_eq!(pair.status()["cells"][0]["deposits"], 0);
    pair.whole();
}

#[test]
fn a_webhook_that_is_not_signed_is_not_kept() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    for node in &pair.nodes {
        node.ok(&["config", "set", "server.webhook_credential", "forge"]);
        let set = ["config", "credentials", "set", "forge", "-"];
        let set = node.0.run_with_input(&set, b"canary-of-the-forge");
        assert_eq!(set.code, Some(0), "{set:?}");
    }
    pair.start();
    pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
    nobody_owns(&pair);
    let sent = |headers: &[(&str, &str)]| {
        let answered = post(&pair, 0, "/webhooks/generic/main", headers, &json!({ "ref": "main" }));
        (answered.status, answered.body["code"].as_str().unwrap_or_default().to_owned())
    };
    // Of `{"ref":"main"}` under that key.
    let right = "sha256=042d2c09bfa8127cf0f04767cf6a79951f01ff5f498eea00a07678a7714383b3";
    let wrong = right.replace('0', "1");
    assert_eq!(sent(&[]), (401, "missing_signature".to_owned()));
    assert_eq!(sent(&[("X-Hub-Signature-256", &wrong)]), (401, "wrong_signature".to_owned()));
    assert!(deposits(&pair).is_empty());
    assert_eq!(sent(&[("X-Hub-Signature-256", right)]), (202, String::new()));
    pair.nodes[1].ok(&["daemon", "restart"]);
    wait_for("a verdict", || deposits(&pair).iter().all(|deposit| deposit["status"] == 200));
    wait_until_quiet(&pair.nodes[1], &["main"]);
    pair.whole();
}

/// What became of what a client has sent.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Taken,
    /// Under this name, for a verdict: an allowance may be used up by then.
    Kept(String),
    NotTaken,
    Unknown,
}

impl Heard {
    fn of(answered: &Answered) -> Self {
        match answered.status {
            202 => Self::Kept(answered.body["deposit"].as_str().expect("an id").to_owned()),
            0..300 => Self::Taken,
            _ if answered.body.to_string().contains("not known") => Self::Unknown,
            _ => Self::NotTaken,
        }
    }
}

#[test]
fn what_comes_while_owners_are_killed_is_taken_once() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
    let (pair, over) = (&pair, &AtomicBool::new(false));
    let heard: BTreeMap<String, Heard> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..2_usize)
            .map(|at| {
                scope.spawn(move || {
                    let mut heard = BTreeMap::new();
                    let mut number = 0;
                    while !over.load(Ordering::Relaxed) {
                        number += 1;
                        let name = format!("word {at}.{number}.");
                        let socket = pair.nodes[at].run_file("holon.sock");
                        let answered = ask(&socket, "POST", ENQUEUE, &[], Some(&text(&name)));
                        heard.insert(name, answered.map_or(Heard::Unknown, |answered| Heard::of(&answered)));
                        std::thread::sleep(Duration::from_millis(40));
                    }
                    heard
                })
            })
            .collect();
        for kill in 0..rounds(3) {
            std::thread::sleep(Duration::from_millis(300 + kill * 37 % 300));
            let (owner, _) = pair.owner();
            pair.nodes[owner].kill();
            wait_for("another owner", || pair.owner().0 != owner);
            pair.nodes[owner].start();
        }
        // A kill between two requests of both has nobody who deposits.
        wait_for("a deposit", || {
            let some = deposits(pair).len();
            if some == 0 {
                let (owner, _) = pair.owner();
                pair.nodes[owner].kill();
                wait_for("another owner", || pair.owner().0 != owner);
                pair.nodes[owner].start();
            }
            some > 0
        });
        over.store(true, Ordering::Relaxed);
        senders.into_iter().flat_map(|sender| sender.join().expect("a client")).collect()
    });
    wait_for("verdicts", || deposits(pair).iter().all(|one| !one["judged_at"].is_null()));
    wait_until_quiet(&pair.nodes[0], &["main"]);
    let exported = pair.nodes[0].ok(&["ledger", "export"]).stdout;
    let admitted: Vec<&str> =
        exported.lines().filter(|line| line.contains("\"type\":\"message_admitted\"")).collect();
    let judged = deposits(pair);
    for (name, became) in &heard {
        let times = admitted.iter().filter(|line| line.contains(name.as_str())).count();
        let right = match became {
            Heard::Taken => times == 1,
            Heard::Kept(deposit) => {
                let verdict = judged.iter().find(|one| one["deposit"] == **deposit).expect("a verdict");
                let refused = verdict["batch"].is_null() && verdict["status"] == 429;
                times == usize::from(!refused)
            }
            Heard::NotTaken => times == 0,
            Heard::Unknown => times <= 1,
        };
        assert!(right, "{name:?} was {became:?}, and is there {times} times");
    }
    let taken = heard.values().filter(|became| matches!(became, Heard::Taken | Heard::Kept(_))).count();
    assert!(taken > 5, "{heard:?}");
    pair.whole();
}
