//! Many seeds, each a world of its own. Findings of earlier ones are pinned in `sim/corpus`.

use sim::options::{Options, Sabotage};
use sim::ratchet::{SHORT, WRITTEN, below, reached, read};
use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;

/// Seeds of each half; as many as a test build manages in a few seconds.
const SEEDS: u64 = SHORT / 2;

/// So many laws and faults may be missing in a hundred seeds; a thousand must have all of them.
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

/// Subtrees whose children are evicted often, and can't be loaded again.
fn damaged() -> impl Iterator<Item = Scenario> {
    let families =
        (1..600).map(scenario).filter(|drawn| drawn.faults.child_calls >= 500 && drawn.faults.sync_lies == 0);
    families.map(|mut drawn| {
        (drawn.faults.parks, drawn.faults.child_damaged) = (1_000, 1_000);
        drawn
    })
}

#[test]
fn a_child_about_whom_the_ledger_gives_no_answer_is_looked_for_again() {
    let mut again = 0;
    for mut drawn in damaged() {
        (drawn.faults.child_damaged, drawn.faults.reads_away) = (0, 500);
        let report = guarded(&drawn, Options::default());
        assert!(report.failure.is_none(), "seed {}: {:?}", drawn.seed, report.failure);
        again += report.fired.get("a child is looked for again").copied().unwrap_or(0);
        if again >= 2 {
            return;
        }
    }
    panic!("children are asked for");
}

#[test]
fn a_child_whose_log_is_damaged_is_lost_to_its_parent_who_is_told_so() {
    let mut lost = 0;
    let mut drawn = damaged();
    while lost < 2 {
        let drawn = drawn.next().expect("children are asked for");
        let report = guarded(&drawn, Options::default());
        assert!(report.failure.is_none(), "seed {}: {:?}", drawn.seed, report.failure);
        lost += report.fired.get("a child is lost").copied().unwrap_or(0);
    }
    let silent = Options { sabotage: Some(Sabotage::SilentLoss), no_replay: true, ..Options::default() };
    let failure = damaged().find_map(|drawn| guarded(&drawn, silent).failure);
    assert_eq!(failure.map(|failure| failure.law), Some("V1".into()), "its task never ends");
}
