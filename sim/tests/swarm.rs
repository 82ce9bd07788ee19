//! Many seeds, each a world of its own. What earlier ones found is pinned in `sim/corpus`.

use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;
use sim::world::Options;

/// Of each half; as many as a test build manages in a few seconds.
const SEEDS: u64 = 100;

/// Laws and faults that so few seeds need not reach, each with its reason.
const RARE: [(&str, &str); 5] = [
    ("supervisor.lost", "takes a crash while a command is under way, and a second fault"),
    ("command found alive", "takes a crash while a command is under way"),
    ("command found ended", "takes a crash while a command is under way, and that its supervisor lives"),
    ("command found lost", "takes a crash while a command that never ends is under way"),
    ("command found not started", "takes a crash in the moment before the word to go"),
];

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
    let mut silent = tally.silent();
    silent.retain(|what| RARE.iter().all(|(rare, _)| rare != what));
    assert!(silent.is_empty(), "silent over {SEEDS} seeds from {from}: {silent:?}");
}

#[test]
fn the_first_half_of_the_seeds_passes() {
    sweep(1);
}

#[test]
fn the_second_half_of_the_seeds_passes() {
    sweep(1 + SEEDS);
}
