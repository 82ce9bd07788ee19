//! Recorded ledgers of real runs (`sim/corpus/ledgers/`): they fold, are decided again to the byte, and break no law.
//! `tests/tests/binary/ledgers.rs` records them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holon_law::replay::AuditReport;
use sim::failure::Kind;
use sim::recorded::{Ask, Problem, replay};

fn corpus() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/ledgers");
    let entries = std::fs::read_dir(folder).expect("a corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The lines of a golden ledger.
fn golden(name: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/ledgers/{name}.jsonl"));
    std::fs::read_to_string(file).expect("a golden ledger").lines().map(str::to_owned).collect()
}

fn replayed(lines: &[String], ask: Ask) -> Result<AuditReport, Problem> {
    replay(&mut lines.join("\n").as_bytes(), ask)
}

fn is_record(line: &str) -> bool {
    !line.starts_with(r#"{"type":"call""#)
}

/// Replaces within the first line that contains all of these.
fn changed(lines: &[String], having: &[&str], from: &str, to: &str) -> Vec<String> {
    let mut lines = lines.to_vec();
    let at =
        lines.iter().position(|line| having.iter().all(|text| line.contains(text))).expect("such a line");
    let line = lines[at].replacen(from, to, 1);
    assert_ne!(line, lines[at], "{from} is not in {line}");
    lines[at] = line;
    lines
}

fn failure(lines: &[String], ask: Ask) -> sim::failure::Failure {
    match replayed(lines, ask) {
        Err(Problem::Fails(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

fn unusable(lines: &[String], ask: Ask) -> String {
    match replayed(lines, ask) {
        Err(Problem::Unusable(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn golden_ledgers_fold_decide_the_same_and_break_no_law() {
    let files = corpus();
    assert!(files.len() >= 5, "the corpus has lost its ledgers: {files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let report = replayed(&lines, Ask::All).unwrap_or_else(|problem| {
            panic!(
                "{}: {problem:?}\nif it is meant to be decided otherwise: docs/simulation.md",
                file.display()
            )
        });
        let records = lines.iter().filter(|line| is_record(line)).count() as u64;
        assert_eq!((report.records, report.judged), (records, records), "{}", file.display());
        assert_eq!(report.calls, lines.len() as u64 - records, "{}", file.display());
        let laws = replayed(&lines, Ask::Laws).unwrap();
        assert_eq!((laws.judged, laws.calls), (records, 0));
    }
}

/// Today's build decides ledgers of earlier builds otherwise, but it reads and folds them, and they break no law.
#[test]
fn ledgers_of_earlier_builds_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/older");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let plain: Vec<String> = lines.iter().filter(|line| is_record(line)).cloned().collect();
        let laws =
            replayed(&plain, Ask::Laws).unwrap_or_else(|problem| panic!("{}: {problem:?}", file.display()));
        assert_eq!(laws.judged, plain.len() as u64, "{}", file.display());
        // The calls are read, too: the first difference is a decision.
        assert_eq!(failure(&lines, Ask::All).law, "D6", "{}", file.display());
    }
}

#[test]
fn a_plain_export_is_enough_for_folds_and_laws() {
    let all = golden("killed_and_continued");
    let plain: Vec<String> = all.iter().filter(|line| is_record(line)).cloned().collect();
    assert_eq!(replayed(&plain, Ask::Laws).unwrap().judged, plain.len() as u64);
    let problem = unusable(&plain, Ask::All);
    assert!(problem.starts_with("line 1: a record without the call") && problem.contains("--recorder"));
}

#[test]
fn the_first_difference_can_be_read() {
    let lines = golden("tools_and_a_patch");
    // Another decision at the first message: the problem shows the call that it follows.
    let decision = ["scheduler_decision", "start_model_turn"];
    let otherwise =
        changed(&lines, &decision, r#""fact":"queued","entries":1"#, r#""fact":"queued","entries":2"#);
    let otherwise = changed(
        &otherwise,
        &decision,
        r#""reason":"queued_message","row":6"#,
        r#""reason":"hold_trial","row":4"#,
    );
    let found = failure(&otherwise, Ask::All);
    assert_eq!((found.kind, found.law.as_str()), (Kind::Nondeterminism, "D6"));
    insta::assert_snapshot!("another_decision", found.problem);

    // A fact that was not decided then.
    let at = lines.iter().position(|line| line.contains(r#""type":"closure_decided""#)).unwrap();
    let mut missing = lines.clone();
    missing.remove(at);
    insta::assert_snapshot!("a_missing_fact", failure(&missing, Ask::All).problem);

    // Another input: the first record that follows from it.
    let input = changed(&lines, &[r#""call":"step""#, "repair the greeting"], "repair", "praise");
    insta::assert_snapshot!("another_input", failure(&input, Ask::All).problem);
}

#[test]
fn whatever_record_is_lost_doubled_or_moved_is_noticed() {
    let lines = golden("aborted");
    for at in (0..lines.len()).filter(|at| is_record(&lines[*at])) {
        let mut lost = lines.clone();
        lost.remove(at);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at].clone());
        let mut moved = lines.clone();
        let moves = moved.get(at + 1).is_some_and(|next| is_record(next));
        moved.swap(at, if moves { at + 1 } else { at });
        for damaged in [Some(&lost), Some(&doubled), moves.then_some(&moved)].into_iter().flatten() {
            assert_eq!(failure(damaged, Ask::All).kind, Kind::Nondeterminism, "line {}", at + 1);
        }
        if at + 1 < lines.len() {
            assert_eq!(failure(&doubled, Ask::Laws).kind, Kind::Safety, "line {}", at + 1);
        }
    }
}

#[test]
fn a_broken_law_is_named() {
    let lines = golden("tools_and_a_patch");
    let run = [r#""type":"turn_terminal""#, r#""run_id":"run_1""#];
    let broken = changed(&lines, &run, "run_1", "run_7");
    let found = failure(&broken, Ask::Laws);
    assert_eq!((found.kind, found.law.as_str()), (Kind::Safety, "L8"), "{found}");
    assert!(found.problem.contains("a law is broken: L8 at main #"), "{found}");
}

#[test]
fn a_line_that_is_none_is_named_by_its_number() {
    let lines = golden("aborted");
    let torn = |at: usize, to: &str| {
        let mut lines = lines.clone();
        lines[at] = to.to_owned();
        unusable(&lines, Ask::All)
    };
    assert!(torn(2, "{").starts_with("line 3: it is not a line of an export: "));
    assert!(torn(2, &lines[2][..40]).starts_with("line 3: "));
    assert!(torn(2, r#"{"type":"agent_created","v":1}"#).starts_with(r#"line 3: it lacks "payload""#));
    let newer = lines[2].replace("agent_created", "agent_dreamt");
    assert!(torn(2, &newer).contains("newer build"), "{}", torn(2, &newer));
    let call = torn(1, r#"{"type":"call","step":1,"call":{"call":"dream"}}"#);
    assert!(call.starts_with("line 2: the call can't be read"), "{call}");
    // Without its first line there is no host to replay on.
    assert!(unusable(&lines[1..], Ask::All).contains("does not begin with runtime_started"));
    assert_eq!(unusable(&[], Ask::All), "there is no record in it");
    let Err(Problem::Unusable(problem)) = replay(&mut &b"\n\xff\n"[..], Ask::All) else { panic!("no text") };
    assert!(problem.starts_with("line 2: "), "{problem}");
}

fn sim(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).output().expect("sim starts");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

#[test]
fn the_command_says_what_it_found_by_its_exit_code() {
    let file = |name: &str, lines: &[String]| {
        let path = std::env::temp_dir().join(format!("sim-ledgers-{}-{name}.jsonl", std::process::id()));
        std::fs::write(&path, lines.join("\n")).unwrap();
        path.display().to_string()
    };
    let lines = golden("tools_and_a_patch");
    let good = file("good", &lines);
    let (code, printed) = sim(&["replay", &good]);
    assert!(
        code == Some(0)
            && printed.contains("fold and break no law")
            && printed.contains("decisions the same"),
        "{printed}"
    );
    assert_eq!(sim(&["replay", &good, "--laws"]).0, Some(0));
    let broken = file("broken", &changed(&lines, &["turn_terminal", "run_1"], "run_1", "run_7"));
    let (code, printed) = sim(&["replay", &broken]);
    assert!(code == Some(12) && printed.contains("decides otherwise from main #"), "{printed}");
    assert_eq!(sim(&["replay", &broken, "--laws"]).0, Some(10));
    let torn = file("torn", &lines.iter().map(|line| line[..line.len() - 1].to_owned()).collect::<Vec<_>>());
    let (code, printed) = sim(&["replay", &torn]);
    assert!(code == Some(2) && printed.contains("line 1: "), "{printed}");
    assert_eq!(sim(&["replay", "/nowhere/at/all.jsonl"]).0, Some(2));
    assert_eq!(sim(&["replay"]).0, Some(2));
    for path in [good, broken, torn] {
        std::fs::remove_file(path).unwrap();
    }
}
