//! A database that does not do what nodes need, and what they make of it: nothing is lost, the reason is named, and they go on
//! once it does.

use std::time::Duration;

use end_to_end::provider::Provider;
use end_to_end::{Holon, daemon::Daemon, wait_for};
use holon_ledger::postgres::local::LocalServer;
use holon_ledger::postgres::testing::Database;

use super::pair::Pair;
use super::{not_tried, replies, rounds};

/// What keeps a node from working, as it answers itself.
fn problem(node: &Daemon) -> String {
    let status = node.ok(&["daemon", "status", "--json"]).json();
    status["problem"].as_str().unwrap_or_default().to_owned()
}

/// Both nodes work again, and everything that was acknowledged is there once.
fn under(trouble: &str, end: &str, named: &str) {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    pair.owner();
    let acknowledged = pair.under_prompts(|| {
        pair.database.changes_role(trouble);
        pair.database.cut();
        for node in &pair.nodes {
            wait_for("a problem with a name", || problem(node).contains(named));
        }
        pair.database.changes_role(end);
        pair.database.cut();
        for node in &pair.nodes {
            wait_for("a node without a problem", || problem(node).is_empty());
        }
    });
    pair.settled(&acknowledged);
}

#[test]
fn a_database_that_is_read_only_is_waited_for() {
    let end = "RESET default_transaction_read_only";
    under("SET default_transaction_read_only = on", end, "read-only transaction");
}

#[test]
fn a_database_without_connections_is_waited_for() {
    under("CONNECTION LIMIT 0", "CONNECTION LIMIT -1", "too many connections");
}

#[test]
fn a_cell_whose_last_batch_is_damaged_is_stopped_until_it_is_repaired() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::with_one(&provider) else { return not_tried() };
    let node = &pair.nodes[0];
    node.ok(&["daemon", "stop"]);
    let last = "batch = (SELECT max(batch) FROM batches)";
    pair.database.vandal(&format!("UPDATE recorder SET call = call || ' ' WHERE {last}"));
    node.start();
    let damaged = "cell 1 is stopped: the ledger is damaged at call";
    wait_for("a problem with a name", || problem(node).starts_with(damaged));
    node.0.run(&["prompt", "hello"]).refused(4, &["no node owns the ledger", damaged]);
    // A database that forgets the reason is given it again: without it nobody could accept anything.
    let named = || pair.status()["cells"][0]["problem"].is_string();
    wait_for("a problem of the cell", named);
    pair.database.vandal("UPDATE cells SET problem = NULL");
    wait_for("the problem once more", named);
    pair.database.vandal(&format!("UPDATE recorder SET call = rtrim(call) WHERE {last}"));
    node.ok(&["cluster", "accept", "1"]);
    wait_for("a prompt that is answered", || node.0.run(&["prompt", "--wait", "go on"]).code == Some(0));
    assert_eq!(problem(node), "");
    node.ok(&["daemon", "stop"]);
    node.ok(&["ledger", "verify"]);
}

#[test]
fn a_take_over_whose_reads_are_cut_off_begins_anew_and_needs_no_operator() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::with_one(&provider) else { return not_tried() };
    let node = &pair.nodes[0];
    node.ok(&["daemon", "stop"]);
    // Whoever reads what happened loses its connection.
    pair.database.vandal(
        "ALTER TABLE records RENAME TO kept;
        CREATE VIEW records AS SELECT * FROM kept WHERE pg_terminate_backend(pg_backend_pid())",
    );
    node.start();
    let log = || std::fs::read_to_string(node.run_file("daemon.log")).unwrap_or_default();
    wait_for("a second try", || log().matches("can't go on, and begins anew").count() > 1);
    pair.database.vandal("DROP VIEW records; ALTER TABLE kept RENAME TO records");
    wait_for("a prompt that is answered", || node.0.run(&["prompt", "--wait", "go on"]).code == Some(0));
    assert_eq!(problem(node), "");
    node.ok(&["daemon", "stop"]);
    node.ok(&["ledger", "verify"]);
}

#[test]
fn tables_and_events_of_a_newer_build_are_left_alone() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    let node = &pair.nodes[0];
    node.start();
    pair.owner();
    node.ok(&["daemon", "stop"]);
    pair.database.vandal("INSERT INTO kinds VALUES (1, 'agent_dreamt', 1)");
    node.start();
    let newer = "the ledger holds events of kind agent_dreamt version 1, which this build does not know";
    wait_for("a problem with a name", || problem(node).starts_with(newer));
    node.ok(&["daemon", "stop"]);
    pair.database
        .vandal("DELETE FROM kinds WHERE kind = 'agent_dreamt'; INSERT INTO schema_versions VALUES (99)");
    for command in [&["daemon", "start"][..], &["cluster", "status"], &["ledger", "verify"]] {
        let refused = node.0.run(command);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("schema version 99, this build knows up to"), "{refused:?}");
    }
}

#[test]
fn a_user_who_may_not_make_tables_is_told_what_is_needed() {
    let provider = Provider::start(replies());
    let Some(database) = Database::new() else { return not_tried() };
    database.vandal("ALTER ROLE CURRENT_USER SET search_path = nowhere");
    let url = database.url.split("&options=").next().expect("an address");
    let daemon = Daemon::asking(Holon::new().with("HOLON_STORE_URL", url), &provider);
    for command in [&["cluster", "init"][..], &["daemon", "start"]] {
        let refused = daemon.0.run(command);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains("its user needs CREATE in the first schema"), "{refused:?}");
    }
}

/// With `synchronous_commit = off` a server that crashes forgets what it has acknowledged.
#[test]
fn commits_that_a_server_loses_in_a_crash_are_noticed() {
    let provider = Provider::start(replies());
    let place = Holon::new();
    std::fs::create_dir_all(place.home()).expect("a folder");
    let Some(server) = LocalServer::find(&place.home().join("database")) else { return not_tried() };
    let careless = ["-c synchronous_commit=off", "-c wal_writer_delay=10s"];
    server.make().and_then(|()| server.start(&careless)).expect("a server");
    let Some(database) = Database::new() else { return };
    let pair = Pair::at(&provider, database, &server.url());
    pair.start();
    let problem = || pair.status()["cells"][0]["problem"].as_str().map(str::to_owned);
    let (mut lost, mut looks) = (0, 0);
    let acknowledged = pair.under_prompts(|| {
        for crash in 0..rounds(2) {
            std::thread::sleep(Duration::from_millis(400 + crash * 71 % 300));
            server.stop().expect("it ends");
            server.start(&careless).expect("it starts again");
            // Nothing is performed before an operator knows. Each node knows what was acknowledged to it, so that there may be
            // more to accept; an agent that is created is an append, which finds what is missing.
            wait_for("an owner that goes on", || {
                if let Some(problem) = problem() {
                    assert!(problem.contains("has lost something that was acknowledged"), "{problem}");
                    let accepted = pair.nodes[0].0.run(&["cluster", "accept", "1"]);
                    lost += u64::from(accepted.code == Some(0));
                }
                looks += 1;
                let new = format!("agent-{looks}");
                pair.nodes[0].0.run(&["agent", "create", &new, "--own-home"]).code == Some(0)
            });
        }
    });
    let kept = pair.kept(&acknowledged);
    assert!(lost > 0 || kept == acknowledged.len(), "{kept} of {} are left", acknowledged.len());
    server.stop().expect("it ends");
}
