//! Large worlds of several nodes at random: the laws hold, every fault happens, and each dropped rule breaks the law
//! that it is about.

use std::collections::BTreeMap;

use sim::cluster::nodes::{Options, Report, run};
use sim::cluster::rules::Sabotage;

/// Worlds of the suite.
const SEEDS: u64 = 60;
/// Worlds within which a dropped rule must be noticed.
const NOTICED: u64 = 60;

/// Events that must happen in the suite's worlds; otherwise the worlds are too tame.
const HAPPENS: [&str; 30] = [
    "acknowledged",
    "answer_lost",
    "begun",
    "crash",
    "cut",
    "database_restarted",
    "deposit_taken",
    "deposited",
    "drain",
    "ended",
    "ended_with_lease",
    "fenced",
    "given_up",
    "handed_over",
    "held",
    "judged",
    "landed",
    "late",
    "lease_lost",
    "locked",
    "move",
    "pause",
    "renewals",
    "request_lost",
    "served",
    "slow_commit",
    "slow_begin",
    "slow_load",
    "stop",
    "too_late_to_begin",
];

#[test]
fn the_laws_hold_and_every_fault_happens() {
    let mut counts = BTreeMap::<&str, u64>::new();
    for seed in 0..SEEDS {
        let report = run(seed, Options::default());
        assert!(report.failure.is_none(), "seed {seed}, {}: {:?}", report.setting, report.failure);
        for (what, times) in report.counts {
            *counts.entry(what).or_default() += times;
        }
    }
    let never: Vec<_> = HAPPENS.iter().filter(|what| !counts.contains_key(**what)).collect();
    assert!(never.is_empty(), "{never:?} never happened: {counts:?}");
}

#[test]
fn a_seed_is_one_world() {
    let played = || run(3, Options { trace: true, ..Options::default() });
    let (one, other) = (played(), played());
    assert!(one.trace.len() > 1_000, "{}", one.trace.len());
    assert_eq!((one.trace, one.counts), (other.trace, other.counts));
}

/// The law that the dropped rule breaks, in the first world that shows it.
fn noticed(sabotage: Sabotage) -> String {
    let options = Options { sabotage: Some(sabotage), ..Options::default() };
    let found = (0..NOTICED).find_map(|seed| run(seed, options).failure);
    found.map_or_else(|| "none".to_owned(), |failure| failure.law)
}

#[test]
fn a_dropped_rule_is_noticed() {
    let rules = [
        (Sabotage::NoEpoch, "X1"),
        (Sabotage::NoHead, "X2"),
        (Sabotage::DecideAnew, "X6"),
        (Sabotage::ClaimByTime, "X11"),
        (Sabotage::NoDeadline, "X4"),
        (Sabotage::LateDeadline, "X4"),
        (Sabotage::BeginEarly, "X3"),
        (Sabotage::BeginAgain, "X5"),
        (Sabotage::NoBurial, "X8"),
        (Sabotage::SlowClock, "X4"),
        (Sabotage::KeepCommands, "X4"),
        (Sabotage::ReleaseEarly, "X11"),
        (Sabotage::JudgeAgain, "X7"),
        (Sabotage::MarkLater, "X7"),
    ];
    let seen: Vec<_> = rules.iter().map(|(rule, _)| (*rule, noticed(*rule))).collect();
    let wanted: Vec<_> = rules.iter().map(|(rule, law)| (*rule, (*law).to_owned())).collect();
    assert_eq!(seen, wanted);
}

/// Running the seed of a failure again gives the same failure and trace.
#[test]
fn a_failure_has_its_seed_and_a_trace() {
    let options = Options { sabotage: Some(Sabotage::NoHead), trace: true };
    let found: Option<Report> =
        (0..NOTICED).map(|seed| run(seed, options)).find(|report| report.failure.is_some());
    let found = found.expect("one of them fails");
    let again = run(found.seed, options);
    assert_eq!((found.failure, found.trace), (again.failure, again.trace));
}
