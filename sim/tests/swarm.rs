//! Many seeds, each a world of its own. What earlier ones found is pinned in `sim/corpus`.

use sim::floors::{SHORT, WRITTEN, below, reached, read};
use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;
use sim::world::Options;

/// Of each half; as many as a test build manages in a few seconds.
const SEEDS: u64 = SHORT / 2;

/// So many laws and faults may be missed by a hundred seeds; a thousand must see all of them.
const FEW: usize = 25;

fn sweep(from: u64) -> Tally {
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
    tally
}

#[test]
fn the_seeds_pass_and_reach_what_they_have_reached_before() {
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let halves = [1, 1 + SEEDS].map(|from| scope.spawn(move || sweep(from)));
        for half in halves {
            tally.merge(half.join().expect("the half passes"));
        }
    });
    let low = below(&read(WRITTEN).unwrap(), &reached(&tally));
    assert!(low.is_empty(), "{low:?}; floors only rise: sim report --seeds {SHORT}");
    let (_, strange) = tally.rows();
    assert!(strange.is_empty(), "the decision table has no such rows: {strange:?}");
}
