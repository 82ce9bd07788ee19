//! What a runtime exports for Prometheus, and that the dashboard, the alerts and the documentation name nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::http::metrics;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::wait_for;
use serde_json::{Value, json};

/// What only providers with a login report; `shell/src/http/metrics` has a test of these names.
const OF_LOGINS: [&str; 2] = ["holon_incremental_requests", "holon_login_quota_used_ratio"];

pub(super) fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations").join(name);
    std::fs::read_to_string(path).expect("a page of the documentation")
}

/// A runtime in which something of everything happened.
fn busy() -> (Provider, Daemon) {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "true", "login": false })), ("NoSuchTool", json!({}))]),
        says("done"),
        says("done again"),
    ]);
    let daemon = Daemon::new(&provider);
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    let config = "[budget]\nruntime_day_tokens = 1000000\n";
    std::fs::write(daemon.0.home().join("config.toml"), config).expect("a file");
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    daemon.ok(&["prompt", "--wait", "two"]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    (provider, daemon)
}

/// What names of metrics of a node begin with.
pub(super) const OF_NODES: &str = "holon_node_";

/// Names of metrics in a text, without what a kind of metric puts behind them.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|letter: char| !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'));
    let plain = |word: &str| {
        let ends = ["_bucket", "_count", "_sum", "_total", "_info"];
        ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()
    };
    words.filter(|word| word.starts_with("holon_")).map(plain).collect()
}

/// Families by their type; each has a help.
pub(super) fn families(text: &str) -> BTreeSet<String> {
    let of = |kind: &str| -> BTreeSet<String> {
        let lines =
            text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(kind)?.strip_prefix(' '));
        lines.filter_map(|line| line.split(' ').next()).map(ToOwned::to_owned).collect()
    };
    assert_eq!(of("TYPE"), of("HELP"));
    of("TYPE")
}

fn value(text: &str, begins: &str) -> f64 {
    let line =
        text.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{begins} in {text}"));
    line.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn every_name_in_dashboard_alerts_and_documentation_is_exported_and_the_other_way_round() {
    let (_provider, daemon) = busy();
    let mut exported = families(&metrics(&daemon.run_file("holon.sock")));
    exported.extend(OF_LOGINS.map(ToOwned::to_owned));
    let dashboard: Value = serde_json::from_str(&page("grafana.json")).expect("a dashboard is JSON");
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
    let expressions: String = dashboard["panels"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| format!("{}\n", target["expr"].as_str().expect("an expression")))
        .collect();
    // Those of a node are compared with the page where there is one (`cluster/counts.rs`).
    let (of_nodes, documented): (BTreeSet<_>, BTreeSet<_>) =
        names(&page("metrics.md")).into_iter().partition(|name| name.starts_with(OF_NODES));
    assert_eq!(documented, exported);
    exported.extend(of_nodes);
    for (what, text) in [("grafana.json", expressions), ("alerts.yml", page("alerts.yml"))] {
        let named = names(&text);
        assert!(named.len() > 6, "{what}: {named:?}");
        let unknown: Vec<_> = named.difference(&exported).collect();
        assert!(unknown.is_empty(), "{what} names {unknown:?}, and there are {exported:?}");
    }
}

#[test]
fn times_and_states_are_what_happened() {
    let (_provider, daemon) = busy();
    let text = metrics(&daemon.run_file("holon.sock"));
    assert_eq!(value(&text, "holon_turn_duration_seconds_count{kind=\"completed\"}"), 2.0);
    assert_eq!(value(&text, "holon_queue_wait_seconds_count"), 2.0);
    let request = "holon_model_request_duration_seconds_count{provider=\"local\",model=\"local/test\",outcome=\"succeeded\"}";
    assert_eq!(value(&text, request), 3.0);
    assert_eq!(value(&text, "holon_tool_calls_total{tool=\"ExecCommand\",outcome=\"ok\"}"), 1.0);
    assert!(value(&text, "holon_tool_calls_total{tool=\"other\",") >= 1.0);
    assert_eq!(value(&text, "holon_agents{status=\"asleep\"}"), 1.0);
    assert_eq!(value(&text, "holon_agents{status=\"stopped\"}"), 0.0);
    assert!(value(&text, "holon_commit_seconds_count") >= 6.0);
    assert!(value(&text, "holon_loop_lag_seconds_count") >= 1.0);
    assert!(value(&text, "holon_ledger_bytes") > 4_096.0);
    assert_eq!(value(&text, "holon_ledger_check_failed"), 0.0);
    assert!(value(&text, "holon_tokens_today") > 0.0);
    let used = value(&text, "holon_budget_used_ratio{budget=\"runtime_day_tokens\"}");
    assert!(0.0 < used && used < 0.5, "{used}");
    assert_eq!(value(&text, "holon_build_info{version="), 1.0);
    assert!(!text.contains("NoSuchTool"), "a name that a model made up is no label");
    // Few series, whatever happens.
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series < 500, "{series}");

    daemon.ok(&["agent", "stop", "main"]);
    assert_eq!(value(&metrics(&daemon.run_file("holon.sock")), "holon_agents{status=\"stopped\"}"), 1.0);
}

#[test]
fn agents_have_labels_while_they_are_few() {
    let (_provider, daemon) = busy();
    std::fs::write(daemon.0.home().join("config.toml"), "[telemetry]\nagent_labels = 0\n").expect("a file");
    let labelled = |daemon: &Daemon| metrics(&daemon.run_file("holon.sock")).contains("agent=\"main\"");
    let before = labelled(&daemon);
    daemon.ok(&["daemon", "restart"]);
    assert!(before && !labelled(&daemon));
}
