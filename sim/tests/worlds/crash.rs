//! Small scenarios, and a crash at every durable and every effect boundary of each; for the shortest, at every pair of
//! boundaries. `sim crash` runs all pairs and triples.

use std::sync::atomic::{AtomicU64, Ordering};

use sim::crash::{Script, Toll, everywhere, scripts};

/// A test build crashes so many times less often in the large scenario.
const RARER: usize = 5;

/// Runs the scripts with one kind of disk, each with at most so many crashes in a run; also counts a fault.
fn die_everywhere(disk: &str, most: impl Fn(&str) -> usize, fault: &str) -> (Vec<(Script, Toll)>, u64) {
    let struck = AtomicU64::new(0);
    let kind = |name: &str| name.split_once(", ").map_or("", |(_, disk)| disk).to_owned();
    let mut chosen: Vec<Script> = scripts().into_iter().filter(|script| kind(&script.name) == disk).collect();
    chosen.retain(|script| most(&script.name) > 0);
    for script in &mut chosen {
        script.crashes = script.crashes.min(most(&script.name));
        script.every *= if script.every > 1 { RARER } else { 1 };
    }
    let tolls = everywhere(&chosen, 1, &|script, scenario, report| {
        let (name, crashes) = (&script.name, &scenario.faults.crashes);
        assert!(report.failure.is_none(), "{name}, crashes at {crashes:?}: {:?}", report.failure);
        assert_eq!(report.crashes, crashes.len() as u64, "{name}: not every crash struck at {crashes:?}");
        struck.fetch_add(report.fired.get(fault).copied().unwrap_or(0), Ordering::Relaxed);
    });
    for (script, toll) in chosen.iter().zip(&tolls) {
        let boundaries = toll.boundaries;
        assert!(boundaries > 10, "{} is hardly a scenario: {boundaries} boundaries", script.name);
        let firsts = script.firsts(boundaries);
        assert_eq!(toll.runs.get(1), Some(&firsts), "{}: one crash at each boundary", script.name);
    }
    (chosen.into_iter().zip(tolls).collect(), struck.into_inner())
}

/// Pairs in the shortest scripts, single crashes elsewhere: what a test build manages in a few seconds.
fn bounded(disk: &str, most: impl Fn(&str) -> usize, fault: &str) {
    let (dead, struck) = die_everywhere(disk, most, fault);
    for (script, toll) in dead {
        let pairs = toll.runs.get(2).copied().unwrap_or(0);
        assert_eq!(pairs > 0, script.name.starts_with("prompt"), "{}", script.name);
        // The second crash comes at every later boundary, and a recovery adds some.
        let least = toll.boundaries * (toll.boundaries - 1) / 2;
        assert!(pairs == 0 || pairs > least, "{}: {pairs} pairs, {least} at least", script.name);
    }
    assert!(struck > 0, "{disk}: there was no {fault}");
}

fn shortest(name: &str) -> usize {
    1 + usize::from(name.starts_with("prompt"))
}

#[test]
fn with_a_disk_that_syncs_at_once() {
    bounded("", shortest, "crash soon after a start");
}

#[test]
fn with_a_disk_that_takes_its_time() {
    bounded("slow disk", shortest, "crash loses rows");
}

#[test]
fn with_a_disk_that_lies_and_loses() {
    let written = |name: &str| if name.starts_with("seed") { 0 } else { shortest(name) };
    bounded("bad disk", written, "a lying sync loses acknowledged rows");
}

/// Around a command that another one stands in for, and where a start finds a stranger instead of a supervisor.
#[test]
fn what_a_script_is_about_is_met() {
    for (script, fault) in [
        ("twin", "a command runs already"),
        ("twin", "a call begins a command while an equal one runs"),
        ("stranger", "a stranger is left alone"),
    ] {
        let (dead, met) = die_everywhere("", |name| usize::from(name == script), fault);
        let (boundaries, runs) = (dead[0].1.boundaries, dead[0].1.runs.iter().sum::<u64>());
        assert!(met > boundaries / 4, "{script}: {met} of {runs} runs have met that {fault}");
    }
}

#[test]
fn every_script_has_a_name_of_its_own() {
    let mut names: Vec<String> = scripts().into_iter().map(|script| script.name).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    let pairs = scripts().iter().filter(|script| script.crashes > 1).count();
    assert!(pairs >= 10, "only {pairs} scripts are short enough for pairs");
}
