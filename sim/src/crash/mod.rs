//! Crash everywhere: small scenarios with crashes at each of their boundaries, at each pair of boundaries, at each
//! triple; and a large one, at one in so many boundaries. The boundaries of the next crash are those of the run with
//! the earlier crashes, so that it also comes during their recovery.

mod scripts;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::options::Options;
use crate::scenario::Scenario;
use crate::verdict::guarded;
use crate::world::Report;

pub use scripts::scripts;

/// A scenario that is small enough to crash everywhere in it.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: String,
    pub scenario: Scenario,
    /// How many crashes a run of it has at most.
    pub crashes: usize,
    /// The first crash comes at one in so many boundaries; 1 for a script that crashes at each.
    pub every: usize,
}

impl Script {
    /// Number of first crashes for so many boundaries.
    pub fn firsts(&self, boundaries: u64) -> u64 {
        if self.crashes > 0 { boundaries.div_ceil(self.every as u64) } else { 0 }
    }
}

/// The result of crashing everywhere in a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toll {
    /// Boundaries of the run without a crash.
    pub boundaries: u64,
    /// Runs with no crash, with one, with two, and so on.
    pub runs: Vec<u64>,
    /// Crashes that happened, in all runs.
    pub crashes: u64,
    pub failures: u64,
}

impl Toll {
    fn add(&mut self, planned: usize, report: &Report) {
        if planned == 0 {
            self.boundaries = report.boundaries;
        }
        if self.runs.len() <= planned {
            self.runs.resize(planned + 1, 0);
        }
        self.runs[planned] += 1;
        self.crashes += report.crashes;
        self.failures += u64::from(report.failure.is_some());
    }

    /// Adds the result of another part.
    pub fn merge(&mut self, other: &Self) {
        self.boundaries += other.boundaries;
        self.runs.resize(self.runs.len().max(other.runs.len()), 0);
        self.runs.iter_mut().zip(&other.runs).for_each(|(all, more)| *all += more);
        self.crashes += other.crashes;
        self.failures += other.failures;
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let of = |crashes: usize| self.runs.get(crashes).copied().unwrap_or(0);
        format!(
            "{:>4} boundaries, {:>5} pairs, {:>6} triples, {:>6} crashes, {} failures",
            self.boundaries,
            of(2),
            of(3),
            self.crashes,
            self.failures
        )
    }
}

/// Crashes everywhere in each script, in so many threads; each run is as deterministic as alone. Calls `show` for every
/// run, with its script, the scenario with its crashes, and its report.
pub fn everywhere(
    scripts: &[Script],
    jobs: usize,
    show: &(dyn Fn(&Script, &Scenario, &Report) + Sync),
) -> Vec<Toll> {
    let tolls: Vec<Mutex<Toll>> = scripts.iter().map(|_| Mutex::default()).collect();
    let run = |at: usize, crashes: &[u64]| {
        let script: &Script = &scripts[at];
        let mut dying = script.scenario.clone();
        dying.faults.crashes = crashes.to_vec();
        let report = guarded(&dying, Options::default());
        show(script, &dying, &report);
        if let Ok(mut toll) = tolls[at].lock() {
            toll.add(crashes.len(), &report);
        }
        report
    };
    // Each piece of work has all crashes that follow one first crash.
    let mut firsts = Vec::new();
    for (at, script) in scripts.iter().enumerate() {
        let whole = run(at, &[]);
        let boundaries = if script.crashes > 0 { whole.boundaries } else { 0 };
        firsts.extend((1..=boundaries).step_by(script.every).map(|boundary| (at, boundary)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&(at, first)) = firsts.get(next.fetch_add(1, Ordering::Relaxed)) {
            die(scripts[at].crashes, &mut vec![first], &|crashes| run(at, crashes));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(work);
        }
    });
    tolls.into_iter().map(|toll| toll.into_inner().unwrap_or_default()).collect()
}

/// Runs with crashes at these boundaries, then with one more at each later boundary. Nothing follows a failed run.
fn die(most: usize, crashes: &mut Vec<u64>, run: &dyn Fn(&[u64]) -> Report) {
    let report = run(crashes);
    let last = crashes.last().copied().unwrap_or(0);
    if report.failure.is_some() || crashes.len() >= most {
        return;
    }
    for boundary in last + 1..=report.boundaries {
        crashes.push(boundary);
        die(most, crashes, run);
        crashes.pop();
    }
}
