//! The week of one agent: as a timeline, for `docs/week.md`, and many of them in a row.

use std::time::Instant;

use sim::options::Options;
use sim::scenario::Scenario;
use sim::world::{self, Report};
use sim::{crowd, life};

use crate::words::number;

pub(crate) fn week() -> Result<u8, String> {
    print!("{}", life::page()?);
    Ok(0)
}

/// Runs so many weeks with every law; prints how long they took.
pub(crate) fn weeks(rest: &[&str]) -> Result<u8, String> {
    let [weeks] = rest else { return Err("sim week --weeks N".into()) };
    let weeks = weeks.parse().map_err(|_| format!("--weeks {weeks}: expected a number"))?;
    let scenario = life::week()?.repeated(weeks);
    let (report, seconds) = timed(&scenario);
    print!("{weeks} weeks: ");
    Ok(show(&report, seconds))
}

/// Runs a day of many agents with many children, with every law.
pub(crate) fn crowd(rest: &[&str]) -> Result<u8, String> {
    let of = |name, default| {
        number(rest, name)
            .map(|number| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default))
    };
    let (agents, children, depth) = (of("--agents", 1_000)?, of("--children", 8)?, of("--depth", 1)?);
    let (report, seconds) = timed(&crowd::day(agents, children, depth));
    print!("{agents} agents with {children} children each, {depth} deep: ");
    Ok(show(&report, seconds))
}

fn timed(scenario: &Scenario) -> (Report, f64) {
    let began = Instant::now();
    let report = world::run(scenario, Options::default());
    (report, began.elapsed().as_secs_f64())
}

fn show(report: &Report, seconds: f64) -> u8 {
    println!(
        "{} turns, {} steps, {} records, {} crashes, {} s of virtual time, {seconds:.2} s",
        report.turns,
        report.steps,
        report.records,
        report.crashes,
        report.virtual_time / 1_000_000,
    );
    match &report.failure {
        None => 0,
        Some(failure) => {
            println!("{} {}", failure.law, failure.problem);
            failure.kind.exit_code()
        }
    }
}
