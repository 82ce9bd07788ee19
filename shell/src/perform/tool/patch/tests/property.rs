//! Against diffs made by others, and against anything at all.

use std::process::Command;

use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = String> {
    let line =
        prop_oneof![Just("a"), Just("b"), Just(""), Just("-- c"), Just("++ d"), Just("é\r"), Just("a\r")];
    (prop::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, ended)| {
        let text = lines.join("\n");
        // The library that makes the diffs takes a lone carriage return for the end of a line.
        if ended && !text.is_empty() { text + "\n" } else { text.trim_end_matches('\r').to_owned() }
    })
}

/// A line is longer and rarer here, as in code; an edit replaces, inserts and removes some.
fn edited() -> impl Strategy<Value = (String, String)> {
    let line = prop_oneof![3 => "[a-z]{3,9}", 1 => Just("}".to_owned()), 1 => Just(String::new())];
    let edit = (any::<prop::sample::Index>(), 0_usize..3, prop::collection::vec(line.clone(), 0..3));
    (prop::collection::vec(line, 1..60), prop::collection::vec(edit, 1..5)).prop_map(|(old, edits)| {
        let mut new = old.clone();
        for (at, removed, added) in edits {
            let at = at.index(new.len() + 1);
            let end = (at + removed).min(new.len());
            new.splice(at..end, added);
        }
        (old.join("\n") + "\n", new.join("\n") + "\n")
    })
}

/// A small tree of files: name, whether it can be executed, text.
fn tree() -> impl Strategy<Value = Vec<(&'static str, bool, String)>> {
    let one = |name: &'static str| {
        let kept = (any::<bool>(), "([a-f]{1,3}\n){0,12}[a-f]{0,2}")
            .prop_map(move |(runs, text)| (name, runs, text));
        prop::option::of(kept)
    };
    let names = ["plain", "with space", "ä/ö", "sub/\"quoted\"", "sub/other"];
    names.map(one).prop_map(|files| files.into_iter().flatten().collect())
}

fn write_tree(place: &Place, files: &[(&str, bool, String)]) {
    for entry in fs::read_dir(place.root.path()).unwrap().map(Result::unwrap) {
        if entry.file_name() == ".git" {
            continue;
        }
        let path = entry.path();
        drop(fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)));
    }
    for (name, runs, text) in files {
        let path = place.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        place.set_mode(name, if *runs { 0o755 } else { 0o644 });
    }
}

fn git(place: &Place, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false"];
    let output =
        Command::new("git").args(identity).args(arguments).current_dir(place.root.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Files only, with the bit that git knows of.
fn files(place: &Place) -> Vec<(String, bool, Vec<u8>)> {
    let all = place.listing().into_iter().filter(|(name, _, _)| !name.starts_with(".git"));
    all.filter(|(name, _, _)| place.path(name).is_file())
        .map(|(name, mode, text)| (name, mode & 0o100 != 0, text))
        .collect()
}

proptest! {
    #[test]
    fn a_generated_diff_yields_the_new_text(old in text(), new in text(), radius in 0_usize..4) {
        prop_assume!(old != new && !old.is_empty() && !new.is_empty());
        let diff = similar::TextDiff::from_lines(&old, &new);
        let patch = diff.unified_diff().context_radius(radius).header("a/f", "b/f").to_string();
        let place = Place::with(&[("f", &old)]);
        // Without context, a hunk that only adds lines can't say which line ends the file has there.
        let bare = patch.contains(",0 +");
        if let Err(refusal) = place.apply(&patch) {
            prop_assert!(false, "{}\n{patch}", refusal.0.message);
        }
        let made = place.read("f");
        // A patch without carriage returns leaves the choice of line ends to the file.
        let same = if patch.contains('\r') { made == new } else { made.replace('\r', "") == new.replace('\r', "") };
        prop_assert!(bare || same, "{patch:?} gave {made:?}");
    }

    /// In a file that has got longer above the change since, a patch makes what was meant, or what another
    /// applier makes of it. (Among equal lines a place can't be known; the other one does not carry the shift
    /// of one hunk to the next, so that it misses what was meant more often.)
    #[test]
    fn a_moved_place_is_found_as_well_as_by_another_applier((old, new) in edited(), above in 0_usize..20) {
        prop_assume!(old != new);
        let patch = diffy::create_patch(&old, &new).to_string()
            .replace("--- original", "--- a/f").replace("+++ modified", "+++ b/f");
        let moved = "// above\n".repeat(above) + &old;
        let meant = "// above\n".repeat(above) + &new;
        let theirs = diffy::apply(&moved, &diffy::Patch::from_str(&patch).unwrap());
        let place = Place::with(&[("f", &moved)]);
        match (place.apply(&patch), theirs) {
            (Ok(_), theirs) => {
                let made = place.read("f");
                prop_assert!(made == meant || theirs.is_ok_and(|theirs| theirs == made), "{patch}made {made:?}");
            }
            (Err(refusal), theirs) => {
                prop_assert!(above > 0, "{}", refusal.0.message);
                prop_assert!(theirs.is_err() || refusal.0.message.contains("several places"), "{}", refusal.0.message);
            }
        }
    }

    /// A patch with a mistake is refused or applied; refused, it changes nothing.
    #[test]
    fn a_damaged_patch_is_all_or_nothing(
        (old, new) in edited(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..5, "[-+ @a-z\n]{0,4}"), 1..4),
    ) {
        prop_assume!(old != new);
        let one = similar::TextDiff::from_lines(&old, &new).unified_diff().header("a/f", "b/f").to_string();
        let two = one.replace("a/f", "a/g").replace("b/f", "b/h");
        let mut lines: Vec<String> = format!("{one}{two}--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n").lines().map(str::to_owned).collect();
        for (at, kind, text) in damage {
            let at = at.index(lines.len().max(1));
            lines.resize(lines.len().max(1), String::new());
            match kind {
                0 => lines[at] = text,
                1 => lines.insert(at, text),
                2 => drop(lines.splice(at..(at + 1).min(lines.len()), [])),
                3 => lines[at].push_str(&text),
                _ => lines.truncate(at.max(1)),
            }
        }
        let place = Place::with(&[("f", &old), ("g", &old)]);
        let before = place.listing();
        match place.apply(&lines.join("\n")) {
            Ok(_) => prop_assert!(place.names().iter().all(|name| !name.contains("holon"))),
            Err(_) => prop_assert_eq!(place.listing(), before),
        }
    }

    #[test]
    fn any_text_is_refused_or_applied_without_a_panic(patch in "(--- a\n\\+\\+\\+ a\n)?(diff --git \"?a/a\"? b/.{0,3}\n)?((rename|copy|new file mode|old mode|new mode) (from|to|100755)? ?[ab\"\\\\0-9]{0,5}\n){0,3}(@@ -[0-9],[0-9] \\+1 @@\n)?([ +-]?[ab]?\n|@@\n|\\\\ No\n|.{0,9}\n){0,12}") {
        let place = Place::with(&[("a", "a\nb\n")]);
        let before = place.listing();
        if place.apply(&patch).is_err() {
            prop_assert_eq!(place.listing(), before);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever git says of two trees, with renames and copies found, makes the one of the other.
    #[test]
    fn the_diff_of_two_trees_by_git_makes_one_of_the_other(old in tree(), new in tree()) {
        let place = Place::with(&[]);
        git(&place, &["init", "-q"]);
        write_tree(&place, &old);
        git(&place, &["add", "-A"]);
        git(&place, &["commit", "-q", "--allow-empty", "-m", "old"]);
        let before = files(&place);
        write_tree(&place, &new);
        git(&place, &["add", "-A"]);
        let patch = git(&place, &["diff", "--cached", "-M30%", "-C30%", "--find-copies-harder"]);
        let after = files(&place);
        prop_assume!(before != after);
        write_tree(&place, &old);
        if let Err(refusal) = place.apply(&patch) {
            prop_assert!(false, "{} in\n{patch}", refusal.0.message);
        }
        prop_assert_eq!(files(&place), after, "{}", patch);
    }
}
