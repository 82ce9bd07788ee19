//! The same seed, twice: the same bytes; and the text of a scenario says all there is to it.

use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::verdict::guarded;
use sim::world::Options;

#[test]
fn a_seed_run_twice_gives_the_same_trace() {
    let options = Options { readable: true, no_replay: true, sabotage: None };
    for seed in 1_000..1_064 {
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
