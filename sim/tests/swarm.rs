//! Many seeds, each a world of its own; and what earlier ones found.

use std::collections::BTreeMap;

use sim::swarm::scenario;
use sim::verdict::guarded;
use sim::world::Options;

/// Of each half; as many as a test build manages in a few seconds.
const SEEDS: u64 = 100;

fn pass(seed: u64) -> sim::world::Report {
    let report = guarded(&scenario(seed), Options::default());
    assert!(report.failure.is_none(), "seed {seed}: {:?}", report.failure);
    report
}

fn sweep(from: u64) {
    let mut said: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut crashes, mut steps) = (0, 0);
    for seed in from..from + SEEDS {
        let report = pass(seed);
        crashes += report.crashes;
        steps += report.steps;
        for (law, times) in report.antecedents {
            *said.entry(law).or_default() += times;
        }
    }
    assert!(steps > 20 * SEEDS, "the swarm has lost its inputs: {steps} steps");
    assert!(crashes > 25, "the swarm has lost its crashes");
    let silent: Vec<_> = said.iter().filter(|(_, times)| **times == 0).collect();
    assert!(silent.len() <= 3, "laws that had nothing to say: {silent:?}");
}

#[test]
fn the_first_half_of_the_seeds_passes() {
    sweep(1);
}

#[test]
fn the_second_half_of_the_seeds_passes() {
    sweep(1 + SEEDS);
}

/// The clock went back by a year while a held agent waited for a slot: it decided by its hold as it had been,
/// recorded the step back after that, and was never woken.
#[test]
fn w1_a_hold_is_judged_by_the_time_of_the_decision() {
    pass(3120);
}

/// A quota's reset time was kept when the clock went back by a year.
#[test]
fn v1_a_hold_moves_with_the_clock() {
    pass(1619);
    pass(2496);
}
