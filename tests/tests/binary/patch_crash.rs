//! `kill -9` while a patch is being written: the next start finds all of it or makes nothing of it.

use std::time::{Duration, Instant};

use end_to_end::Holon;
use serde_json::json;

const FILES: usize = 60;

/// Every file gets another text; one is made, one goes, two change their names.
fn patch() -> String {
    let mut patch: String = (0..FILES)
        .map(|at| format!("--- a/f{at}\n+++ b/f{at}\n@@ -1 +1 @@\n-old {at}\n+new {at}\n"))
        .collect();
    patch.push_str("--- /dev/null\n+++ b/sub/made\n@@ -0,0 +1 @@\n+made\n");
    patch.push_str("--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n");
    patch.push_str(
        "diff --git a/x b/y\nrename from x\nrename to y\ndiff --git a/y b/x\nrename from y\nrename to x\n",
    );
    patch
}

fn files(holon: &Holon) -> Vec<(String, String)> {
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    let entries = std::fs::read_dir(holon.work()).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path())))
        .collect();
    files.sort();
    files
}

fn set_up() -> Holon {
    let holon = Holon::new();
    (0..FILES).for_each(|at| drop(holon.file(&format!("f{at}"), &format!("old {at}\n"))));
    for name in ["gone", "x", "y"] {
        holon.file(name, &format!("{name}\n"));
    }
    holon
}

#[test]
fn a_patch_that_is_killed_anywhere_happens_whole_or_not_at_all() {
    let call = json!({ "calls": [{ "tool": "ApplyPatch", "arguments": { "patch": patch() } }] });
    let rounds = json!([call, { "text": "Done." }]);
    let (before, after) = {
        let holon = set_up();
        let before = files(&holon);
        let ended = holon.run(&["run", "--quiet", "--model", &holon.scenario(&rounds), "patch"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        (before, files(&holon))
    };
    assert_ne!(before, after);
    let (mut undone, mut rounds_left) = (0, 8_u64);
    while rounds_left > 0 {
        rounds_left -= 1;
        let holon = set_up();
        let mut child = holon.spawn(&["run", "--quiet", "--model", &holon.scenario(&rounds), "patch"]);
        let started = Instant::now();
        // Half of the rounds wait for the first file in its place, the others for the first one beside it.
        while files(&holon) == before && started.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        if rounds_left.is_multiple_of(2) {
            let place = holon.work().join("f0");
            while std::fs::read_to_string(&place).is_ok_and(|text| text == "old 0\n")
                && started.elapsed() < Duration::from_secs(20)
            {
                std::hint::spin_loop();
            }
        } else {
            std::thread::sleep(Duration::from_millis(rounds_left * 3));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let hello = holon.scenario(&json!([{ "text": "Hello." }]));
        let ended = holon.run(&["run", "--model", &hello, "hello"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let found = files(&holon);
        assert!(found == before || found == after, "{found:?}");
        let told = ended.stderr.contains("was interrupted; none of it remains");
        assert!(!told || found == before, "{ended:?}");
        undone += usize::from(told);
        let journals = std::fs::read_dir(holon.home().join("patches")).map_or(0, Iterator::count);
        assert_eq!(journals, 0, "{ended:?}");
    }
    assert!(undone > 0, "no run was killed in the middle of its patch");
}
