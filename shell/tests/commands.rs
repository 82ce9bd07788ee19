//! Commands under real supervisors, through the performers.

mod place;

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use holon_facts::receipt::ToolErrorKind;
use holon_facts::{Millis, OpId};
use holon_platform::process;
use holon_supervise::record::{self, ExitRecord};
use holon_supervise::{SOCKET, SUPERVISE};
use place::{Place, wait_for};
use serde_json::json;

#[tokio::test]
async fn output_and_status_come_back_and_a_failing_command_is_data() {
    let place = Place::new();
    let found = place.succeed("echo out; echo err >&2; exit 3").await;
    assert_eq!(
        found.text,
        r#"{"disposition":"completed","exit_status":3,"stdout_preview":"out\n","stderr_preview":"err\n","truncated":false,"artifacts":[]}"#
    );
    assert_eq!(found.facts.exit_status, Some(3));
    assert_eq!(place.succeed("kill -TERM $$").await.facts.exit_status, Some(143));
    assert_eq!(place.succeed("kill -KILL $$").await.facts.exit_status, Some(137));
    assert!(place.traces().is_empty(), "{:?}", place.traces());
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what}: it did not happen within 8 s");
}

/// Nobody waits before the first command: a runtime that executes nothing has no such process.
#[tokio::test]
async fn the_next_supervisor_waits_already_and_goes_with_its_runtime() {
    let place = Place::new();
    assert!(place.at_rest().is_empty());
    // Only root may look into a supervisor.
    let look = "env | sort; pwd; ulimit -n; readlink /proc/$PPID/cwd; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | sort";
    let first = place.succeed(look).await.text;
    until("the next one", || place.at_rest().first().is_some_and(|folder| folder.join(SOCKET).exists()))
        .await;
    // It is ready, and the runtime hears of it now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let next = place.next().unwrap();
    let supervisor = place.prepare(3, json!({ "cmd": format!("{look}; echo by $PPID") })).await.unwrap();
    assert_eq!(supervisor.pid, next);
    let second = place.run(4, supervisor).await.text;
    assert_eq!(second.replace(&format!("by {next}\\n"), ""), first, "it is like the first in all");
    place.performers.settled(&place.agent, OpId(4));
    until("the one after it", || place.next().is_some_and(|pid| pid != next)).await;
    let next = place.next().unwrap();
    // A command with other variables is started anew, and that one goes on waiting.
    let found = place.call(json!({"cmd": "tty; echo $HOLON_AGENT_ID by $PPID", "tty": true})).await.text;
    assert!(found.contains("/dev/pts/") && found.contains("main by"), "{found}");
    assert!(!found.contains(&next.to_string()) && place.next() == Some(next), "{found}");
    let home = place.home().to_owned();
    let folder = place.leave();
    until("its end", || process::stat(next).is_none_or(|stat| stat.ended)).await;
    assert_eq!(std::fs::read_dir(home.join("run/commands")).unwrap().count(), 0, "no trace is left");
    drop(folder);
}

#[tokio::test]
async fn the_next_supervisor_waits_for_a_while_only() {
    let place = Place::waiting_for(Millis(300));
    place.succeed("true").await;
    until("the next one", || place.next().is_some()).await;
    let next = place.next().unwrap();
    until("its end", || process::stat(next).is_none_or(|stat| stat.ended) && place.at_rest().is_empty())
        .await;
    assert!(place.succeed("echo again").await.text.contains("again"));
}

#[tokio::test]
async fn the_next_supervisor_may_be_killed() {
    let place = Place::new();
    place.succeed("true").await;
    for _ in 0..3 {
        until("the next one", || place.next().is_some()).await;
        let killed = place.next().unwrap();
        assert!(Command::new("kill").args(["-KILL", &killed.to_string()]).status().unwrap().success());
        until("its end", || process::stat(killed).is_none_or(|stat| stat.ended)).await;
        let found = place.succeed("echo still").await;
        assert!(found.text.contains("still"), "{found:?}");
        assert!(place.traces().is_empty(), "{:?}", place.traces());
    }
}

/// Credentials are neither in the command's environment nor in that of its supervisor, nor in any argument.
#[tokio::test]
async fn commands_and_supervisors_see_the_allowed_environment_only() {
    let place = Place::new();
    let parents =
        "env; cat; pwd; cat /proc/$PPID/environ /proc/$PPID/cmdline /proc/$$/cmdline | tr '\\0' '\\n'";
    let found = place.succeed(parents).await.text;
    assert!(found.contains("HOLON_RUNTIME=1") && found.contains("HOLON_AGENT_ID=main"), "{found}");
    assert!(found.contains("agents/main") && found.contains("__supervise"), "{found}");
    assert!(!found.contains("canary"), "{found}");
}

#[tokio::test]
async fn the_working_folder_stays_inside_the_root() {
    let place = Place::new();
    std::fs::create_dir(place.root().join("sub")).unwrap();
    std::os::unix::fs::symlink("/", place.root().join("out")).unwrap();
    let found = place.call(json!({"cmd": "basename $(pwd)", "workdir": "sub"})).await;
    assert!(found.text.contains("sub\\n"), "{found:?}");
    for (workdir, kind) in [
        ("..", ToolErrorKind::ExecutionRootViolation),
        ("/", ToolErrorKind::ExecutionRootViolation),
        ("out/tmp", ToolErrorKind::ExecutionRootViolation),
        ("missing", ToolErrorKind::CommandSpawnFailed),
    ] {
        let refused = place.call(json!({"cmd": "true", "workdir": workdir})).await;
        assert_eq!(refused.error, Some(kind), "{workdir}");
        assert!(refused.text.contains(workdir), "{refused:?}");
    }
    let refused = place.call(json!({"cmd": "true", "shell": "no-such-shell"})).await;
    assert_eq!(refused.error, Some(ToolErrorKind::CommandSpawnFailed));
    assert!(refused.text.contains("no-such-shell"), "{refused:?}");
    assert_eq!(place.call(json!({"cmd": "true", "shell": "sh"})).await.facts.exit_status, Some(0));
}

#[tokio::test]
async fn a_folder_that_goes_between_preparation_and_start_is_a_failed_start() {
    let place = Place::new();
    std::fs::create_dir(place.root().join("sub")).unwrap();
    let supervisor = place.prepare(1, json!({"cmd": "true", "workdir": "sub"})).await.unwrap();
    std::fs::remove_dir(place.root().join("sub")).unwrap();
    let failed = place.run(2, supervisor).await;
    assert_eq!(failed.error, Some(ToolErrorKind::CommandSpawnFailed), "{failed:?}");
    assert!(failed.text.contains("No such file"), "{failed:?}");
}

#[tokio::test]
async fn past_its_window_a_command_is_asked_to_end_and_then_made_to() {
    let place = Place::new();
    let polite = json!({"cmd": "trap 'echo bye; exit' TERM; echo begun; (sleep 2; touch late) & sleep 60 & wait",
        "login": false, "yield_time_ms": 300});
    let ended = place.batch(json!({"items": [polite]})).await;
    assert!(ended.text.contains(r#""status":"command_timed_out""#), "{ended:?}");
    assert!(ended.text.contains("within 300 ms") && ended.text.contains("begun\\nbye"), "{ended:?}");

    let stubborn =
        json!({"cmd": "trap '' TERM; echo begun; while :; do sleep 0.1; done", "yield_time_ms": 200});
    let ended = place.batch(json!({"items": [stubborn]})).await;
    assert!(ended.text.contains(r#""status":"command_timed_out""#), "{ended:?}");
    let short = place.batch_within(json!({"items": [{"cmd": "sleep 60"}]}), 150).await;
    assert!(short.text.contains("within 150 ms"), "{short:?}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(place.read("late"), None);
    assert!(place.strays().is_empty(), "{:?}", place.strays());
}

/// Wherever a process has moved to: another session, another parent, no output.
#[tokio::test]
async fn nobody_outlives_the_call() {
    let place = Place::new();
    for cmd in [
        "setsid sleep 61 >/dev/null 2>&1 & echo started",
        "nohup sleep 61 >/dev/null 2>&1 & echo started",
        "(setsid sh -c '(sleep 61 & sleep 61) & sleep 61' >/dev/null 2>&1 &) ; echo started",
        "sleep 61 & echo started",
        "trap '' TERM; (trap '' TERM; sleep 61; sleep 61) & echo started",
    ] {
        let found = place.succeed(cmd).await.text;
        assert!(found.contains("started\\n") && found.contains("in the background were ended"), "{found}");
        wait_for(|| place.strays().is_empty(), || format!("{cmd}: {:?}", place.strays()));
    }
    let brief = place.succeed("(sleep 0.3; touch after) & echo started").await.text;
    assert!(!brief.contains("note") && place.read("after").is_some(), "{brief}");
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_waited_for() {
    let place = Place::new();
    let found = place.succeed("echo begun; exec >&- 2>&-; sleep 0.3; touch done").await;
    assert!(found.text.contains("begun\\n") && place.read("done").is_some(), "{found:?}");
}

#[tokio::test]
async fn much_output_is_bounded_and_the_whole_of_it_stays_in_a_file() {
    let place = Place::new();
    let call = json!({"cmd": "head -c 10000000 /dev/zero | tr '\\0' x; echo END; echo odd >&2",
        "max_output_tokens": 200});
    let found = place.call(call.clone()).await;
    assert!(found.facts.truncated && found.text.len() < 1_200, "{found:?}");
    assert!(found.text.contains("characters left out] …") && found.text.contains("END\\n"), "{found:?}");
    let result: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(result["stdout_artifact"], 0);
    assert!(result.get("stderr_artifact").is_none(), "{found:?}");
    let path = result["artifacts"][0]["path"].as_str().unwrap();
    let about = std::fs::metadata(path).unwrap();
    assert_eq!(about.len(), 10_000_008);
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777, 0o600);
    assert_eq!(place.call(call).await.text, found.text, "the same result is the same bytes");
    assert_eq!(place.logs().len(), 1, "{:?}", place.logs());
}

#[tokio::test]
async fn endless_and_binary_output_are_survived() {
    let place = Place::new();
    let endless = json!({"cmd": "yes", "yield_time_ms": 400, "max_output_tokens": 100});
    let ended = place.batch(json!({"items": [endless]})).await;
    assert!(ended.text.contains(r#""status":"command_timed_out""#), "{ended:?}");
    assert!(ended.text.len() < 1_000 && ended.text.contains("the whole output: "), "{ended:?}");
    let found = place.succeed("head -c 3000 /dev/urandom; printf '\\377\\000end'").await;
    assert_eq!(found.facts.exit_status, Some(0));
    assert!(found.text.contains('\u{FFFD}') && found.text.contains("\\u0000end"), "{found:?}");
}

#[tokio::test]
async fn a_terminal_is_one() {
    let place = Place::new();
    let cmd =
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; stty size; echo err >&2; echo $TERM; tty; kill -INT 0";
    let found = place.call(json!({"cmd": cmd, "tty": true})).await;
    assert!(
        found.text.contains(r#""stdout_preview":"all\n24 80\nerr\nxterm-256color\n/dev/pts/"#),
        "{found:?}"
    );
    assert!(found.text.contains(r#""stderr_preview":"""#), "{found:?}");
    let left = place.call(json!({"cmd": "sleep 61 & echo started", "tty": true})).await;
    assert!(left.text.contains("started"), "{left:?}");
    wait_for(|| place.strays().is_empty(), || format!("{:?}", place.strays()));
}

#[tokio::test]
async fn a_batch_has_a_result_for_each_of_its_commands() {
    let place = Place::new();
    let items = json!([
        {"cmd": "echo one"}, {"cmd": "exit 7"}, {"cmd": "true", "workdir": "/"},
        {"cmd": "echo so far; sleep 60", "yield_time_ms": 200}, {"cmd": "echo five; sleep 61 >/dev/null &"}]);
    let found = place.batch(json!({"items": items})).await;
    let result: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    let statuses: Vec<_> = result["items"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(
        statuses,
        ["completed", "completed", "execution_root_violation", "command_timed_out", "completed"]
    );
    assert_eq!(result["items"][0]["stdout_preview"], "one\n");
    assert_eq!(result["items"][1]["exit_status"], 7);
    assert!(result["items"][3]["error"]["message"].as_str().unwrap().contains("so far"));
    assert!(result["items"][4]["note"].as_str().unwrap().contains("background"));
    assert_eq!(
        (&result["completed"], &result["failed"], &result["not_run"]),
        (&json!(2), &json!(3), &json!(0))
    );
    assert_eq!(found.facts.exit_status, Some(7));

    let items = json!([{"cmd": "true"}, {"cmd": "false"}, {"cmd": "touch never"}]);
    let found = place.batch(json!({"items": items, "stop_on_error": true})).await;
    assert!(found.text.contains(r#""status":"not_run""#) && place.read("never").is_none(), "{found:?}");
    assert!(place.strays().is_empty(), "{:?}", place.strays());
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_a_command_up_ends_everything_that_it_started() {
    let place = Place::new();
    let cmd = "touch begun; (sleep 1; touch late) & setsid sleep 61 & sleep 61";
    let supervisor = place.prepare(1, json!({"cmd": cmd})).await.unwrap();
    {
        let mut running = std::pin::pin!(place.run(2, supervisor));
        while place.read("begun").is_none() {
            let waited = tokio::time::timeout(Duration::from_millis(20), &mut running).await;
            assert!(waited.is_err(), "the command ended too soon");
        }
    }
    place.performers.cancelled(&place.agent, OpId(2));
    place.performers.at_rest().await;
    assert!(place.strays().is_empty(), "{:?}", place.strays());
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(place.read("late"), None);
}

#[tokio::test]
async fn without_the_word_nothing_is_executed() {
    let place = Place::new();
    let supervisor = place.prepare(1, json!({"cmd": "touch done"})).await.unwrap();
    place.performers.cancelled(&place.agent, OpId(1));
    wait_for(|| place.supervisors().is_empty(), || format!("{:?}", place.supervisors()));
    let gone = place.run(2, supervisor).await;
    assert_eq!(gone.error, Some(ToolErrorKind::Interrupted), "{gone:?}");
    let first = place.prepare(3, json!({"cmd": "touch done"})).await.unwrap();
    let second = place.prepare(4, json!({"cmd": "echo second"})).await.unwrap();
    assert_ne!(first, second);
    place.performers.cancelled(&place.agent, OpId(3));
    assert!(place.run(5, second).await.text.contains("second"));
    place.performers.settled(&place.agent, OpId(5));
    wait_for(|| place.supervisors().is_empty(), || format!("{:?}", place.supervisors()));
    assert_eq!(place.read("done"), None);
    assert!(place.traces().is_empty(), "{:?}", place.traces());
}

/// That it begins is on record: a runtime that ends at that moment has not taken it back.
#[tokio::test]
async fn the_word_is_given_although_nobody_waits_for_the_end() {
    let place = Place::new();
    let supervisor = place.prepare(1, json!({"cmd": "touch done"})).await.unwrap();
    drop(place.performers.run_command(&place.agent, OpId(2), supervisor));
    place.performers.at_rest().await;
    wait_for(|| place.read("done").is_some(), || format!("nothing was executed: {:?}", place.supervisors()));
    wait_for(|| place.supervisors().is_empty(), || format!("{:?}", place.supervisors()));
}

/// A runtime that is killed between preparation and word is a connection that ends without one.
#[test]
fn a_runtime_that_vanishes_takes_a_waiting_supervisor_along() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut supervisor = Command::new(env!("CARGO_BIN_EXE_holon"))
        .arg(SUPERVISE)
        .arg(folder.path())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    let mut arrived = vec![0; 4];
    ours.read_exact(&mut arrived).unwrap();
    assert!(supervisor.try_wait().unwrap().is_none(), "it waits");
    drop(ours);
    assert!(supervisor.wait().unwrap().success());
    let record = ExitRecord::read(folder.path()).unwrap().unwrap();
    assert_eq!(record, ExitRecord { plan: None, items: Vec::new() });
    assert_eq!(record::started(folder.path()), None);
}

#[tokio::test]
async fn a_supervisor_that_is_killed_takes_its_command_along() {
    let place = Place::new();
    let supervisor = place.prepare(1, json!({"cmd": "touch begun; sleep 61 & sleep 61"})).await.unwrap();
    let pid = supervisor.pid.to_string();
    let running = place.run(2, supervisor);
    let killing = async {
        while place.read("begun").is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    };
    let (ended, ()) = tokio::join!(running, killing);
    assert_eq!(ended.error, Some(ToolErrorKind::Interrupted), "{ended:?}");
    assert!(ended.hint.contains("look before you repeat it"), "{ended:?}");
    wait_for(|| place.strays().is_empty(), || format!("{:?}", place.strays()));
}

#[tokio::test]
async fn a_home_of_any_length_has_room_for_sockets() {
    let place = Place::below(&format!("{}/home", "long".repeat(50)));
    assert!(place.succeed("echo fine").await.text.contains("fine"));
}

#[tokio::test]
async fn secrets_are_redacted_before_output_is_cut() {
    let place = Place::new();
    let cmd = "head -c 60 /dev/zero | tr '\\0' x; echo sk-canary-123456; head -c 9000 /dev/zero | tr '\\0' y";
    for tokens in 64..90 {
        let found = place.call(json!({"cmd": cmd, "max_output_tokens": tokens})).await;
        assert!(!found.text.contains("sk-can"), "{found:?}");
    }
}
