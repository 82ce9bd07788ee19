//! Runs the simulator alone against a mutant of the core, from cheap checks to those that take seconds, up to the first
//! failure. It does not run by default: it repeats the other tests.

use std::sync::atomic::{AtomicU64, Ordering};

use sim::crash::{Script, everywhere, scripts};
use sim::explore::search::{Options as Bounds, explore};
use sim::explore::worlds;
use sim::isolation;
use sim::options::Options;
use sim::scenario::Scenario;
use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::guarded;

const SEEDS: u64 = 1_200;
/// Every so many of them run again without one agent.
const APART: u64 = 12;
const STATES: usize = 2_500;
const JOBS: usize = 2;

#[test]
fn nothing_is_wrong() {
    pinned();
    campaign();
    crashes();
    small_worlds();
}

fn pinned() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let file = entry.expect("it can be listed").path();
        if file.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let scenario = Scenario::from_text(&text).expect("it is a scenario");
        let report = guarded(&scenario, Options::default());
        assert!(report.failure.is_none(), "{}: {:?}", file.display(), report.failure);
    }
}

/// A campaign with something silent proves nothing, and so is a failure.
fn campaign() {
    let next = AtomicU64::new(1);
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..JOBS).map(|_| scope.spawn(|| seeds(&next))).collect();
        for job in jobs {
            all.merge(job.join().expect("a seed fails"));
        }
    });
    assert!(all.silent().is_empty(), "silent: {:?}", all.silent());
    assert!(!all.vacuous(), "{} of 1000 runs end in a turn", all.worth());
    let (missing, _) = all.adjacency();
    assert!(missing.is_empty(), "pairs of events that nobody saw: {missing:?}");
}

fn seeds(next: &AtomicU64) -> Tally {
    let mut tally = Tally::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed > SEEDS {
            return tally;
        }
        let drawn = scenario(seed);
        let mut report = guarded(&drawn, Options::default());
        if report.failure.is_none() && seed.is_multiple_of(APART) {
            report.failure = isolation::check(&drawn, None).and_then(Result::err);
        }
        if report.failure.is_some() {
            // Ends the other job, too.
            next.store(SEEDS, Ordering::Relaxed);
        }
        assert!(report.failure.is_none(), "seed {seed}: {:?}", report.failure);
        tally.add(&report);
    }
}

fn crashes() {
    let once = scripts().into_iter().map(|script| Script { crashes: 1, ..script });
    let scripts: Vec<Script> = once.collect();
    everywhere(&scripts, JOBS, &|script, scenario, report| {
        let (name, crashes) = (&script.name, &scenario.faults.crashes);
        assert!(report.failure.is_none(), "{name}, crash at {crashes:?}: {:?}", report.failure);
    });
}

fn small_worlds() {
    for world in worlds() {
        let report = explore(&world, &Bounds { states: STATES, patient: &|_| true, sabotage: None });
        assert!(report.found.is_none(), "{}: {:?}", world.name, report.found);
    }
}
