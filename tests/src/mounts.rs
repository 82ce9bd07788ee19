//! Tests that need a disk of their own run once more, alone in a process that has mounts of its own: what they mount
//! is seen by nobody else, and is gone with them.

use std::path::Path;
use std::process::Command;

const INSIDE: &str = "HOLON_TEST_HAS_MOUNTS";

/// Whether this process may mount. Otherwise the named test was run in one that may, or the machine does not allow
/// that and the reason was printed: in both cases there is nothing left to do here. The module is that of the test, by
/// `module_path!`.
#[expect(clippy::print_stdout, reason = "whoever runs the tests is told what they leave out")]
pub fn own(module: &str, test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let allowed = Command::new("unshare").args(["-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !allowed.as_ref().is_ok_and(|tried| tried.status.success()) {
        println!("skipped: this machine lets nobody have mounts of its own: {allowed:?}");
        return false;
    }
    let program = std::env::current_exe().expect("a test has a path");
    let test = match module.split_once("::") {
        Some((_, within)) => format!("{within}::{test}"),
        None => test.to_owned(),
    };
    // A folder that something is mounted on can't be removed by whoever mounted it: all of them lie in this one, which
    // is removed when that process and its mounts are gone.
    let around = tempfile::tempdir().expect("a temporary folder");
    let ran = Command::new("unshare")
        .arg("-Urm")
        .arg(program)
        .args([&test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .env("TMPDIR", around.path())
        .status()
        .expect("it starts");
    around.close().expect("nothing is mounted there any more");
    assert!(ran.success(), "{test} failed in a process with mounts of its own");
    false
}

/// A small disk, with so many MiB.
pub fn small_disk(place: &Path, mebibytes: u32) {
    std::fs::create_dir_all(place).expect("a folder");
    mount(&["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"], place);
}

/// Nothing below can be changed any more; not what is open already.
pub fn read_only(place: &Path) {
    let path = place.display().to_string();
    mount(&["--bind", &path], place);
    mount(&["-o", "remount,bind,ro"], place);
}

/// Takes away what was mounted there last.
pub fn take_away(place: &Path) {
    let done = Command::new("umount").arg(place).output().expect("umount runs");
    assert!(done.status.success(), "{done:?}");
}

fn mount(arguments: &[&str], place: &Path) {
    let done = Command::new("mount").args(arguments).arg(place).output().expect("mount runs");
    assert!(done.status.success(), "{done:?}");
}
