//! What a home keeps on the disk when nobody asks anything of it any more.

use end_to_end::daemon::Daemon;
use end_to_end::wait_for;
use serde_json::json;

/// Bytes of the ledger, and of its write-ahead log.
fn sizes(daemon: &Daemon) -> (u64, u64) {
    let size = |suffix: &str| {
        let file = format!("{}{suffix}", daemon.ledger().display());
        std::fs::metadata(file).map_or(0, |file| file.len())
    };
    (size(""), size("-wal"))
}

/// Text that no two messages have in common.
fn long(number: usize) -> String {
    (0..12_000).map(|word| format!("{number}.{word} ")).collect()
}

#[test]
fn a_home_that_rests_has_no_write_ahead_log_and_has_lost_nothing() {
    let daemon = Daemon::hello();
    daemon.start();
    for number in 0..8 {
        daemon.ok(&["prompt", "--wait", &long(number)]);
    }
    let (_, log) = sizes(&daemon);
    assert!(log > 500_000, "{log}");
    wait_for("a cut", || sizes(&daemon).1 == 0);
    let (file, _) = sizes(&daemon);
    assert!(file > 600_000, "{file}");
    // What a kill leaves is all in the file.
    daemon.kill();
    assert_eq!(sizes(&daemon), (file, 0));
    daemon.ok(&["ledger", "verify"]);
    daemon.start();
    let said = daemon.ok(&["transcript", "--json"]).stdout;
    assert_eq!(said.matches("7.11999 ").count(), 1);
    daemon.ok(&["prompt", "--wait", "once more"]);
    assert!(sizes(&daemon).1 > 0);
    daemon.ok(&["daemon", "stop"]);
    assert_eq!(sizes(&daemon).1, 0, "an orderly stop cuts it, too");
    let report = daemon.ok(&["ledger", "verify", "--json"]).json();
    assert_eq!(report["agents"], json!(1), "{report}");
}
