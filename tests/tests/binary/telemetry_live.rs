//! Traces that a runtime sends as they happen: nothing is lost, whoever is away or killed, and ids repeat.

use std::collections::BTreeMap;

use end_to_end::collector::{Collector, traces_by_schema};
use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

fn turn() -> [end_to_end::provider::Reply; 2] {
    [calls(&[("ExecCommand", json!({ "cmd": "echo canary", "login": false }))]), says("done")]
}

/// A runtime that asks a model of so many turns, and sends traces there.
fn begun(collector: &Collector, turns: usize) -> (Provider, Daemon) {
    let provider = Provider::start(std::iter::repeat_with(turn).take(turns).flatten());
    let holon = Holon::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let daemon = Daemon::asking(holon.with("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine"), &provider);
    daemon.start();
    (provider, daemon)
}

fn works(daemon: &Daemon, prompt: &str) {
    daemon.ok(&["prompt", "--wait", prompt]);
    wait_for("end of the turn", || quiet(daemon, &["main"]));
}

/// Spans by their ids: whoever is sent one twice has it once.
fn by_id(spans: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    spans.into_iter().map(|span| (span["spanId"].as_str().expect("an id").to_owned(), span)).collect()
}

/// What an export of the whole ledger has.
fn exported(daemon: &Daemon) -> BTreeMap<String, Value> {
    let text = daemon.ok(&["telemetry", "export"]).stdout;
    let lines = text.lines().map(traces_by_schema);
    let spans = lines
        .flat_map(|it| it["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone());
    by_id(spans)
}

fn all_arrive(daemon: &Daemon, collector: &Collector) {
    collector.understood_all();
    let all = exported(daemon);
    wait_for("all spans", || by_id(collector.spans()).len() >= all.len());
    assert_eq!(by_id(collector.spans()), all, "what is sent is what an export of the past has");
}

#[test]
fn what_ends_is_sent_and_is_what_an_export_has() {
    let collector = Collector::start();
    let (_provider, daemon) = begun(&collector, 2);
    works(&daemon, "one");
    works(&daemon, "two");
    all_arrive(&daemon, &collector);
    for header in ["x-tenant: mine", "content-type: application/x-protobuf"] {
        assert!(collector.headers().iter().any(|line| line.eq_ignore_ascii_case(header)), "{header}");
    }
    assert!(!format!("{:?}", collector.spans()).contains("canary"), "no texts");
    let doctor = daemon.ok(&["config", "doctor"]).stdout;
    assert!(doctor.contains("traces are sent to") && doctor.contains(&collector.url), "{doctor}");
    let names: Vec<_> =
        collector.spans().iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect();
    for name in ["invoke_agent main", "chat local/test", "execute_tool ExecCommand", "queue_wait"] {
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
}

#[test]
fn who_wants_json_gets_the_same_as_json() {
    let collector = Collector::start();
    let provider = Provider::start(turn());
    let holon = Holon::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let holon = holon.with("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    let daemon = Daemon::asking(holon.with("OTEL_METRIC_EXPORT_INTERVAL", "200"), &provider);
    daemon.start();
    works(&daemon, "one");
    wait_for("metrics", || !collector.metrics().is_empty());
    all_arrive(&daemon, &collector);
    let headers = collector.headers();
    assert!(
        headers.iter().any(|line| line.eq_ignore_ascii_case("content-type: application/json")),
        "{headers:?}"
    );
}

#[test]
fn a_collector_that_is_away_loses_nothing_and_one_that_refuses_for_good_stops_nobody() {
    let collector = Collector::start();
    collector.answers(503);
    let (_provider, daemon) = begun(&collector, 5);
    works(&daemon, "one");
    works(&daemon, "two");
    wait_for("refusals", || collector.requests() >= 2);
    assert!(collector.spans().is_empty());
    collector.answers(404);
    wait_for("more of them", || collector.requests() >= 3);
    // The runtime dies meanwhile, and another one works without a collector.
    daemon.kill();
    daemon.start();
    works(&daemon, "three");
    collector.answers(200);
    all_arrive(&daemon, &collector);
    let before = exported(&daemon);
    collector.answers(400);
    let requests = collector.requests();
    works(&daemon, "four");
    wait_for("a refusal for good", || collector.requests() > requests);
    collector.answers(200);
    works(&daemon, "five");
    wait_for("the last turn", || {
        let all = exported(&daemon);
        let taken = by_id(collector.spans());
        let new: Vec<&String> = all.keys().filter(|id| !before.contains_key(*id)).collect();
        new.iter().filter(|id| taken.contains_key(**id)).count() >= new.len() / 2
    });
}

#[test]
fn what_is_too_large_for_a_collector_is_sent_in_halves() {
    let collector = Collector::start();
    collector.takes_at_most(1_500);
    let (_provider, daemon) = begun(&collector, 2);
    works(&daemon, "one");
    works(&daemon, "two");
    all_arrive(&daemon, &collector);
    assert!(collector.requests() > 4, "more than a request for each turn");
}

#[test]
fn no_span_is_lost_whenever_the_runtime_is_killed() {
    let collector = Collector::start();
    let (_provider, daemon) = begun(&collector, 16);
    for round in 0..6_u64 {
        if round % 2 == 1 {
            collector.is_mute();
        } else {
            collector.answers(200);
        }
        works(&daemon, "go");
        std::thread::sleep(std::time::Duration::from_millis(round * 300));
        daemon.kill();
        daemon.start();
    }
    collector.answers(200);
    works(&daemon, "last");
    all_arrive(&daemon, &collector);
    let (spans, ids) = (collector.spans(), by_id(collector.spans()));
    for span in &spans {
        let known = &ids[span["spanId"].as_str().expect("an id")];
        assert_eq!(span, known, "a span that is sent twice is the same");
    }
}

#[test]
fn what_names_no_collector_is_found_and_stops_nobody() {
    let daemon = Daemon::hello_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]);
    daemon.start();
    works(&daemon, "hello");
    let doctor = daemon.0.run(&["config", "doctor"]);
    assert!(doctor.stdout.contains("OTEL_EXPORTER_OTLP_ENDPOINT is no address of a collector"), "{doctor:?}");
}

/// Families that a text in OpenMetrics has samples of.
fn shown(daemon: &Daemon) -> Vec<String> {
    let text = end_to_end::http::metrics(&daemon.run_file("holon.sock"));
    let mut family = String::new();
    let mut families = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ").and_then(|rest| rest.split(' ').next()) {
            Some(name) => family = name.to_owned(),
            None if !line.starts_with('#') && families.last() != Some(&family) => {
                families.push(family.clone())
            }
            None => {}
        }
    }
    families
}

#[test]
fn metrics_are_sent_again_and_again_and_what_was_missed_is_in_the_next_ones() {
    let collector = Collector::start();
    collector.answers(503);
    let provider = Provider::start(turn());
    let holon = Holon::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let holon = holon.with("OTEL_METRIC_EXPORT_INTERVAL", "200").with("OTEL_TRACES_EXPORTER", "none");
    let daemon = Daemon::asking(holon, &provider);
    daemon.start();
    works(&daemon, "one");
    assert!(collector.metrics().is_empty());
    collector.answers(200);
    wait_for("metrics", || collector.metrics().len() > 1);
    collector.understood_all();
    assert_eq!(collector.requests(), 0, "no traces are wanted");
    let shown = shown(&daemon);
    assert!(shown.len() > 15, "{shown:?}");
    let named = |document: &Value, name: &str| {
        let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        metrics.as_array().expect("metrics").iter().find(|it| it["name"] == name).cloned()
    };
    // A request to the runtime is counted when it was answered.
    wait_for("all of what /metrics shows", || {
        let newest = collector.metrics().pop().expect("one");
        shown.iter().all(|name| named(&newest, name).is_some())
    });
    let newest = collector.metrics().pop().expect("one");
    let turns = named(&newest, "holon_turns").expect("turns");
    assert_eq!(turns["sum"]["dataPoints"][0]["asDouble"], 1.0, "{turns}");
    let doctor = daemon.ok(&["config", "doctor"]).stdout;
    assert!(doctor.contains("metrics to") && doctor.contains("/v1/metrics"), "{doctor}");
    daemon.ok(&["daemon", "stop"]);
    let wrong = Holon::new().with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let wrong = wrong.with("OTEL_METRIC_EXPORT_INTERVAL", "soon").run(&["config", "doctor"]);
    assert!(wrong.stdout.contains("OTEL_METRIC_EXPORT_INTERVAL is no number"), "{wrong:?}");
}
