//! Budgets that the agents of several cells have together: each cell is lent what it needs, and all of them never spend more.

use end_to_end::provider::{Provider, says};
use end_to_end::wait_for;
use serde_json::json;

use super::cluster_cells::{AGENTS, Nodes, not_tried};

/// Of all agents together, in tokens.
const LIMIT: u64 = 240_000;
/// What each answer takes. A request reserves more: the longest answer alone is 16,384.
const TURN: u64 = 20_000;

impl Nodes {
    fn limit(&self, budget: &str, limit: u64) {
        for node in &self.nodes {
            node.ok(&["config", "set", budget, &limit.to_string()]);
            node.ok(&["daemon", "restart"]);
        }
        wait_for("both nodes to own cells", || self.owners(0).len() == 2);
    }

    /// Whether the budget covers a prompt.
    fn affords(&self, at: usize, agent: &str) -> bool {
        let prompted = self.nodes[at].0.run(&["prompt", "--agent", agent, "--wait=settled", "go on"]);
        assert!(matches!(prompted.code, Some(0 | 8)), "{prompted:?}");
        prompted.code == Some(0)
    }

    /// What is lent of a budget to each cell that has something of it.
    fn lent(&self, budget: &str) -> Vec<u64> {
        let grants = self.nodes[1].ok(&["cluster", "grants", "--json"]).json();
        let grants = grants["grants"].as_array().expect("grants").iter();
        let of_budget = grants.filter(|grant| grant["budget"] == budget);
        of_budget.map(|grant| grant["lent"].as_u64().expect("a number")).collect()
    }

    /// Tokens that all agents have spent, as their records have it.
    fn spent(&self) -> u64 {
        let records = self.records();
        let settled = records.iter().filter(|record| record["type"] == "budget_settled");
        settled.map(|record| record["payload"]["amount"]["tokens"].as_u64().unwrap_or_default()).sum()
    }
}

#[test]
fn a_cell_spends_what_others_leave_and_all_together_never_more() {
    let provider = Provider::answering(|_| says("done").counting(json!(TURN - 500), json!(500)));
    let Some(nodes) = Nodes::over(4, &provider) else { return not_tried() };
    for agent in AGENTS {
        nodes.nodes[0].ok(&["agent", "create", agent, "--own-home"]);
    }
    nodes.limit("budget.runtime_tokens", LIMIT);
    // More than a quarter in one cell of four.
    let alone = LIMIT / 2 / TURN;
    for _ in 0..alone {
        assert!(nodes.affords(1, AGENTS[0]));
    }
    // An owner that dies takes nothing along, and what it was lent is not lent again.
    nodes.nodes[0].kill();
    nodes.nodes[0].start();
    wait_for("an owner of each cell", || !nodes.owners(0).is_empty());
    let turns =
        alone + (0..100).take_while(|turn| nodes.affords(turn % 2, AGENTS[1 + turn % 7])).count() as u64;
    // A turn needs more than it takes in the end, and little is left over in cells that need it no more.
    let least = LIMIT / TURN - 4;
    assert!((least..=LIMIT / TURN).contains(&turns), "{turns} turns");
    for agent in AGENTS {
        while nodes.affords(0, agent) {}
    }
    let (spent, lent) = (nodes.spent(), nodes.lent("runtime_tokens"));
    let in_all: u64 = lent.iter().sum();
    assert!(spent <= in_all && in_all <= LIMIT, "{spent} of {lent:?}");
    let why = nodes.nodes[1].ok(&["why", "--agent", AGENTS[0]]).stdout;
    assert!(why.contains("budget.runtime_tokens is raised"), "{why}");
    // A cell that is split divides what covers what its agents have spent.
    let split =
        (1..=4).find(|cell| nodes.nodes[1].0.run(&["cluster", "split", &cell.to_string()]).code == Some(0));
    assert!(split.is_some(), "no cell has two agents");
    assert_eq!(nodes.lent("runtime_tokens").iter().sum::<u64>(), in_all);
    // Whoever is held goes on once there is more, and there is enough for what waits.
    nodes.limit("budget.runtime_tokens", LIMIT * 10);
    assert!(nodes.affords(1, AGENTS[0]));
    let (more, lent) = (nodes.spent(), nodes.lent("runtime_tokens"));
    let in_all: u64 = lent.iter().sum();
    assert!(spent < more && more <= in_all && in_all <= LIMIT * 10, "{spent} and {more} of {lent:?}");
    nodes.whole();
}

#[test]
fn a_budget_of_a_day_is_lent_by_the_day() {
    let provider = Provider::answering(|_| says("done").counting(json!(TURN - 500), json!(500)));
    let Some(nodes) = Nodes::over(2, &provider) else { return not_tried() };
    assert_eq!(nodes.nodes[0].ok(&["cluster", "grants"]).stdout, "nothing was lent\n");
    nodes.nodes[0].ok(&["agent", "create", "ada", "--own-home"]);
    nodes.limit("budget.runtime_day_tokens", 3 * TURN);
    assert!(nodes.affords(0, "ada") && nodes.affords(1, "ada") && !nodes.affords(0, "ada"));
    let shown = nodes.nodes[0].ok(&["cluster", "grants"]).stdout;
    let row = shown.lines().nth(1).expect("a row");
    assert!(row.contains("runtime_day_tokens") && row.contains(" 20") && row.contains("tokens"), "{shown}");
    assert_eq!(
        nodes.nodes[1].ok(&["daemon", "status", "--json"]).json()["spending"]["budgets"][0]["limit"],
        3 * TURN
    );
    nodes.whole();
}
