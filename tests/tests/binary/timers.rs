//! `holon timer`, and the routes behind it, with a real clock.

use end_to_end::daemon::Daemon;
use end_to_end::wait_for;
use serde_json::{Value, json};

fn started() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    daemon
}

fn timers(daemon: &Daemon) -> Value {
    daemon.ok(&["timer", "list", "--json"]).json()["timers"].clone()
}

/// Turns that ticks of timers have brought.
fn ticks(daemon: &Daemon) -> usize {
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    let told = events.lines().filter(|line| line.contains(r#""type":"timer_tick_queued""#));
    told.count()
}

fn turns(daemon: &Daemon) -> usize {
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    events.lines().filter(|line| line.contains(r#""type":"turn_terminal""#)).count()
}

#[test]
fn a_timer_wakes_its_agent_once() {
    let daemon = started();
    let made = daemon.ok(&["timer", "add", "1s", "look at the build"]);
    assert!(made.stdout.starts_with("timer_1 fires at ") && made.stdout.contains(" UTC ("), "{made:?}");
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(why["due"]["reason"], "timer", "{why}");
    wait_for("turn of the tick", || turns(&daemon) == 1);
    let timer = timers(&daemon)[0].clone();
    assert_eq!((&timer["status"], &timer["fire_count"]), (&json!("completed"), &json!(1)), "{timer}");
    let said = daemon.ok(&["transcript"]).stdout;
    assert!(said.contains("timer_1 fired: look at the build"), "{said}");
    let shown = daemon.ok(&["tail", "--level", "info"]).stdout;
    assert!(shown.contains("timer_1 fires in 1 s: look at the build"), "{shown}");
    assert!(shown.contains("timer_1 fired"), "{shown}");
    let table = daemon.ok(&["timer", "list"]).stdout;
    assert!(table.starts_with("TIMER") && table.contains("timer_1  completed"), "{table}");
    daemon.ok(&["timer", "cancel", "timer_1"]).stdout.contains("completed already").then_some(()).unwrap();
}

#[test]
fn a_repeating_timer_goes_on_over_a_kill_until_it_is_cancelled() {
    let daemon = started();
    daemon.ok(&["timer", "add", "1s", "--every", "1s", "--misfire", "skip"]);
    wait_for("a first tick", || ticks(&daemon) >= 1);
    daemon.kill();
    daemon.start();
    let before = ticks(&daemon);
    wait_for("a tick after the start", || ticks(&daemon) > before);
    let cancelled = daemon.ok(&["timer", "cancel", "timer_1"]);
    assert_eq!(cancelled.stdout, "timer_1 is cancelled\n");
    let timer = timers(&daemon)[0].clone();
    assert_eq!(
        (&timer["repeat"], &timer["interval_ms"], &timer["misfire"]),
        (&json!(true), &json!(1_000), &json!("skip"))
    );
    assert_eq!(timer.get("next_fire_at"), None, "{timer}");
    assert_eq!(daemon.ok(&["why", "--json"]).json()["deadlines"], json!([]));
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

#[test]
fn what_became_due_while_nothing_ran_fires_once_and_late() {
    let daemon = started();
    daemon.ok(&["timer", "add", "1s"]);
    daemon.kill();
    std::thread::sleep(std::time::Duration::from_secs(2));
    daemon.start();
    wait_for("turn of the tick", || turns(&daemon) == 1);
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    let fired: Vec<Value> = events
        .lines()
        .filter(|line| line.contains(r#""type":"timer_fired""#))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!(fired[0]["payload"]["late_ms"].as_u64().unwrap() >= 500, "{fired:?}");
}

#[test]
fn a_stopped_agent_hears_of_it_after_its_start() {
    let daemon = started();
    daemon.ok(&["timer", "add", "1s"]);
    daemon.ok(&["agent", "stop", "main"]);
    daemon.0.run(&["timer", "add", "1s"]).refused(4, &["is stopped", "holon agent start main"]);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(timers(&daemon)[0]["fire_count"], 0);
    daemon.ok(&["agent", "start", "main"]);
    wait_for("turn of the tick", || turns(&daemon) == 1);
}

#[test]
fn what_can_be_no_timer_is_refused() {
    let daemon = started();
    daemon
        .0
        .run(&["timer", "add", "soon"])
        .refused(2, &["'soon' for '<AFTER>'", "(ms, s, m, h or d)", "90s, 1h30m or 2d"]);
    daemon.0.run(&["timer", "add", "0s"]).refused(2, &["'0s' for '<AFTER>'", "give 1s to 100 years"]);
    let every = ["timer", "add", "2d", "--every", "500ms"];
    daemon.0.run(&every).refused(2, &["'500ms' for '--every <DURATION>'", "give 1s to 100 years"]);
    daemon.0.run(&["timer", "add", "1s", "--misfire", "never"]).refused(2, &["never"]);
    daemon.0.run(&["timer", "add", "1s", &"x".repeat(201)]).refused(2, &["201 bytes", "200"]);
    daemon.0.run(&["timer", "cancel", "timer_7"]).refused(3, &["no timer timer_7", "holon timer list"]);
    daemon.0.run(&["timer", "cancel", "seven"]).refused(2, &["timer_"]);
    daemon.0.run(&["timer", "list", "--agent", "nobody"]).refused(3, &["nobody"]);
    assert_eq!(daemon.ok(&["timer", "list"]).stdout, "main has no timers\n");
}

/// Who has nothing to do but to wait stays out of memory until something is due.
#[test]
fn a_start_leaves_a_waiting_agent_where_it_is_and_loads_it_in_time() {
    let daemon = started();
    daemon.ok(&["timer", "add", "6s", "look at the build"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    wait_for("turn of the tick", || turns(&daemon) == 1);
    daemon.ok(&["daemon", "stop"]);
    let exported = daemon.ok(&["ledger", "export", "--recorder"]).stdout;
    let lines: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let call = |line: &&Value| line["type"] == "call";
    let calls: Vec<&Value> = lines.iter().filter(call).map(|line| &line["call"]["call"]).collect();
    let begins = calls.iter().rposition(|call| **call == "runtime_started").expect("a start");
    let admitted = calls[begins..].iter().position(|call| **call == "admit").expect("it is loaded");
    assert!(admitted > 1, "it is loaded when it is due: {:?}", &calls[begins..]);
    let fired = lines.iter().find(|line| line["type"] == "timer_fired").expect("it fired");
    assert!(fired["payload"]["late_ms"].as_u64() < Some(5_000), "{fired}");
    daemon.0.check_ledger(&daemon.ledger());
}
