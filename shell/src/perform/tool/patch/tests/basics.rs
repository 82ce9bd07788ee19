//! Changing, creating and deleting; where hunks stand; line ends; refusals.

use std::os::unix::fs::{MetadataExt, chown};

use super::*;

#[test]
fn modifies_creates_and_deletes_in_one_patch() {
    let place = Place::with(&[("a.txt", ONE), ("gone.txt", "x\ny\n")]);
    place.set_mode("a.txt", 0o750);
    let patch = "Some words first.\n\
        diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n\
        @@ -2,3 +2,3 @@ fn heading()\n two\n-three\n+THREE\n four\n\
        diff --git a/sub/deep/new.sh b/sub/deep/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/sub/deep/new.sh\n\
        @@ -0,0 +1,2 @@\n+hello\n+world\n\
        --- a/gone.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n";
    let changed = place.apply(patch).unwrap();
    assert_eq!(
        changed,
        [
            ("a.txt".into(), "modified", 1, 1),
            ("sub/deep/new.sh".into(), "created", 2, 0),
            ("gone.txt".into(), "deleted", 0, 2)
        ]
    );
    assert_eq!(place.read("a.txt"), "one\ntwo\nTHREE\nfour\nfive\n");
    assert_eq!(place.read("sub/deep/new.sh"), "hello\nworld\n");
    assert_eq!((place.mode("a.txt"), place.mode("sub/deep/new.sh") & 0o700), (0o750, 0o700));
    assert_eq!(place.names(), ["a.txt", "sub", "sub/deep", "sub/deep/new.sh"]);
}

#[test]
fn a_changed_file_stays_with_its_owner() {
    let place = Place::with(&[("a.txt", ONE)]);
    // A user who may not give files away leaves it as it is.
    chown(place.path("a.txt"), Some(4_711), Some(4_712)).ok();
    place.set_mode("a.txt", 0o640);
    let of =
        || fs::metadata(place.path("a.txt")).map(|about| (about.ino(), about.uid(), about.gid())).unwrap();
    let before = of();
    place.apply("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n").unwrap();
    let after = of();
    assert!(before.0 != after.0 && (before.1, before.2) == (after.1, after.2), "{before:?} {after:?}");
    assert_eq!(place.mode("a.txt"), 0o640);
}

#[test]
fn one_hunk_that_does_not_apply_changes_nothing() {
    let place = Place::with(&[("a.txt", ONE), ("b.txt", ONE)]);
    let (kind, message) = place.refused(
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-one\n+1\n\
         @@ -3,2 +3,2 @@\n three\n-fuor\n+4\n",
    );
    assert_eq!(kind, ToolErrorKind::PatchRejected);
    assert!(message.contains("b.txt: hunk 2 of 2"), "{message}");
    assert!(message.contains("line 4 was expected to be \"fuor\", found \"four\""), "{message}");
}

#[test]
fn paths_stay_inside_the_root() {
    let place = Place::with(&[("a.txt", ONE)]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x"), "x\n").unwrap();
    symlink(outside.path(), place.path("out")).unwrap();
    symlink(outside.path().join("x"), place.path("link")).unwrap();
    for path in ["../x", "/etc/x", "out/x", "sub/../../x", "out/new/x"] {
        let (kind, message) = place.refused(&format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"));
        assert_eq!(kind, ToolErrorKind::ExecutionRootViolation, "{path}: {message}");
        assert!(message.contains(path), "{message}");
    }
    let (kind, _) = place.refused("--- link\n+++ link\n@@ -1 +1 @@\n-x\n+y\n");
    assert_eq!(kind, ToolErrorKind::ExecutionRootViolation);
    assert_eq!(fs::read_to_string(outside.path().join("x")).unwrap(), "x\n");
    symlink("a.txt", place.path("inside")).unwrap();
    place.apply("--- inside\n+++ inside\n@@ -1 +1 @@\n-one\n+1\n").unwrap();
    assert!(place.read("a.txt").starts_with("1\n"));
    assert!(fs::symlink_metadata(place.path("inside")).unwrap().is_symlink());
}

#[test]
fn hunks_are_found_where_their_lines_stand() {
    let place = Place::with(&[("a", "x\ny\n\nx\ny\n\nx\ny\n")]);
    place.apply("--- a\n+++ a\n@@ -5,2 +5,2 @@\n x\n-y\n+Y\n").unwrap();
    assert_eq!(place.read("a"), "x\ny\n\nx\nY\n\nx\ny\n");
    let (_, message) = place.refused("--- a\n+++ a\n@@\n x\n-y\n+Y\n");
    assert!(message.contains("several places, lines 1, 7"), "{message}");
    place.apply("--- a\n+++ a\n@@ somewhere @@\n x\n-Y\n+z\n").unwrap();
    assert_eq!(place.read("a"), "x\ny\n\nx\nz\n\nx\ny\n");
}

#[test]
fn counts_may_be_wrong_and_blank_lines_may_have_lost_their_space() {
    let place = Place::with(&[("a", "one\n\nthree\nfour\n")]);
    place.apply("--- a\n+++ a\n@@ -1,9 +1,1 @@\n one\n\n-three\n+3\n+3b\n four\n\n").unwrap();
    assert_eq!(place.read("a"), "one\n\n3\n3b\nfour\n");
}

#[test]
fn what_surrounds_a_patch_is_passed_over_and_changes_are_not() {
    let place = Place::with(&[("a", ONE)]);
    place
        .apply("```diff\n--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n\n@@ -5 +5 @@\n-five\n+5\n-- \n2.39.0\n```\n")
        .unwrap();
    assert_eq!(place.read("a"), "1\ntwo\nthree\nfour\n5\n");
    let (_, message) = place.refused("--- a\n+++ a\n@@ -1 +1 @@\n-1\n+one\n\n two\n-three\n");
    assert!(message.contains("line 8: \"-three\" belongs to no hunk"), "{message}");
}

#[test]
fn lines_that_look_like_headers_are_lines() {
    let place = Place::with(&[("a", "-- x\nb\n")]);
    place.apply("--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n b\n").unwrap();
    assert_eq!(place.read("a"), "++ y\nb\n");
}

#[test]
fn line_ends_stay_what_they_were() {
    let place = Place::with(&[("dos", "a\r\nb\r\nc\r\n"), ("bare", "a\nb"), ("unix", "a\nb\n")]);
    place.apply("--- dos\n+++ dos\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n").unwrap();
    assert_eq!(place.read("dos"), "a\r\nB\r\nB2\r\nc\r\n");
    place.apply("--- bare\n+++ bare\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n").unwrap();
    assert_eq!(place.read("bare"), "A\nb");
    place.apply("--- bare\n+++ bare\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n").unwrap();
    assert_eq!(place.read("bare"), "A\nb\n");
    place
        .apply("--- unix\r\n+++ unix\r\n@@ -2 +2 @@\r\n-b\r\n+B\r\n\\ No newline at end of file\r\n")
        .unwrap();
    assert_eq!(place.read("unix"), "a\nB");
}

#[test]
fn refusals_say_what_to_do() {
    let place = Place::with(&[("a", ONE), ("tabs", "\tx\n")]);
    for (patch, expected) in [
        ("*** Begin Patch\n*** Update File: a\n", "after *** Begin Patch name each file"),
        ("nothing here", "names no file"),
        ("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", "there is one already"),
        ("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n", "none: there is no such file"),
        ("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "lines would remain"),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n one\n", "changes nothing"),
        ("--- a/a\n+++ b/a\nno hunk\n", "no hunk follows"),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n", "line 1 was expected to be \"1\", found \"one\""),
        ("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n two\n", "there already"),
        ("--- tabs\n+++ tabs\n@@ -1 +1 @@\n-    x\n+y\n", "only white space differs"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n--- a\n+++ a\n@@ -2 +2 @@\n-two\n+2\n", "named twice"),
        ("--- a\n+++ a\n@@ -x +y @@\n-one\n+1\n", "not a hunk header"),
    ] {
        let (_, message) = place.refused(patch);
        assert!(message.contains(expected), "{patch:?}: {message}");
    }
}

#[test]
fn empty_files_come_and_go_by_git_headers() {
    let place = Place::with(&[]);
    place.apply("diff --git a/e b/e\nnew file mode 100644\nindex 0..0\n").unwrap();
    assert_eq!(place.read("e"), "");
    let changed = place.apply("diff --git a/e b/e\ndeleted file mode 100644\n").unwrap();
    assert_eq!(changed, [("e".into(), "deleted", 0, 0)]);
    assert!(place.listing().is_empty());
}
