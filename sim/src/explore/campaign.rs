//! Several worlds at once, one thread each; each search is as deterministic as alone.

use std::sync::Mutex;

use super::SmallWorld;
use super::search::{Options, Report, explore};

/// What a campaign explores, and how far.
pub struct Campaign<'a> {
    pub worlds: Vec<SmallWorld>,
    pub workers: usize,
    /// States of each world.
    pub states: usize,
    /// Microseconds since the campaign began.
    pub elapsed: &'a (dyn Fn() -> u64 + Sync),
    /// Asked now and then, with a world and its number of states so far; false ends that search.
    pub patient: &'a (dyn Fn(&'static str, usize) -> bool + Sync),
}

/// One world's report, with the microseconds that it took.
#[derive(Debug, Clone)]
pub struct Explored {
    pub world: SmallWorld,
    pub report: Report,
    pub took: u64,
}

/// Explores the worlds in their order; calls `show` for each that is done.
pub fn explore_all(campaign: Campaign<'_>, show: &(dyn Fn(&Explored) + Sync)) {
    let Campaign { worlds, workers, states, elapsed, patient } = campaign;
    let left = Mutex::new(worlds.into_iter());
    let next = || left.lock().ok().and_then(|mut worlds| worlds.next());
    let work = || {
        while let Some(world) = next() {
            let began = elapsed();
            let patient = |states| patient(world.name, states);
            let report = explore(&world, &Options { states, patient: &patient, sabotage: None });
            show(&Explored { world, report, took: elapsed().saturating_sub(began) });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(work);
        }
    });
}

impl Explored {
    /// One line for a person.
    pub fn line(&self) -> String {
        let Report { states, transitions, depth, resting, finished, drained_within, .. } = &self.report;
        let seconds = self.took as f64 / 1e6;
        let all = if *finished { "all" } else { "bounded" };
        let drained = match drained_within {
            Some(moves) => format!("all drain within {moves} moves"),
            None => "not all drain".into(),
        };
        format!(
            "{:<10} {states:>9} states ({all}), {transitions:>9} transitions, depth {depth:>3}, {resting:>6} at rest, \
             {drained}, {seconds:.1} s, {:.0} states/s\n{:<10} {}",
            self.world.name,
            *states as f64 / seconds.max(1e-6),
            "",
            self.world.bounds(),
        )
    }
}
