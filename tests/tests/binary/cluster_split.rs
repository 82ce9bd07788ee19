//! A cell becomes two while clients ask: each agent is in one of them with all that it was, and nothing is lost or done twice.

use std::collections::BTreeSet;
use std::time::Duration;

use end_to_end::durable::{acknowledged_under, every_key_once, nothing_is_open, wait_until_quiet};
use end_to_end::obedient::input;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::wait_for;
use serde_json::json;

use super::cluster_cells::{AGENTS, Nodes, not_tried};

/// Agents of each cell, as the database has them.
fn counts(nodes: &Nodes) -> Vec<u64> {
    let cells = nodes.nodes[0].ok(&["cluster", "cells", "--json"]).json();
    let cells = cells["cells"].as_array().expect("cells").iter();
    cells.map(|cell| cell["agents"].as_u64().expect("a number")).collect()
}

#[test]
fn an_agent_goes_to_a_cell_of_its_own_with_all_that_it_was() {
    let provider = Provider::answering(|request| {
        let messages = request["messages"].as_array().map_or(0, Vec::len);
        says(&format!("heard: {} ({messages} messages)", json!(input(request))))
    });
    let Some(nodes) = Nodes::over(1, &provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
        nodes.prompt(0, agent, "the first");
    }
    let before = nodes.events(1);
    let refused = nodes.nodes[0].0.run(&["cluster", "split", "1", "--agent", "nobody"]);
    refused.refused(3, &["nobody", "cell 1"]);
    nodes.nodes[0].0.run(&["cluster", "split", "7"]).refused(3, &["cell 7"]);

    let split = nodes.nodes[0].ok(&["cluster", "split", "1", "--agent", "ada", "--json"]).json();
    assert_eq!((&split["new_cell"], &split["agents"], &split["trees"]), (&json!(2), &json!(1), &json!(1)));
    wait_for("both nodes to own cells", || nodes.owners(0).len() == 2);
    assert_eq!(counts(&nodes), [8, 1], "the agent that is always there among them");
    for at in [0, 1] {
        for agent in AGENTS {
            let said = nodes.prompt(at, agent, &format!("again at {at}"));
            assert!(said.contains(&format!("again at {at}")), "{said}");
        }
        let shown = nodes.nodes[at].ok(&["transcript", "ada"]).stdout;
        assert!(shown.contains("the first") && shown.contains("again at 0"), "{shown}");
    }
    // Half of what has happened goes where nobody is named.
    let split = nodes.nodes[1].ok(&["cluster", "split", "1", "--json"]).json();
    assert_eq!((&split["cell"], &split["new_cell"]), (&json!(1), &json!(3)));
    wait_for("owners", || !nodes.owners(1).is_empty());
    let counted = counts(&nodes);
    assert!(counted.iter().sum::<u64>() == 9 && counted[2] >= 3, "{counted:?}");
    let refused = nodes.nodes[0].0.run(&["cluster", "split", "2"]);
    refused.refused(4, &["cell 2 can't be split", "1 trees"]);
    for agent in AGENTS {
        assert!(nodes.prompt(0, agent, "the last").contains("the last"));
    }
    // A name is taken in all cells, and what had its place in the order of all events keeps it.
    for agent in AGENTS {
        nodes.nodes[1].0.run(&["agent", "create", agent, "--own-home"]).refused(4, &[agent, "exists"]);
    }
    let events = nodes.events(0);
    assert_eq!((&events[..before.len()], nodes.events(1)), (&before[..], events.clone()));
    for agent in AGENTS {
        let seqs: Vec<u64> = events.iter().filter(|event| event.1 == agent).map(|event| event.2).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "{agent}");
    }
    nodes.whole();
}

#[test]
fn cells_that_are_split_under_load_lose_and_double_nothing() {
    let provider = Provider::start((0..10_000).map(|number| match number % 5 {
        0 => calls(&[("ExecCommand", json!({ "cmd": "echo done", "login": false }))]),
        _ => says("Done."),
    }));
    let Some(nodes) = Nodes::over(1, &provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
    }
    let harm = || {
        for cell in ["1", "1", "2"] {
            std::thread::sleep(Duration::from_millis(400));
            nodes.nodes[1].ok(&["cluster", "split", cell]);
            wait_for("all cells to have owners", || !nodes.owners(0).is_empty());
        }
        // Whoever splits ends in the middle, and so does a node.
        let mut splits = nodes.nodes[0].0.spawn(&["cluster", "split", "1"]);
        std::thread::sleep(Duration::from_millis(40));
        splits.kill().expect("it was started");
        splits.wait().expect("it ends");
        nodes.nodes[0].kill();
        wait_for("the other node to own all cells", || nodes.owners(1).len() == 1);
        nodes.nodes[0].start();
        wait_for("both nodes to own cells", || nodes.owners(0).len() == 2);
    };
    let acknowledged = acknowledged_under(harm, AGENTS.len(), |number| nodes.acknowledged(number));
    wait_until_quiet(&nodes.nodes[0], &AGENTS);
    let records = nodes.records();
    every_key_once(&records, &acknowledged);
    nothing_is_open(&records);
    let agents: BTreeSet<&str> = records.iter().filter_map(|record| record["agent"].as_str()).collect();
    assert!(AGENTS.iter().all(|agent| agents.contains(agent)));
    nodes.whole();
}

/// Two nodes that have stopped, over one cell in which agents were asked something.
fn stopped(text: &str) -> Option<Nodes> {
    let provider = Provider::answering(|_| says("Done."));
    let nodes = Nodes::over(1, &provider)?;
    for agent in ["ada", "bob"] {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
        nodes.prompt(0, agent, text);
    }
    for node in &nodes.nodes {
        node.ok(&["daemon", "stop"]);
    }
    Some(nodes)
}

#[test]
fn a_split_whose_connection_is_lost_on_the_way_changes_nothing() {
    let Some(nodes) = stopped("hello") else { return not_tried() };
    let node = &nodes.nodes[0];
    let verify = |cell| node.ok(&["ledger", "verify", "--cell", cell]);
    // The database ends connections that do nothing for a moment while something is under way.
    nodes.database.changes_role("SET idle_in_transaction_session_timeout = 1");
    let refused = node.0.run(&["cluster", "split", "1", "--agent", "ada"]);
    nodes.database.changes_role("RESET idle_in_transaction_session_timeout");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("splitting a cell"), "{refused:?}");
    assert_eq!(nodes.cells(), 1);
    verify("1");
    node.ok(&["cluster", "split", "1", "--agent", "ada"]);
    for cell in ["1", "2"] {
        verify(cell);
    }
    assert_eq!(counts(&nodes), [2, 1]);
}

#[test]
fn a_text_that_is_stored_again_while_its_cell_is_split_is_in_both() {
    let text = format!("a long question: {}", "words and ".repeat(60));
    let Some(nodes) = stopped(&text) else { return not_tried() };
    let node = &nodes.nodes[0];
    // It was removed, and its owner stores it again once the rows were copied.
    nodes.database.vandal(
        "CREATE TABLE kept AS SELECT id, text FROM content; UPDATE content SET text = NULL;
        CREATE FUNCTION stores() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            UPDATE content c SET text = k.text FROM kept k WHERE c.cell = 1 AND c.id = k.id;
            RETURN NEW;
        END $$;
        CREATE TRIGGER stores BEFORE UPDATE OF held_until ON cells FOR EACH ROW EXECUTE FUNCTION stores()",
    );
    node.ok(&["cluster", "split", "1", "--agent", "ada"]);
    nodes.database.vandal("DROP TRIGGER stores ON cells");
    // Divides by zero where one is missing.
    nodes.database.vandal("SELECT 1 / (NOT EXISTS (SELECT 1 FROM content WHERE text IS NULL))::int");
    for cell in ["1", "2"] {
        node.ok(&["ledger", "verify", "--cell", cell]);
    }
}
