//! The ends of background tasks that do not come by themselves, with real processes: requests to end, a stop of the
//! agent, supervisors that are killed. Nobody of a task is left, and its end is told once (contract: tasks.md).

use end_to_end::provider::{Provider, calls, says};
use end_to_end::task::{Prompted, active, awaits, begins, ends, files, pids, reads, task};
use end_to_end::{count, payloads, strays, wait_for};
use serde_json::{Value, json};

/// Nothing ends within it by itself.
const LONG_GRACE: &str = "[runtime]\ncommand_grace_ms = 60000\n";

fn stops(task: &str, force: bool) -> end_to_end::provider::Reply {
    calls(&[("TaskStop", json!({ "task_id": task, "force": force }))])
}

/// The changes of the tasks, each as `status cause`.
fn story(records: &[Value]) -> Vec<String> {
    let line = |fact: &Value| format!("{} {}", fact["status"], fact["cause"]).replace('"', "");
    payloads(records, "task_status_updated").into_iter().map(line).collect()
}

fn gone(pids: &[u32]) {
    wait_for("end of every process", || !pids.iter().any(|pid| strays::exists(*pid)));
}

#[test]
fn a_task_that_is_to_end_has_time_to_clean_up() {
    let (_folder, file) = files();
    let [ready, cleaned] = [file("ready"), file("cleaned")].map(|path| path.display().to_string());
    let cmd = format!(
        "trap 'sleep 0.2; touch {cleaned}; exit 5' TERM; touch {ready}; while :; do sleep 0.05; done"
    );
    let provider = Provider::start([
        task(&cmd),
        awaits(&file("ready")),
        stops("task_1", false),
        reads("task_1"),
        says("It has ended."),
    ]);
    let prompted = Prompted::new(&provider, LONG_GRACE);
    provider.wait_for_requests(5);
    let records = prompted.in_the_end();
    assert!(file("cleaned").exists());
    assert_eq!(story(&records), ["cancelling stop_by_agent", "cancelled stopped"]);
    assert_eq!(count(&records, "turn_started"), 1, "who ends a task knows it");
    assert_eq!(payloads(&records, "task_result_queued")[0]["known"], true);
}

#[test]
fn a_task_that_does_not_want_to_end_is_killed_after_its_grace_or_at_once() {
    for (force, config) in [(true, LONG_GRACE), (false, "[runtime]\ncommand_grace_ms = 200\n")] {
        let (_folder, file) = files();
        let [ready, log] = [file("ready"), file("pids")].map(|path| path.display().to_string());
        let cmd = format!("trap '' TERM; echo $$ >> {log}; touch {ready}; while :; do sleep 0.05; done");
        let provider = Provider::start([
            task(&cmd),
            awaits(&file("ready")),
            stops("task_1", force),
            reads("task_1"),
            says("It has ended."),
        ]);
        let prompted = Prompted::new(&provider, config);
        provider.wait_for_requests(5);
        gone(&pids(&file("pids"), 1));
        let records = prompted.in_the_end();
        assert_eq!(story(&records), ["cancelling stop_by_agent", "cancelled stopped"]);
        assert_eq!(payloads(&records, "task_status_updated")[0]["force"] == true, force);
    }
}

/// Wherever its processes have gone: into other sessions, away from their parents, deaf to requests.
#[test]
fn a_stop_of_the_agent_ends_every_process_and_its_start_tells_of_it_once() {
    let (_folder, file) = files();
    let log = file("pids").display().to_string();
    let leaves = |how: &str| format!("{how} sh -c 'echo $$ >> {log}; exec sleep 3600'");
    let deaf = format!("sh -c 'trap \"\" TERM; echo $$ >> {log}; while :; do sleep 0.1; done' &");
    let cmd = format!(
        "{} & (({} &) &); {deaf} (setsid {deaf}) ; {}",
        leaves("setsid"),
        leaves("setsid"),
        leaves("exec")
    );
    let provider = Provider::start([
        calls(&[begins(&cmd, &json!({})), begins(&leaves("exec"), &json!({}))]),
        says("They run."),
        says("They were ended."),
    ]);
    let prompted = Prompted::new(&provider, "[runtime]\ncommand_grace_ms = 300\n");
    provider.wait_for_requests(2);
    let processes = pids(&file("pids"), 6);
    wait_for("end of the turn", || end_to_end::durable::quiet(&prompted.daemon, &["main"]));
    prompted.control("stop");
    gone(&processes);
    wait_for("end of both tasks", || active(&prompted.daemon, "main") == Some(0));
    wait_for("end of the supervisors", || strays::executing(&prompted.daemon.0.home()).is_empty());
    assert_eq!(strays::zombies_of(prompted.pid()), [0_u32; 0]);
    assert_eq!(provider.requests().len(), 2, "a stopped agent is told nothing");
    prompted.control("start");
    provider.wait_for_requests(3);
    let records = prompted.in_the_end();
    let cancelled = ("cancelled".to_owned(), None);
    assert!(ends(&records, "main").values().all(|end| *end == cancelled), "{:?}", ends(&records, "main"));
    let causes: Vec<String> = story(&records);
    assert_eq!(causes.iter().filter(|line| *line == "cancelling agent_stopped").count(), 2, "{causes:?}");
    let told = payloads(&records, "task_result_queued");
    assert!(told.len() == 2 && told[0]["message_id"] == told[1]["message_id"], "{told:?}");
    let ticks = payloads(&records, "message_admitted");
    let ticks: Vec<_> = ticks.iter().filter(|fact| fact["message"]["kind"] == "system_tick").collect();
    assert_eq!(ticks.len(), 1, "{ticks:?}");
    assert_eq!(provider.requests().len(), 3);
}

/// The processes of a task whose supervisor is named first.
fn with_its_supervisor(log: &std::path::Path) -> String {
    let log = log.display();
    format!("echo $PPID >> {log}; sh -c 'echo $$ >> {log}; exec sleep 3600' & echo $$ >> {log}; sleep 3600")
}

#[test]
fn a_task_whose_supervisor_is_killed_is_interrupted_and_what_is_left_of_it_killed() {
    let (_folder, file) = files();
    let cmd = with_its_supervisor(&file("pids"));
    let provider = Provider::start([task(&cmd), says("It runs."), says("It was interrupted.")]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(2);
    let processes = pids(&file("pids"), 3);
    wait_for("end of the turn", || end_to_end::durable::quiet(&prompted.daemon, &["main"]));
    strays::kill(processes[0]);
    provider.wait_for_requests(3);
    gone(&processes);
    assert_eq!(strays::zombies_of(prompted.pid()), [0_u32; 0]);
    let told = provider.requests()[2]["messages"].to_string();
    assert!(told.contains("its supervisor ended without a word"), "{told}");
    let records = prompted.in_the_end();
    assert_eq!(story(&records), ["interrupted unproven"]);
    let evidence = &payloads(&records, "task_status_updated")[0]["failure_artifact"];
    assert_eq!((&evidence["kind"], &evidence["task_id"]), (&json!("interrupted"), &json!("task_1")));
    assert!(evidence["summary"].to_string().contains("ended without a word"), "{evidence}");
    assert_eq!(count(&records, "task_result_queued"), 1);
}

/// Whoever has changed its environment is known by what the supervisor wrote down.
#[test]
fn a_command_that_shows_no_environment_is_killed_with_its_supervisor() {
    let (_folder, file) = files();
    let log = file("pids").display().to_string();
    let cmd = format!("echo $PPID >> {log}; echo $$ >> {log}; exec env -i /bin/sleep 3600");
    let provider = Provider::start([task(&cmd), says("It runs."), says("It was interrupted.")]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(2);
    let processes = pids(&file("pids"), 2);
    wait_for("end of the turn", || end_to_end::durable::quiet(&prompted.daemon, &["main"]));
    strays::kill(processes[0]);
    provider.wait_for_requests(3);
    gone(&processes);
    assert_eq!(story(&prompted.in_the_end()), ["interrupted unproven"]);
}

#[test]
fn a_task_whose_supervisor_dies_while_the_runtime_is_away_is_told_by_a_tick() {
    let (_folder, file) = files();
    let cmd = with_its_supervisor(&file("pids"));
    let provider = Provider::start([task(&cmd), says("It runs."), says("It was interrupted.")]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(2);
    let processes = pids(&file("pids"), 3);
    wait_for("end of the turn", || end_to_end::durable::quiet(&prompted.daemon, &["main"]));
    let daemon = prompted.killed();
    strays::kill(processes[0]);
    let prompted = Prompted::again(daemon);
    provider.wait_for_requests(3);
    gone(&processes);
    let told = provider.requests()[2]["messages"].to_string();
    assert!(told.contains("task_1 interrupted; task_1: nobody can say how the command ended: "), "{told}");
    let records = prompted.in_the_end();
    assert_eq!(story(&records), ["interrupted unproven"]);
    let ticks = payloads(&records, "message_admitted");
    let ticks: Vec<_> = ticks.iter().filter(|fact| fact["message"]["kind"] == "system_tick").collect();
    assert_eq!(ticks[0]["message"]["origin"]["subsystem"], "task_restart");
    assert_eq!((ticks.len(), count(&records, "task_result_queued")), (1, 1));
}
