//! Many seeds, each a world of its own. What earlier ones found is pinned in `sim/corpus`.

use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;
use sim::world::Options;

/// Of each half; as many as a test build manages in a few seconds.
const SEEDS: u64 = 100;

/// So many laws and faults may be missed by a hundred seeds; a thousand must see all of them.
const FEW: usize = 25;

fn sweep(from: u64) {
    let mut tally = Tally::default();
    for seed in from..from + SEEDS {
        let report = guarded(&scenario(seed), Options::default());
        assert!(
            report.failure.is_none(),
            "seed {seed}: {:?}, cargo run -p sim -- shrink {seed}",
            report.failure
        );
        tally.add(&report);
    }
    assert!(tally.steps > 20 * SEEDS, "the swarm has lost its inputs: {} steps", tally.steps);
    let silent = tally.silent();
    assert!(silent.len() <= FEW, "silent over {SEEDS} seeds from {from}: {silent:?}");
    assert!(tally.worth() >= 800, "{} of 1000 runs end in a turn", tally.worth());
}

#[test]
fn the_first_half_of_the_seeds_passes() {
    sweep(1);
}

#[test]
fn the_second_half_of_the_seeds_passes() {
    sweep(1 + SEEDS);
}
