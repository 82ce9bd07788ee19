//! Files of a ledger that were damaged or removed while no runtime lived: the next start says so and does nothing, and
//! goes on without what is gone only when somebody accepts that.

use std::path::PathBuf;

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::{Ended, wait_for};

/// A killed runtime with some acknowledged work.
fn killed() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    for prompt in ["one", "two", "three"] {
        daemon.ok(&["prompt", "--wait", "--key", prompt, prompt]);
    }
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    daemon.kill();
    daemon
}

fn beside(daemon: &Daemon, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", daemon.ledger().display()))
}

fn start(daemon: &Daemon) -> Ended {
    daemon.0.run(&["daemon", "start"])
}

fn is_refused(daemon: &Daemon, says: &[&str]) {
    let all =
        [&["lost something that was acknowledged", "holon ledger recover --accept-loss"], says].concat();
    start(daemon).refused(1, &all);
    daemon.0.run(&["ledger", "verify"]).refused(1, &all);
    let look = daemon.0.run(&["ledger", "recover"]);
    assert_eq!(look.code, Some(1), "{look:?}");
    assert!(look.stdout.contains("Nothing was changed"), "{look:?}");
    start(daemon).refused(1, &all);
}

/// What reads a home finds the loss as a start does, and its way on works in the home that was named.
fn every_command_names_the_loss(daemon: &Daemon) {
    let home = daemon.0.home().display().to_string();
    let way_on = format!("holon --home {home} ledger recover --accept-loss");
    let lost = ["lost something that was acknowledged", "missing or empty", &way_on];
    let backup = daemon.0.folder().join("backup").display().to_string();
    for command in [
        &["status"][..],
        &["why"],
        &["agent", "list"],
        &["inbox"],
        &["daemon", "start"],
        &["ledger", "backup", &backup],
        &["ledger", "export"],
    ] {
        daemon.0.run(&[&["--home", &home], command].concat()).refused(1, &lost);
    }
    for (command, code) in [(["daemon", "status"], 5), (["config", "doctor"], 1)] {
        let ended = daemon.0.run(&[&["--home", &home][..], &command].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(lost.iter().all(|part| ended.stdout.contains(part)), "{ended:?}");
    }
}

fn goes_on_after_a_loss(daemon: &Daemon) -> Ended {
    let ended = daemon.ok(&["ledger", "recover", "--accept-loss"]);
    assert!(ended.stdout.contains("are kept in"), "{ended:?}");
    daemon.start();
    daemon.ok(&["prompt", "--wait", "--agent", "main", "--key", "after", "after the loss"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    ended
}

#[test]
fn one_flipped_bit_after_a_kill_is_told_with_its_position() {
    let daemon = killed();
    let wal = beside(&daemon, "-wal");
    let mut bytes = std::fs::read(&wal).expect("a write-ahead log");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&wal, bytes).expect("it can be written");
    is_refused(&daemon, &["frame", "of its write-ahead log (byte"]);
    goes_on_after_a_loss(&daemon);
}

#[test]
fn a_write_ahead_log_that_is_gone_is_a_loss() {
    let daemon = killed();
    std::fs::remove_file(beside(&daemon, "-wal")).expect("a write-ahead log");
    is_refused(&daemon, &["was acknowledged: what is between is gone"]);
    let told = goes_on_after_a_loss(&daemon);
    assert!(told.stdout.contains("Gone are batches"), "{told:?}");
}

#[test]
fn a_ledger_that_is_gone_is_a_loss() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    daemon.ok(&["daemon", "stop"]);
    std::fs::remove_file(daemon.ledger()).expect("a ledger");
    is_refused(&daemon, &["the file is missing or empty"]);
    every_command_names_the_loss(&daemon);
    let told = daemon.ok(&["ledger", "recover", "--accept-loss"]);
    assert!(told.stdout.contains("Nothing of it is left"), "{told:?}");
    daemon.start();
    daemon.ok(&["daemon", "stop"]);
}

#[test]
fn the_torn_end_of_a_commit_is_no_loss() {
    let daemon = killed();
    let wal = beside(&daemon, "-wal");
    let mut bytes = std::fs::read(&wal).expect("a write-ahead log");
    let frame = bytes[32..32 + 4_120].to_vec();
    bytes.extend_from_slice(&frame);
    bytes.extend_from_slice(&frame[..700]);
    std::fs::write(&wal, bytes).expect("it can be written");
    daemon.start();
    assert_eq!(daemon.ok(&["prompt", "--json", "--key", "three", "three"]).json()["duplicate"], true);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}
