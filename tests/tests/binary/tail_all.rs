//! Events of all agents in one stream, as `holon tail --all` shows them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use end_to_end::daemon::Daemon;
use end_to_end::http::get;
use serde_json::Value;

/// The next lines until this many turns of each agent have ended.
fn until(lines: &mut impl Iterator<Item = Value>, turns: &[(&str, usize)]) -> Vec<Value> {
    let (mut seen, mut ended) = (Vec::new(), BTreeMap::<String, usize>::new());
    for event in lines {
        if event["type"] == "closure_decided" {
            *ended.entry(event["agent_id"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        seen.push(event);
        if turns.iter().all(|(agent, turns)| ended.get(*agent) >= Some(turns)) {
            break;
        }
    }
    seen
}

#[test]
fn all_agents_are_followed_in_one_order_without_a_gap_over_a_restart() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["agent", "create", "helper"]);
    daemon.ok(&["prompt", "--wait", "--quiet", "one"]);
    let mut tail = daemon.0.spawn(&["tail", "--all", "--json", "--follow", "-n", "512"]);
    let output = BufReader::new(tail.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).expect("JSON"));
    let mut seen = until(&mut lines, &[("main", 1)]);
    daemon.ok(&["prompt", "--wait", "--quiet", "--agent", "helper", "two"]);
    seen.extend(until(&mut lines, &[("helper", 1)]));
    daemon.kill();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "--quiet", "--agent", "helper", "three"]);
    daemon.ok(&["prompt", "--wait", "--quiet", "four"]);
    seen.extend(until(&mut lines, &[("main", 1), ("helper", 1)]));
    tail.kill().unwrap();
    tail.wait().unwrap();

    let positions: Vec<u64> = seen.iter().filter_map(|event| event["position"].as_u64()).collect();
    assert_eq!(positions.len(), seen.len());
    assert!(positions.windows(2).all(|two| two[0] < two[1]), "{positions:?}");
    for agent in ["main", "helper"] {
        let of_agent = seen.iter().filter(|event| event["agent_id"] == agent);
        let seqs: Vec<u64> = of_agent.filter_map(|event| event["event_seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "{agent}");
    }
    let page = get(&daemon.run_file("holon.sock"), "/events?limit=512").unwrap().body;
    let page: Vec<u64> =
        page["events"].as_array().unwrap().iter().filter_map(|event| event["position"].as_u64()).collect();
    assert_eq!(positions, page[..positions.len()], "nothing was left out");
}

#[test]
fn lines_name_their_agent_and_are_those_of_the_level() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["agent", "create", "helper"]);
    for agent in ["main", "helper"] {
        daemon.ok(&["prompt", "--wait", "--quiet", "--agent", agent, "hi"]);
    }
    let whole = daemon.ok(&["tail", "--all", "--level", "info", "-n", "512"]).stdout;
    for agent in ["  main  ", "  helper  "] {
        assert!(whole.lines().any(|line| line.contains(agent)), "{whole}");
    }
    let last = daemon.ok(&["tail", "--all", "--level", "info", "-n", "2"]).stdout;
    assert_eq!(last.lines().count(), 2, "as many as were asked for: {last}");
    assert!(whole.ends_with(&last), "{last}\nof\n{whole}");
    assert!(daemon.ok(&["tail", "--all", "-n", "0"]).stdout.is_empty());
    daemon.0.run(&["tail", "--all", "helper"]).refused(2, &["--all", "AGENT"]);
    daemon.0.run(&["tail", "--all", "-n", "513"]).refused(2, &["512"]);
    daemon.ok(&["daemon", "stop"]);
    let stopped = daemon.ok(&["tail", "--all", "--level", "info", "-n", "2"]).stdout;
    assert_eq!(stopped, last, "a home whose runtime is stopped is read, too");
}
