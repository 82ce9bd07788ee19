//! Worlds of several nodes over one database, at random.

use std::collections::BTreeMap;
use std::time::Instant;

use sim::cluster::nodes::{Options, Report, run};
use sim::trace::seconds;

use crate::progress::{Bound, Progress};
use crate::words::{duration, number};

/// Number of worlds by default.
const SEEDS: u64 = 1_000;

pub(crate) fn nodes(rest: &[&str]) -> Result<u8, String> {
    if let Some(seed) = number(rest, "--seed")? {
        let report = run(seed, Options { trace: true, ..Options::default() });
        report.trace.iter().for_each(|line| println!("{line}"));
        println!("{}", line(&report));
        return Ok(code(&report));
    }
    let began = Instant::now();
    let lasts = duration(rest)?;
    let first = number(rest, "--from")?.unwrap_or(0);
    let seeds = number(rest, "--seeds")?.unwrap_or(if lasts.is_some() { u64::MAX } else { SEEDS });
    let progress = Progress::new("worlds", lasts.map_or(Bound::Count(seeds), Bound::Time));
    let (mut played, mut failures, mut exit) = (0, 0, 0);
    let (mut steps, mut counts) = (0, BTreeMap::<&str, u64>::new());
    let mut virtual_ms = 0;
    while played < seeds && lasts.is_none_or(|lasts| began.elapsed() < lasts) {
        let report = run(first + played, Options::default());
        played += 1;
        (steps, virtual_ms) = (steps + report.steps, virtual_ms + report.virtual_ms);
        for (what, times) in &report.counts {
            *counts.entry(what).or_default() += times;
        }
        if report.failure.is_some() {
            failures += 1;
            progress.clear();
            println!("{}", line(&report));
            exit = if exit == 0 { code(&report) } else { exit };
        }
        progress.at(played, failures);
    }
    progress.clear();
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    for (what, times) in counts {
        println!("{times:>12} {what}");
    }
    println!(
        "{played} worlds from seed {first}, {failures} failures, {:.1} virtual hours, {steps} steps of machines in {} s",
        virtual_ms as f64 / 3_600_000.0,
        seconds(micros)
    );
    Ok(exit)
}

fn code(report: &Report) -> u8 {
    report.failure.as_ref().map_or(0, |failure| failure.kind.exit_code())
}

fn line(report: &Report) -> String {
    let Report { seed, setting, virtual_ms, steps, failure, .. } = report;
    let what = failure.as_ref().map_or_else(|| "ok".to_owned(), |failure| format!("FAIL {failure}"));
    format!("{what} — seed {seed}: {setting}; {steps} steps, {:.1} virtual s", *virtual_ms as f64 / 1e3)
}
