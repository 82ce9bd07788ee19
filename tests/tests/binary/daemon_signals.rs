//! A runtime that the machine lets sleep in the middle of something: nothing is doubled, nothing is forgotten, and
//! time that passed without it is no failure of anybody else.

use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{Acknowledged, every_key_once, nothing_is_open, quiet};
use end_to_end::http::{get, post_until_acknowledged};
use end_to_end::life::Life;
use end_to_end::provider::{Provider, calls, command, fails, says};
use end_to_end::{count, payloads, wait_for};
use serde_json::{Value, json};

const PROMPT: &str = "/control/agents/main/prompt";

/// Longer than any wait that the runtime is in.
const ASLEEP: Duration = Duration::from_millis(900);
/// Time for an attempt that is enough on a slow machine.
const ATTEMPT: Duration = Duration::from_millis(4_000);

fn sleeps(life: &Life, asleep: Duration) {
    life.signal("STOP");
    std::thread::sleep(asleep);
    life.signal("CONT");
}

fn records_in_the_end(daemon: &Daemon, life: Life) -> Vec<Value> {
    wait_for("end of all work", || quiet(daemon, &["main"]));
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    nothing_is_open(&records);
    records
}

fn event(daemon: &Daemon, kind: &str) -> bool {
    let page = get(&daemon.run_file("holon.sock"), "/agents/main/events?limit=512");
    page.is_ok_and(|page| page.body.to_string().contains(&format!("\"type\":\"{kind}\"")))
}

#[test]
fn asleep_in_a_wait_a_command_and_a_call_of_a_model() {
    let provider = Provider::start([
        fails(529, "overloaded"),
        calls(&[command("echo begun >> log; sleep 0.3; echo ended >> log")]),
        says("Done.").late(Duration::from_millis(300)),
    ]);
    let daemon = Daemon::new(&provider);
    let mut life = Life::begin(&daemon, &[]);
    assert_eq!(life.ready(&daemon), None);
    daemon.ok(&["config", "set", "runtime.retry_backoff_ms", "300"]);
    assert!(life.leave().success());
    let mut life = Life::begin(&daemon, &[]);
    assert_eq!(life.ready(&daemon), None);
    let socket = daemon.run_file("holon.sock");
    post_until_acknowledged(&socket, PROMPT, "one", &json!({ "text": "go" }));
    wait_for("wait before another attempt", || event(&daemon, "provider_attempt_recorded"));
    sleeps(&life, ASLEEP);
    let log = daemon.0.home().join("agents/main/log");
    wait_for("command", || log.exists());
    sleeps(&life, ASLEEP);
    provider.wait_for_requests(3);
    sleeps(&life, ASLEEP);
    let records = records_in_the_end(&daemon, life);
    assert_eq!(provider.asked().len(), 3, "nobody was asked twice");
    let attempts = payloads(&records, "provider_attempt_recorded");
    let outcomes: Vec<&Value> = attempts.iter().map(|fact| &fact["attempt"]["outcome"]).collect();
    assert_eq!(outcomes, ["retrying", "succeeded", "succeeded"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "begun\nended\n");
    for (kind, times) in [("turn_started", 1), ("tool_executed", 1), ("message_processed", 1)] {
        assert_eq!(count(&records, kind), times, "{kind}");
    }
}

#[test]
fn an_attempt_whose_time_went_by_asleep_is_made_again_and_answered_once() {
    let provider = Provider::start([says("Too late.").late(Duration::from_secs(60)), says("In time.")]);
    let daemon = Daemon::new(&provider);
    std::fs::create_dir_all(daemon.0.home()).unwrap();
    let config = format!("[runtime]\nretry_backoff_ms = 1\nmodel_timeout_ms = {}\n", ATTEMPT.as_millis());
    std::fs::write(daemon.0.home().join("config.toml"), config).unwrap();
    let mut life = Life::begin(&daemon, &[]);
    assert_eq!(life.ready(&daemon), None);
    post_until_acknowledged(&daemon.run_file("holon.sock"), PROMPT, "one", &json!({ "text": "go" }));
    provider.wait_for_requests(1);
    sleeps(&life, ATTEMPT);
    let records = records_in_the_end(&daemon, life);
    let attempts = payloads(&records, "provider_attempt_recorded");
    let told: Vec<_> =
        attempts.iter().map(|fact| (&fact["attempt"]["outcome"], &fact["attempt"]["failure_kind"])).collect();
    assert_eq!(told, [(&json!("retrying"), &json!("timeout")), (&json!("succeeded"), &Value::Null)]);
    assert_eq!(provider.asked().len(), 2);
    assert_eq!(count(&records, "message_processed"), 1);
}

#[test]
fn clients_that_ask_a_sleeping_runtime_again_and_again_are_one_message() {
    let provider = Provider::start((0..8).map(|_| says("Done.")));
    let daemon = Daemon::new(&provider);
    let mut life = Life::begin(&daemon, &[]);
    assert_eq!(life.ready(&daemon), None);
    life.signal("STOP");
    let socket = daemon.run_file("holon.sock");
    let told: Vec<Value> = std::thread::scope(|scope| {
        let post = || post_until_acknowledged(&socket, PROMPT, "one", &json!({ "text": "go" }));
        let clients: Vec<_> = (0..5).map(|_| scope.spawn(post)).collect();
        std::thread::sleep(Duration::from_millis(200));
        life.signal("CONT");
        clients.into_iter().map(|client| client.join().expect("it is told")).collect()
    });
    assert_eq!(told.iter().filter(|told| told["duplicate"] == false).count(), 1, "{told:?}");
    let id = told[0]["message_id"].as_str().unwrap();
    assert!(told.iter().all(|told| told["message_id"] == id), "{told:?}");
    let acknowledged = Acknowledged::from([(("main".to_owned(), "one".to_owned()), id.to_owned())]);
    every_key_once(&records_in_the_end(&daemon, life), &acknowledged);
}
