//! A process that dies, or a file system that refuses, after any of a patch's steps.

use super::commit::{Commit, Step, commit};
use super::*;

/// Changes, makes, deletes, swaps, makes executable: every kind of step.
const PATCH: &str = "\
--- a/changed\n+++ b/changed\n@@ -1 +1 @@\n-one\n+1\n\
--- /dev/null\n+++ b/new/deep/file\n@@ -0,0 +1 @@\n+x\n\
--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
diff --git a/left b/right\nrename from left\nrename to right\n\
diff --git a/right b/left\nrename from right\nrename to left\n\
diff --git a/program b/program\nold mode 100644\nnew mode 100755\n";

fn place() -> Place {
    let place = Place::with(&[
        ("changed", ONE),
        ("gone", "gone\n"),
        ("left", "l\n"),
        ("right", "r\n"),
        ("program", "p\n"),
    ]);
    place.set_mode("changed", 0o600);
    place
}

fn planned(place: &Place, patch: &str) -> plan::Plan {
    plan::plan(&place.root(), &parse::parse(patch).unwrap()).unwrap()
}

/// What the patch makes of the place.
fn after() -> Listing {
    let place = place();
    place.apply(PATCH).unwrap();
    place.listing()
}

#[test]
fn a_crash_after_any_step_leaves_all_of_the_patch_or_nothing() {
    let (given_up, whole) = (AtomicBool::new(false), after());
    let steps = {
        let place = place();
        let plan = planned(&place, PATCH);
        Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap().steps()
    };
    assert_eq!(steps.len(), 2 + 3 * 6 + 4);
    for died_after in 0..=steps.len() {
        let place = place();
        let before = place.listing();
        let plan = planned(&place, PATCH);
        let mut writing =
            Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
        for &step in &steps[..died_after] {
            writing.perform(step).unwrap();
        }
        assert!(recover(place.journals.path(), false).is_empty(), "one that lives is left alone");
        drop(writing);
        let happened = steps[..died_after].contains(&Step::Done);
        let warnings = recover(place.journals.path(), false);
        assert_eq!(warnings.is_empty(), happened, "{warnings:?}");
        assert_eq!(place.listing(), if happened { whole.clone() } else { before }, "died after {died_after}");
        assert_eq!(fs::read_dir(place.journals.path()).unwrap().count(), 0);
        assert!(recover(place.journals.path(), false).is_empty(), "once is enough");
    }
}

#[test]
fn a_crash_while_undoing_is_undone_too() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let before = place.listing();
    let plan = planned(&place, PATCH);
    let mut writing = Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
    let steps = writing.steps();
    let done = steps.iter().position(|step| *step == Step::Done).unwrap();
    steps[..done].iter().for_each(|&step| writing.perform(step).unwrap());
    drop(writing);
    let journal = fs::read_dir(place.journals.path()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read(&journal).unwrap();
    assert_eq!(fs::metadata(&journal).unwrap().permissions().mode() & 0o777, 0o600);
    recover(place.journals.path(), false);
    // The journal was still there when the process died: the same again, with less and less to do.
    for _ in 0..2 {
        fs::write(&journal, &text).unwrap();
        recover(place.journals.path(), false);
        assert_eq!(place.listing(), before);
    }
}

#[test]
fn what_was_written_in_part_is_removed() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let before = place.listing();
    let plan = planned(&place, PATCH);
    let mut writing = Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
    let steps = writing.steps();
    let kept = steps.iter().position(|step| *step == Step::Wanted).unwrap();
    steps[..kept].iter().for_each(|&step| writing.perform(step).unwrap());
    let half = place.names().into_iter().find(|name| name.contains("-new")).unwrap();
    fs::write(place.path(&half), "hal").unwrap();
    drop(writing);
    // A journal that was not written to its end belongs to a patch that had not begun.
    fs::write(place.journals.path().join("half.undo"), "{\"root\":\"/").unwrap();
    recover(place.journals.path(), false);
    assert_eq!(place.listing(), before);
    assert_eq!(fs::read_dir(place.journals.path()).unwrap().count(), 0);
}

#[test]
fn the_next_patch_undoes_the_one_that_died() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let plan = planned(&place, PATCH);
    let mut writing = Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
    let steps = writing.steps();
    steps[..steps.len() - 4].iter().for_each(|&step| writing.perform(step).unwrap());
    drop(writing);
    let arguments = serde_json::json!({ "patch": PATCH }).to_string();
    let root = place.root.path().display().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let done = runtime
        .block_on(run(place.journals.path().to_owned(), &InFlight::default(), &root, false, &arguments))
        .unwrap();
    assert_eq!(done.facts.changed_files, ["changed", "new/deep/file", "gone", "left", "right", "program"]);
    assert_eq!(place.listing(), after());
}

#[test]
fn what_others_changed_after_a_crash_stays_theirs() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let plan = planned(&place, PATCH);
    let mut writing = Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
    let steps = writing.steps();
    steps[..steps.len() - 3].iter().for_each(|&step| writing.perform(step).unwrap());
    drop(writing);
    fs::write(place.path("changed"), "mine\n").unwrap();
    fs::write(place.path("new/mine"), "mine\n").unwrap();
    let warnings = recover(place.journals.path(), false);
    assert!(warnings[0].contains("changed since: ") && warnings[0].contains("/changed"), "{warnings:?}");
    assert_eq!((place.read("changed").as_str(), place.read("gone").as_str()), ("mine\n", "gone\n"));
    assert_eq!(place.names(), ["changed", "gone", "left", "new", "new/mine", "program", "right"]);
}

#[test]
fn a_root_that_is_away_is_waited_for() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let before = place.listing();
    let plan = planned(&place, PATCH);
    let mut writing = Commit::begin(&place.root(), &plan.changes, place.journals.path(), &given_up).unwrap();
    let steps = writing.steps();
    steps[..steps.len() - 3].iter().for_each(|&step| writing.perform(step).unwrap());
    drop(writing);
    let away = place.root.path().with_extension("away");
    fs::rename(place.root.path(), &away).unwrap();
    assert!(recover(place.journals.path(), false)[0].contains("is away"));
    fs::rename(&away, place.root.path()).unwrap();
    assert!(recover(place.journals.path(), false)[0].contains("none of it remains"));
    assert_eq!(place.listing(), before);
}

/// What somebody else does just before a step makes that step fail.
#[test]
fn a_failure_at_any_step_puts_everything_back() {
    let given_up = AtomicBool::new(false);
    for at in 0..6 {
        let place = place();
        let plan = planned(&place, PATCH);
        let target = plan.changes[at].target.clone();
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(&target, "came in between\n").unwrap();
        let before = place.listing();
        let refusal =
            commit(&place.root(), &plan.changes, place.journals.path(), &given_up, None).unwrap_err();
        assert!(refusal.0.message.contains("something else changed it"), "{}", refusal.0.message);
        assert_eq!(place.listing(), before);
        assert_eq!(fs::read_dir(place.journals.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_failure_while_swapping_puts_back_what_was_swapped() {
    let given_up = AtomicBool::new(false);
    let place = place();
    let plan = planned(&place, PATCH);
    let mut changes = plan.changes;
    // The last file is one that nobody can replace: a folder.
    let last = changes.last_mut().unwrap();
    fs::remove_file(&last.target).unwrap();
    fs::create_dir(&last.target).unwrap();
    last.before = None;
    let before = place.listing();
    let refusal = commit(&place.root(), &changes, place.journals.path(), &given_up, None).unwrap_err();
    assert!(refusal.0.message.contains("program"), "{}", refusal.0.message);
    assert_eq!(place.listing(), before);
}

#[test]
fn a_patch_that_nobody_waits_for_is_not_written() {
    let place = place();
    let before = place.listing();
    let refusal =
        apply(&place.root(), PATCH, place.journals.path(), &AtomicBool::new(true), false).unwrap_err();
    assert_eq!(refusal.0.kind, ToolErrorKind::Interrupted);
    assert_eq!(place.listing(), before);
    let unwritable = place.path("changed").join("journals");
    let refusal = apply(&place.root(), PATCH, &unwritable, &AtomicBool::new(false), false).unwrap_err();
    assert!(refusal.0.message.contains("the journal of the patch can't be written"), "{}", refusal.0.message);
    assert_eq!(place.listing(), before);
}

#[test]
fn what_nobody_waits_for_is_whole_before_the_end() {
    let files: Vec<(String, String)> = (0..200).map(|at| (format!("f{at}"), ONE.to_owned())).collect();
    let named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let patch: String = files
        .iter()
        .map(|(name, _)| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-one\n+1\n"))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for wait in [0, 3, 10, 30] {
        let place = Place::with(&named);
        let before = place.listing();
        let arguments = serde_json::json!({ "patch": patch }).to_string();
        let root = place.root.path().display().to_string();
        let in_flight = InFlight::default();
        runtime.block_on(async {
            let work = run(place.journals.path().to_owned(), &in_flight, &root, false, &arguments);
            drop(tokio::time::timeout(std::time::Duration::from_millis(wait), work).await);
            in_flight.over().await;
        });
        let changed = (0..200).filter(|at| place.read(&format!("f{at}")).starts_with('1')).count();
        assert!(changed == 0 || changed == 200, "{changed} of 200");
        assert_eq!(place.listing().len(), before.len(), "nothing is left beside the files");
    }
}
