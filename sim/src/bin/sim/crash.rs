//! Crashes at every boundary, pair and triple of boundaries of small scripts.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use sim::crash::{self, Toll};
use sim::failure::Failure;
use sim::scenario::Scenario;

use crate::one;
use crate::progress::{Bound, Progress};
use crate::words::number;

/// A failure is written as a scenario. The number of runs is known only at the end: each run decides where the next
/// crash of its life may be.
pub(crate) fn everywhere(rest: &[&str]) -> Result<u8, String> {
    let began = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = number(rest, "--jobs")?.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(cores);
    let (scripts, code) = (crash::scripts(), AtomicU8::new(0));
    let (runs, failures) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = Progress::new("runs", Bound::None);
    let tolls = crash::everywhere(&scripts, jobs.clamp(1, 64), &|script, scenario, report| {
        if let Some(failure) = &report.failure {
            failures.fetch_add(1, Ordering::Relaxed);
            progress.clear();
            code.store(dead(&script.name, scenario, failure), Ordering::Relaxed);
        }
        progress.at(runs.fetch_add(1, Ordering::Relaxed) + 1, failures.load(Ordering::Relaxed));
    });
    progress.clear();
    let mut all = Toll::default();
    for (script, toll) in scripts.iter().zip(&tolls) {
        println!("{:<20} {}", script.name, toll.line());
        all.merge(toll);
    }
    println!("{} scenarios: {}", scripts.len(), all.line());
    let seconds = began.elapsed().as_secs_f64();
    println!("{jobs} jobs, {seconds:.1} s, {:.0} crashes/s", all.crashes as f64 / seconds);
    Ok(code.into_inner())
}

fn dead(name: &str, scenario: &Scenario, failure: &Failure) -> u8 {
    let crashes: Vec<String> = scenario.faults.crashes.iter().map(u64::to_string).collect();
    let file = format!("sim-crash-{}-{}.json", name.replace([' ', ','], "-"), crashes.join("-"));
    let out = std::env::temp_dir().join(file);
    match std::fs::write(&out, scenario.to_pretty_text()) {
        Ok(()) => one::failed(&out.display().to_string(), failure),
        Err(problem) => {
            eprintln!("{}: {problem}", out.display());
            one::failed(&format!("{name}, crashes at {crashes:?}"), failure)
        }
    }
}
