//! `kill -9` of the real daemon at moments that nobody chose: what was acknowledged is there, once.

use std::collections::BTreeSet;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, fails, says};
use end_to_end::{count, payloads, wait_for};
use serde_json::json;

/// Kills, unless `HOLON_KILLS` says how many; each comes a little later after the prompts than the one before.
const KILLS: u64 = 12;
/// The latest, in milliseconds after the prompts.
const LATEST: u64 = 160;
/// Prompts for each life of the runtime.
const PROMPTS: usize = 3;

#[test]
fn killed_at_any_moment_no_acknowledged_prompt_is_lost_or_doubled() {
    // A provider that is slow and fails now and then, with more answers than anybody asks for.
    let reply = |number: usize| match number % 5 {
        0 => calls(&[("ExecCommand", json!({ "cmd": "echo work", "login": false }))]),
        1 => fails(529, "overloaded"),
        2 => says("Slowly done.").late(Duration::from_millis(60)),
        _ => says("Done."),
    };
    let kills = std::env::var("HOLON_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let provider = Provider::start((0..40 * usize::try_from(kills).expect("a small number")).map(reply));
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["config", "set", "runtime.retry_backoff_ms", "1"]);
    daemon.ok(&["daemon", "restart"]);
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        let prompts: Vec<_> = (0..PROMPTS)
            .map(|number| daemon.0.spawn(&["prompt", "--json", &format!("{kill}.{number}")]))
            .collect();
        std::thread::sleep(Duration::from_millis(kill * 13 % LATEST));
        daemon.kill();
        daemon.start();
        for prompt in prompts {
            let ended = end_to_end::Ended::from(prompt.wait_with_output().expect("a prompt ends"));
            if ended.code == Some(0) {
                acknowledged.push(ended.json()["message_id"].as_str().expect("an id").to_owned());
            } else {
                // Whoever got no answer is told so, and may ask again.
                ended.refused(5, &["runtime"]);
            }
        }
    }
    wait_for("end of all work", || daemon.ok(&["why", "--json"]).json()["quiet"] == true);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    let ids = |kind: &str| -> Vec<String> {
        let facts = payloads(&records, kind).into_iter();
        facts.map(|fact| fact["message_id"].as_str().expect("an id").to_owned()).collect()
    };
    let processed = ids("message_processed");
    let once: BTreeSet<&String> = processed.iter().collect();
    assert_eq!(once.len(), processed.len(), "a message was processed twice: {processed:?}");
    let unique: BTreeSet<&String> = acknowledged.iter().collect();
    assert_eq!(unique.len(), acknowledged.len(), "two prompts got the same id: {acknowledged:?}");
    let lost: Vec<&&String> = unique.iter().filter(|id| !once.contains(**id)).collect();
    assert!(lost.is_empty(), "acknowledged, and not processed: {lost:?}");
    assert_eq!(count(&records, "message_admitted"), processed.len(), "nothing is stuck");
    assert!(acknowledged.len() >= PROMPTS, "somebody got an answer");
}
