//! The golden homes of `fixtures/homes/`: one of each released version, as it left it. Every build opens, verifies, replays
//! and continues them. With `HOLON_RECORD_HOMES=1` this build writes the one of its version.

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::wait_for;
use serde_json::json;

/// Set to anything: the home of this version is written.
const RECORD: &str = "HOLON_RECORD_HOMES";
/// Bytes of one, which stands in a repository.
const LARGEST: u64 = 200_000;
/// What is of a process, a secret, or made again from the rest, and no part of a home that is kept.
const LEFT_OUT: [&str; 9] = [
    "run",
    "index",
    "mcp",
    "control.token",
    "memory.key",
    "trigger.key",
    "ledger.reserve",
    "ledger.sqlite3-shm",
    "ledger.sqlite3-wal",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/homes")
}

fn version(holon: &Holon) -> String {
    let shown = holon.run(&["--version"]).stdout;
    shown.split_whitespace().nth(1).expect("a version").to_owned()
}

/// A home in which a little of everything happened, at rest.
fn lived() -> Daemon {
    let provider = Provider::start([
        calls(&[
            ("ExecCommand", json!({ "cmd": "echo golden > made; cat made", "login": false })),
            ("CreateWorkItem", json!({ "objective": "keep the homes golden" })),
            ("CompleteWorkItem", json!({ "work_item_id": "work_1" })),
        ]),
        says("The file is made."),
        says("Noted."),
        says("Another one answers."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["agent", "create", "other", "--own-home"]);
    daemon.ok(&["prompt", "--agent", "main", "--wait", "make a golden file"]);
    daemon.ok(&["prompt", "--agent", "main", "--wait", &format!("a long text: {}", "golden ".repeat(80))]);
    daemon.ok(&["prompt", "--agent", "other", "--wait", "and you?"]);
    daemon.ok(&["timer", "add", "720h", "look at it again", "--agent", "other"]);
    wait_for("rest", || quiet(&daemon, &["main", "other"]));
    daemon.ok(&["daemon", "stop"]);
    daemon
}

/// Files and folders of a home that are kept, in order, from its top on.
fn kept(home: &Path, below: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(home.join(below))
        .expect("a folder")
        .map(|entry| below.join(entry.expect("an entry").file_name()))
        .collect();
    entries.sort();
    let mut all = Vec::new();
    for entry in entries.into_iter().filter(|it| !LEFT_OUT.iter().any(|out| it.starts_with(out))) {
        all.push(entry.clone());
        if home.join(&entry).is_dir() {
            all.extend(kept(home, &entry));
        }
    }
    all
}

fn write(home: &Path, to: &Path) {
    let mut archive = tar::Builder::new(Vec::new());
    for path in kept(home, Path::new("")) {
        let (mut header, whole) = (tar::Header::new_gnu(), home.join(&path));
        header.set_mtime(0);
        if whole.is_dir() {
            header.set_entry_type(tar::EntryType::Directory);
            header.set_mode(0o700);
            header.set_size(0);
            archive.append_data(&mut header, &path, std::io::empty()).expect("a folder");
        } else {
            let bytes = fs::read(&whole).expect("a file");
            header.set_mode(0o600);
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, &path, &*bytes).expect("a file");
        }
    }
    let bytes = archive.into_inner().expect("an archive");
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    fs::write(to, zstd::encode_all(&*bytes, 19).expect("compressed")).expect("a file");
}

/// Puts a golden home where the commands of a test find it.
fn unpack(golden: &Path, holon: &Holon) {
    let bytes = zstd::decode_all(&*fs::read(golden).expect("a golden home")).expect("an archive");
    fs::create_dir_all(holon.home()).expect("a home");
    tar::Archive::new(&*bytes).unpack(holon.home()).expect("it is unpacked");
}

fn golden() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("golden homes").map(|entry| entry.expect("an entry").path());
    let mut all: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "zst")).collect();
    all.sort();
    all
}

#[test]
fn every_version_has_a_golden_home() {
    let version = version(&Holon::new());
    let file = folder().join(format!("{version}.tar.zst"));
    if std::env::var_os(RECORD).is_some() {
        write(&lived().0.home(), &file);
    }
    let size = fs::metadata(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).len();
    assert!(size <= LARGEST, "{} has {size} bytes", file.display());
}

#[test]
fn golden_homes_are_opened_verified_replayed_and_continued() {
    assert!(!golden().is_empty());
    for home in golden() {
        let provider = Provider::start([
            calls(&[("ExecCommand", json!({ "cmd": "cat made", "login": false }))]),
            says("It is still golden."),
        ]);
        let daemon = Daemon::new(&provider);
        unpack(&home, &daemon.0);
        let name = home.display().to_string();
        let before = daemon.0.records(&daemon.ledger());
        daemon.0.check_ledger(&daemon.ledger());
        let replayed = daemon.ok(&["ledger", "replay"]).stdout;
        assert!(replayed.contains("laws hold"), "{name}: {replayed}");
        daemon.start();
        let transcript = daemon.ok(&["transcript", "main"]).stdout;
        assert!(transcript.contains("The file is made.") && transcript.contains("golden golden"), "{name}");
        let item = daemon.ok(&["work", "show", "work_1", "--agent", "main"]).stdout;
        assert!(item.contains("keep the homes golden"), "{name}: {item}");
        assert!(daemon.ok(&["timer", "list", "--agent", "other"]).stdout.contains("look at it again"));
        daemon.ok(&["prompt", "--agent", "main", "--wait", "is it still there?"]);
        let transcript = daemon.ok(&["transcript", "main"]).stdout;
        assert!(transcript.contains("It is still golden."), "{name}: {transcript}");
        let forked = daemon.ok(&["ledger", "fork", "main", "copy", "--at", "10", "--json"]).json();
        assert_eq!(forked["agent_id"], "copy");
        daemon.ok(&["daemon", "stop"]);
        daemon.0.check_ledger(&daemon.ledger());
        let after = daemon.0.records(&daemon.ledger());
        for record in &before {
            assert!(after.contains(record), "{name}: {record} is not as it was");
        }
    }
}

#[test]
fn a_home_of_a_newer_version_is_refused_by_name_and_left_as_it_is() {
    let daemon = Daemon::hello();
    unpack(golden().last().expect("a golden home"), &daemon.0);
    // The number of the schema, in the header of the file.
    let mut bytes = fs::read(daemon.ledger()).expect("a ledger");
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(daemon.ledger(), &bytes).expect("a file");
    let version = version(&daemon.0);
    let says = ["schema version 9999", "holon ", &version, "a later one"];
    daemon.0.run(&["daemon", "start"]).refused(1, &says);
    daemon.0.run(&["ledger", "verify"]).refused(1, &says);
    assert_eq!(fs::read(daemon.ledger()).expect("a ledger"), bytes);
}
