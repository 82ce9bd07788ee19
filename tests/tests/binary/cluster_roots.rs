//! Agents of several cells in one folder, in a real PostgreSQL: one works there at a time, whatever cell it is in (law X9).

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use end_to_end::obedient::{asks, folder, obedient, told};
use end_to_end::provider::Provider;
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

use crate::cluster_cells::{AGENTS, Nodes, not_tried};

/// Turns of each agent in which its command was executed.
const TURNS: usize = 2;
/// Turns in which it was not, at most.
const REFUSED: usize = 200;

/// Nodes, all agents, and the one folder that these work in; none where this machine has no PostgreSQL.
fn begun() -> Option<(Provider, Nodes, Holon, PathBuf)> {
    let provider = Provider::answering(obedient);
    let nodes = Nodes::over(4, &provider)?;
    // A cell that is handed over interrupts its turns, and ends commands in the middle.
    wait_for("each node to own its share", || nodes.owned(0).into_values().eq([2, 2]));
    let place = Holon::new();
    let shop = folder(&place.work(), "shop");
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--workspace-root", &shop.display().to_string()]);
    }
    Some((provider, nodes, place, shop))
}

fn command(cmd: &str) -> [(&'static str, Value); 1] {
    [("ExecCommand", json!({ "cmd": cmd, "login": false }))]
}

/// Works alone in the folder, as often as is wanted; how often it was kept out by whom else.
fn works_alone(nodes: &Nodes, at: usize, agent: &str) -> usize {
    let (mut worked, mut refused) = (0, 0);
    while worked < TURNS {
        let node = &nodes.nodes[(at + worked + refused) % 2];
        let shown = asks(node, agent, &command("mkdir busy || exit 77; sleep 0.02; rmdir busy; echo alone"));
        if shown.contains("alone") {
            worked += 1;
        } else {
            assert!(shown.contains("is occupied by the agent"), "{agent}: {shown}");
            refused += 1;
            assert!(refused < REFUSED, "{agent} is kept out: {shown}");
            thread::sleep(Duration::from_millis(200));
        }
    }
    refused
}

#[test]
fn one_agent_works_in_a_folder_at_a_time_whatever_cell_it_is_in() {
    let Some((_provider, nodes, _place, shop)) = begun() else { return not_tried() };
    let refused: usize = thread::scope(|scope| {
        let nodes = &nodes;
        let all: Vec<_> = AGENTS[..5]
            .iter()
            .enumerate()
            .map(|(at, agent)| scope.spawn(move || works_alone(nodes, at, agent)))
            .collect();
        all.into_iter().map(|one| one.join().expect("works")).sum()
    });
    assert!(refused > 0, "nobody met anybody");
    assert!(!shop.join("busy").exists());
}

#[test]
fn a_folder_is_free_when_the_node_of_whoever_worked_there_has_died() {
    let Some((_provider, nodes, _place, shop)) = begun() else { return not_tried() };
    let (worker, others) = AGENTS.split_first().expect("agents");
    nodes.nodes[0].ok(&["prompt", "--agent", worker, &told(&command("touch begun; sleep 600"))]);
    wait_for("the command", || shop.join("begun").exists());
    let named = format!("is occupied by the agent {worker}");
    for other in others {
        let shown = asks(&nodes.nodes[1], other, &command("true"));
        assert!(shown.contains(&named), "{other}: {shown}");
    }
    for node in &nodes.nodes {
        node.kill();
    }
    nodes.nodes[0].start();
    for other in others {
        let is_in = || asks(&nodes.nodes[0], other, &command("true")).contains("exit_status");
        wait_for("the folder", is_in);
    }
}
