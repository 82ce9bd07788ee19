//! Renames, copies, modes, links, folders.

use super::*;

#[test]
fn renames_keep_the_file_and_its_mode() {
    let place = Place::with(&[("a.sh", ONE), ("plain", ONE), ("dir/c", "c\n")]);
    place.set_mode("a.sh", 0o750);
    let changed = place
        .changed(
            "diff --git a/a.sh b/sub/b.sh\nsimilarity index 100%\nrename from a.sh\nrename to sub/b.sh\n\
             diff --git a/dir/c b/c\nsimilarity index 90%\nrename from dir/c\nrename to c\nindex 1..2 100644\n\
             --- a/dir/c\n+++ b/c\n@@ -1 +1 @@\n-c\n+C\n\
             --- a/plain\n+++ b/moved\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n",
        )
        .unwrap();
    assert_eq!(paths(&changed), ["a.sh", "sub/b.sh", "dir/c", "c", "plain", "moved"]);
    assert!(changed.iter().all(|file| file.change == "renamed" && file.from.is_some()));
    assert_eq!(place.names(), ["c", "dir", "moved", "sub", "sub/b.sh"]);
    assert_eq!((place.read("sub/b.sh").as_str(), place.mode("sub/b.sh")), (ONE, 0o750));
    assert_eq!((place.read("c").as_str(), place.read("moved").lines().next()), ("C\n", Some("1")));
}

#[test]
fn names_can_be_swapped_and_passed_on() {
    let place = Place::with(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]);
    let rename =
        |from: &str, to: &str| format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n");
    place.apply(&(rename("a", "b") + &rename("b", "a"))).unwrap();
    assert_eq!((place.read("a").as_str(), place.read("b").as_str()), ("b\n", "a\n"));
    place.apply(&(rename("a", "b") + &rename("b", "c") + &rename("c", "d"))).unwrap();
    assert_eq!(place.names(), ["b", "c", "d"]);
    assert_eq!(
        (place.read("b"), place.read("c"), place.read("d")),
        ("b\n".into(), "a\n".into(), "c\n".into())
    );
    // What is deleted makes room as well.
    place.apply(&(rename("b", "d") + "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n")).unwrap();
    assert_eq!((place.names(), place.read("d")), (vec!["c".to_owned(), "d".to_owned()], "b\n".to_owned()));
}

#[test]
fn a_copy_leaves_its_source() {
    let place = Place::with(&[("a", ONE)]);
    let changed = place
        .changed(
            "diff --git a/a b/b\ncopy from a\ncopy to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-one\n+1\n\
             --- a/a\n+++ b/a\n@@ -5 +5 @@\n-five\n+5\n",
        )
        .unwrap();
    assert_eq!(paths(&changed), ["b", "a"]);
    assert_eq!(place.read("b"), "1\ntwo\nthree\nfour\nfive\n");
    assert_eq!(place.read("a"), "one\ntwo\nthree\nfour\n5\n");
}

#[test]
fn names_that_are_taken_or_disputed_are_refused() {
    let place = Place::with(&[("a", "a\n"), ("b", "b\n")]);
    let rename =
        |from: &str, to: &str| format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n");
    for (patch, expected) in [
        (rename("a", "b"), "b: the patch makes a file of this name, and there is one already"),
        (rename("a", "c") + &rename("b", "c"), "c is named twice, in lines 1 and 4 of the patch"),
        (rename("a", "c") + &rename("a", "d"), "a is named twice"),
        (rename("a", "c") + "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n", "a is named twice"),
        (rename("a", "a"), "a would become itself"),
        (rename("none", "c"), "none: there is no such file"),
        (
            "diff --git a/a b/c\nrename from a\nrename to c\n--- a/a\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n".into(),
            "a is named twice",
        ),
        ("diff --git a/a b/c\nrename from a\n".into(), "only one of its two paths"),
        ("diff --git a/a b/a\nindex 1..2 100644\n".into(), "no change follows the diff --git line of a"),
    ] {
        let (kind, message) = place.refused(&patch);
        assert_eq!(kind, ToolErrorKind::PatchRejected);
        assert!(message.contains(expected), "{patch:?}: {message}");
    }
}

#[test]
fn headers_that_name_another_file_than_their_signed_lines_are_refused() {
    let place = Place::with(&[("a", "a\n"), ("y/a", "a\n")]);
    for (patch, expected) in [
        (
            "diff --git a/x.sh b/x.sh\nnew file mode 100755\n--- /dev/null\n+++ b/y/x.sh\n@@ -0,0 +1 @@\n+x\n",
            "y/x.sh: line 4 of the patch names it, and the diff --git line 1 x.sh (write the same path in both",
        ),
        (
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/y/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "y/a: line 3 of the patch names it, and the diff --git line 1 a",
        ),
        (
            "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n--- a/y/a\n+++ b/y/a\n@@ -1 +1 @@\n-a\n+A\n",
            "y/a: line 5 of the patch names it, and the diff --git line 1 a",
        ),
        (
            "diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "/dev/null: line 4 of the patch names it, and the diff --git line 1 n",
        ),
    ] {
        let (kind, message) = place.refused(patch);
        assert_eq!(kind, ToolErrorKind::PatchRejected);
        assert!(message.contains(expected), "{patch:?}: {message}");
    }
}

#[test]
fn modes_change_by_gits_headers() {
    let place = Place::with(&[("a", ONE), ("private", ONE)]);
    place.set_mode("a", 0o640);
    place.set_mode("private", 0o4755);
    let changed = place.changed("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n").unwrap();
    assert_eq!((place.mode("a"), changed[0].change, changed[0].executable), (0o750, "modified", Some(true)));
    let (_, message) = place.refused("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n");
    assert!(message.contains("changes nothing"), "{message}");
    place
        .apply(
            "diff --git a/a b/a\nold mode 100755\nnew mode 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n",
        )
        .unwrap();
    assert_eq!((place.mode("a"), place.read("a").starts_with("1\n")), (0o640, true));
    place.apply("--- a/private\n+++ b/private\n@@ -1 +1 @@\n-one\n+1\n").unwrap();
    assert_eq!(place.mode("private"), 0o755, "a changed program runs as whoever starts it");
    for (mode, expected) in
        [("120000", "symbolic links"), ("160000", "submodules"), ("rw-r--r--", "is not a mode")]
    {
        let (_, message) = place.refused(&format!(
            "diff --git a/n b/n\nnew file mode {mode}\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
        ));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn read_only_files_are_left_alone_but_may_be_renamed() {
    let place = Place::with(&[("a", "a\n")]);
    place.set_mode("a", 0o444);
    for patch in ["--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n", "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"] {
        let (_, message) = place.refused(patch);
        assert!(
            message.contains("a: the file is read-only (mode 444)") && message.contains("chmod u+w"),
            "{message}"
        );
    }
    place.apply("diff --git a/a b/b\nrename from a\nrename to b\n").unwrap();
    assert_eq!((place.mode("b"), place.read("b").as_str()), (0o444, "a\n"));
}

#[test]
fn links_and_folders_are_no_files() {
    let place = Place::with(&[("file", ONE), ("dir/x", "x\n")]);
    symlink("file", place.path("link")).unwrap();
    symlink("dir", place.path("linked")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    for (patch, expected) in [
        ("--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "link: it is a symbolic link"),
        ("--- a/link\n+++ b/other\n@@ -1 +1 @@\n-one\n+1\n", "link: it is a symbolic link"),
        ("--- a/file\n+++ b/link\n@@ -1 +1 @@\n-one\n+1\n", "link: it is a symbolic link"),
        ("--- /dev/null\n+++ b/dangling\n@@ -0,0 +1 @@\n+x\n", "dangling: it is a symbolic link"),
        ("--- a/dangling\n+++ b/dangling\n@@ -1 +1 @@\n-x\n+y\n", "leads out of the execution root"),
        ("--- a/dir\n+++ b/dir\n@@ -1 +1 @@\n-x\n+y\n", "dir: it is a folder"),
        ("--- /dev/null\n+++ b/dir\n@@ -0,0 +1 @@\n+x\n", "dir: it is a folder"),
        (
            "--- /dev/null\n+++ b/file/x\n@@ -0,0 +1 @@\n+x\n",
            "file/x: a part of the path before its name is a file",
        ),
        (
            "--- /dev/null\n+++ b/file/x/y\n@@ -0,0 +1 @@\n+x\n",
            "a part of the path before its name is a file",
        ),
        (
            "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-one\n+1\n--- a/link\n+++ b/link\n@@ -2 +2 @@\n-two\n+2\n",
            "named twice",
        ),
    ] {
        let (_, message) = place.refused(patch);
        assert!(message.contains(expected), "{patch:?}: {message}");
    }
    place.apply("--- a/linked/x\n+++ b/linked/x\n@@ -1 +1 @@\n-x\n+y\n").unwrap();
    assert_eq!(place.read("dir/x"), "y\n");
}

#[test]
fn a_file_is_reported_by_one_name() {
    let place = Place::with(&[("a", ONE), ("dir/x", ONE), ("old", ONE)]);
    symlink("a", place.path("link")).unwrap();
    symlink("dir", place.path("linked")).unwrap();
    let change =
        |path: &str, old: &str, new: &str| format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-{old}\n+{new}\n");
    let one = |path: &str| place.apply(&change(path, "one", "1")).unwrap().remove(0).0;
    assert_eq!((one("./a"), one("linked/x")), ("a".to_owned(), "dir/x".to_owned()));
    place.apply(&change("link", "1", "one")).unwrap();
    let again = place.changed(&change("link", "one", "1")).unwrap();
    assert_eq!(paths(&again), ["a"]);
    let moved = "*** Begin Patch\n*** Update File: ./old\n*** Move to: ./linked/new\n*** End Patch\n";
    assert_eq!(paths(&place.changed(moved).unwrap()), ["old", "dir/new"]);
}

#[test]
fn a_patched_file_leaves_its_other_names() {
    let place = Place::with(&[("a", "a\n")]);
    fs::hard_link(place.path("a"), place.path("b")).unwrap();
    place.apply("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n").unwrap();
    assert_eq!((place.read("a").as_str(), place.read("b").as_str()), ("A\n", "a\n"));
}

#[test]
fn limits_are_said() {
    let place = Place::with(&[("big", "")]);
    fs::File::options().write(true).open(place.path("big")).unwrap().set_len(33 << 20).unwrap();
    let refusal = apply(
        &place.root(),
        "--- a/big\n+++ b/big\n@@ -1 +1 @@\n-x\n+y\n",
        place.journals.path(),
        &AtomicBool::new(false),
        false,
    )
    .unwrap_err();
    assert!(
        refusal.0.message.contains("big: it has 34603008 bytes, the limit is 33554432"),
        "{}",
        refusal.0.message
    );
    let many: String =
        (0..1_001).map(|at| format!("--- /dev/null\n+++ b/{at}\n@@ -0,0 +1 @@\n+x\n")).collect();
    let refusal = place.changed(&many).unwrap_err();
    assert!(refusal.0.message.contains("more than 1000 files"), "{}", refusal.0.message);
    let refusal = place.changed(&"x".repeat(9 << 20)).unwrap_err();
    assert!(refusal.0.message.contains("the limit is 8388608"), "{}", refusal.0.message);
}

/// Long patches cost what their length costs, not its square.
#[test]
fn a_hundred_thousand_lines_are_no_matter() {
    let place = Place::with(&[]);
    let lines = |sign: &str| (0..100_000).map(|at| format!("{sign}{}\n", at % 7)).collect::<String>();
    place.apply(&format!("--- /dev/null\n+++ b/long\n@@ -0,0 +1,100000 @@\n{}", lines("+"))).unwrap();
    assert_eq!(place.read("long"), lines(""));
    let (_, message) = place.refused("--- a/long\n+++ b/long\n@@ -50006,3 +50006,3 @@\n 0\n 1\n-3\n+x\n");
    assert!(message.contains("was expected to be \"3\", found \"2\""), "{message}");
    let (_, message) = place.refused("--- a/long\n+++ b/long\n@@ -50006,3 +50006,3 @@\n 0\n 1\n-2\n+x\n");
    assert!(message.contains("several places"), "{message}");
}
