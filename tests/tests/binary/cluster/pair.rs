//! Two nodes over one database.

use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{
    Acknowledged, acknowledged_under, every_key_once, nothing_is_open, wait_until_quiet,
};
use end_to_end::http::ask;
use end_to_end::provider::Provider;
use end_to_end::{Holon, wait_for};
use holon_ledger::postgres::testing::Database;
use serde_json::{Value, json};

pub(super) const PROMPT: &str = "/control/agents/main/prompt";
/// Of these tests: a take-over is waited for often.
pub(super) const LEASE_MS: u64 = 1_000;

/// Two nodes over a database of their own.
pub(super) struct Pair {
    pub(super) nodes: [Daemon; 2],
    pub(super) database: Database,
}

impl Pair {
    /// None where this machine has no PostgreSQL.
    pub(super) fn new(provider: &Provider) -> Option<Self> {
        let database = Database::new()?;
        let url = database.url.clone();
        Some(Self::at(provider, database, &url))
    }

    /// The same with one node that has started and was asked something.
    pub(super) fn with_one(provider: &Provider) -> Option<Self> {
        let pair = Self::new(provider)?;
        pair.nodes[0].start();
        pair.owner();
        pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
        Some(pair)
    }

    /// The same with nodes that reach their database at another address.
    pub(super) fn at(provider: &Provider, database: Database, url: &str) -> Self {
        let agents = Holon::new();
        let node = || {
            let holon = Holon::new().with("HOLON_STORE_URL", url);
            let holon = holon.with("HOLON_STORE_AGENTS", &agents.home().display().to_string());
            Daemon::asking(holon, provider)
        };
        let nodes = [node(), node()];
        let lease = LEASE_MS.to_string();
        nodes[0].ok(&["cluster", "init", "--lease-ms", &lease, "--grace-ms", "200"]);
        Self { nodes, database }
    }

    pub(super) fn start(&self) {
        for node in &self.nodes {
            node.start();
        }
    }

    pub(super) fn status(&self) -> Value {
        self.nodes[0].ok(&["cluster", "status", "--json"]).json()
    }

    /// The node that owns the ledger, once one does.
    pub(super) fn owner(&self) -> (usize, u64) {
        let mut owner = None;
        wait_for("an owner", || {
            let status = self.status();
            let node = status["cells"][0]["node"].as_u64();
            let url = status["nodes"].as_array().and_then(|nodes| {
                nodes.iter().find(|row| row["node"].as_u64() == node).map(|row| row["url"].clone())
            });
            owner = self
                .nodes
                .iter()
                .position(|daemon| {
                    let http = daemon
                        .metadata()
                        .map(|found| format!("http://{}", found["http_addr"].as_str().unwrap_or("?")));
                    http.is_some() && http.as_deref() == url.as_ref().and_then(Value::as_str)
                })
                .zip(node);
            owner.is_some()
        });
        owner.expect("it was waited for")
    }

    /// An operator moves the ledger to the node that does not own it.
    pub(super) fn move_cell(&self) {
        let (_, id) = self.owner();
        let nodes = self.status()["nodes"].as_array().cloned().unwrap_or_default();
        let to = nodes.iter().filter_map(|node| node["node"].as_u64()).find(|node| *node != id);
        let to = to.expect("another node").to_string();
        self.nodes[0].ok(&["cluster", "move", "1", &to]);
    }

    /// Asks whoever answers, until it is acknowledged.
    pub(super) fn acknowledged(&self, key: &str, body: &Value) -> Value {
        let mut asked = 0;
        let mut answer = Value::Null;
        wait_for("an acknowledgement", || {
            let node = &self.nodes[asked % 2];
            asked += 1;
            let headers = [("idempotency-key", key)];
            let answered = ask(&node.run_file("holon.sock"), "POST", PROMPT, &headers, Some(body));
            match answered {
                Ok(answered) if answered.status < 300 => answer = answered.body,
                Ok(answered) => assert!(matches!(answered.status, 429 | 503), "{answered:?}"),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
            !answer.is_null()
        });
        answer
    }

    /// Harms nodes while a client prompts them; gives what was acknowledged.
    pub(super) fn under_prompts(&self, harm: impl FnOnce()) -> Acknowledged {
        acknowledged_under(harm, 3, |number| {
            let key = format!("main.{number}");
            let answer = self.acknowledged(&key, &json!({ "text": format!("message {number}") }));
            let id = answer["message_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
            (("main".to_owned(), key), id.to_owned())
        })
    }

    /// Everything that was acknowledged is there once, and the ledger is whole.
    pub(super) fn settled(&self, acknowledged: &Acknowledged) {
        let records = self.records();
        every_key_once(&records, acknowledged);
        nothing_is_open(&records);
        self.whole();
    }

    /// The same where a server loses commits: how much of it is left.
    pub(super) fn kept(&self, acknowledged: &Acknowledged) -> usize {
        let records = self.records();
        let admitted = |key: &str, id: &str| {
            records.iter().any(|record| {
                let payload = &record["payload"];
                record["type"] == "message_admitted"
                    && payload["idempotency"]["key"] == key
                    && payload["message"]["id"] == id
            })
        };
        let kept = acknowledged.iter().filter(|((_, key), id)| admitted(key, id));
        let kept: Acknowledged = kept.map(|(key, id)| (key.clone(), id.clone())).collect();
        every_key_once(&records, &kept);
        nothing_is_open(&records);
        self.whole();
        kept.len()
    }

    /// What is recorded once nobody has anything to do.
    fn records(&self) -> Vec<Value> {
        wait_until_quiet(&self.nodes[0], &["main"]);
        let exported = self.nodes[0].ok(&["ledger", "export"]).stdout;
        exported.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// Both nodes leave in good order, and the ledger is whole.
    pub(super) fn whole(&self) {
        for node in &self.nodes {
            node.ok(&["daemon", "stop"]);
        }
        self.nodes[0].ok(&["ledger", "verify"]);
        self.nodes[0].ok(&["ledger", "replay"]);
    }
}
