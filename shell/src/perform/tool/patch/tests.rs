use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    fn apply(&self, patch: &str) -> Result<Vec<(String, &'static str, usize, usize)>, Refusal> {
        let root = Root::open(&self.0.path().display().to_string()).unwrap();
        let changed = apply(&root, patch, &AtomicBool::new(false))?;
        Ok(changed.into_iter().map(|file| (file.path, file.change, file.added, file.removed)).collect())
    }

    fn refused(&self, patch: &str) -> (ToolErrorKind, String) {
        let before = self.listing();
        let refusal = self.apply(patch).unwrap_err();
        assert_eq!(before, self.listing(), "a refused patch changes nothing");
        (refusal.0.kind, format!("{} ({})", refusal.0.message, refusal.0.hint.unwrap_or_default()))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn listing(&self) -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
            })
            .collect();
        all.sort();
        all
    }
}

const ONE: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn modifies_creates_and_deletes_in_one_patch() {
    let place = Place::with(&[("a.txt", ONE), ("gone.txt", "x\ny\n")]);
    fs::set_permissions(place.0.path().join("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
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
    let mode = |name: &str| fs::metadata(place.0.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a.txt"), mode("sub/deep/new.sh")), (0o750, 0o755));
    let names: Vec<String> = place.listing().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.txt", "sub"]);
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
    symlink(outside.path(), place.0.path().join("out")).unwrap();
    symlink(outside.path().join("x"), place.0.path().join("link")).unwrap();
    for path in ["../x", "/etc/x", "out/x", "sub/../../x", "out/new/x"] {
        let (kind, message) = place.refused(&format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"));
        assert_eq!(kind, ToolErrorKind::ExecutionRootViolation, "{path}: {message}");
        assert!(message.contains(path), "{message}");
    }
    let (kind, _) = place.refused("--- link\n+++ link\n@@ -1 +1 @@\n-x\n+y\n");
    assert_eq!(kind, ToolErrorKind::ExecutionRootViolation);
    assert_eq!(fs::read_to_string(outside.path().join("x")).unwrap(), "x\n");
    symlink("a.txt", place.0.path().join("inside")).unwrap();
    place.apply("--- inside\n+++ inside\n@@ -1 +1 @@\n-one\n+1\n").unwrap();
    assert!(place.read("a.txt").starts_with("1\n"));
    assert!(fs::symlink_metadata(place.0.path().join("inside")).unwrap().is_symlink());
}

#[test]
fn hunks_are_found_where_their_lines_stand() {
    let place = Place::with(&[("a", "x\ny\n\nx\ny\n\nx\ny\n")]);
    place.apply("--- a\n+++ a\n@@ -5,2 +5,2 @@\n x\n-y\n+Y\n").unwrap();
    assert_eq!(place.read("a"), "x\ny\n\nx\nY\n\nx\ny\n");
    let (_, message) = place.refused("--- a\n+++ a\n@@\n x\n-y\n+Y\n");
    assert!(message.contains("several places, lines 1 and 7"), "{message}");
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
        ("*** Begin Patch\n*** Update File: a\n", "send a unified diff"),
        ("nothing here", "names no file"),
        ("--- a/a\n+++ b/b\n@@ -1 +1 @@\n-one\n+1\n", "a would become b: renames"),
        ("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", "exists already"),
        ("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n", "none: there is no such file"),
        ("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "lines would remain"),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n one\n", "changes nothing"),
        ("--- a/a\n+++ b/a\nno hunk\n", "no hunk follows"),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n", "line 1 was expected to be \"1\", found \"one\""),
        ("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n two\n", "there already"),
        ("--- tabs\n+++ tabs\n@@ -1 +1 @@\n-    x\n+y\n", "only white space differs"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n--- a\n+++ a\n@@ -2 +2 @@\n-two\n+2\n", "named twice"),
        ("diff --git a/a b/a\nnew mode 100755\n", "use chmod"),
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

#[test]
fn a_failure_midway_puts_everything_back() {
    let place = Place::with(&[("a", ONE)]);
    let root = Root::open(&place.0.path().display().to_string()).unwrap();
    let parsed =
        parse::parse("--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ new/file\n@@ -0,0 +1 @@\n+x\n")
            .unwrap();
    let changes: Vec<_> = parsed.iter().map(|file| files::plan(&root, file).unwrap()).collect();
    fs::create_dir(place.0.path().join("new")).unwrap();
    fs::write(place.0.path().join("new/file"), "came in between").unwrap();
    let before = place.listing();
    let refusal = files::commit(&changes, &AtomicBool::new(false)).unwrap_err();
    assert!(refusal.0.message.contains("new/file: something else changed it"), "{}", refusal.0.message);
    assert_eq!(before, place.listing());
    assert_eq!(place.read("new/file"), "came in between");
    let refusal = files::commit(&changes[..1], &AtomicBool::new(true)).unwrap_err();
    assert_eq!(refusal.0.kind, ToolErrorKind::Interrupted);
    assert_eq!(before, place.listing());
}

fn text() -> impl Strategy<Value = String> {
    let line =
        prop_oneof![Just("a"), Just("b"), Just(""), Just("-- c"), Just("++ d"), Just("é\r"), Just("a\r")];
    (prop::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, ended)| {
        let text = lines.join("\n");
        // The library that makes the diffs takes a lone carriage return for the end of a line.
        if ended && !text.is_empty() { text + "\n" } else { text.trim_end_matches('\r').to_owned() }
    })
}

proptest! {
    #[test]
    fn a_generated_diff_yields_the_new_text(old in text(), new in text(), radius in 0_usize..4) {
        prop_assume!(old != new && !old.is_empty() && !new.is_empty());
        let diff = similar::TextDiff::from_lines(&old, &new);
        let patch = diff.unified_diff().context_radius(radius).header("a/f", "b/f").to_string();
        let place = Place::with(&[("f", &old)]);
        // Without context, a patch that only adds lines can't say which line ends the file has.
        let bare = radius == 0 && !patch.lines().any(|line| line.starts_with('-') && !line.starts_with("---"));
        if let Err(refusal) = place.apply(&patch) {
            prop_assert!(false, "{}\n{patch}", refusal.0.message);
        }
        prop_assert!(bare || place.read("f") == new, "{patch:?} gave {:?}", place.read("f"));
    }

    #[test]
    fn any_text_is_refused_or_applied_without_a_panic(patch in "(--- a\n\\+\\+\\+ a\n)?(@@ -[0-9],[0-9] \\+1 @@\n)?([ +-]?[ab]?\n|@@\n|.{0,9}\n){0,12}") {
        let place = Place::with(&[("a", "a\nb\n")]);
        drop(place.apply(&patch));
    }
}
