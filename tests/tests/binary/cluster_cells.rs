//! Several cells on two nodes, in a real PostgreSQL: an agent is in one of them, every node reaches it, and a name is one agent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{acknowledged_under, every_key_once, nothing_is_open, wait_until_quiet};
use end_to_end::http::{ask, get, metrics};
use end_to_end::obedient::{input, round};
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{Holon, wait_for};
use holon_ledger::postgres::testing::{Database, NOT_TRIED};
use serde_json::{Value, json};

const CELLS: usize = 4;
pub(super) const AGENTS: [&str; 8] = ["ada", "bob", "cleo", "dan", "eve", "fay", "gus", "hal"];

/// Two nodes over several cells.
pub(super) struct Nodes {
    pub(super) nodes: [Daemon; 2],
    pub(super) database: Database,
    _agents: Holon,
}

impl Nodes {
    /// None where this machine has no PostgreSQL.
    fn start(provider: &Provider) -> Option<Self> {
        let nodes = Self::over(CELLS, provider)?;
        wait_for("both nodes to own cells", || nodes.owners(0).len() == 2);
        Some(nodes)
    }

    /// Likewise.
    pub(super) fn over(cells: usize, provider: &Provider) -> Option<Self> {
        Self::each_with([&[], &[]], cells, provider)
    }

    /// Likewise, each with variables of its own.
    pub(super) fn each_with(own: [&[(&str, &str)]; 2], cells: usize, provider: &Provider) -> Option<Self> {
        let (database, agents) = (Database::new()?, Holon::new());
        let nodes = own.map(|own| {
            let holon = Holon::new().with("HOLON_STORE_URL", &database.url);
            let holon = holon.with("HOLON_STORE_AGENTS", &agents.home().display().to_string());
            let holon = own.iter().fold(holon, |holon, (name, value)| holon.with(name, value));
            Daemon::asking(holon, provider)
        });
        let cells = cells.to_string();
        nodes[0].ok(&["cluster", "init", "--lease-ms", "1000", "--grace-ms", "200", "--cells", &cells]);
        for node in &nodes {
            node.start();
        }
        Some(Self { nodes, database, _agents: agents })
    }

    /// The nodes that own cells, as one of them sees it; none while a cell has no owner.
    pub(super) fn owners(&self, at: usize) -> BTreeSet<u64> {
        self.owned(at).into_keys().collect()
    }

    /// The same with how many cells each of them owns.
    pub(super) fn owned(&self, at: usize) -> BTreeMap<u64, usize> {
        let cells = self.nodes[at].ok(&["cluster", "cells", "--json"]).json();
        let owners = cells["cells"].as_array().expect("cells").iter().map(|cell| cell["node"].as_u64());
        let mut owned = BTreeMap::new();
        for owner in owners.collect::<Option<Vec<u64>>>().unwrap_or_default() {
            *owned.entry(owner).or_default() += 1;
        }
        owned
    }

    pub(super) fn cells(&self) -> usize {
        let cells = self.nodes[0].ok(&["cluster", "cells", "--json"]).json();
        cells["cells"].as_array().expect("cells").len()
    }

    /// Everything that is recorded, in the order of cells. What happened before a cell was split is in both.
    pub(super) fn records(&self) -> Vec<Value> {
        let cells = (1..=self.cells()).map(|cell| cell.to_string());
        let exported = cells.map(|cell| self.nodes[0].ok(&["ledger", "export", "--cell", &cell]).stdout);
        let mut known = BTreeSet::new();
        let mut records = Vec::new();
        for line in exported.flat_map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>()) {
            let record: Value = serde_json::from_str(&line).expect("a record");
            let agent = record["agent"].as_str().expect("a name").to_owned();
            if known.insert((agent, record["event_seq"].as_u64())) {
                records.push(record);
            }
        }
        records
    }

    pub(super) fn prompt(&self, at: usize, agent: &str, text: &str) -> String {
        self.nodes[at].ok(&["prompt", "--agent", agent, "--wait=settled", text]).stdout
    }

    fn get(&self, at: usize, path: &str) -> Value {
        get(&self.nodes[at].run_file("holon.sock"), path).expect("an answer").body
    }

    /// Positions and agents of all events, as one node shows them.
    pub(super) fn events(&self, at: usize) -> Vec<(u64, String, u64)> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = self.get(at, &format!("/events?limit=512&after={after}"));
            all.extend(page["events"].as_array().unwrap_or_else(|| panic!("{page}")).iter().map(|event| {
                let number = |name: &str| event[name].as_u64().expect("a number");
                (
                    number("position"),
                    event["agent_id"].as_str().expect("a name").to_owned(),
                    number("event_seq"),
                )
            }));
            if page["more"] != true {
                return all;
            }
            after = page["next"].as_u64().expect("a position");
        }
    }

    /// Prompts one of the agents, at any node that answers.
    pub(super) fn acknowledged(&self, number: usize) -> ((String, String), String) {
        let agent = AGENTS[number % AGENTS.len()];
        let (key, body) = (format!("{agent}.{number}"), json!({ "text": format!("message {number}") }));
        let (path, mut asked, mut id) = (format!("/control/agents/{agent}/prompt"), number, None);
        wait_for("an acknowledgement", || {
            let socket = self.nodes[asked % 2].run_file("holon.sock");
            asked += 1;
            match ask(&socket, "POST", &path, &[("idempotency-key", &key)], Some(&body)) {
                Ok(answered) if answered.status < 300 => {
                    id = answered.body["message_id"].as_str().map(str::to_owned);
                }
                Ok(answered) => assert!(matches!(answered.status, 429 | 503), "{answered:?}"),
                Err(_) => {}
            }
            id.is_some()
        });
        ((agent.to_owned(), key), id.expect("an id"))
    }

    /// Both leave in good order, and every ledger is whole.
    pub(super) fn whole(&self) {
        for node in &self.nodes {
            node.ok(&["daemon", "stop"]);
        }
        for cell in 1..=self.cells() {
            self.nodes[0].ok(&["ledger", "verify", "--cell", &cell.to_string()]);
            self.nodes[0].ok(&["ledger", "replay", "--cell", &cell.to_string()]);
        }
    }
}

#[expect(clippy::print_stdout, reason = "whoever runs the tests sees why one did nothing")]
pub(super) fn not_tried() {
    println!("{NOT_TRIED}");
}

#[test]
fn agents_of_all_cells_are_reached_at_every_node() {
    let provider = Provider::answering(|request| says(&format!("heard: {}", json!(input(request)))));
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    for (at, agent) in AGENTS.iter().enumerate() {
        nodes.nodes[at % 2].ok(&["agent", "create", agent, "--own-home"]);
        // The other node reaches it, whoever owns its cell.
        assert!(
            nodes
                .prompt(1 - at % 2, agent, &format!("I am for {agent}"))
                .contains(&format!("I am for {agent}"))
        );
    }
    nodes.prompt(0, "main", "hello");
    let refused = nodes.nodes[1].0.run(&["agent", "create", "ada", "--own-home"]);
    refused.refused(4, &["ada", "exists"]);
    let names: Vec<String> = AGENTS.iter().chain(&["main"]).map(|name| (*name).to_owned()).collect();
    for at in [0, 1] {
        let list = nodes.nodes[at].ok(&["agent", "list", "--json"]).json();
        let listed =
            list["agents"].as_array().expect("agents").iter().map(|agent| agent["agent_id"].as_str());
        assert_eq!(listed.map(|name| name.expect("a name").to_owned()).collect::<Vec<_>>(), names);
    }
    // Each has its records in its own order, in one order of all that both nodes show.
    let events = nodes.events(0);
    assert_eq!(nodes.events(1), events);
    assert!(events.windows(2).all(|two| two[0].0 < two[1].0));
    for name in &names {
        let seqs: Vec<u64> = events.iter().filter(|event| event.1 == *name).map(|event| event.2).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "{name}");
    }
    // What a node counts, it counts of each cell that it owns.
    let status = nodes.nodes.each_ref().map(|node| node.ok(&["daemon", "status", "--json"]).json());
    let active =
        status.iter().map(|status| status["activity"]["active_agent_count"].as_u64().expect("a number"));
    assert_eq!(active.sum::<u64>(), names.len() as u64);
    let metrics = metrics(&nodes.nodes[0].run_file("holon.sock"));
    assert_eq!(metrics.matches("# TYPE holon_events counter").count(), 1, "{metrics}");
    assert!(metrics.contains("cell=\""), "{metrics}");

    // A node dies, and everybody is reached at the other one.
    nodes.nodes[1].kill();
    for agent in AGENTS {
        assert!(
            nodes.prompt(0, agent, &format!("still for {agent}")).contains(&format!("still for {agent}"))
        );
    }
    nodes.nodes[1].start();
    wait_for("both nodes to own cells", || nodes.owners(0).len() == 2);
    let later = nodes.events(1);
    assert_eq!(later[..events.len()], events, "what had its place keeps it");
    nodes.whole();

    // What a stopped node reads, it reads of the agent's cell, and of all of them.
    let stopped = &nodes.nodes[0];
    let list = stopped.ok(&["agent", "list", "--json"]).json();
    assert_eq!(list["agents"].as_array().map(Vec::len), Some(names.len()), "{list}");
    for agent in AGENTS {
        let shown = stopped.ok(&["transcript", agent]);
        assert!(shown.stdout.contains(&format!("I am for {agent}")), "{shown:?}");
    }
    stopped.0.run(&["transcript", "nobody"]).refused(3, &["nobody"]);
}

/// A client of the Model Context Protocol reaches agents of all cells at every node.
#[test]
fn mcp_over_http_reaches_agents_of_all_cells() {
    let provider = Provider::answering(|_| says("Done."));
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    for (number, node) in nodes.nodes.iter().enumerate() {
        let metadata = node.metadata().expect("ready");
        let url = format!("http://{}/mcp", metadata["http_addr"].as_str().expect("an address"));
        let client = Holon::new();
        assert_eq!(client.run(&["mcp", "add", "runtime", "--url", &url]).code, Some(0));
        let call = |tool: &str, arguments: Value| {
            let called = client.run(&["mcp", "call", "runtime", tool, &arguments.to_string(), "--json"]);
            assert_eq!(called.code, Some(0), "{called:?}");
            called.json()["structured"].clone()
        };
        for agent in AGENTS.iter().skip(number).step_by(2) {
            nodes.nodes[1 - number].ok(&["agent", "create", agent, "--own-home"]);
            let prompted = call("prompt_agent", json!({ "agent": agent, "text": "do it" }));
            assert_eq!(prompted["final_text"], "Done.", "{prompted}");
        }
    }
    nodes.whole();
}

#[test]
fn nodes_that_are_killed_and_drained_lose_and_double_nothing_of_any_cell() {
    let provider = Provider::start((0..10_000).map(|number| match number % 5 {
        0 => calls(&[("ExecCommand", json!({ "cmd": "echo done", "login": false }))]),
        _ => says("Done."),
    }));
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
    }
    let harm = || {
        for (at, harm) in [(0, "kill"), (1, "kill"), (0, "stop")] {
            std::thread::sleep(Duration::from_millis(200));
            match harm {
                "kill" => nodes.nodes[at].kill(),
                _ => drop(nodes.nodes[at].ok(&["daemon", "stop"])),
            }
            wait_for("the other node to own all cells", || nodes.owners(1 - at).len() == 1);
            nodes.nodes[at].start();
            wait_for("both nodes to own cells", || nodes.owners(at).len() == 2);
        }
    };
    let acknowledged = acknowledged_under(harm, AGENTS.len(), |number| nodes.acknowledged(number));
    wait_until_quiet(&nodes.nodes[0], &AGENTS);
    let records = nodes.records();
    every_key_once(&records, &acknowledged);
    nothing_is_open(&records);
    nodes.whole();
}

#[test]
fn a_labelled_cell_is_owned_by_a_node_with_its_label() {
    let provider = Provider::answering(|_| says("hello"));
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    // The second node comes back with a label.
    nodes.nodes[1].ok(&["daemon", "stop"]);
    nodes.nodes[1].ok(&["config", "set", "store.labels", "disk"]);
    nodes.nodes[1].start();
    wait_for("both nodes to own cells", || nodes.owners(0).len() == 2);
    let labelled = |nodes: &Nodes| {
        let status = nodes.nodes[0].ok(&["cluster", "nodes", "--json"]).json();
        let rows = status["nodes"].as_array().expect("nodes").clone();
        rows.into_iter().find(|node| node["labels"] == json!(["disk"])).and_then(|node| node["node"].as_u64())
    };
    let owner = labelled(&nodes);
    assert!(owner.is_some());
    let owner_of = |cell: usize| {
        let cells = nodes.nodes[0].ok(&["cluster", "cells", "--json"]).json();
        cells["cells"][cell - 1]["node"].as_u64()
    };
    let elsewhere = (1..=CELLS).find(|cell| owner_of(*cell) != owner).expect("a cell of the other node");
    let cell = elsewhere.to_string();
    nodes.nodes[0].ok(&["cluster", "label", &cell, "disk"]);
    wait_for("the node with the label", || owner_of(elsewhere) == owner);
    let other = nodes.owners(0).into_iter().find(|node| Some(*node) != owner).expect("two own").to_string();
    let refused = nodes.nodes[0].0.run(&["cluster", "move", &cell, &other]);
    refused.refused(4, &["label disk", "cell"]);
    // Nobody else gets it while its node is away.
    nodes.nodes[1].kill();
    wait_for("one owner of the rest", || {
        let owned = (1..=CELLS).filter_map(owner_of).collect::<Vec<_>>();
        owned.len() == CELLS - 1 && owned.iter().all(|node| node.to_string() == other)
    });
    assert_eq!(owner_of(elsewhere), None);
    nodes.nodes[0].ok(&["cluster", "label", &cell]);
    wait_for("the other node", || owner_of(elsewhere).is_some());
    nodes.nodes[1].start();
    nodes.whole();
}

#[test]
fn a_name_is_one_agent_whoever_begins_it() {
    let provider = Provider::answering(|request| match (round(request), input(request)) {
        (0, asked) if asked.contains("begin") => calls(&[(
            "SpawnAgent",
            json!({ "preset": "public_named", "agent_id": "pal", "initial_message": "you are pal" }),
        )]),
        (1, _) => {
            let messages = request["messages"].as_array().expect("messages");
            says(&format!("result: {}", messages.last().expect("one")["content"]))
        }
        _ => says("hello"),
    });
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
    }
    let results = AGENTS.map(|agent| nodes.prompt(0, agent, "begin"));
    let begun = results.iter().filter(|result| !result.contains("exists already")).count();
    assert_eq!(begun, 1, "{results:?}");
    assert!(nodes.prompt(1, "pal", "who are you?").contains("hello"));
    nodes.nodes[0].0.run(&["ledger", "fork", "bob", "pal"]).refused(4, &["pal"]);
    nodes.nodes[1].ok(&["ledger", "fork", "bob", "twin"]);
    assert!(nodes.prompt(0, "twin", "who are you?").contains("hello"));
    nodes.whole();
}

#[test]
fn a_second_name_that_an_agent_gives_up_is_free_for_agents_of_every_cell() {
    let provider = Provider::answering(|_| says("hello"));
    let Some(nodes) = Nodes::start(&provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
    }
    // They are in several cells, and each has the name for a while.
    for (at, agent) in AGENTS.iter().enumerate() {
        nodes.nodes[at % 2].ok(&["agent", "rename", agent, "zed"]);
        for node in [0, 1] {
            let named = nodes.get(node, "/agents/zed/status");
            assert_eq!(named["agent_id"], json!(agent), "{named}");
        }
        nodes.nodes[0].0.run(&["agent", "create", "zed", "--own-home"]).refused(4, &["zed"]);
        nodes.nodes[(at + 1) % 2].ok(&["agent", "rename", agent, agent]);
    }
    nodes.nodes[1].ok(&["agent", "create", "zed", "--own-home"]);
    nodes.nodes[0].0.run(&["agent", "rename", "ada", "zed"]).refused(4, &["zed"]);
    nodes.whole();
}
