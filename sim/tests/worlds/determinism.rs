//! The same seed gives the same bytes twice; and the text of a scenario is complete.

use std::process::Command;

use sim::options::Options;
use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::trace::Kept;
use sim::verdict::{guarded, pinned};

#[test]
fn a_seed_run_twice_gives_the_same_trace() {
    let options = Options { trace: Kept::Lines, no_replay: true, ..Options::default() };
    for seed in 1_000..1_032 {
        let (one, two) = (guarded(&scenario(seed), options), guarded(&scenario(seed), options));
        assert_eq!(one.trace.hash, two.trace.hash, "seed {seed}");
        assert_eq!(one.trace.lines, two.trace.lines, "seed {seed}");
        assert_eq!((one.steps, one.boundaries), (two.steps, two.boundaries), "seed {seed}");
    }
}

#[test]
fn a_scenario_reads_back_what_it_writes() {
    for seed in 1..64 {
        let drawn = scenario(seed);
        assert_eq!(Scenario::from_text(&drawn.to_text()).unwrap(), drawn, "seed {seed}");
    }
    let newer = scenario(1).to_text().replace(r#""version":1"#, r#""version":2"#);
    assert!(Scenario::from_text(&newer).is_err());
}

/// Seeds with pinned traces: another build gives the same traces, or changes the file and explains why.
const PINNED: u64 = 64;

#[test]
fn pinned_seeds_bring_what_they_brought() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/traces.txt");
    let written = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines.len() as u64, PINNED);
    for (line, seed) in lines.iter().zip(1..) {
        assert_eq!(*line, pinned(seed), "if this is meant: cargo run -p sim -- traces > sim/traces.txt");
    }
}

/// The first seeds, in two processes at a time; `sim traces --seeds N` compares any number.
#[test]
fn two_processes_bring_the_same() {
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
        command.args(["traces", "--from", "1", "--seeds", "40"]);
        command.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let (one, two) = (start(), start());
    let (one, two) = (one.wait_with_output().unwrap(), two.wait_with_output().unwrap());
    assert!(one.status.success());
    assert_eq!(one.stdout, two.stdout);
    assert_eq!(String::from_utf8_lossy(&one.stdout).lines().count(), 40);
}
