//! The form with `*** Begin Patch`, paths as models write them, and what hunks have lost on their way.

use super::*;

fn wrapped(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch\n")
}

#[test]
fn files_are_made_changed_moved_and_deleted() {
    let place = Place::with(&[("a", ONE), ("b", "x\ny\n"), ("old", "1\n2\n")]);
    let changed = place
        .apply(&wrapped(
            "*** Add File: sub/new\n+one\n+\n+two\n*** Update File: a\n@@\n two\n-three\n+3\n four\n\
             *** Delete File: b\n*** Update File: old\n*** Move to: moved\n@@\n 1\n-2\n+II",
        ))
        .unwrap();
    let told = |path: &str, what, added, removed| (path.to_owned(), what, added, removed);
    let expected = [
        told("sub/new", "created", 3, 0),
        told("a", "modified", 1, 1),
        told("b", "deleted", 0, 2),
        told("moved", "renamed", 1, 1),
    ];
    assert_eq!(changed, expected);
    assert_eq!(place.read("sub/new"), "one\n\ntwo\n");
    assert_eq!(place.read("a"), "one\ntwo\n3\nfour\nfive\n");
    assert_eq!((place.read("moved"), place.path("b").exists()), ("1\nII\n".to_owned(), false));
}

#[test]
fn it_may_be_wrapped_in_many_ways() {
    let body = "*** Update File: a\n@@\n-one\n+1\n two";
    for patch in [
        wrapped(body),
        format!("*** Begin Patch\n{body}"),
        format!("{body}\n*** End Patch"),
        format!("\u{FEFF}{}", wrapped(body)),
        wrapped(body).replace('\n', "\r\n"),
        format!("```\n{}```\n", wrapped(body)),
        format!("apply_patch <<'EOF'\n{}EOF\n", wrapped(body)),
        wrapped(&body.replace("@@\n", "")),
        wrapped(&body.replace("@@", "@@ -1,2 +1,2 @@")),
        wrapped(&body.replace(" two", "two")),
    ] {
        let place = Place::with(&[("a", ONE)]);
        if let Err(refusal) = place.apply(&patch) {
            panic!("{patch:?}: {}", refusal.0.message);
        }
        assert_eq!(place.read("a"), "1\ntwo\nthree\nfour\nfive\n", "{patch:?}");
    }
}

#[test]
fn the_words_of_the_frame_may_be_lines_of_a_file() {
    let text = "one\n*** End Patch\ntwo\n*** Begin Patch\nthree\n";
    let place = Place::with(&[("a", text)]);
    let hunk = "@@\n one\n *** End Patch\n-two\n+2\n *** Begin Patch\n-three\n+3";
    place.apply(&wrapped(&format!("*** Update File: a\n{hunk}"))).unwrap();
    assert_eq!(place.read("a"), "one\n*** End Patch\n2\n*** Begin Patch\n3\n");
    // Where every line of a file begins with a sign, an indented end is one.
    place.apply("*** Begin Patch\n*** Add File: b\n+x\n  *** End Patch\n").unwrap();
    assert_eq!(place.read("b"), "x\n");
    place.apply("  *** Begin Patch\n*** Delete File: b\n  *** End Patch\n").unwrap();
    assert_eq!(place.names(), ["a"]);
}

#[test]
fn nothing_after_the_end_is_dropped() {
    let (one, two) = ("*** Update File: a\n@@\n-one\n+1", "*** Add File: b\n+x");
    for patch in [
        format!("{}\n{}", wrapped(one), wrapped(two)),
        format!("{}```\n\nand the other one:\n{}", wrapped(one), wrapped(two)),
        format!("{one}\n{}", wrapped(two)),
        format!("{}*** End Patch\nThat is all.\n", wrapped(&format!("{one}\n{two}"))),
    ] {
        let place = Place::with(&[("a", ONE)]);
        if let Err(refusal) = place.apply(&patch) {
            panic!("{patch:?}: {}", refusal.0.message);
        }
        assert_eq!(
            (place.read("a").as_str(), place.read("b").as_str()),
            ("1\ntwo\nthree\nfour\nfive\n", "x\n")
        );
    }
    let place = Place::with(&[("a", ONE)]);
    for line in ["+x", "-two", "@@", "*** Add File: b", "--- a/b", "diff --git a/b b/b"] {
        let (_, message) = place.refused(&format!("{}\n{line}\n+x\n", wrapped(one)));
        assert!(message.contains(&format!("line 8: {line:?} comes after *** End Patch")), "{message}");
    }
    let diff = "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n";
    let (_, message) = place.refused(&format!("{diff}*** Delete File: a\n"));
    assert!(message.contains("line 6: \"*** Delete File: a\" begins a patch of another form"), "{message}");
}

#[test]
fn a_line_that_is_named_says_where() {
    let text = "fn a() {\n    x();\n}\n\nfn b() {\n    x();\n}\n";
    let place = Place::with(&[("a.rs", text)]);
    let (_, message) = place.refused(&wrapped("*** Update File: a.rs\n@@\n-    x();\n+    y();"));
    assert!(message.contains("several places, lines 2, 6"), "{message}");
    place.apply(&wrapped("*** Update File: a.rs\n@@ fn b() {\n-    x();\n+    y();")).unwrap();
    assert_eq!(place.read("a.rs"), "fn a() {\n    x();\n}\n\nfn b() {\n    y();\n}\n");
    let changed = place.changed(&wrapped("*** Update File: a.rs\n@@ fn a() {\n }\n+// end")).unwrap();
    assert_eq!(place.read("a.rs"), "fn a() {\n    x();\n}\n// end\n\nfn b() {\n    y();\n}\n");
    let note = changed[0].note.as_deref().unwrap();
    assert_eq!(note, "hunk 1 was applied at line 3, the first of several places after what its @@ names");
    place.apply(&wrapped("*** Update File: a.rs\n@@\n }\n+// last\n*** End of File")).unwrap();
    assert!(place.read("a.rs").ends_with("    y();\n}\n// last\n"));
    // The same in a unified diff.
    place.apply("--- a.rs\n+++ a.rs\n@@ fn a() {\n-    x();\n+    z();\n }\n").unwrap();
    assert!(place.read("a.rs").starts_with("fn a() {\n    z();\n}\n"));
}

#[test]
fn what_is_wrong_with_it_is_said() {
    let place = Place::with(&[("a", ONE)]);
    for (body, says) in [
        ("*** Add File: a\n+x", "there is one already"),
        ("*** Add File: b\nx", "begin every line of a new file with +"),
        ("*** Update File: a", "no change follows line 2"),
        ("*** Update File: b\n@@\n-x\n+y", "no such file"),
        ("*** Delete File: b", "no such file"),
        ("*** Update File: ../b\n@@\n-x\n+y", "leads out of"),
        ("*** Update File: a\n@@\n one", "changes nothing"),
        ("*** Update File: a\n@@\n-tow\n+2", "does not apply"),
        ("*** Rename File: a", "belongs to no file"),
        ("", "names no file"),
    ] {
        let (_, message) = place.refused(&wrapped(body));
        assert!(message.contains(says), "{body}: {message}");
        assert!(place.refusal(&wrapped(body)).0.retryable, "{body}");
    }
}

#[test]
fn absolute_paths_inside_of_the_root_are_as_good() {
    let place = Place::with(&[("sub/a", ONE)]);
    let root = place.root.path().display().to_string();
    let named = |path: &str| format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-one\n+1\n");
    let changed = place.apply(&named(&format!("{root}/sub/a"))).unwrap();
    assert_eq!(changed[0].0, "sub/a");
    place.apply(&wrapped(&format!("*** Update File: {root}/sub/a\n@@\n-1\n+one"))).unwrap();
    for outside in ["/etc/passwd".to_owned(), format!("{root}/../a"), format!("{root}x/a"), root] {
        let (kind, _) = place.refused(&named(&outside));
        assert_eq!(kind, ToolErrorKind::ExecutionRootViolation, "{outside}");
    }
}

#[test]
fn unchanged_lines_may_have_lost_their_leading_space() {
    let text = "fn a() {\n    if x {\n\ty();\n    }\n}\n";
    for patch in [
        "--- a\n+++ a\n@@ -1,4 +1,4 @@\n fn a() {\n    if x {\n-\ty();\n+\tz();\n    }\n",
        "--- a\n+++ a\n@@ -2,3 +2,3 @@\n    if x {\n-\ty();\n+\tz();\n     }\n",
        "*** Begin Patch\n*** Update File: a\n@@\nfn a() {\n    if x {\n-\ty();\n+\tz();\n    }\n}\n*** End Patch",
    ] {
        let place = Place::with(&[("a", text)]);
        let changed = place.changed(patch).unwrap_or_else(|refusal| panic!("{patch}: {}", refusal.0.message));
        assert_eq!(place.read("a"), text.replace("y()", "z()"), "{patch}");
        assert!(changed[0].note.as_deref().unwrap().contains("had lost their leading space"), "{patch}");
    }
    let place = Place::with(&[("a", text)]);
    place.apply("--- a\n+++ a\n@@ -3,2 +3,2 @@\n\ty();\n-    }\n+    } // x\n").unwrap();
    assert!(place.read("a").contains("\ty();\n    } // x\n"));
    // What changes is never guessed.
    let (_, message) = place.refused("--- a\n+++ a\n@@ -2 +2 @@\n-   if x {\n+    if y {\n");
    assert!(message.contains("does not apply"), "{message}");
}

#[test]
fn the_mark_at_the_beginning_of_a_file_stays() {
    let marked = format!("\u{FEFF}{ONE}");
    let place = Place::with(&[("a", &marked)]);
    place.apply("--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n").unwrap();
    assert_eq!(place.read("a"), "\u{FEFF}1\ntwo\nthree\nfour\nfive\n");
    // A patch that shows it means it.
    place.apply("--- a\n+++ a\n@@ -1 +1 @@\n-\u{FEFF}1\n+one\n").unwrap();
    assert_eq!(place.read("a"), ONE);
}

#[test]
fn one_of_several_places_is_named() {
    let place = Place::with(&[("a", &"x\ny\n\nz\n".repeat(8))]);
    let changed = place.changed("--- a\n+++ a\n@@ -29 +29 @@\n y\n-\n+Y\n").unwrap();
    let note = changed[0].note.as_deref().unwrap();
    assert_eq!(note, "hunk 1 was applied at line 30, not at line 29: the nearest of several places");
}
