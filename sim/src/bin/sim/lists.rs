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
    let jobs = number(rest, "--jobs")?.unwrap_or(1).clamp(1, 64);
    let progress = Progress::new("seeds", Bound::Count(seeds));
    let part = |job: u64| {
        let mut tally = Tally::default();
        for nth in (job..seeds).step_by(usize::try_from(jobs).unwrap_or(1)) {
            progress.at(nth, tally.failures);
            let options = Options { no_replay: true, ..Options::default() };
            tally.add(&guarded(&scenario(from.saturating_add(nth)), options));
        }
        tally
    };
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..jobs).map(|job| scope.spawn(move || part(job))).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).for_each(|part| tally.merge(part));
    });
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
