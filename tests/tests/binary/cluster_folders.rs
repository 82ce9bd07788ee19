//! Folders that only one machine has (`workspace.node`): agents that have some are in cells that its node alone owns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use end_to_end::http::ask;
use end_to_end::obedient::{asks, folder, obedient, repository};
use end_to_end::provider::Provider;
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

use crate::cluster_cells::{Nodes, not_tried};

/// Agents by the node that they are made at.
const MADE: [[&str; 4]; 2] = [["ada", "bob", "cleo", "dan"], ["eve", "fay", "gus", "hal"]];

struct Machines {
    nodes: Nodes,
    place: Holon,
    _provider: Provider,
}

impl Machines {
    /// Two nodes whose folders are their own; none where this machine has no PostgreSQL.
    fn with(more: &[(&str, &str)]) -> Option<Self> {
        let there: Vec<_> =
            [("HOLON_WORKSPACE_NODE", "there")].into_iter().chain(more.iter().copied()).collect();
        Self::of([&[("HOLON_WORKSPACE_NODE", "here")], &there])
    }

    fn of(variables: [&[(&str, &str)]; 2]) -> Option<Self> {
        let provider = Provider::answering(obedient);
        let nodes = Nodes::each_with(variables, 6, &provider)?;
        wait_for("each node to own its share", || nodes.owned(0).into_values().eq([3, 3]));
        Some(Self { nodes, place: Holon::new(), _provider: provider })
    }

    fn folder(&self, name: &str) -> PathBuf {
        folder(&self.place.work(), name)
    }

    fn cells(&self) -> Vec<Value> {
        let cells = self.nodes.nodes[1].ok(&["cluster", "cells", "--json"]).json();
        cells["cells"].as_array().expect("cells").clone()
    }

    /// The owners of the cells with each label.
    fn by_label(&self) -> BTreeMap<String, BTreeSet<Option<u64>>> {
        let mut labels: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for cell in self.cells() {
            if let Some(label) = cell["label"].as_str() {
                labels.entry(label.to_owned()).or_default().insert(cell["node"].as_u64());
            }
        }
        labels
    }

    fn node_of(&self, label: &str) -> u64 {
        let nodes = self.nodes.nodes[1].ok(&["cluster", "nodes", "--json"]).json();
        let nodes = nodes["nodes"].as_array().expect("nodes").clone();
        let node = nodes.iter().find(|node| {
            node["state"] != "buried" && node["labels"].as_array().expect("labels").contains(&json!(label))
        });
        node.and_then(|node| node["node"].as_u64()).expect("a node")
    }
}

fn touches(file: &str) -> [(&'static str, Value); 1] {
    [("ExecCommand", json!({ "cmd": format!("echo x >> {file}"), "login": false }))]
}

#[test]
fn agents_are_where_their_folders_are_and_wait_for_them() {
    let Some(machines) = Machines::with(&[]) else { return not_tried() };
    let nodes = &machines.nodes.nodes;
    // The same path on two machines would be two folders; here each agent has one of its own.
    for (at, made) in MADE.iter().enumerate() {
        for agent in made {
            let folder = machines.folder(agent).display().to_string();
            nodes[at].ok(&["agent", "create", agent, "--workspace-root", &folder]);
        }
    }
    let (here, there) = (machines.node_of("here"), machines.node_of("there"));
    let bound = machines.by_label();
    assert_eq!(bound["here"], [Some(here)].into());
    assert_eq!(bound["there"], [Some(there)].into());
    let free = machines.cells().into_iter().filter(|cell| cell["label"].is_null()).count();
    assert_eq!(free, 4, "a machine takes no more cells than it needs");
    // Whichever node is asked, the one with the folder does the work.
    for (at, agent) in MADE.as_flattened().iter().enumerate() {
        asks(&nodes[at % 2], agent, &touches("done"));
        assert_eq!(std::fs::read_to_string(machines.folder(agent).join("done")).expect("a file"), "x\n");
    }
    let cell = machines.cells().into_iter().find(|cell| cell["label"] == "here").expect("a cell");
    let moved = nodes[1].0.run(&["cluster", "move", &cell["cell"].to_string(), &there.to_string()]);
    moved.refused(4, &["has not the label here"]);
    // While that machine is away, the other one goes on with its own alone, and refuses the rest by name.
    nodes[0].kill();
    wait_for("nobody to own its cells", || machines.by_label()["here"] == [None].into());
    let free = |cell: &Value| cell["label"].is_null();
    wait_for("the rest to be taken", || {
        machines.cells().iter().filter(|cell| free(cell)).all(|cell| cell["node"].as_u64() == Some(there))
    });
    for agent in MADE[1] {
        asks(&nodes[1], agent, &touches("done"));
    }
    let path = "/control/agents/ada/prompt";
    let refused = ask(&nodes[1].run_file("holon.sock"), "POST", path, &[], Some(&json!({ "text": "x" })));
    let refused = refused.expect("an answer");
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("moving")), "{refused:?}");
    assert!(refused.body["error"].as_str().expect("a text").contains("the label here"), "{refused:?}");
    // What is there already stays true: folders are bound to the label, not to the node.
    nodes[0].start();
    for agent in MADE[0] {
        wait_for("the machine to be back", || nodes[1].0.run(&["status", "--agent", agent]).code == Some(0));
        asks(&nodes[1], agent, &touches("done"));
        assert_eq!(std::fs::read_to_string(machines.folder(agent).join("done")).expect("a file"), "x\nx\n");
    }
    machines.nodes.whole();
}

#[test]
fn a_folder_of_one_machine_is_refused_to_an_agent_that_is_bound_to_another() {
    let Some(machines) = Machines::with(&[("HOLON_STORE_LABELS", "disk")]) else { return not_tried() };
    let nodes = &machines.nodes.nodes;
    let there = machines.node_of("there");
    let shop = repository(&machines.place.work(), "shop").display().to_string();
    // An agent without a folder leaves its cell as it is, which an operator binds to something else.
    nodes[1].ok(&["agent", "create", "ada", "--own-home"]);
    assert_eq!(machines.by_label(), BTreeMap::new());
    for cell in machines.cells().iter().filter(|cell| cell["node"].as_u64() == Some(there)) {
        nodes[0].ok(&["cluster", "label", &cell["cell"].to_string(), "disk"]);
    }
    let expected =
        ["is on machines with the label there", "nodes with the label disk", "holon cluster label"];
    nodes[0].0.run(&["workspace", "attach", "--agent", "ada", &shop]).refused(2, &expected);
    for mode in ["direct", "isolated"] {
        let shown = asks(&nodes[0], "ada", &[("UseWorkspace", json!({ "path": shop, "mode": mode }))]);
        assert!(shown.contains("policy_denied") && shown.contains("with the label there"), "{mode}: {shown}");
    }
    // Its own home is with all nodes, and a tool goes on there.
    assert!(asks(&nodes[0], "ada", &touches("mine")).contains("exit_status"));
    // One that is made at this machine finds no cell here, and none that is free but on the other one.
    for cell in machines.cells().iter().filter(|cell| cell["label"] == "disk") {
        nodes[0].ok(&["cluster", "label", &cell["cell"].to_string()]);
    }
    // By the tool, too, a cell is bound.
    let shown = asks(&nodes[1], "ada", &[("UseWorkspace", json!({ "path": shop, "mode": "isolated" }))]);
    assert!(shown.contains("git_worktree_root"), "{shown}");
    assert_eq!(machines.by_label(), [("there".to_owned(), [Some(there)].into())].into());
}

#[test]
fn a_folder_from_before_binds_with_the_first_command_where_it_is() {
    let Some(machines) = Machines::of([&[], &[]]) else { return not_tried() };
    let nodes = &machines.nodes.nodes;
    let folders = ["ada", "bob"].map(|agent| machines.folder(agent));
    for (agent, folder) in ["ada", "bob"].iter().zip(&folders) {
        nodes[0].ok(&["agent", "create", agent, "--workspace-root", &folder.display().to_string()]);
    }
    for node in nodes {
        node.ok(&["daemon", "stop"]);
        node.ok(&["config", "set", "workspace.node", "disk"]);
    }
    nodes[0].start();
    nodes[1].start();
    wait_for("each node to own its share", || machines.nodes.owned(0).into_values().eq([3, 3]));
    std::fs::remove_dir_all(&folders[0]).expect("removed");
    // One that is on no machine any more says nothing about where its agent is.
    asks(&nodes[0], "ada", &touches("done"));
    assert_eq!(machines.by_label(), BTreeMap::new());
    asks(&nodes[0], "bob", &touches("done"));
    assert_eq!(machines.by_label().into_keys().collect::<Vec<_>>(), ["disk"]);
    machines.nodes.whole();
}
