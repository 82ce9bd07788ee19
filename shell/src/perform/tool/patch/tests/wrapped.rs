//! What models wrap patches in, and how they misspell them.

use super::*;

/// The text of `a` after each of these patches, which all change its first line.
#[test]
fn a_patch_may_be_wrapped_and_its_paths_written_in_many_ways() {
    let hunk = "@@ -1,2 +1,2 @@\n-one\n+1\n two";
    for patch in [
        format!("--- a\n+++ a\n{hunk}"),
        format!("--- a/a\n+++ b/a\n{hunk}\n"),
        format!("--- a/a\n+++ a\n{hunk}\n"),
        format!("--- a\n+++ b/a\n{hunk}\n"),
        format!("--- ./a\n+++ ./a\n{hunk}\n"),
        format!("--- a/a\t2026-01-01 10:00:00.000000000 +0100\n+++ b/a\t2026-01-01 10:00:01\n{hunk}\n"),
        format!("--- \"a/a\"\n+++ \"b/a\"\n{hunk}\n"),
        format!("\u{FEFF}--- a/a\n+++ b/a\n{hunk}\n"),
        format!("Here is the change:\n\n```diff\n--- a/a\n+++ b/a\n{hunk}\n```\nThat should do.\n"),
        format!("diff --git a/a b/a\nindex 123..456 100644\n--- a/a\n+++ b/a\n{hunk}\n"),
        format!("diff --git i/a w/a\nindex 123..456 100644\n--- i/a\n+++ w/a\n{hunk}\n"),
        format!("diff --git a/a b/a\n{hunk}\n"),
        format!("Index: a\n===================\n--- a\t(revision 1)\n+++ a\t(working copy)\n{hunk}\n"),
        format!("--- a/a\n+++ b/a\n{hunk}\n").replace('\n', "\r\n"),
        format!("From 123 Mon Sep 17\nSubject: x\n\n---\n a | 2 +-\n\n--- a/a\n+++ b/a\n{hunk}\n-- \n2.39\n"),
    ] {
        let place = Place::with(&[("a", ONE)]);
        if let Err(refusal) = place.apply(&patch) {
            panic!("{patch:?}: {}", refusal.0.message);
        }
        assert_eq!(place.read("a"), "1\ntwo\nthree\nfour\nfive\n", "{patch:?}");
    }
}

#[test]
fn quoted_paths_are_read_as_git_writes_them() {
    let place = Place::with(&[("ä b.txt", "x\n"), ("q\"\\", "x\n")]);
    place.apply("--- \"a/\\303\\244 b.txt\"\n+++ \"b/\\303\\244 b.txt\"\n@@ -1 +1 @@\n-x\n+y\n").unwrap();
    assert_eq!(place.read("ä b.txt"), "y\n");
    place
        .apply(
            "diff --git \"a/\\303\\244 b.txt\" \"b/\\303\\244 b.txt\"\ndeleted file mode 100644\n\
             --- \"a/\\303\\244 b.txt\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n\
             diff --git \"a/q\\\"\\\\\" b/plain\nrename from \"q\\\"\\\\\"\nrename to plain\n",
        )
        .unwrap();
    assert_eq!(place.names(), ["plain"]);
    for path in ["\"a/x", "\"a/\\x41\"", "\"a/\\303\"", "\"a/\\000\"", "\"a/\\n\""] {
        let (_, message) = place.refused(&format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"));
        assert!(message.contains("is not a path"), "{message}");
    }
}

#[test]
fn names_with_spaces_need_no_hunks() {
    let place = Place::with(&[]);
    place.apply("diff --git a/two words b/two words\nnew file mode 100755\nindex 0..0\n").unwrap();
    assert_eq!((place.names(), place.mode("two words") & 0o100), (vec!["two words".to_owned()], 0o100));
}

#[test]
fn binary_patches_and_bytes_are_refused_by_name() {
    let place = Place::with(&[("a.png", "x")]);
    let (_, message) = place.refused(
        "diff --git a/a.png b/a.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQz\n\nliteral 1\nIcmZ\n",
    );
    assert!(message.contains("a.png: binary patches are not supported"), "{message}");
    let (_, message) = place.refused("diff --git a/a.png b/a.png\nBinary files a/a.png and b/a.png differ\n");
    assert!(message.contains("a.png: binary patches"), "{message}");
    let (_, message) = place.refused("--- a/a.png\n+++ b/a.png\n@@ -1 +1 @@\n-x\n+\0\n");
    assert!(message.contains("line 5 of the patch contains a NUL byte"), "{message}");
}

#[test]
fn hunks_may_share_unchanged_lines_but_not_change_places() {
    let place = Place::with(&[("a", ONE)]);
    place.apply("--- a\n+++ a\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n@@ -2,3 +2,3 @@\n two\n three\n-four\n+4\n").unwrap();
    assert_eq!(place.read("a"), "1\ntwo\nthree\n4\nfive\n");
    let (_, message) = place.refused("--- a\n+++ a\n@@ -5 +5 @@\n-five\n+5\n@@ -2 +2 @@\n-two\n+2\n");
    assert!(message.contains("hunk 2 of 2 (line 6 of the patch)"), "{message}");
    assert!(message.contains("its lines are at line 2, before the end of the hunk before it"), "{message}");
}

#[test]
fn the_nearest_place_wins_only_when_no_other_is_as_good() {
    let repeated = "x\ny\n\nz\n".repeat(8);
    let place = Place::with(&[("a", &repeated)]);
    let refusal = place.refusal("--- a\n+++ a\n@@ -12 +12 @@\n y\n-\n+Y\n");
    assert!(
        refusal.0.message.contains("several places, lines 2, 6, 10, 14, 18 and 3 more"),
        "{}",
        refusal.0.message
    );
    let details: serde_json::Value = serde_json::from_str(&refusal.0.details.unwrap()).unwrap();
    assert_eq!(details["candidates"], serde_json::json!([2, 6, 10, 14, 18]));
    place.apply("--- a\n+++ a\n@@ -29 +29 @@\n y\n-\n+Y\n").unwrap();
    assert!(place.read("a").ends_with("x\ny\nY\nz\n"));
}

#[test]
fn white_space_at_the_end_of_lines_is_the_last_resort() {
    let place = Place::with(&[("a", "fn x() {  \n\tbody\t\n}\n"), ("b", "x \nx\t\n")]);
    let changed = place.changed("--- a\n+++ a\n@@ -1,3 +1,3 @@\n fn x() {\n-\tbody\n+\tBODY\n }\n").unwrap();
    assert_eq!(place.read("a"), "fn x() {  \n\tBODY\n}\n");
    assert!(changed[0].note.as_ref().unwrap().contains("hunk 1"));
    let (_, message) = place.refused("--- b\n+++ b\n@@ -4 +4 @@\n-x\n+y\n");
    assert!(message.contains("several places, lines 1, 2"), "{message}");
    let (_, message) = place.refused("--- a\n+++ a\n@@ -2 +2 @@\n-  BODY\n+x\n");
    assert!(message.contains("only white space differs"), "{message}");
}

#[test]
fn mixed_line_ends_stay_with_their_lines() {
    let place = Place::with(&[("a", "one\r\ntwo\nthree\r\nfour\nfive")]);
    place
        .apply("--- a\n+++ a\n@@ -1,5 +1,6 @@\n one\n-two\n-three\n+2\n+3\n+3b\n four\n-five\n+5\n")
        .unwrap();
    assert_eq!(place.read("a"), "one\r\n2\n3\r\n3b\r\nfour\n5");
    // A patch that has carriage returns of its own says exactly what it wants.
    place.apply("--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one\r\n+one\n-2\n+2\r\n").unwrap();
    assert_eq!(place.read("a"), "one\n2\r\n3\r\n3b\r\nfour\n5");
}

#[test]
fn the_details_of_a_refusal_are_data() {
    let place = Place::with(&[("a", ONE)]);
    let refusal = place.refusal("--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one\n+1\n tow\n");
    let details: serde_json::Value = serde_json::from_str(&refusal.0.details.unwrap()).unwrap();
    let expected = serde_json::json!({
        "file": "a", "hunk": 1, "patch_line": 3, "line": 2, "expected": "tow", "found": "two",
    });
    assert_eq!(details, expected);
    let message = "a: hunk 1 of 1 (line 3 of the patch) does not apply: line 2 was expected to be \"tow\", found \"two\"";
    assert_eq!(refusal.0.message, message);
}
