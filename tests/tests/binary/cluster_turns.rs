//! Turns that the cells of one node have together: `limits.concurrent_turns` holds for the node.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use end_to_end::durable::{Acknowledged, every_key_once, nothing_is_open, wait_until_quiet};
use end_to_end::provider::{Provider, says};
use end_to_end::wait_for;

use super::cluster_cells::{AGENTS, Nodes, not_tried};

/// As many as one node may have at once.
const LIMIT: usize = 2;
/// A request takes that long, at least.
const REQUEST: Duration = Duration::from_millis(60);

/// When requests that are being answered came, and the most there were at once.
#[derive(Debug, Default)]
struct Asked {
    since: Vec<Instant>,
    most: usize,
}

impl Asked {
    fn take(&mut self) {
        let now = Instant::now();
        self.since.retain(|since| now.duration_since(*since) < REQUEST);
        self.since.push(now);
        self.most = self.most.max(self.since.len());
    }
}

#[test]
fn the_cells_of_a_node_have_its_turns_together() {
    let asked = Arc::new(Mutex::new(Asked::default()));
    let of_provider = asked.clone();
    let provider = Provider::answering(move |_| {
        of_provider.lock().expect("nobody panics").take();
        says("done").late(REQUEST)
    });
    let Some(nodes) = Nodes::over(4, &provider) else { return not_tried() };
    let [node, other] = &nodes.nodes;
    other.ok(&["daemon", "stop"]);
    node.ok(&["config", "set", "limits.concurrent_turns", &LIMIT.to_string()]);
    node.ok(&["daemon", "restart"]);
    wait_for("the node to own every cell", || !nodes.owners(0).is_empty());
    for agent in AGENTS {
        node.ok(&["agent", "create", agent, "--own-home"]);
    }
    let mut acknowledged: Acknowledged = (0..24).map(|number| nodes.acknowledged(number)).collect();
    // Turns that go on after a crash count like others.
    node.kill();
    std::thread::sleep(REQUEST);
    node.start();
    acknowledged.extend((24..48).map(|number| nodes.acknowledged(number)));
    wait_until_quiet(node, &AGENTS);
    assert_eq!(asked.lock().expect("nobody panics").most, LIMIT);
    other.start();
    let records = nodes.records();
    every_key_once(&records, &acknowledged);
    nothing_is_open(&records);
    nodes.whole();
}
