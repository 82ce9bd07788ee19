//! What a node counts of itself, for whoever watches it.

use end_to_end::http::metrics;
use end_to_end::provider::Provider;
use end_to_end::wait_for;

use super::pair::Pair;
use super::{not_tried, replies};
use crate::metrics::{OF_NODES, families, names, page};

#[test]
fn each_node_counts_for_itself_also_while_it_owns_nothing() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (owner, id) = pair.owner();
    pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
    let of = |node: usize, name: &str| {
        let text = metrics(&pair.nodes[node].run_file("holon.sock"));
        let line = text.lines().find(|line| line.split(' ').next() == Some(name)).map(str::to_owned);
        line.map(|line| {
            line.split(' ').next_back().and_then(|value| value.parse::<f64>().ok()).expect("a number")
        })
    };
    let spare = 1 - owner;
    let mut documented = names(&page("metrics.md"));
    documented.retain(|name| name.starts_with(OF_NODES));
    assert_eq!(families(&metrics(&pair.nodes[spare].run_file("holon.sock"))), documented);
    assert_eq!((of(owner, "holon_node_cells"), of(spare, "holon_node_cells")), (Some(1.0), Some(0.0)));
    assert_eq!(of(owner, "holon_node_take_overs_total"), Some(1.0));
    assert_eq!(of(owner, "holon_node_appends_refused_total"), Some(0.0));
    for node in [owner, spare] {
        wait_for("a renewal", || of(node, "holon_node_database_seconds").is_some_and(|took| took > 0.0));
        assert!(of(node, "holon_node_lease_left_seconds").is_some_and(|left| left > 0.0 && left < 1.0));
    }
    // What a runtime counts is its owner's alone: nobody sees it twice.
    assert!(of(owner, "holon_runs").is_some() && of(spare, "holon_runs").is_none());
    pair.nodes[owner].kill();
    wait_for("the other owner", || of(spare, "holon_node_cells") == Some(1.0));
    wait_for("a row that has it", || {
        let nodes = pair.nodes[spare].ok(&["cluster", "nodes", "--json"]).json();
        let nodes = nodes["nodes"].as_array().expect("nodes");
        nodes.len() == 1
            && nodes
                .iter()
                .all(|node| node["node"] != id && node["take_overs"] == 1 && node["appends_refused"] == 0)
    });
    let table = pair.nodes[spare].ok(&["cluster", "nodes"]).stdout;
    assert!(table.contains("DATABASE") && table.contains(" ms "), "{table}");
}
