//! Backups of a home that is in use, what is restored from them, and what is refused; also where the process dies in the middle.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::{Ended, mounts, wait_for};
use serde_json::{Value, json};

/// Kills of each kind, unless `HOLON_KILLS` says how many.
const KILLS: u64 = 5;

fn kills() -> u64 {
    std::env::var("HOLON_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS)
}

/// A home with a living runtime and something of everything that is kept.
fn living() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    let agent = daemon.0.home().join("agents/main");
    std::fs::write(agent.join("memory/self.md"), "learned").expect("files and processes of a test");
    std::fs::write(agent.join("work/tool.sh"), "#!/bin/sh\n").expect("files and processes of a test");
    std::fs::set_permissions(agent.join("work/tool.sh"), PermissionsExt::from_mode(0o755))
        .expect("files and processes of a test");
    symlink("../memory/self.md", agent.join("notes/link")).expect("files and processes of a test");
    std::fs::write(daemon.0.home().join("credentials.toml"), "[example]\nkey = \"canary-of-a-key\"\n")
        .expect("files and processes of a test");
    let credentials = daemon.0.home().join("credentials.toml");
    std::fs::set_permissions(credentials, PermissionsExt::from_mode(0o600))
        .expect("files and processes of a test");
    daemon.ok(&["prompt", "--wait", "one"]);
    daemon
}

fn at(path: &Path) -> String {
    path.display().to_string()
}

/// A home beside the one of this daemon, whose runtime ends with it.
struct Other<'a> {
    daemon: &'a Daemon,
    home: PathBuf,
}

impl<'a> Other<'a> {
    fn beside(daemon: &'a Daemon, name: &str) -> Self {
        Self { daemon, home: daemon.0.folder().join(name) }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.daemon.0.run(&[&["--home", &at(&self.home)], arguments].concat())
    }

    fn ok(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended
    }

    fn ledger(&self) -> PathBuf {
        self.home.join("ledger.sqlite3")
    }
}

impl Drop for Other<'_> {
    fn drop(&mut self) {
        if self.home.exists() {
            self.run(&["daemon", "stop", "--wait", "20"]);
        }
    }
}

/// Names of everything in a folder and below.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("files and processes of a test") {
        let path = entry.expect("files and processes of a test").path();
        found.push(at(&path));
        if path.is_dir() && !path.is_symlink() {
            found.extend(tree(&path));
        }
    }
    found.sort();
    found
}

#[test]
fn a_living_home_is_backed_up_and_restored_elsewhere() {
    let daemon = living();
    let file = daemon.0.folder().join("backup.tar.zst");
    let told = daemon.ok(&["ledger", "backup", &at(&file), "--verify"]);
    assert!(told.stdout.contains("in order: "), "{told:?}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    daemon.ok(&["prompt", "--wait", "later than the backup"]);

    let other = Other::beside(&daemon, "other");
    let told = other.ok(&["ledger", "restore", &at(&file)]);
    assert!(told.stderr.contains("keys of providers are not in the backup"), "{told:?}");
    assert!(told.stderr.contains("--accept-restored"), "{told:?}");
    let agent = other.home.join("agents/main");
    assert_eq!(std::fs::read_to_string(agent.join("memory/self.md")).unwrap(), "learned");
    assert_eq!(std::fs::read_link(agent.join("notes/link")).unwrap(), Path::new("../memory/self.md"));
    let tool = std::fs::metadata(agent.join("work/tool.sh")).unwrap().permissions().mode();
    assert_eq!(tool & 0o777, 0o700);
    assert!(!other.home.join("credentials.toml").exists() && !other.home.join("control.token").exists());
    let key = |home: &Path| std::fs::read(home.join("trigger.key")).unwrap();
    assert_eq!(key(&other.home), key(&daemon.0.home()));
    daemon.0.check_ledger(&other.ledger());

    // Nothing that would talk to the outside starts; what is on record can be read.
    let says = ["was restored from a backup", "--accept-restored"];
    for starts in [
        ["daemon", "start"].as_slice(),
        &["serve"],
        &["run", "--agent", "main", "two"],
        &["daemon", "restart"],
    ] {
        other.run(starts).refused(4, &says);
    }
    assert!(other.run(&["config", "doctor"]).stdout.contains("was restored from a backup"));
    let transcript = other.ok(&["transcript"]).stdout;
    assert!(transcript.contains("one") && !transcript.contains("later"), "{transcript}");

    daemon.ok(&["daemon", "stop"]);
    other.ok(&["daemon", "start", "--accept-restored"]);
    // The folder of before is still there: it is the other home's.
    let (doctor, remedy) = (["config", "doctor"], "workspace use agent_home --agent main");
    let told = other.run(&doctor).stdout;
    let of_before = format!("main would work in {}", at(&daemon.0.home().join("agents/main")));
    assert!(told.contains(&of_before) && told.contains(remedy), "{told}");
    other.ok(&remedy.split(' ').collect::<Vec<_>>());
    let told = other.run(&doctor).stdout;
    assert!(!told.contains("would work in"), "{told}");
    other.ok(&["prompt", "--wait", "in the restored home"]);
    other.ok(&["daemon", "restart"]);
    other.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&other.ledger());
}

#[test]
fn a_folder_gets_a_file_that_is_named_after_the_time_and_keys_only_by_choice() {
    let daemon = living();
    let folder = daemon.0.folder().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let packed = |path: &str| {
        let file = std::fs::File::open(path).unwrap();
        let mut text = Vec::new();
        zstd::Decoder::new(file).unwrap().read_to_end(&mut text).unwrap();
        let holds = |what: &[u8]| text.windows(what.len()).any(|window| window == what);
        let (key, token) = (holds(b"canary-of-a-key"), holds(b"control.token"));
        (key, token, holds(b"learned"))
    };
    let made = daemon.ok(&["ledger", "backup", &at(&folder), "--json"]).json();
    let first = made["path"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    assert!(first.contains("/backups/holon-backup-2"), "{first}");
    assert_eq!(packed(&first), (false, false, true));
    let made = daemon.ok(&["ledger", "backup", &at(&folder), "--json", "--with-credentials"]).json();
    assert_eq!(packed(made["path"].as_str().unwrap()), (true, false, true));
    assert_eq!(made["left_out"], json!({ "count": 0, "first": [] }));
    assert_eq!(tree(&folder).len(), 2, "nothing else is left");
}

#[test]
fn what_can_not_be_copied_is_named() {
    let daemon = living();
    let pipe = daemon.0.home().join("agents/main/work/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let file = daemon.0.folder().join("backup");
    let ended = daemon.0.run(&["ledger", "backup", &at(&file)]);
    ended.refused(1, &["work/pipe", "neither file, folder nor link"]);
    Other::beside(&daemon, "other").ok(&["ledger", "restore", &at(&file)]);
}

/// A folder below an open one, so deep that its path is as long as wanted, with a file in it.
fn deep(top: &Path, bytes: usize) {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(rustix::fs::CWD, top, flags, Mode::empty()).expect("a folder");
    let mut left = bytes - at(top).len();
    while left > 0 {
        // With the stroke before it; a name is never a stroke alone.
        let length = if left > 202 { 200 } else { left };
        let name = "d".repeat(length - 1);
        mkdirat(&folder, name.as_str(), Mode::RWXU).expect("a folder");
        folder = openat(&folder, name.as_str(), flags, Mode::empty()).expect("a folder");
        left -= length;
    }
    openat(&folder, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).expect("a file");
}

/// An agent can make folders that no path leads to: the others are in the backup all the same.
#[test]
fn a_path_that_is_too_long_is_named() {
    let daemon = living();
    let work = daemon.0.home().join("agents/main/work");
    deep(&work, 6_000);
    let file = daemon.0.folder().join("backup");
    let ended = daemon.0.run(&["ledger", "backup", &at(&file)]);
    ended.refused(1, &["work/dddd", "File name too long"]);
    assert!(ended.stderr.len() < 1_000, "{ended:?}");
    Other::beside(&daemon, "other").ok(&["ledger", "restore", &at(&file)]);
}

#[test]
fn a_home_with_a_longer_path_takes_all_files() {
    let daemon = living();
    let work = daemon.0.home().join("agents/main/work");
    deep(&work, 4_080);
    let file = daemon.0.folder().join("backup");
    let made = daemon.ok(&["ledger", "backup", &at(&file), "--json"]).json();
    let longer = "a-home-with-a-longer-path-than-the-one-of-before";
    let restored = Other::beside(&daemon, longer).ok(&["ledger", "restore", &at(&file), "--json"]).json();
    assert_eq!(restored["files"], made["files"], "{restored}");
}

#[test]
fn what_is_no_backup_and_where_none_belongs_is_refused() {
    let daemon = living();
    let (folder, file) = (daemon.0.folder(), daemon.0.folder().join("backup"));
    daemon.ok(&["ledger", "backup", &at(&file)]);
    daemon.0.run(&["ledger", "backup", &at(&file)]).refused(4, &["exists already", "a folder"]);
    daemon.0.run(&["ledger", "backup", "/nowhere/backup"]).refused(1, &["/nowhere/backup"]);
    let other = Other::beside(&daemon, "other");
    other.run(&["ledger", "backup", &at(&folder.join("none"))]).refused(3, &["there is no ledger"]);
    let database = daemon.0.command(&["ledger", "backup", &at(&folder.join("none"))]);
    let url = ("HOLON_STORE_URL", "postgres://somebody@127.0.0.1:1/holon");
    let refused: Ended = { database }.env(url.0, url.1).output().unwrap().into();
    refused.refused(1, &["gave no answer"]);
    let restore = { daemon.0.command(&["--home", &at(&other.home), "ledger", "restore", &at(&file)]) }
        .env(url.0, url.1)
        .output();
    Ended::from(restore.unwrap()).refused(2, &["store.url"]);

    // The home of a runtime, and one that has something.
    daemon.0.run(&["ledger", "restore", &at(&file)]).refused(4, &["another runtime"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.run(&["ledger", "restore", &at(&file)]).refused(4, &["is not empty", "-restored"]);

    let nothing_is_left = || assert_eq!(tree(&other.home).len(), 2, "{:?}", tree(&other.home));
    other.run(&["ledger", "restore", &at(&folder.join("missing"))]).refused(3, &["missing"]);
    other.run(&["ledger", "restore", &at(folder)]).refused(3, &["can't be read"]);
    other.run(&["ledger", "restore", &at(&daemon.ledger())]).refused(2, &["no backup of Holon"]);
    let whole = std::fs::read(&file).unwrap();
    let cut = folder.join("cut");
    for length in [0, 10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&cut, &whole[..length]).unwrap();
        let refused = other.run(&["ledger", "restore", &at(&cut)]);
        assert!(matches!(refused.code, Some(1 | 2)), "{length}: {refused:?}");
    }
    nothing_is_left();
    for (change, says) in [
        (json!({ "format": 2, "build": "9.0.0" }), "build 9.0.0"),
        (json!({ "schema": 999 }), "schema version 999"),
        (json!({ "made_at": null }), "no backup of Holon"),
    ] {
        let other_version = folder.join("of-another-version");
        changed(&file, &other_version, &change);
        other.run(&["ledger", "restore", &at(&other_version)]).refused(2, &[says]);
    }
    // What was changed after it was written.
    let forged = folder.join("forged");
    changed(&file, &forged, &json!({ "home_dir": "/somewhere" }));
    other
        .run(&["ledger", "restore", &at(&forged)])
        .refused(1, &["is not whole: it is damaged; use another backup"]);
    nothing_is_left();
    other.ok(&["ledger", "restore", &at(&file)]);
}

/// The same archive with another description.
fn changed(from: &Path, to: &Path, change: &Value) {
    let mut archive = tar::Archive::new(
        zstd::Decoder::new(std::fs::File::open(from).expect("files and processes of a test"))
            .expect("files and processes of a test"),
    );
    let out = zstd::Encoder::new(std::fs::File::create(to).expect("files and processes of a test"), 1)
        .expect("files and processes of a test");
    let mut tar = tar::Builder::new(out);
    for entry in archive.entries().expect("files and processes of a test") {
        let mut entry = entry.expect("files and processes of a test");
        let mut header = entry.header().clone();
        let path = entry.path().expect("files and processes of a test").into_owned();
        if path == Path::new("backup.json") {
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("files and processes of a test");
            let mut description: Value = serde_json::from_str(&text).expect("files and processes of a test");
            for (key, value) in change.as_object().expect("files and processes of a test") {
                match key.as_str() {
                    "schema" => description["ledger"]["schema_version"] = value.clone(),
                    key => description[key] = value.clone(),
                }
            }
            let text = description.to_string();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, &path, text.as_bytes()).expect("files and processes of a test");
        } else if header.entry_type().is_symlink() {
            let target = entry
                .link_name()
                .expect("files and processes of a test")
                .expect("files and processes of a test")
                .into_owned();
            tar.append_link(&mut header, &path, target).expect("files and processes of a test");
        } else {
            tar.append_data(&mut header, &path, &mut entry).expect("files and processes of a test");
        }
    }
    tar.into_inner().expect("files and processes of a test").finish().expect("files and processes of a test");
}

/// Kills a process after so long; says whether it had not ended before.
fn killed(mut child: Child, after: Duration) -> bool {
    std::thread::sleep(after);
    let before = child.try_wait().expect("files and processes of a test").is_none();
    child.kill().expect("files and processes of a test");
    child.wait().expect("files and processes of a test");
    before
}

/// How long a command takes when nobody is in its way.
fn time_of(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

fn spawned(daemon: &Daemon, arguments: &[&str]) -> Child {
    daemon
        .0
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("files and processes of a test")
}

#[test]
fn a_backup_that_is_killed_leaves_nothing_and_harms_nothing() {
    let daemon = living();
    std::fs::write(daemon.0.home().join("agents/main/work/much"), vec![7; 8 << 20]).unwrap();
    let folder = daemon.0.folder().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let file = at(&folder.join("one"));
    let takes = time_of(|| drop(daemon.ok(&["ledger", "backup", &at(&folder.join("first"))])));
    let (kills, mut cut) = (kills(), 0);
    for kill in 0..kills {
        let after = takes.mul_f64((kill as f64 + 0.5) / kills as f64);
        cut += usize::from(killed(spawned(&daemon, &["ledger", "backup", &file, "--verify"]), after));
        let whole = Path::new(&file).exists();
        daemon.ok(&["prompt", "--key", &format!("k{kill}"), "meanwhile"]);
        if whole {
            std::fs::remove_file(&file).unwrap();
        }
    }
    assert!(cut > 0, "none of {kills} kills came in time");
    daemon.ok(&["ledger", "backup", &file, "--verify"]);
    assert_eq!(tree(&folder), [at(&folder.join("first")), file.clone()], "drafts are gone");
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    Other::beside(&daemon, "other").ok(&["ledger", "restore", &file]);
}

#[test]
fn a_restore_that_is_killed_is_known_and_begun_again() {
    let daemon = living();
    std::fs::write(daemon.0.home().join("agents/main/work/much"), vec![7; 8 << 20]).unwrap();
    let file = at(&daemon.0.folder().join("backup"));
    daemon.ok(&["ledger", "backup", &file]);
    daemon.ok(&["daemon", "stop"]);
    let first = Other::beside(&daemon, "first");
    let takes = time_of(|| drop(first.ok(&["ledger", "restore", &file])));
    let whole = |other: &Other<'_>| {
        let named = |path: String| path.replace(&at(&other.home), "");
        tree(&other.home).into_iter().map(named).collect::<Vec<_>>()
    };
    let (kills, mut cut) = (kills(), 0);
    for kill in 0..kills {
        let other = Other::beside(&daemon, &format!("other-{kill}"));
        // Once more in the middle of the second attempt.
        for part in [kill as f64 + 0.5, (kills - kill) as f64] {
            let arguments = ["--home", &at(&other.home), "ledger", "restore", &file];
            let after = takes.mul_f64(part / kills as f64);
            if killed(spawned(&daemon, &arguments), after) && other.home.exists() {
                cut += 1;
                let started = other.run(&["daemon", "start"]);
                if other.home.join("restored.json").exists() {
                    assert_eq!(started.code, Some(4), "{started:?}");
                } else {
                    other.run(&["daemon", "stop"]);
                    std::fs::remove_dir_all(&other.home).unwrap();
                }
            }
        }
        if !other.run(&["daemon", "start"]).stderr.contains("--accept-restored") {
            // It begins where nothing is, or where an attempt was cut short.
            other.run(&["daemon", "stop"]);
            if !other.home.join("restored.json").exists() {
                std::fs::remove_dir_all(&other.home).unwrap();
            }
            other.ok(&["ledger", "restore", &file]);
        }
        let last_failure =
            |name: &String| !name.ends_with("last_failure.json") && !name.contains("/run/daemon.log");
        let left: Vec<_> = whole(&other).into_iter().filter(last_failure).collect();
        assert_eq!(left, whole(&first));
        daemon.0.check_ledger(&other.ledger());
    }
    assert!(cut > 0, "none of {kills} kills came in time");
}

#[test]
fn a_full_disk_ends_both_and_leaves_nothing() {
    if !mounts::own(module_path!(), "a_full_disk_ends_both_and_leaves_nothing") {
        return;
    }
    let daemon = living();
    // What can't be compressed.
    let mut random = vec![0; 6 << 20];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
    std::fs::write(daemon.0.home().join("agents/main/work/much"), random).unwrap();
    let small = daemon.0.folder().join("small");
    mounts::small_disk(&small, 1);
    daemon.0.run(&["ledger", "backup", &at(&small.join("backup"))]).refused(1, &["free space"]);
    assert!(tree(&small).is_empty(), "{:?}", tree(&small));
    let file = at(&daemon.0.folder().join("backup"));
    daemon.ok(&["ledger", "backup", &file]);
    let other = Other { daemon: &daemon, home: small.clone() };
    other.run(&["ledger", "restore", &file]).refused(1, &["free space"]);
    assert_eq!(tree(&small).len(), 2, "{:?}", tree(&small));
    mounts::take_away(&small);
    other.ok(&["ledger", "restore", &file]);
}
