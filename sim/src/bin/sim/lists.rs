//! Contents of files in the repository: pinned traces, pairs of events, the page about laws.

use sim::options::Options;
use sim::swarm::scenario;
use sim::tally::Tally;
use sim::verdict::{guarded, pinned};

use crate::progress::{Bound, Progress};
use crate::words::number;

/// The trace of each seed, for comparing two processes, two builds, two machines.
pub(crate) fn traces(rest: &[&str]) -> Result<u8, String> {
    let (from, seeds) = (number(rest, "--from")?.unwrap_or(1), number(rest, "--seeds")?.unwrap_or(64));
    for seed in from..from.saturating_add(seeds) {
        println!("{}", pinned(seed));
    }
    Ok(0)
}

/// The common pairs of events of the seeds, with how often each occurs, for `sim/adjacency.txt`.
pub(crate) fn pairs(rest: &[&str]) -> Result<u8, String> {
    let (from, seeds) = (number(rest, "--from")?.unwrap_or(1), number(rest, "--seeds")?.unwrap_or(1_000));
    let progress = Progress::new("seeds", Bound::Count(seeds));
    let mut tally = Tally::default();
    for seed in from..from.saturating_add(seeds) {
        progress.at(seed - from, tally.failures);
        tally.add(&guarded(&scenario(seed), Options { no_replay: true, ..Options::default() }));
    }
    progress.clear();
    for line in tally.declaration() {
        println!("{line}");
    }
    Ok(0)
}

pub(crate) fn laws() -> u8 {
    print!("{}", sim::laws::page());
    0
}
